//! Fixed lists of jobs from JSON files.

use super::{
    Needed, WorkloadError,
    text::{MOST_JSON_BYTES, Text, too_long},
};
use serde::de::DeserializeOwned;
use std::{
    io::{BufReader, Read},
    path::Path,
};

/// Reads a workload file, whose form is described in the document `docs`.
///
/// # Errors
///
/// An unreadable or empty file, text that is not JSON of this form, or more than 1 GiB of it.
pub fn read_json<R: DeserializeOwned>(path: &Path, docs: &str) -> Result<R, WorkloadError> {
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let other = |e: serde_json::Error| format(format!("not a workload ({docs}): {e}"));
    let Text { begin, rest, is_packed } = Text::open(path)?;
    let Some(rest) = rest else {
        if begin.trim().is_empty() {
            return Err(format(format!("the file is empty; expected a workload ({docs})")));
        }
        return serde_json::from_str(&begin).map_err(other);
    };
    // Of what is long, only the jobs are kept.
    let mut rest = BufReader::new(rest).take(MOST_JSON_BYTES - begin.len() as u64);
    let found = serde_json::from_reader(begin.as_bytes().chain(&mut rest));
    match found {
        Err(_) if rest.limit() == 0 => Err(too_long(path, MOST_JSON_BYTES, is_packed)),
        found => found.map_err(other),
    }
}

/// Reads the jobs of a workload file one by one; each is read beside the one above it, and `events` says what it needs, and why.
///
/// # Errors
///
/// The first that is refused, or with which there are too many.
pub fn read_jobs<R, J>(
    path: &Path,
    raw: &[R],
    mut read: impl FnMut(&R, Option<&J>) -> Result<J, String>,
    mut events: impl FnMut(&J, Option<&J>) -> (f64, String),
) -> Result<Vec<J>, WorkloadError> {
    let (mut jobs, mut needed) = (Vec::<J>::with_capacity(raw.len()), Needed::default());
    for (place, raw) in raw.iter().enumerate() {
        let above = jobs.last();
        let refused = |problem| WorkloadError::Job { path: path.to_owned(), job: place, stage: None, problem };
        let job = read(raw, above).map_err(refused)?;
        let (events, needs) = events(&job, above);
        needed.add(events, &needs).map_err(refused)?;
        jobs.push(job);
    }
    Ok(jobs)
}
