//! What is kept of an episode for comparisons.

use sched_distill_core::figure::Stall;

/// What one policy achieved in one episode.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeFigures {
    /// The scenario's figures, in its order; `None` where there is none.
    pub figures: Vec<Option<f64>>,
    /// Why the episode ended although jobs were unfinished; `None` if it did not.
    pub stall: Option<Stall>,
    /// Whether no job arrived.
    pub empty: bool,
    /// Jobs that were turned away.
    pub rejected: usize,
    /// The longest time in which more than half of the cluster idled although work waited that could start on it, ms; `None` where that
    /// is not measured.
    pub longest_idle_ms: Option<f64>,
    /// Completion time by job, from its arrival on, ms; `None` of a job that was not completed. Empty if they are not kept.
    pub completion_times_ms: Vec<Option<f64>>,
    /// Size by job; empty where the scenario knows none.
    pub sizes: Vec<f64>,
}

impl EpisodeFigures {
    /// A figure by its place; `None` if the episode stalled.
    #[must_use]
    pub fn of(&self, place: usize) -> Option<f64> {
        self.figures.get(place).copied().flatten().filter(|_| self.stall.is_none())
    }
}
