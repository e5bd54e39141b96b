//! What workloads of all scenarios have in common: how they are listed, read, and refused.

mod error;
#[cfg(feature = "simulate")]
mod recorded;
#[cfg(feature = "simulate")]
mod table;
#[cfg(feature = "simulate")]
mod text;
mod work;

pub use error::WorkloadError;
#[cfg(feature = "simulate")]
pub use recorded::{RECORDED_COLUMNS, RecordedJob, RecordedJobs};
#[cfg(feature = "simulate")]
pub use table::Table;
#[cfg(feature = "simulate")]
pub use text::read_text;
pub use work::{LATEST_MS, MOST_BYTES, MOST_EVENTS, MOST_JOBS, Needed, Work};

/// A workload as `distill list workloads` shows it.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// Its name.
    pub name: &'static str,
    /// Whether it takes `edge=NAME`.
    pub edge_cases: bool,
    /// How it is written.
    pub usage: &'static str,
    /// What it is.
    pub meaning: &'static str,
}
