//! What a scheduler may know of the cluster at a question. Nothing here tells the future, nor the laws of the jobs' iterations.
//!
//! A [`View`] is lent by the simulator, and by a [`ClusterState`] that anyone can make: features, heuristics, networks and students
//! read it alone.

use super::{ClusterState, Decision, JobView};
use crate::Cluster;
use serde::Serialize;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which waiting job begins next, if any, and how.
    Start,
    /// How many cores this running job gets.
    Running(u32),
}

/// The cluster at an open question. Borrows from who lends it; copying it is free.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct View<'a> {
    pub(crate) state: &'a ClusterState,
}

impl<'a> View<'a> {
    /// The time, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.state.time_ms
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &'a Cluster {
        &self.state.cluster
    }

    /// What is asked.
    #[must_use]
    pub fn question(&self) -> Question {
        self.state.to_ask.last().map_or(Question::Start, |&job| Question::Running(job))
    }

    /// Whether a check asks, rather than a job's first measurement; only of questions about running jobs.
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.state.is_check
    }

    /// Number of jobs that have arrived so far.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.state.jobs.arrived_so_far()
    }

    /// Numbers of the waiting jobs whose deadline is not given up, in order of arrival.
    #[must_use]
    pub fn waiting(&self) -> &'a [u32] {
        &self.state.waiting
    }

    /// Numbers of the waiting jobs of the best-effort class, in order of arrival.
    #[must_use]
    pub fn best_effort(&self) -> &'a [u32] {
        &self.state.best_effort
    }

    /// Numbers of the running jobs, ascending.
    #[must_use]
    pub fn running(&self) -> &'a [u32] {
        &self.state.running
    }

    /// An arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived.
    #[must_use]
    pub fn job(&self, job: u32) -> JobView<'a> {
        match self.state.jobs.find(job) {
            Some(job) => JobView { state: self.state, job },
            None => panic!("job {job} has not arrived"),
        }
    }

    /// Free cores on all nodes.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.state.free
    }

    /// Free cores of the node that has most: what a job that begins can get.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.state.most_free
    }

    /// Whether nothing need happen any more after a legal decision: to wait where nothing runs and no best-effort job would begin.
    #[must_use]
    pub fn strands(&self, decision: Decision) -> bool {
        decision == Decision::Wait && self.running().is_empty() && self.best_effort().is_empty()
    }
}
