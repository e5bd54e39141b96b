//! What steps write, complete or not at all.

use super::PipelineError;
use sched_distill_core::file;
use serde::Serialize;
use std::path::Path;

/// Writes JSON, complete or not at all.
pub(super) fn write_json(path: &Path, value: &(impl Serialize + ?Sized)) -> Result<(), PipelineError> {
    write_text(path, serde_json::to_string_pretty(value))
}

/// Writes JSON in one line: what no person reads, in half the bytes.
pub(super) fn write_compact(path: &Path, value: &(impl Serialize + ?Sized)) -> Result<(), PipelineError> {
    write_text(path, serde_json::to_string(value))
}

fn write_text(path: &Path, text: serde_json::Result<String>) -> Result<(), PipelineError> {
    let text = text.map_err(|e| PipelineError::Write { path: path.to_owned(), source: e.into() })?;
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
