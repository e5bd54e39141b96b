//! What workloads of all scenarios have in common: how they are listed, read, and refused.

mod cut;
mod error;
#[cfg(feature = "simulate")]
mod json;
#[cfg(feature = "simulate")]
mod list;
#[cfg(feature = "simulate")]
mod log;
#[cfg(feature = "simulate")]
mod log_spec;
#[cfg(feature = "simulate")]
mod ran;
#[cfg(feature = "simulate")]
mod reading;
#[cfg(feature = "simulate")]
mod recorded;
#[cfg(feature = "simulate")]
mod table;
#[cfg(feature = "simulate")]
mod text;
mod work;

use crate::spec::{Args, SpecError};
pub use cut::{Cut, Span, Window, Windows, duration};
pub use error::WorkloadError;
#[cfg(feature = "simulate")]
pub use json::{most_jobs, read_jobs, read_json};
#[cfg(feature = "simulate")]
pub use list::{cannot_be_written, write_list};
#[cfg(feature = "simulate")]
pub use log::{Devices, Log, LoggedJob};
#[cfg(feature = "simulate")]
pub use log_spec::LogSpec;
#[cfg(feature = "simulate")]
pub use ran::{Ran, recorded_starts};
#[cfg(feature = "simulate")]
pub use reading::{note_reading, reading};
#[cfg(feature = "simulate")]
pub use recorded::{RECORDED_COLUMNS, RecordedJob, RecordedJobs};
#[cfg(feature = "simulate")]
pub use table::Table;
#[cfg(feature = "simulate")]
pub use text::{MOST_JSON_BYTES, packing, read_text};
pub use work::{LATEST_MS, MOST_BYTES, MOST_EVENTS, MOST_JOBS, Needed, Work};

/// Reads `edge=NAME`: which of these cases it is, whose names and meanings stand in the same order.
///
/// # Errors
///
/// No such name.
pub fn edge_case<E: Copy>(args: &mut Args<'_>, named: &[(&str, &str)], cases: &[E]) -> Result<Option<E>, SpecError> {
    let Some(name) = args.text("edge") else { return Ok(None) };
    match named.iter().zip(cases).find(|((known, _), _)| *known == name) {
        Some((_, case)) => Ok(Some(*case)),
        None => {
            let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            Err(args.conflict("edge", &name, &format!("one of {}", names.join(", "))))
        }
    }
}

/// A workload as `distill list workloads` shows it.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

impl WorkloadInfo {
    /// Whether it takes `edge=NAME`.
    #[must_use]
    pub fn has_edge_cases(&self) -> bool {
        self.usage.contains("[,edge=NAME]")
    }
}
