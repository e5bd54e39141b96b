//! Features of the `serving` scenario: what waits, what batches take, and what applications have had.
//!
//! All of it is what schedulers can know: sizes are those that are declared, times of batches follow from them. Times are in ms.

mod application;
mod snapshot;
mod task;
mod words;

pub use snapshot::Snapshot;
pub use words::words;

use crate::state::View;
use application::Application;
use sched_distill_core::{
    feature::{Columns, Level as _},
    level::{FeatureSet, base},
};
use std::sync::LazyLock;
use task::Task;

/// Stands for no application where the place of one is expected, and for no task where the number of one is.
pub const NO_ONE: u32 = u32::MAX;

/// The levels of the `serving` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "serving".to_owned(),
        levels: vec![
            Application::spec("Which application is served next, if any?", &["application"])
                .of("Applications with waiting tasks, by place, then to serve none; of a question about a batch, its \
                     application alone."),
            Task::spec("Which task joins the batch, or is it closed?", &["application", "task"])
                .of("Of each size that fits, ascending, the oldest waiting task of the application; then, where the \
                     batch is not empty, to close it."),
        ],
    });
    &SET
}

/// Per second, of what is per ms.
const PER_S: f64 = 1e3;

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
    application: Columns<Application>,
    task: Columns<Task>,
    read: Read,
}

/// Whether columns are read of what takes long to work out.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// Of slowdowns per second added up.
    paces: bool,
    /// Of what applications have had.
    used: bool,
    /// Of the best batches of applications.
    batches: bool,
    /// Of how often tasks arrive.
    rates: bool,
    /// Of the best batch that can be made of the one that is being formed.
    joining: bool,
    /// Of whether tasks in the batch are late.
    lateness: bool,
}

impl Default for Read {
    fn default() -> Self {
        Self { paces: true, used: true, batches: true, rates: true, joining: true, lateness: true }
    }
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let any = |level: usize, of: &[&str]| {
            let features = feature_set().levels[level].features.iter().zip(wanted[level]);
            features.filter(|(_, wanted)| **wanted).any(|(feature, _)| of.contains(&base(&feature.name)))
        };
        let read = Read {
            paces: any(0, &["urgency", "all_urgency"]) || any(1, &["all_urgency", "all_delay"]),
            used: any(0, &["used", "used_share"]),
            batches: any(0, &["batch", "batch_time", "task_time", "efficiency", "relief", "merit"]),
            rates: any(0, &["arrivals", "to_full"]),
            joining: any(1, &["is_best", "batch_merit"]),
            lateness: any(1, &["makes_late"]),
        };
        let (application, task) = (Columns::limited(wanted[0]), Columns::limited(wanted[1]));
        Self { snapshot: Snapshot::default(), application, task, read }
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen, self.read);
    }

    /// The present question summed up.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
