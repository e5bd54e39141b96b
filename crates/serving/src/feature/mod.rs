//! Features of the `serving` scenario: what waits, what batches take, and what applications have had.
//!
//! All of it is what schedulers can know: sizes are those that are declared, times of batches follow from them. Times are in ms.

mod application;
mod snapshot;
mod task;
mod words;

pub use snapshot::Snapshot;
pub use words::words;

use application::Asked;
use sched_distill_core::{
    feature::Columns,
    level::{FeatureSet, base},
};
use std::sync::LazyLock;
use task::Joining;

/// Stands for no application where the place of one is expected, and for no task where the number of one is.
pub const NO_ONE: u32 = u32::MAX;

/// The levels of the `serving` scenario with their features in column order.
#[must_use]
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(describe);
    &SET
}

fn describe() -> FeatureSet {
    let question = "Which task joins the batch, or is it closed?";
    FeatureSet {
        scenario: "serving".to_owned(),
        levels: vec![
            Columns::new(application::BASE).level(
                "application",
                "Which application is served next, if any?",
                &["application"],
            ),
            Columns::new(task::BASE).level("task", question, &["application", "task"]),
        ],
    }
}

/// Extracts feature rows at a question, with buffers that are reused from one question to the next.
#[derive(Clone, Debug)]
pub struct Extractor {
    snapshot: Snapshot,
    application: Columns,
    task: Columns,
    asked: Vec<Asked>,
    joining: Vec<Joining>,
    read: Read,
}

/// Whether columns are read of what takes long to work out.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// Of slowdowns per second added up.
    paces: bool,
    /// Of what applications have had.
    used: bool,
    /// Of batches that are not formed yet.
    batches: bool,
    /// Of how often tasks arrive.
    rates: bool,
    /// Of how the tasks in the batch fare.
    formed: bool,
}

impl Default for Extractor {
    fn default() -> Self {
        let (application, task) = (Columns::new(application::BASE), Columns::new(task::BASE));
        let read = Read { paces: true, used: true, batches: true, rates: true, formed: true };
        Self { snapshot: Snapshot::default(), application, task, asked: Vec::new(), joining: Vec::new(), read }
    }
}

impl Extractor {
    /// An extractor that fills only the columns asked for, level by level in the order of the feature set. What the other columns
    /// hold is not defined.
    #[must_use]
    pub fn limited(wanted: &[&[bool]]) -> Self {
        let mut extractor = Self::default();
        let columns = [&mut extractor.application, &mut extractor.task];
        columns.into_iter().zip(wanted).for_each(|(columns, wanted)| columns.limit(wanted));
        let features =
            feature_set().levels.iter().zip(wanted).flat_map(|(level, wanted)| level.features.iter().zip(*wanted));
        let read: Vec<&str> = features.filter(|(_, wanted)| **wanted).map(|(feature, _)| base(&feature.name)).collect();
        let any = |of: &[&str]| read.iter().any(|name| of.contains(name));
        extractor.read = Read {
            paces: any(&["urgency", "all_urgency", "all_delay"]),
            used: any(&["used", "used_share"]),
            batches: any(&["batch", "batch_time", "task_time", "efficiency", "relief"]),
            rates: any(&["arrivals", "to_full"]),
            formed: any(&["batch_urgency", "delay", "all_delay", "makes_late"]),
        };
        extractor
    }

    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &crate::View<'_>) {
        self.snapshot.update(seen, self.read);
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
