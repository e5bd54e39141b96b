//! Fixed lists of jobs from JSON files.

use super::{Needed, WorkloadError, read_text};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a workload file, whose form is described in the document `docs`.
///
/// # Errors
///
/// An unreadable or empty file, or text that is not JSON of this form.
pub fn read_json<R: DeserializeOwned>(path: &Path, docs: &str) -> Result<R, WorkloadError> {
    let text = read_text(path)?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    if text.trim().is_empty() {
        return Err(format(format!("the file is empty; expected a workload ({docs})")));
    }
    serde_json::from_str(&text).map_err(|e| format(format!("not a workload ({docs}): {e}")))
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
