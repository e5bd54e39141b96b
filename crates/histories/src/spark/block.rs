//! The two framings that Spark's compression brings and no library reads: blocks of lz4-java and of snappy-java.
//!
//! Both are streams of blocks with their lengths before them. A block is unpacked as a whole, so that its length is limited: a file that
//! claims longer ones is damaged, or made to use up memory.

use super::codec::read_full;
use std::io::{self, ErrorKind, Read};

/// What each block of lz4-java begins with.
pub(super) const LZ4_MAGIC: &[u8] = b"LZ4Block";

/// What a stream of snappy-java begins with.
pub(super) const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";

/// Longest block of lz4-java, bytes.
const LONGEST_LZ4: usize = 1 << 25;

/// Longest block of snappy-java that is read, bytes. Spark's are of 32 KiB.
const LONGEST_SNAPPY: usize = 1 << 26;

/// Seed of the checksums of lz4-java.
const SEED: u32 = 0x9747_b28c;

fn damaged(problem: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.into())
}

fn cut() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it ends within a block")
}

/// A block that was unpacked, and how much of it was read.
#[derive(Default)]
struct Unpacked {
    bytes: Vec<u8>,
    read: usize,
}

impl Unpacked {
    fn read(&mut self, out: &mut [u8]) -> usize {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let n = rest.len().min(out.len());
        if let (Some(out), Some(rest)) = (out.get_mut(..n), rest.get(..n)) {
            out.copy_from_slice(rest);
        }
        self.read += n;
        n
    }

    fn is_read(&self) -> bool {
        self.read >= self.bytes.len()
    }
}

/// Fills the buffer with so many bytes.
fn take(input: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    buffer.resize(length, 0);
    if read_full(input, buffer)? < length { Err(cut()) } else { Ok(()) }
}

/// Four bytes at a place of a header.
fn word(header: &[u8], at: usize) -> [u8; 4] {
    header.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or_default()
}

/// Reads `LZ4BlockOutputStream` of lz4-java: blocks of magic, token (method and level), packed and unpacked length and checksum, the numbers
/// little-endian. An empty block ends a stream, after which another one may follow.
pub(super) struct Lz4Blocks<R> {
    input: R,
    packed: Vec<u8>,
    unpacked: Unpacked,
}

impl<R: Read> Lz4Blocks<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, packed: Vec::new(), unpacked: Unpacked::default() }
    }

    /// Unpacks the next block; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        let mut header = [0; 21];
        match read_full(&mut self.input, &mut header)? {
            0 => return Ok(false),
            21 => {}
            _ => return Err(cut()),
        }
        if !header.starts_with(LZ4_MAGIC) {
            return Err(damaged("a block does not begin with `LZ4Block`"));
        }
        let [_, _, _, _, _, _, _, _, token, ..] = header;
        let [packed, length, checksum] = [9, 13, 17].map(|at| u32::from_le_bytes(word(&header, at)));
        let longest = 1usize << (10 + (token & 0x0f));
        if length as usize > longest || packed as usize > lz4_bound(longest) {
            return Err(damaged(format!(
                "a block claims {length} bytes of {packed}, where its header allows {longest}"
            )));
        }
        let unpacked = &mut self.unpacked;
        unpacked.read = 0;
        match token & 0xf0 {
            0x10 if packed == length => take(&mut self.input, &mut unpacked.bytes, length as usize)?,
            0x20 => {
                take(&mut self.input, &mut self.packed, packed as usize)?;
                unpacked.bytes.resize(length as usize, 0);
                // `length` is at most 32 MiB.
                let size = i32::try_from(length).ok();
                let got = lz4::block::decompress_to_buffer(&self.packed, size, &mut unpacked.bytes);
                if got.map_err(|_| damaged("a block cannot be unpacked"))? != length as usize {
                    return Err(damaged("a block has another length than it claims"));
                }
            }
            method => return Err(damaged(format!("a block is packed by a method {method:#x}"))),
        }
        // lz4-java keeps 28 bits.
        if length > 0 && (xxhash_rust::xxh32::xxh32(&unpacked.bytes, SEED) ^ checksum) & 0x0fff_ffff != 0 {
            return Err(damaged("a block has another checksum than it claims"));
        }
        Ok(true)
    }
}

/// Most bytes that lz4 makes of so many.
fn lz4_bound(length: usize) -> usize {
    length.min(LONGEST_LZ4) + length.min(LONGEST_LZ4) / 255 + 16
}

impl<R: Read> Read for Lz4Blocks<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.unpacked.is_read() && !out.is_empty() {
            if !self.next()? {
                return Ok(0);
            }
        }
        Ok(self.unpacked.read(out))
    }
}

/// Reads `SnappyOutputStream` of snappy-java: a header of magic, version and compatible version, then blocks of raw snappy, each after its
/// packed length, the numbers big-endian. Another stream may follow, with its own header.
pub(super) struct SnappyBlocks<R> {
    input: R,
    packed: Vec<u8>,
    unpacked: Unpacked,
}

impl<R: Read> SnappyBlocks<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, packed: Vec::new(), unpacked: Unpacked::default() }
    }

    /// Unpacks the next block, or reads a header; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        let mut length = [0; 4];
        match read_full(&mut self.input, &mut length)? {
            0 => return Ok(false),
            4 => {}
            _ => return Err(cut()),
        }
        self.unpacked.bytes.clear();
        self.unpacked.read = 0;
        if SNAPPY_MAGIC.starts_with(&length) {
            take(&mut self.input, &mut self.packed, 12)?;
            let magic = word(&self.packed, 0);
            let compatible = u32::from_be_bytes(word(&self.packed, 8));
            if !SNAPPY_MAGIC.ends_with(&magic) {
                return Err(damaged("a stream does not begin with `SNAPPY`"));
            }
            if compatible > 1 {
                return Err(damaged(format!("a stream needs version {compatible} of snappy-java's format; 1 is read")));
            }
            return Ok(true);
        }
        let packed = u32::from_be_bytes(length) as usize;
        if packed > LONGEST_SNAPPY {
            return Err(damaged(format!("a block claims {packed} packed bytes; at most {LONGEST_SNAPPY} are read")));
        }
        take(&mut self.input, &mut self.packed, packed)?;
        let length = snap::raw::decompress_len(&self.packed).map_err(|error| damaged(error.to_string()))?;
        if length > LONGEST_SNAPPY {
            return Err(damaged(format!("a block claims {length} bytes; at most {LONGEST_SNAPPY} are read")));
        }
        self.unpacked.bytes.resize(length, 0);
        let unpacked = snap::raw::Decoder::new().decompress(&self.packed, &mut self.unpacked.bytes);
        unpacked.map_err(|error| damaged(error.to_string()))?;
        Ok(true)
    }
}

impl<R: Read> Read for SnappyBlocks<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.unpacked.is_read() && !out.is_empty() {
            if !self.next()? {
                return Ok(0);
            }
        }
        Ok(self.unpacked.read(out))
    }
}
