//! What happened, for schedule pictures and tests.

use super::state::Simulator;

/// What happened to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was placed and loads.
    Begins,
    /// It computes.
    Computes,
    /// It writes its checkpoint.
    Saves,
    /// It was saved and waits again.
    Suspended,
    /// One of its nodes failed, and it waits again.
    Failed,
    /// It is complete.
    Ends,
}

/// A change in a job's life.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, ms.
    pub time_ms: f64,
    /// The job.
    pub job: u32,
    /// What happened.
    pub what: What,
    /// Its nodes and GPUs on each, if it begins.
    pub nodes: Vec<(u32, u32)>,
}

impl Simulator {
    /// Keeps the changes of the rest of the episode for [`Simulator::changes`].
    pub fn record_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// What happened to jobs, in order, if [`Simulator::record_changes`] was called.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }

    pub(super) fn record(&mut self, job: u32, what: What) {
        let (time_ms, nodes) = (self.state.time_ms, &self.state.jobs[job as usize].nodes);
        if let Some(changes) = &mut self.changes {
            let nodes = if what == What::Begins { nodes.clone() } else { Vec::new() };
            changes.push(Change { time_ms, job, what, nodes });
        }
        if let Some(timeline) = &mut self.timeline {
            match what {
                What::Begins => nodes.iter().for_each(|&gpus| timeline.begin(job, 1, gpus, time_ms)),
                What::Computes => timeline.turn(job, 0, time_ms),
                What::Saves => timeline.turn(job, 1, time_ms),
                What::Suspended | What::Failed | What::Ends => timeline.end(job, time_ms),
            }
        }
    }
}
