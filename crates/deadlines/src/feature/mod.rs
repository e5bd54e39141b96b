//! Features of the `deadlines` scenario: what is predicted of jobs, what they hold, and what is left in the cluster.
//!
//! All of it is what schedulers can know: declared deadlines and iterations, and times that are predicted. Times are in ms of
//! simulated time, core times in ms of one core.

mod amount;
mod class;
mod job;
mod snapshot;
mod words;

pub use snapshot::{Candidate, How, Snapshot};
pub use words::words;

use sched_distill_core::{feature::Columns, level::FeatureSet};
use std::sync::LazyLock;

/// Stands for no job where a number of a job is expected.
pub const NO_JOB: u32 = u32::MAX;

/// The levels of the `deadlines` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(describe);
    &SET
}

fn describe() -> FeatureSet {
    FeatureSet {
        scenario: "deadlines".to_owned(),
        levels: vec![
            Columns::new(job::BASE).level("job", "Which job begins next, if any?", &["job"])
                .of("Waiting jobs, by arrival, then to begin none; of a question about a running job, that job alone."),
            Columns::new(class::BASE).level("class", "How is it taken on?", &["job", "class"])
                .of("Ways that are open to that job, in this order: at a size of its own, as submitted, best effort, refused."),
            Columns::new(amount::BASE).level("amount", "How many cores does it get?", &["job", "amount"])
                .of("1, 2, 3, ... cores, up to the most that it can be given in that way."),
        ],
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns,
    class: Columns,
    amount: Columns,
}

impl Default for Extractor {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::default(),
            job: Columns::new(job::BASE),
            class: Columns::new(class::BASE),
            amount: Columns::new(amount::BASE),
        }
    }
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let mut extractor = Self::default();
        let columns = [&mut extractor.job, &mut extractor.class, &mut extractor.amount];
        columns.into_iter().zip(wanted).for_each(|(columns, wanted)| columns.limit(wanted));
        extractor
    }

    /// The present question summed up: the jobs that are asked about.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}
