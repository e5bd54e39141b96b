//! Lines of bounded length, in bounded time, from whoever writes them.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read},
    time::{Duration, Instant},
};

/// Bytes of memory that stay with a connection between lines.
const KEPT: usize = 256 << 10;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line of so many bytes, which were not kept.
    TooLong(u64),
    /// Nobody writes any more.
    End,
    /// The rest of a line did not come in time.
    Stalled,
}

/// Reads lines.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    /// Longest line, bytes.
    most: usize,
    /// How long a line may take from its first byte on; between lines one may be silent as long as one likes.
    patience: Duration,
    /// Whether a last line counts that has no end: one of a file does, one of a client that is gone does not.
    last: bool,
    line: Vec<u8>,
    /// Since when the next line is awaited, if it may not keep one waiting.
    awaited: Option<Instant>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R, most: usize, patience: Duration, last: bool) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            most,
            patience,
            last,
            line: Vec::new(),
            awaited: None,
        }
    }

    /// The next line's time runs from now on, and not from its first byte on.
    pub(super) fn hurry(&mut self) {
        self.awaited = Some(Instant::now());
    }

    /// Whether the next line is here already.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next line. A reader that gives up now and then (a timeout) is asked again.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        if self.line.capacity() > KEPT {
            self.line = Vec::new();
        }
        self.line.clear();
        let (mut length, mut began) = (0u64, self.awaited.take());
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok([]) => {
                    return Ok(match self.last && length > 0 && length <= self.most as u64 {
                        true => Next::Line(&self.line),
                        false => Next::End,
                    });
                }
                Ok(bytes) => bytes,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    match began.is_some_and(|began| began.elapsed() >= self.patience) {
                        true => return Ok(Next::Stalled),
                        false => continue,
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            // Whether it is there at all is told much faster than where.
            let end = bytes.contains(&b'\n').then(|| bytes.iter().position(|&byte| byte == b'\n')).flatten();
            let part = end.unwrap_or(bytes.len());
            length += part as u64;
            if length <= self.most as u64 {
                self.line.extend_from_slice(&bytes[..part]);
            }
            self.reader.consume(part + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(match length <= self.most as u64 {
                    true => Next::Line(&self.line),
                    false => Next::TooLong(length),
                });
            }
            if began.get_or_insert_with(Instant::now).elapsed() >= self.patience {
                return Ok(Next::Stalled);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its pieces one by one, and a timeout for an empty one.
    struct Pieces(Vec<&'static [u8]>, Duration);

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(self.1);
            match self.0.first() {
                None => Ok(0),
                Some([]) => {
                    self.0.remove(0);
                    Err(ErrorKind::WouldBlock.into())
                }
                Some(piece) => {
                    let n = piece.len().min(out.len());
                    out[..n].copy_from_slice(&piece[..n]);
                    self.0[0] = &piece[n..];
                    if self.0[0].is_empty() {
                        self.0.remove(0);
                    }
                    Ok(n)
                }
            }
        }
    }

    fn lines(pieces: &[&'static [u8]], delay: u64, patience: u64, last: bool) -> Vec<String> {
        let reader = Pieces(pieces.to_vec(), Duration::from_millis(delay));
        let mut lines = Lines::new(reader, 4, Duration::from_millis(patience), last);
        let mut found = Vec::new();
        loop {
            let next = lines.next().unwrap();
            found.push(match next {
                Next::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Next::TooLong(bytes) => format!("long {bytes}"),
                Next::Stalled => "stalled".to_owned(),
                Next::End => return found,
            });
            if found.len() > 20 || found.last().is_some_and(|f| f == "stalled") {
                return found;
            }
        }
    }

    #[test]
    fn lines_are_whole_and_bounded() {
        let all = |pieces: &[&'static [u8]]| lines(pieces, 0, 60_000, false);
        assert_eq!(all(&[b"a\nbcde\n\n", b"x", b"y\nz"]), ["a", "bcde", "", "xy"]);
        assert_eq!(all(&[b"abcde\nok\n"]), ["long 5", "ok"]);
        assert_eq!(all(&[b"abcdefgh", b"ijk", b"\nok\n"]), ["long 11", "ok"]);
        assert_eq!(all(&[b"abcdefgh"]), [""; 0]);
    }

    #[test]
    fn the_last_line_of_a_file_needs_no_end() {
        let all = |pieces: &[&'static [u8]]| lines(pieces, 0, 60_000, true);
        assert_eq!(all(&[b"a\nb"]), ["a", "b"]);
        assert_eq!((all(&[b"a\n"]), all(&[b"abcdefgh"])), (vec!["a".to_owned()], Vec::new()));
    }

    #[test]
    fn waiting_is_allowed_between_lines_and_not_within() {
        assert_eq!(lines(&[b"", b"ok\n", b"", b"", b"ok\n"], 0, 0, false), ["ok", "ok"]);
        assert_eq!(lines(&[b"ok\no", b"", b"k\n"], 0, 60_000, false), ["ok", "ok"]);
        assert_eq!(lines(&[b"ok\n", b"o", b"", b"k\n"], 0, 0, false), ["ok", "stalled"]);
        // Nor is a line that comes byte by byte without end.
        assert_eq!(lines(&[b"a", b"b", b"c", b"d", b"e", b"f", b"\n"], 10, 25, false), ["stalled"]);
    }
    #[test]
    fn a_line_that_may_not_keep_one_waiting_has_to_begin_in_time() {
        let reader = Pieces(vec![b"", b"", b"ok\n"], Duration::ZERO);
        let mut late = Lines::new(reader, 4, Duration::ZERO, false);
        late.hurry();
        assert_eq!(late.next().unwrap(), Next::Stalled);
        // The one after it may.
        assert_eq!(late.next().unwrap(), Next::Line(b"ok"));
    }
}
