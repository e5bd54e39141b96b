//! Damaged logs: whatever is in a file, it is read to its end or refused, and what is made of it is sound.

mod support;

use proptest::{prelude::*, test_runner::TestCaseError};
use sched_distill_histories::spark::SparkLog;
use std::{fs, io::Write};
use support::{
    adaptive,
    changes::{changed, changes},
};

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
