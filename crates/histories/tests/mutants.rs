//! Damaged logs: whatever is in a file, it is read to its end or refused, and what is made of it is sound.

mod support;

use proptest::prelude::*;
use std::io::Write;
use support::{
    adaptive, cases,
    changes::{changed, changes},
    checks::check,
};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes everything")
}

fn blocks(text: &[u8], is_lz4: bool) -> Vec<u8> {
    let mut out = if is_lz4 { Vec::new() } else { b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec() };
    for part in text.chunks(700) {
        if is_lz4 {
            let packed = lz4::block::compress(part, None, false).expect("memory takes everything");
            out.extend_from_slice(b"LZ4Block\x20");
            let checksum = xxhash_rust::xxh32::xxh32(part, 0x9747_b28c);
            for word in [packed.len() as u32, part.len() as u32, checksum] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(&packed);
        } else {
            let packed = snap::raw::Encoder::new().compress_vec(part).expect("memory takes everything");
            out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
            out.extend_from_slice(&packed);
        }
    }
    out
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn changed_logs_are_read_or_refused(changes in changes()) {
        check(&changed(adaptive().into_bytes(), &changes), "log")?;
    }

    #[test]
    fn changed_packed_logs_are_read_or_refused(changes in changes(), packing in 0..4) {
        let text = adaptive();
        let packed = match packing {
            0 => zstd::encode_all(text.as_bytes(), 1).expect("memory takes everything"),
            1 => gzip(text.as_bytes()),
            other => blocks(text.as_bytes(), other == 2),
        };
        check(&changed(packed, &changes), "log")?;
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), name in 0..5usize) {
        check(&bytes, ["log", "log.zstd", "log.gz", "log.lz4", "log.snappy"][name])?;
    }
}
