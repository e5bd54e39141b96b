//! How is a log packed?
//!
//! Spark appends the name of its codec to that of a file, but files get renamed, so that the first bytes decide where they can.

use super::block::{Lz4Blocks, SnappyBlocks};
use crate::HistoryError;
use flate2::bufread::MultiGzDecoder;
use std::{
    io::{self, BufReader, Cursor, ErrorKind, Read},
    path::Path,
};

/// Bytes that are read from a file at a time.
const CHUNK: usize = 1 << 18;

/// Bytes that tell how a file is packed.
const HEAD: usize = 16;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    /// Frames of Zstandard one after another, as `ZStdCompressionCodec` writes them.
    Zstd,
    /// Members of gzip one after another: Databricks.
    Gzip,
    /// The framing of lz4-java, as `LZ4CompressionCodec` writes it.
    Lz4,
    /// The framing of snappy-java, as `SnappyCompressionCodec` writes it.
    Snappy,
}

/// Begins of files that are not read, what they are, and what to do.
const REFUSED: [(&[u8], &str, &str); 6] = [
    (b"ZV", "lzf", LZF),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4 frames", "Spark's own lz4 logs have another framing; unpack it with `lz4 -d`"),
    (b"\xff\x06\x00\x00sNaPpY", "framed snappy", "Spark's own snappy logs have another framing; unpack it first"),
    (b"PK\x03\x04", "zip", "the history server packs logs so; unpack it and give what is in it"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "unpack it with `xz -d`"),
    (b"BZh", "bzip2", "unpack it with `bzip2 -d`"),
];

const LZF: &str = "set spark.eventLog.compression.codec to zstd, or unpack it first";

/// What a file says, unpacked while it is read.
///
/// # Errors
///
/// A file that cannot be read, or is packed in a way that is not read.
pub(super) fn unpacked<'a>(path: &Path, mut file: impl Read + 'a) -> Result<Box<dyn Read + 'a>, HistoryError> {
    let io = |source| HistoryError::Io { path: path.to_owned(), source };
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(io)?;
    let packing = packing(path, &head)?;
    let whole = BufReader::with_capacity(CHUNK, Cursor::new(head).chain(file));
    Ok(match packing {
        Packing::Plain => Box::new(whole),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(whole).map_err(io)?),
        Packing::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Packing::Lz4 => Box::new(Lz4Blocks::new(whole)),
        Packing::Snappy => Box::new(SnappyBlocks::new(whole)),
    })
}

/// How a file is packed that begins so.
fn packing(path: &Path, head: &[u8]) -> Result<Packing, HistoryError> {
    let is = |start: &[u8]| head.starts_with(start);
    match () {
        () if is(&[0x28, 0xb5, 0x2f, 0xfd]) => return Ok(Packing::Zstd),
        () if is(&[0x1f, 0x8b]) => return Ok(Packing::Gzip),
        () if is(super::block::LZ4_MAGIC) => return Ok(Packing::Lz4),
        () if is(super::block::SNAPPY_MAGIC) => return Ok(Packing::Snappy),
        // Spark's logs begin with a brace: whatever their name says, they are not packed.
        () if head.trim_ascii_start().first() == Some(&b'{') => return Ok(Packing::Plain),
        () => {}
    }
    let refused = |packing, advice| HistoryError::Packing { path: path.to_owned(), packing, advice };
    if let Some((_, packing, advice)) = REFUSED.iter().find(|(start, ..)| is(start)) {
        return Err(refused(packing, advice));
    }
    // An empty file is empty, however it would have been packed.
    let name = path.file_name().filter(|_| !head.is_empty()).and_then(|name| name.to_str()).unwrap_or_default();
    // What Spark adds to the name after that of the codec.
    let name = [".inprogress", ".compact"].iter().fold(name, |name, state| name.strip_suffix(state).unwrap_or(name));
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "zstd" | "zst" => Ok(Packing::Zstd),
        "gz" => Ok(Packing::Gzip),
        "lz4" => Ok(Packing::Lz4),
        "snappy" => Ok(Packing::Snappy),
        "lzf" => Err(refused("lzf", LZF)),
        _ => Ok(Packing::Plain),
    }
}

/// Reads until the buffer is full or there is no more; returns how much was read.
pub(super) fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, head: &[u8]) -> Result<Packing, String> {
        packing(Path::new(name), head).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_bytes_decide_then_the_name() {
        assert_eq!(of("app-1", b"{\"Event\":"), Ok(Packing::Plain));
        assert_eq!(of("app-1.zstd", b"{\"Event\":"), Ok(Packing::Plain));
        assert_eq!(of("app-1", &[0x28, 0xb5, 0x2f, 0xfd, 0]), Ok(Packing::Zstd));
        assert_eq!(of("eventlog-2024.gz", &[0x1f, 0x8b, 8]), Ok(Packing::Gzip));
        assert_eq!(of("app-1.zstd", b"LZ4Block\x25"), Ok(Packing::Lz4));
        assert_eq!(of("app-1", b"\x82SNAPPY\0\0\0\0\x01"), Ok(Packing::Snappy));
        assert_eq!(of("app-1.lz4", b"LZ4B"), Ok(Packing::Lz4));
        assert_eq!(of("events_1_app-1.snappy.compact", b"?"), Ok(Packing::Snappy));
        assert_eq!(of("app-1.lz4", b""), Ok(Packing::Plain));
        assert_eq!(of("app-1", b"hello"), Ok(Packing::Plain));
    }

    #[test]
    fn what_is_not_read_is_refused_with_advice() {
        for (name, head, says) in [
            ("app-1.lzf", &b"ZV\x01\0\0"[..], "packed as lzf, which is not read: set spark.eventLog.compression.codec"),
            ("app-1.lzf", b"??", "packed as lzf"),
            ("app-1.lz4", &[0x04, 0x22, 0x4d, 0x18, 0x64], "lz4 -d"),
            ("app-1.zip", b"PK\x03\x04", "history server"),
        ] {
            let message = of(name, head).unwrap_err();
            assert!(message.contains(name) && message.contains(says), "{message}");
        }
    }
}
