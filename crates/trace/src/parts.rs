//! The parts of a recording on disk: their files, and the markers that say that they are done.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, de::Error};

use super::{
    error::{Problem, TraceError},
    manifest::{Manifest, PARTS, TableFile},
};
use sched_distill_core::file::sha256_of;

/// Most parts of a trace.
pub(super) const MOST_PARTS: u32 = 1_000_000;

/// Reads a number of parts that may be.
pub(super) fn number_of_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        parts @ 1..=MOST_PARTS => Ok(parts),
        parts => Err(D::Error::custom(format_args!("`parts` is {parts}, expected 1 to {MOST_PARTS}"))),
    }
}

/// How far a part is.
pub(super) enum PartState {
    /// It has no marker.
    Missing,
    /// Its marker, or a file that the marker lists, is not as it was when the part was finished.
    Damaged(Problem),
    /// It is done; these are its files, one per table.
    Done(Vec<TableFile>),
}

impl PartState {
    /// Looks at a part and compares its files with their hashes.
    pub(super) fn of(dir: &Path, manifest: &Manifest, index: u32) -> Self {
        let damaged = |file: String, message: String| Self::Damaged(Problem { file, column: None, row: None, message });
        let path = marker_path(index);
        let marker = match fs::read(dir.join(&path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::Missing,
            Err(error) => return damaged(path, format!("cannot be read: {error}")),
            Ok(bytes) => bytes,
        };
        let files: Vec<TableFile> = match serde_json::from_slice(&marker) {
            Ok(files) => files,
            Err(error) => return damaged(path, format!("is not the marker of a finished part: {error}")),
        };
        let tables: Vec<&str> = manifest.table_names().collect();
        let is_of = |(table, file): (&&str, &TableFile)| {
            manifest.feature_set.names_of(table).any(|name| file.path == part_path(name, index))
        };
        if tables.len() != files.len() || !tables.iter().zip(&files).all(is_of) {
            return damaged(path, "does not list the part's tables".to_owned());
        }
        for file in &files {
            match sha256_of(&dir.join(&file.path)) {
                Err(error) => return damaged(file.path.clone(), format!("cannot be read: {error}")),
                Ok(found) if found != file.sha256 => {
                    let message = format!("has SHA-256 {found}, it had {} when the part was finished", file.sha256);
                    return damaged(file.path.clone(), message);
                }
                Ok(_) => {}
            }
        }
        Self::Done(files)
    }
}

/// Name of a table's file in a part.
pub(super) fn part_path(table: &str, index: u32) -> String {
    format!("{table}/part-{index:05}.parquet")
}

/// Name of the marker of a finished part.
pub(super) fn marker_path(index: u32) -> String {
    format!("{PARTS}/part-{index:05}.json")
}

/// Numbers of the planned parts that have no marker.
pub(super) fn unmarked(dir: &Path, parts: u32) -> Result<Vec<u32>, TraceError> {
    let folder = dir.join(PARTS);
    let names: BTreeSet<PathBuf> = match entries(&folder) {
        Ok(names) => names.into_iter().map(|name| Path::new(PARTS).join(name)).collect(),
        Err(_) if !folder.exists() => BTreeSet::new(),
        Err(error) => return Err(error),
    };
    Ok((0..parts).filter(|&index| !names.contains(Path::new(&marker_path(index)))).collect())
}

/// Names of the entries of a directory, sorted.
pub(super) fn entries(dir: &Path) -> Result<Vec<String>, TraceError> {
    let list = || -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    list().map_err(TraceError::io(dir, "read"))
}
