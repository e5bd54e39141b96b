//! Parts of sentences, and of commands that are said.

use crate::model::Guard;

/// Increasing numbers as ranges: `0, 3-7, 12`.
pub(super) fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let words = ranges.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A number with its noun: `1 part`, `2 parts`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `but age > 300000 first`.
pub(super) fn exception_words(guard: &Guard, overrides: bool) -> String {
    let but = if overrides { "but above all" } else { "but" };
    format!("{but} {}", guard.to_string().split_once(": ").map_or("", |(_, rest)| rest))
}

/// Where to listen, in commands that say what to type next.
pub(super) const SOCKET: &str = if cfg!(unix) { "unix:distill.sock" } else { "tcp:127.0.0.1:7400" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_drawn_together() {
        for (numbers, expected) in [
            (&[][..], ""),
            (&[4], "4"),
            (&[0, 1], "0-1"),
            (&[0, 3, 4, 5, 7, u32::MAX - 1, u32::MAX], "0, 3-5, 7, 4294967294-4294967295"),
        ] {
            assert_eq!(ranges(numbers), expected);
        }
        assert_eq!((count(1, "part"), count(0, "part")), ("1 part".to_owned(), "0 parts".to_owned()));
    }
}
