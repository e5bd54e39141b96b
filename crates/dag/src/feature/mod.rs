//! Features of the `dag` scenario. Work is tasks not yet launched × the most recent task duration.

mod amount;
mod job;
mod snapshot;
mod stage;
mod words;

pub use snapshot::Snapshot;
pub use words::words;

use sched_distill_core::{feature::Columns, level::FeatureSet};
use std::sync::LazyLock;

/// Marks the candidate "give nothing" among the jobs.
pub const NO_JOB: u32 = u32::MAX;

/// The levels of the `dag` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(describe);
    &SET
}

fn describe() -> FeatureSet {
    FeatureSet {
        scenario: "dag".to_owned(),
        levels: vec![
            Columns::new(job::BASE).level("job", "Which job gets executors?", &["job"])
                .of("Active jobs with a stage that may be scheduled, by arrival; last, where the policy may, to give nothing."),
            Columns::new(stage::BASE).level("stage", "Which stage of that job?", &["job", "stage"])
                .of("Stages of that job that may be scheduled, by number."),
            Columns::new(amount::BASE).level("amount", "How many executors?", &["job", "stage", "amount"])
                .of("1, 2, 3, ... executors, up to what that job has room for and that stage wants."),
        ],
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns,
    stage: Columns,
    amount: Columns,
}

impl Default for Extractor {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::default(),
            job: Columns::new(job::BASE),
            stage: Columns::new(stage::BASE),
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
        for (columns, wanted) in
            [&mut extractor.job, &mut extractor.stage, &mut extractor.amount].into_iter().zip(wanted)
        {
            columns.limit(wanted);
        }
        extractor
    }
}
