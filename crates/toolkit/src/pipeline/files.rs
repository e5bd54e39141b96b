//! What steps write, complete or not at all.

use super::PipelineError;
use sched_distill_core::file;
use serde::Serialize;
use std::path::Path;

/// Writes JSON, complete or not at all.
pub(super) fn write_json(path: &Path, value: &(impl Serialize + ?Sized)) -> Result<(), PipelineError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| PipelineError::Write { path: path.to_owned(), source: e.into() })?;
    file::write(path, (text + "\n").as_bytes()).map_err(|source| PipelineError::Write { path: path.to_owned(), source })
}

/// Removes a file that may not be there.
pub(super) fn remove(path: &Path) -> Result<(), PipelineError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(PipelineError::Write { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
