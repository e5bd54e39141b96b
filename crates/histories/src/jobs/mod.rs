//! Logs of jobs without inner structure: when each was submitted, how long it ran, and on what.
//!
//! [`read`] takes in the log of a scheduler or a published trace in one pass, plain or packed with gzip, and gives a [`JobLog`], whatever the
//! [`Format`]. [`recognise`] tells the format by what stands in the file.
//!
//! Rows that are no job, or cannot be read, are counted and left out, and [`JobLog::notes`] says so, together with what the log does not
//! tell: starts, the size of the cluster, deadlines.

mod chronus;
pub(crate) mod columns;
mod helios;
mod log;
mod philly;
mod sacct;
mod swf;
pub(crate) mod table;
pub(crate) mod time;

use crate::{HistoryError, input};
use std::path::Path;

pub use crate::{input::Progress, skips::Skipped};
pub use columns::{Columns, Deadline};
pub use log::{FlatJob, JobLog, MostUsed, State};
pub use time::{Times, Unit};

/// How a log of jobs is written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `cluster_job_log` of the Philly traces: a JSON array of jobs with attempts.
    Philly,
    /// `cluster_log.csv` of the Helios traces.
    Helios,
    /// The Standard Workload Format: 18 numbers in a line.
    Swf,
    /// What `sacct --parsable2` of Slurm prints.
    Sacct,
    /// `trace_job_*_SLO.csv` of Chronus.
    Chronus,
    /// A table whose columns are named.
    Columns(Box<Columns>),
}

/// Reads a log of jobs. It takes some 250 bytes a job in memory, and up to 64 MiB for the longest line. `progress` is called every megabyte or so.
///
/// # Errors
///
/// A file that cannot be read, is packed in another way than with gzip, is of another form, or has no job. Single rows are no error, nor is
/// a file that is cut or damaged behind its first jobs.
///
/// # Examples
///
/// ```
/// use sched_distill_histories::jobs::{self, Columns, Format, Times, Unit};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("jobs.csv");
/// std::fs::write(&path, "when,took,gpus\n2024-05-01 10:00:00,90,2\n2024-05-01 09:59:00,30,4\n")?;
/// let columns = Columns { gpus: Some("gpus".to_owned()), ..Columns::new("when", "took", Times::Calendar, Unit::Minutes) };
/// let log = jobs::read(&path, &Format::Columns(Box::new(columns)), &mut |_read, _of| {})?;
/// let jobs: Vec<_> = log.jobs.iter().map(|job| (job.submit_ms, job.duration_ms, job.gpus)).collect();
/// assert_eq!(jobs, [(0, 1_800_000, Some(4)), (60_000, 5_400_000, Some(2))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, format: &Format, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    match format {
        Format::Philly => philly::read(path, progress),
        Format::Helios => helios::read(path, progress),
        Format::Swf => swf::read(path, progress),
        Format::Sacct => sacct::read(path, progress),
        Format::Chronus => chronus::read(path, progress),
        Format::Columns(columns) => columns::read(path, columns, progress),
    }
}

/// The format of a file by its first bytes, unpacked, and by its name if that has more to say; `None` if it is none of those that need no
/// names of columns. [`recognise_file`] takes the bytes from a file.
#[must_use]
pub fn recognise(head: &[u8], name: &str) -> Option<Format> {
    let text = String::from_utf8_lossy(input::without_mark(head));
    let lines: Vec<&str> = text.lines().collect();
    let header = lines.first().copied().unwrap_or_default();
    let names = table::cells(header, ',').unwrap_or_default();
    let has =
        |wanted: &[&str]| wanted.iter().all(|wanted| names.iter().any(|name| name.trim().eq_ignore_ascii_case(wanted)));
    let is_swf_name = || name.strip_suffix(".gz").unwrap_or(name).to_ascii_lowercase().ends_with(".swf");
    match () {
        () if text.trim_start().starts_with('[') && text.contains("\"attempts\"") && text.contains("\"jobid\"") => {
            Some(Format::Philly)
        }
        () if has(&helios::COLUMNS) => Some(Format::Helios),
        () if has(&chronus::COLUMNS) => Some(Format::Chronus),
        () if sacct::is_sacct(header) => Some(Format::Sacct),
        () if swf::is_swf(&lines) => Some(Format::Swf),
        // A header that is longer than the bytes there are.
        () if is_swf_name() && text.starts_with(';') => Some(Format::Swf),
        () => None,
    }
}

/// The format of a file.
///
/// # Errors
///
/// A file that cannot be read, or is packed in another way than with gzip.
pub fn recognise_file(path: &Path) -> Result<Option<Format>, HistoryError> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(recognise(&input::head(path)?, &name))
}
