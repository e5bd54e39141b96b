//! Damaged logs: whatever is in a file, it is read to its end or refused, and what is made of it is sound.

mod support;

use proptest::{prelude::*, test_runner::TestCaseError};
use sched_distill_histories::spark::SparkLog;
use std::{fs, io::Write};
use support::adaptive;

/// Reads bytes as a log, makes all of it that can be made, and checks what must hold.
fn check(bytes: &[u8], name: &str) -> Result<(), TestCaseError> {
    let fail = |error: std::io::Error| TestCaseError::fail(error.to_string());
    let dir = tempfile::tempdir().map_err(fail)?;
    let path = dir.path().join(name);
    fs::write(&path, bytes).map_err(fail)?;
    match support::read(&path) {
        Ok(log) => sound(&log),
        Err(error) => {
            let message = support::whole(&error);
            prop_assert!(message.contains(name) && !message.contains(char::is_control), "{message}");
            Ok(())
        }
    }
}

fn sound(log: &SparkLog) -> Result<(), TestCaseError> {
    prop_assert!(log.notes().iter().all(|note| !note.is_empty()));
    for application in &log.applications {
        let (stages, jobs) = (application.stage_totals(), application.job_totals());
        let of_stages: u64 = stages.values().map(|totals| totals.num_tasks).sum();
        prop_assert!(of_stages <= application.tasks.len() as u64);
        prop_assert!(jobs.values().map(|totals| totals.num_tasks).sum::<u64>() <= of_stages);
        prop_assert!(application.executor_changes().is_sorted_by_key(|change| change.time_ms));
        let queries = application.queries();
        prop_assert!(queries.notes().iter().all(|note| !note.is_empty()));
        prop_assert!(queries.matched_stages <= queries.skipped_stages);
        prop_assert!(queries.schedule.is_sorted_by_key(|run| run.launch_ms));
        prop_assert!(queries.schedule.len() + queries.outside_runs <= application.tasks.len());
        for dag in &queries.jobs {
            prop_assert!(!dag.stages.is_empty());
            prop_assert!(dag.stages.is_sorted_by_key(|stage| stage.submission_ms));
            for stage in &dag.stages {
                prop_assert!(stage.num_tasks > 0 && stage.durations.len() == stage.num_tasks as usize);
            }
            let edges = dag.all_edges();
            prop_assert!(edges.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(edges.iter().all(|&[parent, child]| parent < child && (child as usize) < dag.stages.len()));
        }
    }
    Ok(())
}

/// A change of a text.
#[derive(Clone, Debug)]
enum Change {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Drop(prop::sample::Index, usize),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Number(prop::sample::Index, i64),
    Insert(prop::sample::Index, Vec<u8>),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<prop::sample::Index>;
    let number = prop_oneof![Just(-1), Just(0), Just(1), Just(i64::MAX), Just(i64::MIN), Just(4_294_967_295), 0..50i64];
    let one = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        at().prop_map(Change::Cut),
        (at(), 1..40usize).prop_map(|(at, n)| Change::Drop(at, n)),
        at().prop_map(Change::Repeat),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), number.clone()).prop_map(|(at, number)| Change::Number(at, number)),
        (at(), number).prop_map(|(at, number)| Change::Number(at, number)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ];
    prop::collection::vec(one, 1..8)
}

fn changed(mut text: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if text.is_empty() {
            break;
        }
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        match change {
            Change::Byte(at, byte) => *at.get_mut(&mut text) = *byte,
            Change::Cut(at) => text.truncate(at.index(text.len())),
            Change::Drop(at, n) => {
                let from = at.index(text.len());
                text.drain(from..(from + n).min(text.len()));
            }
            Change::Repeat(at) => {
                let line = at.get(&lines).clone();
                text.extend(line);
            }
            Change::Swap(a, b) => {
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
                text = lines.concat();
            }
            Change::Number(at, number) => {
                // The numbers that stand behind a colon, each as a range.
                let starts = (1..text.len()).filter(|&i| text[i - 1] == b':' && text[i].is_ascii_digit());
                let numbers: Vec<_> = starts
                    .map(|from| (from, from + text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()))
                    .collect();
                if !numbers.is_empty() {
                    let (from, to) = *at.get(&numbers);
                    text.splice(from..to, number.to_string().into_bytes());
                }
            }
            Change::Insert(at, bytes) => {
                let from = at.index(text.len());
                text.splice(from..from, bytes.iter().copied());
            }
        }
    }
    text
}

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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

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
