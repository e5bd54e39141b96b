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

use sched_distill_core::{feature::Columns, level::FeatureSet};
use std::sync::LazyLock;

/// The levels of the `training` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(describe);
    &SET
}

fn describe() -> FeatureSet {
    FeatureSet {
        scenario: "training".to_owned(),
        levels: vec![
            Columns::new(cluster::BASE)
                .level("cluster", "Go on, or close the slot?", &["close"])
                .of("To go on, if anything can be added; then to close the slot."),
            Columns::new(job::BASE)
                .level("job", "Which job gets more?", &["job"])
                .of("Jobs below their maxima for which something fits the node that comes next, by arrival."),
            Columns::new(task::BASE)
                .level("task", "A worker, a server, or both?", &["job", "task"])
                .of("Of a worker, a server, and both, in this order, what that job may have and what fits."),
        ],
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug)]
pub struct Extractor {
    snapshot: Snapshot,
    cluster: Columns,
    job: Columns,
    task: Columns,
}

impl Default for Extractor {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::default(),
            cluster: Columns::new(cluster::BASE),
            job: Columns::new(job::BASE),
            task: Columns::new(task::BASE),
        }
    }
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let mut extractor = Self::default();
        let columns = [&mut extractor.cluster, &mut extractor.job, &mut extractor.task];
        columns.into_iter().zip(wanted).for_each(|(columns, wanted)| columns.limit(wanted));
        extractor
    }

    /// The present question summed up: candidates of the job level and their tasks.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
