//! Texts of others: how they are read, and how they may be shown, since names come from files that anybody may have made.

use std::borrow::Cow;

/// The mark that some editors and shells put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text without the byte-order mark that it may begin with, which JSON does not have.
///
/// ```
/// use sched_distill_core::text::without_mark;
/// assert_eq!(without_mark("\u{feff}{}".as_bytes()), b"{}");
/// assert_eq!(without_mark(b"{}"), b"{}");
/// ```
#[must_use]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Whether a character does something where it is shown, rather than being seen: it moves the cursor, changes colours, or the direction
/// of writing. Ends of lines and tabs do so too.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text, of one line or several, as a terminal or a page may show it: what acts is written out, but for ends of lines and tabs.
///
/// ```
/// # use sched_distill_core::text::{one_line, printable};
/// assert_eq!(printable("a\n\u{1b}[31m"), "a\n\\u{1b}[31m");
/// assert_eq!(one_line("a\n\u{1b}[31m"), "a\\u{a}\\u{1b}[31m");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    written_out(text, |c| acts(c) && c != '\n' && c != '\t')
}

/// A name as it may stand in a line: what acts is written out.
#[must_use]
pub fn one_line(name: &str) -> Cow<'_, str> {
    written_out(name, acts)
}

/// A text in which numbers of more digits than anybody reads, such as 10³⁰⁰ written out, have an exponent: for errors that name what they
/// found.
#[must_use]
pub fn with_short_numbers(text: &str) -> Cow<'_, str> {
    /// More than any number has that is counted or an identity.
    const DIGITS: usize = 24;
    let of_number = |c: char| c.is_ascii_digit() || c == '.';
    if text.split(|c| !of_number(c)).all(|run| run.len() <= DIGITS) {
        return Cow::Borrowed(text);
    }
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c| !of_number(c)).map_or(rest.len(), |length| start + length);
        let number = rest[start..end].trim_end_matches('.');
        let end = start + number.len();
        // Part of a hash or a name is no number.
        let alone = !rest[..start].ends_with(of_name) && !rest[end..].starts_with(of_name);
        shown += &rest[..start];
        match number.parse::<f64>() {
            // Nor is what begins as no number does.
            Ok(value) if alone && number.len() > DIGITS && (!number.starts_with('0') || number.starts_with("0.")) => {
                shown += &format!("{value:e}")
            }
            _ => shown += number,
        }
        rest = &rest[end..];
    }
    (shown + rest).into()
}

fn written_out(text: &str, is: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        match is(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_reads_have_an_exponent() {
        let said = |number: f64| format!("speed must be at most 1000, got {number}; see a.1.");
        assert_eq!(with_short_numbers(&said(1e300)), "speed must be at most 1000, got 1e300; see a.1.");
        assert_eq!(with_short_numbers(&said(-2.5e-310)), "speed must be at most 1000, got -2.5e-310; see a.1.");
        assert_eq!(with_short_numbers(&said(123_456_789.25)), said(123_456_789.25));
        let hash = format!("hash {}a{}: 7", "1".repeat(40), "2".repeat(30));
        assert_eq!(with_short_numbers(&hash), hash);
        assert_eq!(with_short_numbers(&"0".repeat(64)), "0".repeat(64));
        assert_eq!(with_short_numbers(&format!("{}.", u64::MAX)), format!("{}.", u64::MAX));
    }

    #[test]
    fn what_acts_is_written_out() {
        assert_eq!(printable("a\tb\nä ÷ 1"), "a\tb\nä ÷ 1");
        assert_eq!(printable("\u{1b}[31mred\r\u{7}\u{9b}2J\u{202e}"), r"\u{1b}[31mred\u{d}\u{7}\u{9b}2J\u{202e}");
        assert_eq!(one_line("a\tb\n\u{2028}ä ÷ 1"), r"a\u{9}b\u{a}\u{2028}ä ÷ 1");
    }
}
