//! Numbers and names as exports write them.

use super::rules;
use crate::{level::LevelSpec, model::Additive};

/// Text on one line that neither ends a comment nor reorders what stands around it.
pub(super) fn plain(text: &str) -> String {
    // Controls, ends of lines, marks of direction, and what Go takes at the start of a file alone.
    let hidden = |c: char| {
        let is_mark =
            matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() || is_mark || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
    };
    let text: String = text.chars().map(|c| if hidden(c) { ' ' } else { c }).collect();
    let text = text.replace("*/", "* /").replace("/*", "/ *");
    // To C the first is a backslash. Java reads the second, with four digits, as the character of that number wherever it stands,
    // ends of lines and of comments too.
    text.replace("??/", "?? /").replace("\\u", "\\ u").trim_end_matches('\\').to_owned()
}

/// A number in the fewest digits that give its bits back.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A number to read: four significant digits.
pub(super) fn rounded(value: f64) -> String {
    // What was just written is a number.
    number(format!("{value:.3e}").parse().unwrap_or(value))
}

/// A number of 32 bits in the fewest digits that give its bits back.
pub(super) fn number32(value: f32) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Parts in per cent of the whole.
pub(super) fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    number((share * 100.0).round() / 100.0) + " %"
}

/// `1 row`, `2 rows`.
pub(super) fn rows(n: u32) -> String {
    format!("{n} {}", if n == 1 { "row" } else { "rows" })
}

/// What a sum of terms is, in words.
pub(super) fn kind(additive: &Additive, spec: &LevelSpec) -> String {
    match additive.as_linear(spec.features.len()) {
        Some(_) => "linear score".to_owned(),
        None => format!("sum of {} terms", additive.terms.len()),
    }
}

/// A linear function in words: `0.5 + 2 * a - 3 * b`.
pub(super) fn sum(
    intercept: f64,
    terms: impl Iterator<Item = (usize, f64)>,
    spec: &LevelSpec,
    write: fn(f64) -> String,
) -> String {
    let mut text = write(intercept);
    for (feature, c) in terms.filter(|(_, c)| *c != 0.0) {
        let sign = if c < 0.0 { '-' } else { '+' };
        text += &format!(" {sign} {} * {}", write(c.abs()), rules::word(&spec.features[feature].name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_is_plain_ends_no_comment_in_any_language() {
        for (text, expected) in [
            ("a */ b /* c", "a * / b / * c"),
            ("line\nline\r\u{85}\u{2028}\u{2029}end", "line line    end"),
            ("\u{202e}\u{2066}\u{200f}\u{61c}\u{feff}.", "     ."),
            ("trigraph ??/", "trigraph ?? /"),
            (r"C:\users \u000a \\u002a\\u002f", r"C:\ users \ u000a \\ u002a\\ u002f"),
            (r"end \\", "end "),
            ("ms·größe", "ms·größe"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
