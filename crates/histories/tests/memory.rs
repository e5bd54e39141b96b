//! A damaged log takes little more memory than a whole one, whatever its numbers say.
//!
//! The most memory that the process has had is what is measured, so that this is a program of its own.

#![cfg(target_os = "linux")]

mod support;

use proptest::prelude::*;
use std::{fs, path::PathBuf};
use support::{
    cases,
    changes::{changed, changes},
    checks::check,
};

/// What a damaged log may take beyond the whole ones, KiB.
const MORE_KIB: u64 = 64 << 10;

/// Files of logs of a real Spark that are no larger are damaged, bytes.
const MOST_BYTES: usize = 150_000;

/// The name and the bytes of each file.
fn files() -> Vec<(String, Vec<u8>)> {
    let logs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let inside = |path: PathBuf| -> Vec<PathBuf> {
        match path.is_dir() {
            true => fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()).collect(),
            false => vec![path],
        }
    };
    let mut paths: Vec<PathBuf> = inside(logs).into_iter().flat_map(inside).collect();
    paths.sort();
    let is_log = |name: &str| !name.contains("appstatus") && !name.contains("expected");
    let read = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), fs::read(&path).ok()?));
    let all = paths.into_iter().filter_map(read);
    all.filter(|(name, bytes)| is_log(name) && (1..=MOST_BYTES).contains(&bytes.len())).collect()
}

/// The most memory that the process has had, KiB.
fn most_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux says it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn damaged_logs_take_little_more_memory_than_whole_ones() {
    let files = files();
    assert!(files.len() >= 6, "{}", files.len());
    for (name, bytes) in &files {
        check(bytes, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let whole_kib = most_kib();
    proptest!(cases(50), |(which in any::<prop::sample::Index>(), changes in changes())| {
        let (name, bytes) = which.get(&files);
        check(&changed(bytes.clone(), &changes), name)?;
        let more_kib = most_kib() - whole_kib;
        prop_assert!(more_kib <= MORE_KIB, "{name}: {more_kib} KiB more than of whole logs");
    });
    println!("whole logs {whole_kib} KiB, damaged ones {} KiB more", most_kib() - whole_kib);
}
