//! Where does a line end?
//!
//! Lines are given where they lie in the buffer, which grows with the longest of them and no further than a limit: a line beyond it is left
//! out, and costs time but no memory.

use std::io::{self, ErrorKind, Read};

/// Longest line that is read, bytes.
pub(crate) const LONGEST: usize = 64 << 20;

/// The buffer at first, bytes.
const FIRST: usize = 1 << 18;

/// The lines of a text.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// What is filled and not given yet.
    start: usize,
    end: usize,
    /// Where to go on looking for the end of the line.
    searched: usize,
    longest: usize,
}

/// A line.
pub(crate) enum Line<'a> {
    /// Without what ends it, and whether anything does.
    Whole(&'a [u8], bool),
    /// One of so many bytes, which is too long.
    TooLong(u64),
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::limited(input, FIRST, LONGEST)
    }

    fn limited(input: R, first: usize, longest: usize) -> Self {
        Self { input, buffer: vec![0; first.max(1)], start: 0, end: 0, searched: 0, longest }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    ///
    /// As those of the input; what was read of the line before is lost.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let found = self.buffer.get(self.searched..self.end).and_then(|rest| memchr::memchr(b'\n', rest));
            if let Some(length) = found {
                let (from, to) = (self.start, self.searched + length);
                self.start = to + 1;
                self.searched = self.start;
                if to - from > self.longest {
                    return Ok(Some(Line::TooLong((to - from) as u64)));
                }
                return Ok(Some(Line::Whole(self.buffer.get(from..to).unwrap_or_default(), true)));
            }
            self.searched = self.end;
            if self.end - self.start > self.longest {
                return self.discard().map(|length| Some(Line::TooLong(length)));
            }
            self.make_room();
            if self.fill()? == 0 {
                let (from, to) = (self.start, self.end);
                self.start = to;
                self.searched = to;
                return Ok((from < to).then(|| Line::Whole(self.buffer.get(from..to).unwrap_or_default(), false)));
            }
        }
    }

    /// Moves what is not given yet to the front, and makes the buffer longer where that leaves no room.
    fn make_room(&mut self) {
        if self.end < self.buffer.len() {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.searched -= self.start;
        self.start = 0;
        if self.end > self.buffer.len() / 2 {
            self.buffer.resize((2 * self.buffer.len()).min(self.longest + FIRST), 0);
        }
    }

    /// Reads what there is room for; 0 at the end.
    fn fill(&mut self) -> io::Result<usize> {
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.input.read(room) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads to the end of a line without keeping it; returns its length.
    fn discard(&mut self) -> io::Result<u64> {
        let mut length = (self.end - self.start) as u64;
        loop {
            (self.start, self.end, self.searched) = (0, 0, 0);
            if self.fill()? == 0 {
                return Ok(length);
            }
            let read = self.buffer.get(..self.end).unwrap_or_default();
            match memchr::memchr(b'\n', read) {
                Some(at) => {
                    self.start = at + 1;
                    self.searched = self.start;
                    return Ok(length + at as u64);
                }
                None => length += self.end as u64,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An input that gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(out.len()).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn lines(text: &[u8], step: usize, first: usize, longest: usize) -> Vec<String> {
        let mut lines = Lines::limited(Slow(text, step), first, longest);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Whole(line, ended) => {
                    format!("{}{}", String::from_utf8_lossy(line), if ended { "." } else { "" })
                }
                Line::TooLong(length) => format!("<{length}>"),
            });
        }
        assert!(lines.buffer.len() <= longest + FIRST);
        all
    }

    #[test]
    fn lines_are_found_in_whatever_pieces_they_come() {
        for step in 1..9 {
            for first in [1, 2, 3, 64] {
                assert_eq!(lines(b"one\n\ntwo\nthree", step, first, 100), ["one.", ".", "two.", "three"]);
                assert_eq!(lines(b"one\n", step, first, 100), ["one."]);
                assert!(lines(b"", step, first, 100).is_empty());
            }
        }
    }

    #[test]
    fn lines_beyond_the_limit_are_left_out() {
        let long = [vec![b'a'; 1 << 20], b"\nshort\n".to_vec(), vec![b'b'; 1 << 20]].concat();
        for step in [1000, 4096, 1 << 20] {
            assert_eq!(lines(&long, step, 16, 5000), ["<1048576>", "short.", "<1048576>"]);
        }
        assert_eq!(lines(b"four\nfive!\n", 3, 1, 4), ["four.", "<5>"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[ab\n]{0,200}", step in 1usize..50, first in 1usize..50) {
            let ended: Vec<String> = text.split_inclusive('\n').map(|line| line.replace('\n', ".")).collect();
            prop_assert_eq!(lines(text.as_bytes(), step, first, 1000), ended);
        }
    }
}
