//! What arrives: one module per scenario.

pub mod dag;
mod error;
mod text;
pub mod training;

pub use error::WorkloadError;
use text::read_text;

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
