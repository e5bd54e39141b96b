//! What happened, for tests.

use super::state::Simulator;

/// What happened to a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It began, or goes on with another number of cores.
    Runs {
        /// When, ms.
        time_ms: f64,
        /// The job.
        job: u32,
        /// Its node.
        node: u32,
        /// Cores that it holds.
        cores: u32,
        /// Whether it uses all of them.
        elastic: bool,
    },
    /// It is complete.
    Ends {
        /// When, ms.
        time_ms: f64,
        /// The job.
        job: u32,
    },
}

impl Simulator {
    /// Keeps the changes of the rest of the episode for [`Simulator::changes`].
    pub fn record_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Starts, resizings and ends in order, if [`Simulator::record_changes`] was called.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }
}
