//! The text of a file, plain or compressed.

use super::WorkloadError;
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use std::{
    fs::File,
    io::{Cursor, ErrorKind, Read, Write},
    path::Path,
};

/// Most bytes of text that a workload may have: what is read from it takes several times as much memory.
pub(super) const MOST_TEXT_BYTES: u64 = 128 << 20;

/// Most bytes of text that a list of jobs may have, which is read as it comes.
pub const MOST_JSON_BYTES: u64 = 512 << 20;

/// Reads a text file, without the byte-order mark that it may begin with. One that is compressed with gzip, in however many members, is unpacked.
///
/// # Errors
///
/// A file that cannot be read, is no text, or has more than 128 MiB when it is unpacked.
pub fn read_text(path: &Path) -> Result<String, WorkloadError> {
    match Text::open(path, MOST_TEXT_BYTES)? {
        Text { begin, rest: None, .. } => Ok(begin),
        Text { rest: Some(_), is_packed, .. } => Err(too_long(path, MOST_TEXT_BYTES, is_packed)),
    }
}

/// A text file: what it begins with, and what follows.
pub(super) struct Text {
    pub(super) begin: String,
    pub(super) rest: Option<Box<dyn Read>>,
    pub(super) is_packed: bool,
}

impl Text {
    /// Reads so many bytes of it.
    pub(super) fn open(path: &Path, most: u64) -> Result<Self, WorkloadError> {
        let io = |source| WorkloadError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let mut head = Vec::new();
        (&mut file).take(2).read_to_end(&mut head).map_err(io)?;
        let is_packed = head == [0x1f, 0x8b];
        let whole = Cursor::new(head).chain(file);
        let mut unpacked: Box<dyn Read> = match is_packed {
            true => Box::new(MultiGzDecoder::new(whole)),
            false => Box::new(whole),
        };
        let mut bytes = Vec::new();
        (&mut unpacked).take(most + 1).read_to_end(&mut bytes).map_err(io)?;
        let mut rest = None;
        if bytes.len() as u64 > most {
            // Where the text is cut a character may be.
            let mut at = bytes.len() - 1;
            while at > 0 && bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
                at -= 1;
            }
            rest = Some(Box::new(Cursor::new(bytes.split_off(at)).chain(unpacked)) as Box<dyn Read>);
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            io(std::io::Error::new(ErrorKind::InvalidData, format!("it is no UTF-8 text: byte {at}")))
        })?;
        let begin = match text.strip_prefix('\u{feff}') {
            Some(text) => text.to_owned(),
            None => text,
        };
        Ok(Self { begin, rest, is_packed })
    }
}

/// What is said of a text that has more than so many bytes.
pub(super) fn too_long(path: &Path, most: u64, is_packed: bool) -> WorkloadError {
    let unpacked = if is_packed { " when it is unpacked" } else { "" };
    let problem = format!("has more than {} MiB of text{unpacked}, which is the most allowed", most >> 20);
    WorkloadError::Format { path: path.to_owned(), problem }
}

/// Packs what is written with gzip, as it is read here; [`GzEncoder::finish`] ends it.
#[must_use]
pub fn packing<W: Write>(out: W) -> GzEncoder<W> {
    GzEncoder::new(out, Compression::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packing = packing(Vec::new());
        packing.write_all(text).unwrap();
        packing.finish().unwrap()
    }

    #[test]
    fn plain_packed_and_several_times_packed_text_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("jobs.json");
        let read = |bytes: &[u8]| -> Result<String, Box<dyn std::error::Error>> {
            std::fs::write(&path, bytes)?;
            Ok(read_text(&path)?)
        };
        assert_eq!(read(b"")?, "");
        assert_eq!(read("{\"ä\": 1}".as_bytes())?, "{\"ä\": 1}");
        assert_eq!(read("\u{feff}{}".as_bytes())?, "{}");
        assert_eq!(read(&packed(b"one, "))?, "one, ");
        assert_eq!(read(&[packed(b"one, "), packed(b"two")].concat())?, "one, two");
        let mut cut = packed(b"one, two, three, four");
        cut.truncate(cut.len() - 9);
        assert!(read(&cut).is_err());
        assert!(read(&[b'a', 0xff]).is_err_and(|e| e.to_string().contains("jobs.json")));
        // 200 MiB of zeros are 200 kB when they are packed.
        let bomb = packed(&vec![0; 200 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert!(read(&bomb).is_err_and(|e| e.to_string().contains("more than 128 MiB")));
        Ok(())
    }
}
