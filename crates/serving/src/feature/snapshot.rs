//! One pass over the server at a question: what the features of all levels are made of.

use super::Read;
use crate::state::{GroupView, Question, View};

/// Longest time that is said, ms: until something that need not happen.
pub(super) const LONGEST_MS: f64 = 1e6;

/// The server at a question, summed up.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    applications: Vec<u32>,
    groups: Vec<GroupView>,
    is_forming: bool,
    /// Whether the batch that is being formed can be closed.
    can_close: bool,
    /// By how much the slowdowns of waiting tasks grow, added up, 1/ms: by application, and in all.
    pub(super) paces: Vec<f64>,
    pub(super) pace: f64,
    /// Accelerator time that applications have had by their weights, lately, ms, and what of it is not negative added up.
    pub(super) used_ms: Vec<f64>,
    pub(super) all_used_ms: f64,
    /// Applications with waiting tasks.
    pub(super) asking: u32,
    /// Until the next batch ends, as is predicted, ms.
    pub(super) next_end_ms: f64,
}

impl Snapshot {
    /// The applications that are asked about: those with waiting tasks, or the one whose batch is being formed.
    #[must_use]
    pub fn applications(&self) -> &[u32] {
        &self.applications
    }

    /// The tasks that can join the batch that is being formed, one of each size; empty if none is.
    #[must_use]
    pub fn groups(&self) -> &[GroupView] {
        &self.groups
    }

    /// Whether serving none can be the answer.
    #[must_use]
    pub fn none_served(&self) -> bool {
        !self.is_forming
    }

    /// Whether closing the batch can be the answer.
    #[must_use]
    pub fn can_close(&self) -> bool {
        self.can_close
    }

    pub(super) fn update(&mut self, seen: &View<'_>, read: Read) {
        let now = seen.time_ms();
        self.applications.clear();
        self.groups.clear();
        (self.is_forming, self.can_close) = (false, false);
        match seen.question() {
            Question::Serve => self.applications.extend(seen.candidates()),
            Question::Form(application) => {
                (self.is_forming, self.can_close) = (true, seen.batch().count > 0);
                self.applications.push(application);
                self.groups.extend(seen.groups());
            }
        }
        if read.paces {
            self.paces.clear();
            self.paces.extend((0..seen.applications()).map(|application| seen.queue(application).pace()));
            self.pace = self.paces.iter().sum();
        }
        self.asking = seen.candidates().count() as u32;
        let ends = seen.running().map(|running| (running.ends_ms - now).max(0.0));
        self.next_end_ms = ends.reduce(f64::min).unwrap_or(0.0);
    }

    /// Takes in what applications have had, of which only they are told.
    pub(super) fn update_used(&mut self, seen: &View<'_>) {
        let all = (0..seen.applications()).map(|application| seen.queue(application));
        self.used_ms.clear();
        self.used_ms.extend(all.map(|queue| queue.used_ms() / queue.application().weight));
        self.all_used_ms = self.used_ms.iter().map(|used_ms| used_ms.max(0.0)).sum();
    }
}
