//! Lines of bounded length from whoever writes them.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

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

/// Reads lines of at most so many bytes.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    most: usize,
    line: Vec<u8>,
    /// Bytes of a line that is too long and has been passed over so far.
    passed: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R, most: usize) -> Self {
        Self { reader: BufReader::with_capacity(64 << 10, reader), most, line: Vec::new(), passed: 0 }
    }

    /// Whether the next line is here already.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next line. A time limit of the reader counts from the beginning of a line on; between lines it may wait as long as it
    /// likes.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        if self.line.capacity() > KEPT {
            self.line = Vec::new();
        }
        self.line.clear();
        loop {
            if self.passed > 0 {
                return self.pass();
            }
            // One byte more for the end of the line.
            let room = (self.most + 1 - self.line.len()) as u64;
            match self.reader.by_ref().take(room).read_until(b'\n', &mut self.line) {
                Ok(_) if self.line.last() == Some(&b'\n') => {
                    self.line.pop();
                    return Ok(Next::Line(&self.line));
                }
                Ok(_) if self.line.len() > self.most => {
                    self.passed = self.line.len() as u64;
                    self.line.clear();
                }
                // Whoever is gone in the middle of a line has not asked.
                Ok(_) => return Ok(Next::End),
                Err(e) if is_timeout(&e) && self.line.is_empty() => {}
                Err(e) if is_timeout(&e) => return Ok(Next::Stalled),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Passes over the rest of a line.
    fn pass(&mut self) -> io::Result<Next<'_>> {
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok([]) => return Ok(Next::End),
                Ok(bytes) => bytes,
                Err(e) if is_timeout(&e) => return Ok(Next::Stalled),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            // Whether it is there at all is told much faster than where.
            let end = bytes.contains(&b'\n').then(|| bytes.iter().position(|&byte| byte == b'\n')).flatten();
            let passed = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(passed);
            self.passed += passed as u64;
            if end.is_some() {
                return Ok(Next::TooLong(std::mem::take(&mut self.passed) - 1));
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its pieces one by one, and a timeout for an empty one.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
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

    fn all(pieces: &[&'static [u8]]) -> Vec<String> {
        let mut lines = Lines::new(Pieces(pieces.to_vec()), 4);
        let mut found = Vec::new();
        loop {
            let next = lines.next().unwrap();
            found.push(match next {
                Next::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Next::TooLong(bytes) => format!("long {bytes}"),
                Next::Stalled => "stalled".to_owned(),
                Next::End => return found,
            });
        }
    }

    #[test]
    fn lines_are_whole_and_bounded() {
        assert_eq!(all(&[b"a\nbcde\n\n", b"x", b"y\nz"]), ["a", "bcde", "", "xy"]);
        assert_eq!(all(&[b"abcde\nok\n"]), ["long 5", "ok"]);
        assert_eq!(all(&[b"abcdefgh", b"ijk", b"\nok\n"]), ["long 11", "ok"]);
        assert_eq!(all(&[b"abcdefgh"]), [""; 0]);
    }

    #[test]
    fn waiting_is_allowed_between_lines_and_not_within() {
        assert_eq!(all(&[b"", b"ok\n", b"", b"", b"ok\n"]), ["ok", "ok"]);
        assert_eq!(all(&[b"ok\no", b"", b"k\n"]), ["ok", "stalled", "k"]);
        assert_eq!(all(&[b"abcdefg", b"", b"\nok\n"])[0], "stalled");
    }
}
