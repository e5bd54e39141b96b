//! Features of the `preemption` scenario: what jobs still take, what is free, and what it costs to suspend whom.
//!
//! All of it is what schedulers can know: declared epochs, and times that are predicted. Times are in ms of simulated time, GPU times in
//! ms of one GPU.

mod job;
mod snapshot;
mod victim;
mod words;

pub use snapshot::{Candidate, Snapshot};
pub use words::words;

use sched_distill_core::{feature::Columns, level::FeatureSet};
use std::sync::LazyLock;

/// Stands for no job where a number of a job is expected.
pub const NO_JOB: u32 = u32::MAX;

/// GPU time per unit of a Gittins index, ms: it is given per hour.
const HOUR_MS: f64 = 3.6e6;

/// The levels of the `preemption` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(describe);
    &SET
}

fn describe() -> FeatureSet {
    FeatureSet {
        scenario: "preemption".to_owned(),
        levels: vec![
            Columns::new(job::BASE).level("job", "Which waiting job is served next, if any?", &["job"])
                .of("Waiting jobs that can be served, by arrival, then to serve none; of a question who is suspended, the job in question alone."),
            Columns::new(victim::BASE).level("victim", "Which job is suspended for it, if any?", &["job", "victim"])
                .of("Jobs that can be suspended, by arrival, then to suspend none."),
        ],
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns,
    victim: Columns,
}

impl Default for Extractor {
    fn default() -> Self {
        Self { snapshot: Snapshot::default(), job: Columns::new(job::BASE), victim: Columns::new(victim::BASE) }
    }
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let mut extractor = Self::default();
        let columns = [&mut extractor.job, &mut extractor.victim];
        columns.into_iter().zip(wanted).for_each(|(columns, wanted)| columns.limit(wanted));
        extractor
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &crate::View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}
