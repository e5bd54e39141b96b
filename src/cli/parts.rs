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

/// The same, of many ranges the first ones and the last: `0, 8, 16, 24, 32, 40, ..., 1496`.
pub(super) fn some_ranges(numbers: &[u32]) -> String {
    let all = ranges(numbers);
    let words: Vec<&str> = all.split(", ").collect();
    match words[..] {
        [a, b, c, d, e, f, _, _, .., last] => [a, b, c, d, e, f, "...", last].join(", "),
        _ => all,
    }
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
        let strided = |parts: u32| some_ranges(&(0..parts).map(|part| 8 * part).collect::<Vec<_>>());
        assert_eq!(strided(8), "0, 8, 16, 24, 32, 40, 48, 56");
        assert_eq!(strided(9), "0, 8, 16, 24, 32, 40, ..., 64");
        assert_eq!((count(1, "part"), count(0, "part")), ("1 part".to_owned(), "0 parts".to_owned()));
    }
}
