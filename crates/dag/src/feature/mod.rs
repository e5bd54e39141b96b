//! Features of the `dag` scenario. Work is tasks not yet launched × the most recent task duration.

mod amount;
mod job;
mod snapshot;
mod stage;
mod words;

pub use snapshot::Snapshot;
pub use words::words;

use crate::state::View;
use amount::Amount;
use job::Job;
use sched_distill_core::{
    feature::{Columns, Level as _},
    level::FeatureSet,
};
use stage::Stage;
use std::sync::LazyLock;

/// Marks the candidate "give nothing" among the jobs.
pub const NO_JOB: u32 = u32::MAX;

/// The levels of the `dag` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "dag".to_owned(),
        levels: vec![
            Job::spec("Which job gets executors?", &["job"])
                .of("Active jobs with a stage that may be scheduled, by arrival; last, where the policy may, to give \
                     nothing."),
            Stage::spec("Which stage of that job?", &["job", "stage"])
                .of("Stages of that job that may be scheduled, by number."),
            Amount::spec("How many executors?", &["job", "stage", "amount"])
                .of("1, 2, 3, ... executors, up to what that job has room for and that stage wants."),
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
    /// Active jobs.
    fn jobs(&self) -> f64 {
        self.all.jobs.len() as f64
    }

    /// Executors of the cluster.
    fn executors(&self) -> f64 {
        f64::from(self.seen.num_executors())
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns<Job>,
    stage: Columns<Stage>,
    amount: Columns<Amount>,
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        Self {
            job: Columns::limited(wanted[0]),
            stage: Columns::limited(wanted[1]),
            amount: Columns::limited(wanted[2]),
            ..Self::default()
        }
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up: candidates of the job level and their stages.
    #[inline]
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
