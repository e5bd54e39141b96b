//! Tables that no hash vouches for.
//!
//! Decoders of Parquet believe what a file says of its sizes: a few wrong bytes can make them ask for more memory than there
//! is, which ends the program, or go wrong in other ways that no caller can mend. A program can have such tables decoded
//! elsewhere first, as `distill` does in a process with limited memory; without that, only what can be caught is reported.

use super::{columns::Frame, error::Problems};
use std::{path::Path, sync::OnceLock};

/// Says why a Parquet file cannot be decoded, if so.
pub type TableCheck = fn(&Path) -> Result<(), String>;

static CHECK: OnceLock<TableCheck> = OnceLock::new();

/// From now on `check` looks at each table without a hash before it is decoded. Only the first call counts.
pub fn check_untrusted_tables_with(check: TableCheck) {
    let _ = CHECK.set(check);
}

/// What is wrong with a table that no hash vouches for, as far as somebody looks.
pub(super) fn check(path: &Path) -> Result<(), String> {
    CHECK.get().map_or(Ok(()), |check| check(path))
}

/// Decodes a Parquet file as readers do and forgets it: what a [`TableCheck`] may do in another process.
///
/// # Errors
///
/// Why it cannot be decoded, in words.
pub fn decode_table(path: &Path) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut problems = Problems::default();
    Frame::decode("", &bytes, &mut problems);
    problems.first.first().map_or(Ok(()), |problem| Err(problem.to_string()))
}
