//! The text of a file, plain or compressed.

use super::WorkloadError;
use flate2::{
    Compression,
    read::{GzEncoder, MultiGzDecoder},
};
use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

/// Most bytes of text that a workload may have: what is read from it takes several times as much memory.
pub const MOST_TEXT_BYTES: u64 = 128 << 20;

/// Reads a text file, without the byte-order mark that it may begin with. One that is compressed with gzip, in however many members, is unpacked.
///
/// # Errors
///
/// A file that cannot be read, is no text, or has more than 128 MiB when it is unpacked.
pub fn read_text(path: &Path) -> Result<String, WorkloadError> {
    let io = |source| WorkloadError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut head = Vec::new();
    (&mut file).take(2).read_to_end(&mut head).map_err(io)?;
    let is_packed = head == [0x1f, 0x8b];
    let whole = head.as_slice().chain(file);
    let mut bytes = Vec::new();
    let read = match is_packed {
        true => MultiGzDecoder::new(whole).take(MOST_TEXT_BYTES + 1).read_to_end(&mut bytes),
        false => whole.take(MOST_TEXT_BYTES + 1).read_to_end(&mut bytes),
    };
    read.map_err(io)?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    if bytes.len() as u64 > MOST_TEXT_BYTES {
        let unpacked = if is_packed { " when it is unpacked" } else { "" };
        return Err(format(format!(
            "has more than {} MiB of text{unpacked}, which is the most allowed",
            MOST_TEXT_BYTES >> 20
        )));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        io(std::io::Error::new(ErrorKind::InvalidData, format!("it is no UTF-8 text: byte {at}")))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// Text packed with gzip.
#[must_use]
pub fn pack_text(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(text, Compression::default());
    let mut bytes = Vec::new();
    // It is read from memory, which always can be.
    let _ = packed.read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    fn packed(text: &[u8]) -> Vec<u8> {
        pack_text(text)
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
