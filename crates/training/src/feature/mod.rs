//! Features of the `training` scenario: how much faster a job would train, what it has, and what is left in the cluster.
//!
//! Gains are what schedulers can know: speeds are those without luck, epochs those that are believed. Times are in ms of
//! simulated time.

mod cluster;
mod job;
mod snapshot;
mod task;
mod words;

pub use snapshot::{Candidate, Snapshot};
pub use words::words;

use crate::state::View;
use cluster::Cluster;
use job::Job;
use sched_distill_core::{
    feature::{Columns, Level as _},
    level::FeatureSet,
};
use std::sync::LazyLock;
use task::TaskLevel;

/// The levels of the `training` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "training".to_owned(),
        levels: vec![
            Cluster::spec("Go on, or close the slot?", &["close"])
                .of("To go on, if anything can be added; then to close the slot."),
            Job::spec("Which job gets more?", &["job"])
                .of("Jobs below their maxima for which something fits the node that comes next, by arrival."),
            TaskLevel::spec("A worker, a server, or both?", &["job", "task"])
                .of("Of a worker, a server, and both, in this order, what that job may have and what fits."),
        ],
    });
    &SET
}

/// The open question.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    seen: View<'a>,
    all: &'a Snapshot,
}

impl Asked<'_> {
    /// Jobs that have arrived and are not done.
    fn jobs(&self) -> f64 {
        self.seen.live_jobs().len() as f64
    }

    /// Share of the cluster's CPU slots (0) or GPU slots (1) that is free.
    fn free_share(&self, resource: usize) -> f64 {
        f64::from(self.seen.free()[resource]) / f64::from(self.seen.cluster().capacity()[resource]).max(1.0)
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    snapshot: Snapshot,
    cluster: Columns<Cluster>,
    job: Columns<Job>,
    task: Columns<TaskLevel>,
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        Self {
            cluster: Columns::limited(wanted[0]),
            job: Columns::limited(wanted[1]),
            task: Columns::limited(wanted[2]),
            ..Self::default()
        }
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up: candidates of the job level and their tasks.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
