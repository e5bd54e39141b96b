//! Texts of others, as a terminal may show them: names come from files that anybody may have made.

use std::borrow::Cow;

/// A text without what would move the cursor, change colours or the direction of writing: that is written out, as `\u{1b}`. Lines
/// stay lines, and tabs tabs.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    written_out(text, |c| acts(c) && c != '\n' && c != '\t')
}

/// The same of a name, which is within a line: it begins no other.
#[must_use]
pub fn printable_name(name: &str) -> Cow<'_, str> {
    written_out(name, acts)
}

/// Whether a terminal does something else with it than to show it.
fn acts(c: char) -> bool {
    c.is_control()
        || "\u{200e}\u{200f}\u{2028}\u{2029}".contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn written_out(text: &str, which: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .fold(String::new(), |mut shown, c| {
            match which(c) {
                true => shown.extend(c.escape_unicode()),
                false => shown.push(c),
            }
            shown
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(printable("a\tb\nä ÷ 1"), "a\tb\nä ÷ 1");
        assert_eq!(printable("\u{1b}[31mred\r\u{7}\u{9b}2J\u{202e}"), r"\u{1b}[31mred\u{d}\u{7}\u{9b}2J\u{202e}");
    }

    #[test]
    fn a_name_begins_no_line() {
        assert_eq!(printable_name("ä ÷ 1"), "ä ÷ 1");
        assert_eq!(printable_name("a\nlistening at\t\u{1b}"), r"a\u{a}listening at\u{9}\u{1b}");
    }
}
