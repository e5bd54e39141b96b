//! What no scheduler knows: for rules that are marked as clairvoyant.

use super::JobView;
use std::fmt;

/// How long jobs really take. The simulator lends it beside its state, of which it is no part: it is in no state, file, feature or
/// message, and outside of this crate nobody can read it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Truth<'a> {
    /// Epochs of each job, by number, and the time of one on as few nodes as it can be on, ms; empty where nobody knows.
    pub(crate) jobs: &'a [[f64; 2]],
}

impl Truth<'_> {
    /// Time of computing that is really left, packed, ms; the predicted one where nobody knows.
    pub(crate) fn left_ms(self, job: &JobView<'_>) -> f64 {
        match self.jobs.get(job.id() as usize) {
            Some([epochs, epoch_ms]) => (epochs - job.job.done_at(job.state.time_ms)).max(0.0) * epoch_ms,
            None => job.left_ms(),
        }
    }
}

impl fmt::Debug for Truth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Truth")
    }
}
