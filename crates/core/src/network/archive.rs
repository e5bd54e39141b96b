//! Zip archives whose entries are stored, not compressed: what `torch.save` writes.
//!
//! Entries are slices of the file. Sizes come from the central directory (PyTorch leaves them out of the local headers),
//! every one is checked against the file, and so are the checksums. Not read: compressed or encrypted entries, and archives
//! that need zip64 (4 GiB or 65,535 entries); small archives that merely carry zip64 records, as PyTorch's do, are fine.

use std::collections::BTreeMap;

/// The entries of an archive by name.
pub(super) struct Archive<'a> {
    /// Content of each entry.
    pub(super) entries: BTreeMap<&'a str, &'a [u8]>,
    /// Length of the whole file, bytes.
    pub(super) file_len: usize,
}

const END_LEN: usize = 22;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: usize = 30;

impl<'a> Archive<'a> {
    /// Reads the central directory. The error says what is wrong with the file.
    pub(super) fn open(file: &'a [u8]) -> Result<Self, String> {
        let end = end_record(file).ok_or("zip archive without an end record; the file is cut off")?;
        let (count, offset) = (u16_at(end, 10), u32_at(end, 16));
        if count == u16::MAX || offset == u32::MAX {
            return Err("zip archive of 4 GiB or 65,535 entries or more, which is not read".to_owned());
        }
        let mut entries = BTreeMap::new();
        let mut at = offset as usize;
        for i in 0..count {
            let damaged = || format!("zip entry {i} of {count} is damaged or cut off");
            let head = slice(file, at, CENTRAL_LEN).filter(|h| h.starts_with(b"PK\x01\x02")).ok_or_else(damaged)?;
            let name_len = usize::from(u16_at(head, 28));
            let name = slice(file, at + CENTRAL_LEN, name_len).ok_or_else(damaged)?;
            let name = str::from_utf8(name).map_err(|_| damaged())?;
            let content = content(file, head).map_err(|reason| format!("zip entry `{name}` {reason}"))?;
            if entries.insert(name, content).is_some() {
                return Err(format!("zip entry `{name}` appears twice"));
            }
            at += CENTRAL_LEN + name_len + usize::from(u16_at(head, 30)) + usize::from(u16_at(head, 32));
        }
        Ok(Self { entries, file_len: file.len() })
    }
}

/// The end record: the last one whose comment reaches exactly to the end of the file.
fn end_record(file: &[u8]) -> Option<&[u8]> {
    let last = file.len().checked_sub(END_LEN)?;
    (last.saturating_sub(usize::from(u16::MAX))..=last)
        .rev()
        .map(|at| &file[at..])
        .find(|end| end.starts_with(b"PK\x05\x06") && usize::from(u16_at(end, 20)) == end.len() - END_LEN)
}

/// The content that a central directory record points to.
fn content<'a>(file: &'a [u8], head: &[u8]) -> Result<&'a [u8], &'static str> {
    let (flags, method, packed, size) = (u16_at(head, 8), u16_at(head, 10), u32_at(head, 20), u32_at(head, 24));
    if flags & 1 != 0 {
        return Err("is encrypted");
    }
    if method != 0 {
        return Err("is compressed; only stored entries, as written by `torch.save`, are read");
    }
    if packed != size {
        return Err("has two different sizes");
    }
    let at = u32_at(head, 42) as usize;
    let local = slice(file, at, LOCAL_LEN)
        .filter(|l| l.starts_with(b"PK\x03\x04"))
        .ok_or("has no local header where the directory says")?;
    let start = at + LOCAL_LEN + usize::from(u16_at(local, 26)) + usize::from(u16_at(local, 28));
    let content = slice(file, start, size as usize).ok_or("reaches past the end of the file")?;
    let mut crc = flate2::Crc::new();
    crc.update(content);
    if crc.sum() != u32_at(head, 16) {
        return Err("does not match its checksum");
    }
    Ok(content)
}

fn slice(file: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    file.get(at..at.checked_add(len)?)
}

/// Reads a field of a header whose length is already checked.
fn u16_at(header: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

/// Reads a field of a header whose length is already checked.
fn u32_at(header: &[u8], at: usize) -> u32 {
    u32::from(u16_at(header, at)) | u32::from(u16_at(header, at + 2)) << 16
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A stored zip archive, as `torch.save` lays it out: sizes only in the directory, content padded with extra bytes.
    pub(in crate::network) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut file, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in entries {
            let mut crc = flate2::Crc::new();
            crc.update(content);
            let (at, size) = (file.len() as u32, (content.len() as u32).to_le_bytes());
            file.extend_from_slice(b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0");
            file.extend_from_slice(&[0; 12]);
            file.extend_from_slice(&(name.len() as u16).to_le_bytes());
            file.extend_from_slice(&5u16.to_le_bytes());
            file.extend_from_slice(name.as_bytes());
            file.extend_from_slice(b"ZZZZZ");
            file.extend_from_slice(content);
            directory.extend_from_slice(b"PK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0");
            directory.extend_from_slice(&crc.sum().to_le_bytes());
            directory.extend_from_slice(&size);
            directory.extend_from_slice(&size);
            directory.extend_from_slice(&(name.len() as u16).to_le_bytes());
            directory.extend_from_slice(&[0; 12]);
            directory.extend_from_slice(&at.to_le_bytes());
            directory.extend_from_slice(name.as_bytes());
        }
        let at = (file.len() as u32).to_le_bytes();
        file.extend_from_slice(&directory);
        file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        file.extend_from_slice(&[(entries.len() as u16).to_le_bytes(); 2].concat());
        file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        file.extend_from_slice(&at);
        file.extend_from_slice(&[0; 2]);
        file
    }

    fn error(file: &[u8]) -> String {
        Archive::open(file).err().unwrap_or_default()
    }

    #[test]
    fn stored_entries_are_found_behind_padding() -> Result<(), String> {
        let file = zip(&[("a", b"one"), ("b/c", b""), ("b/d", b"three")]);
        let archive = Archive::open(&file)?;
        let found: Vec<_> = archive.entries.into_iter().collect();
        assert_eq!(found, [("a", &b"one"[..]), ("b/c", b""), ("b/d", b"three")]);
        Ok(())
    }

    #[test]
    fn damaged_compressed_and_doubled_entries_are_refused() {
        let good = zip(&[("a", b"one")]);
        let directory = good.len() - END_LEN - CENTRAL_LEN - 1;
        let change = |at: usize, byte: u8| {
            let mut file = good.clone();
            file[at] = byte;
            error(&file)
        };
        assert_eq!(change(LOCAL_LEN + 1 + 5, b'0'), "zip entry `a` does not match its checksum");
        assert!(change(directory + 10, 8).contains("is compressed"));
        assert!(change(directory + 8, 9).contains("is encrypted"));
        assert!(change(directory + 24, 4).contains("two different sizes"));
        assert!(change(directory + 43, 1).contains("no local header"));
        assert!(error(&zip(&[("a", b"one"), ("a", b"two")])).contains("twice"));
    }
}
