//! How far is a file read, and what is its next line?

use crate::{
    HistoryError,
    lines::{LONGEST, Line, Lines},
};
use flate2::bufread::MultiGzDecoder;
use std::{
    borrow::Cow,
    cell::Cell,
    fs::{self, File},
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

/// Told how far reading is: bytes of the files that were read, packed as they are, and bytes that there are.
pub type Progress<'a> = dyn FnMut(u64, u64) + 'a;

/// Bytes between two calls of [`Progress`], at least.
pub(crate) const STEP: u64 = 1 << 20;

/// Bytes at the begin of a file that tell what it is.
const HEAD: u64 = 1 << 16;

/// The mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Begins of files that are packed in a way that is not read, and what to do.
const REFUSED: [(&[u8], &str, &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "unpack it with `zstd -d`"),
    (b"PK\x03\x04", "zip", "unpack it and give what is in it"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "unpack it with `xz -d`"),
    (b"BZh", "bzip2", "unpack it with `bzip2 -d`"),
];

/// An input that counts what is read of it.
pub(crate) struct Counted<'a, R> {
    pub(crate) input: R,
    pub(crate) read: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

/// What a file says, unpacked if it is packed with gzip, and how many bytes it has as it is.
///
/// # Errors
///
/// A file that cannot be read, or is packed in another way.
pub(crate) fn open<'a>(path: &Path, read: &'a Cell<u64>) -> Result<(Box<dyn Read + 'a>, u64), HistoryError> {
    let io = |source| HistoryError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let total = fs::metadata(path).map_or(0, |meta| meta.len());
    let mut file = Counted { input: file, read };
    let mut head = Vec::new();
    (&mut file).take(8).read_to_end(&mut head).map_err(io)?;
    if let Some((_, packing, advice)) = REFUSED.iter().find(|(start, ..)| head.starts_with(start)) {
        return Err(HistoryError::Packing { path: path.to_owned(), packing, advice });
    }
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let whole = BufReader::with_capacity(1 << 18, Cursor::new(head).chain(file));
    Ok((if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) }, total))
}

/// An input without the mark of UTF-8 that some programs begin a text with.
pub(crate) fn unmarked<'a>(mut input: impl Read + 'a) -> impl Read + 'a {
    let mut head = Vec::new();
    let failed = (&mut input).take(3).read_to_end(&mut head).err();
    if head == MARK {
        head.clear();
    }
    // A failure comes where it did.
    Cursor::new(head).chain(Failing(failed)).chain(input)
}

/// An input that fails once, or is empty.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The first bytes of a file, unpacked.
///
/// # Errors
///
/// As those of [`open`].
pub(crate) fn head(path: &Path) -> Result<Vec<u8>, HistoryError> {
    let read = Cell::new(0);
    let mut head = Vec::new();
    // Of a file that is damaged within its first bytes, what comes before.
    let _ = open(path, &read)?.0.take(HEAD).read_to_end(&mut head);
    Ok(head)
}

/// The lines of a file.
pub(crate) struct Text<'a, 'p> {
    lines: Lines<Box<dyn Read + 'a>>,
    read: &'a Cell<u64>,
    told: u64,
    total: u64,
    progress: &'a mut Progress<'p>,
    /// Lines that were given.
    number: u64,
    /// Why the file ends early, if it does.
    pub(crate) cut: Option<String>,
}

impl<'a, 'p> Text<'a, 'p> {
    pub(crate) fn open(path: &Path, read: &'a Cell<u64>, progress: &'a mut Progress<'p>) -> Result<Self, HistoryError> {
        let (input, total) = open(path, read)?;
        Ok(Self { lines: Lines::new(input), read, told: 0, total, progress, number: 0, cut: None })
    }

    /// The next line and its number from 1 on, without its end, or how long it is if that is too much; `None` at the end of what can be read.
    pub(crate) fn next(&mut self) -> Option<(u64, Result<Cow<'_, str>, String>)> {
        if self.read.get() - self.told >= STEP {
            self.told = self.read.get();
            (self.progress)(self.told.min(self.total), self.total);
        }
        match self.lines.next() {
            Ok(Some(Line::Whole(line, _))) => {
                self.number += 1;
                let line = if self.number == 1 { without_mark(line) } else { line };
                Some((self.number, Ok(String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))))
            }
            Ok(Some(Line::TooLong(length))) => {
                self.number += 1;
                Some((self.number, Err(format!("has {length} bytes; at most {LONGEST} are read"))))
            }
            Ok(None) => {
                (self.progress)(self.total, self.total);
                None
            }
            Err(error) => {
                self.cut = Some(format!(
                    "the file is cut or damaged after line {}, and read up to there: {error}",
                    self.number
                ));
                (self.progress)(self.total, self.total);
                None
            }
        }
    }
}

/// A text without the mark of UTF-8 that some programs begin it with.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The begin of a line as it can be shown: what would move a cursor is written out.
pub(crate) fn shown(line: &[u8]) -> String {
    let begin = String::from_utf8_lossy(line.get(..60).unwrap_or(line)).into_owned();
    if line.len() > 60 { format!("{begin:?}..") } else { format!("{begin:?}") }
}

/// A text without what would move a cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}
