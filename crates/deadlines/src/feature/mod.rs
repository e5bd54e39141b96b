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

use crate::state::View;
use amount::Amount;
use class::Class;
use job::Job;
use sched_distill_core::{
    feature::{Columns, Level as _},
    level::FeatureSet,
};
use std::sync::LazyLock;

/// Stands for no job where a number of a job is expected.
pub const NO_JOB: u32 = u32::MAX;

/// The levels of the `deadlines` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "deadlines".to_owned(),
        levels: vec![
            Job::spec("Which job begins next, if any?", &["job"])
                .of("Waiting jobs, by arrival, then to begin none; of a question about a running job, that job alone."),
            Class::spec("How is it taken on?", &["job", "class"])
                .of("Ways that are open to that job, in this order: at a size of its own, as submitted, best effort, \
                     refused."),
            Amount::spec("How many cores does it get?", &["job", "amount"])
                .of("1, 2, 3, ... cores, up to the most that it can be given in that way."),
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

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns<Job>,
    class: Columns<Class>,
    amount: Columns<Amount>,
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        Self {
            job: Columns::limited(wanted[0]),
            class: Columns::limited(wanted[1]),
            amount: Columns::limited(wanted[2]),
            ..Self::default()
        }
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up: the jobs that are asked about.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
