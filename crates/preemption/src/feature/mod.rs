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

use crate::{history::History, state::View};
use job::Job;
use sched_distill_core::{
    feature::{Columns, Level as _},
    level::FeatureSet,
};
use std::sync::LazyLock;
use victim::Victim;

/// Stands for no job where a number of a job is expected.
pub const NO_JOB: u32 = u32::MAX;

/// GPU time per unit of a Gittins index, ms: it is given per hour.
const HOUR_MS: f64 = 3.6e6;

/// The levels of the `preemption` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "preemption".to_owned(),
        levels: vec![
            Job::spec("Which waiting job is served next, if any?", &["job"]).of(
                "Waiting jobs that can be served, by arrival, then to serve none; of a question who is suspended, \
                 the job in question alone.",
            ),
            Victim::spec("Which job is suspended for it, if any?", &["job", "victim"])
                .of("Jobs that can be suspended, by arrival, then to suspend none."),
        ],
    });
    &SET
}

/// The open question: what all candidates share.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    seen: View<'a>,
    all: &'a Snapshot,
}

impl<'a> Asked<'a> {
    fn earlier(&self) -> &'a History {
        &self.seen.cluster().earlier
    }

    /// GPUs of the cluster.
    fn gpus(&self) -> f64 {
        f64::from(self.seen.cluster().gpus())
    }

    /// Jobs that wait without a claim and arrived before this one.
    fn before(&self, job: u32) -> f64 {
        self.seen.waiting().partition_point(|&other| other < job) as f64
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    snapshot: Snapshot,
    job: Columns<Job>,
    victim: Columns<Victim>,
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let (job, victim) = (Columns::limited(wanted[0]), Columns::limited(wanted[1]));
        Self { job, victim, ..Self::default() }
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
