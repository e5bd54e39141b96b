//! A job at a question: what was declared of it, what it holds, and what is predicted.

use super::{ClusterState, Held, Job, Stage, TO_SPARE};
use crate::{Estimate, prediction::normal_below};
use serde::{Deserialize, Serialize};

/// Whether a job's deadline counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It is to be on time.
    Deadline,
    /// Its deadline has been given up.
    BestEffort,
}

/// An arrived job. Sizes are in cores, times in ms.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    pub(crate) state: &'a ClusterState,
    pub(crate) job: &'a Job,
}

impl<'a> JobView<'a> {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.job.id
    }

    /// Place of its model in [`Cluster::models`](crate::Cluster::models).
    #[must_use]
    pub fn model(&self) -> u16 {
        self.job.model
    }

    /// When it arrived.
    #[must_use]
    pub fn arrival_ms(&self) -> f64 {
        self.job.arrival_ms
    }

    /// The deadline that its user declares.
    #[must_use]
    pub fn deadline_ms(&self) -> f64 {
        self.job.deadline_ms
    }

    /// Time until that deadline; negative once it has passed.
    #[must_use]
    pub fn due_ms(&self) -> f64 {
        self.job.deadline_ms - self.state.time_ms
    }

    /// Iterations that its user declares.
    #[must_use]
    pub fn iterations(&self) -> f64 {
        self.job.iterations
    }

    /// Iterations done.
    #[must_use]
    pub fn done(&self) -> f64 {
        self.job.done_at(self.state.time_ms)
    }

    /// Declared iterations that are left, at least 0.
    #[must_use]
    pub fn remaining(&self) -> f64 {
        (self.job.iterations - self.done()).max(0.0)
    }

    /// Cores that its user requests.
    #[must_use]
    pub fn requested(&self) -> u32 {
        self.job.requested
    }

    /// Cores that its program uses as submitted, if it has so many.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.job.threads
    }

    /// Most cores that it can use.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.job.largest
    }

    /// Most cores that it may be given as submitted: its request, or two more than its program uses.
    #[must_use]
    pub fn most_as_submitted(&self) -> u32 {
        self.job.requested.max(self.job.threads + 2)
    }

    /// Whether its deadline counts.
    #[must_use]
    pub fn class(&self) -> Class {
        self.job.class
    }

    /// What is believed of its iterations' time.
    #[must_use]
    pub fn estimate(&self) -> &'a Estimate {
        &self.job.estimate
    }

    fn held(&self) -> Option<&'a Held> {
        match &self.job.stage {
            Stage::Running(held) => Some(held),
            _ => None,
        }
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.held().is_some()
    }

    /// Cores that it holds; 0 if it waits.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.held().map_or(0, |held| held.cores)
    }

    /// Whether its program uses all of them.
    #[must_use]
    pub fn is_elastic(&self) -> bool {
        self.held().is_some_and(|held| held.elastic)
    }

    /// Cores that its program uses of those that it holds.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.held().map_or(0, |held| self.job.used(held.cores, held.elastic))
    }

    /// Time since it got the cores that it holds; 0 if it waits.
    #[must_use]
    pub fn unchanged_ms(&self) -> f64 {
        self.held().map_or(0.0, |held| (self.state.time_ms - held.since_ms).max(0.0))
    }

    /// How long it would stand still if it were resized.
    #[must_use]
    pub fn restart_ms(&self) -> f64 {
        self.state.cluster.restart_ms
    }

    /// How long it still stands still after a restart.
    #[must_use]
    pub fn pause_ms(&self) -> f64 {
        self.held().map_or(0.0, |held| (held.from_ms - self.state.time_ms).max(0.0))
    }

    /// Checks in a row that found it with more time to spare than [`TO_SPARE`].
    #[must_use]
    pub fn spare_checks(&self) -> u32 {
        self.held().map_or(0, |held| held.spare_checks)
    }

    /// Free cores of the node that would have most if it were given so many cores now.
    #[must_use]
    pub fn room_then(&self, cores: u32) -> u32 {
        self.state.most_free_with(self.held(), cores)
    }

    /// Most cores that it could be given now, whatever it can use.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.held().map_or(self.state.most_free, |held| self.state.room_of(held))
    }

    /// Most cores that it could be given now, of those that it can use; what it has it may keep.
    #[must_use]
    pub fn most_now(&self, elastic: bool) -> u32 {
        let most = if elastic { self.most() } else { self.most_as_submitted() };
        most.min(self.room()).max(self.cores())
    }

    /// Predicted time of what is left if its program uses so many cores, without a pause.
    #[must_use]
    pub fn work_ms(&self, used: u32) -> f64 {
        self.remaining() * self.job.estimate.time_ms(used)
    }

    /// How long it would stand still if it were given so many cores now: 0 if it waits, a restart if it holds another number.
    #[must_use]
    pub fn pause_with_ms(&self, cores: u32) -> f64 {
        match self.held() {
            Some(held) if held.cores != cores => self.state.cluster.restart_ms,
            _ => self.pause_ms(),
        }
    }

    /// Cores that its program would use if it were given so many now; a running job that keeps its size stays as it is.
    #[must_use]
    pub fn used_with(&self, cores: u32, elastic: bool) -> u32 {
        match self.held() {
            Some(held) if held.cores == cores => self.job.used(cores, held.elastic),
            Some(_) => self.job.used(cores, true),
            None => self.job.used(cores, elastic),
        }
    }

    /// Predicted time until it is complete, if it is given so many cores now.
    #[must_use]
    pub fn time_with_ms(&self, cores: u32, elastic: bool) -> f64 {
        self.pause_with_ms(cores) + self.work_ms(self.used_with(cores, elastic))
    }

    /// Predicted time to spare before the deadline, if it is given so many cores now; negative if it will be late.
    #[must_use]
    pub fn slack_with_ms(&self, cores: u32, elastic: bool) -> f64 {
        self.due_ms() - self.time_with_ms(cores, elastic)
    }

    /// Predicted time to spare with the cores that it holds, or that it requests if it waits.
    #[must_use]
    pub fn slack_ms(&self) -> f64 {
        match self.held() {
            Some(held) => self.slack_with_ms(held.cores, held.elastic),
            None => self.slack_with_ms(self.job.requested, false),
        }
    }

    /// Most cores that it can use on a node of this cluster.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.job.largest.min(self.state.cluster.node_cores)
    }

    /// Predicted time to spare if it gets the most cores that it can use: below 0 it cannot be on time any more.
    #[must_use]
    pub fn best_slack_ms(&self) -> f64 {
        self.slack_with_ms(self.most(), true)
    }

    /// Whether it is predicted to be late whatever it gets.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        self.best_slack_ms() < 0.0
    }

    /// The smallest size with which it is predicted to be on time if all that is left takes `1 + reserve` times as long as predicted;
    /// `None` if none suffices. Room is not looked at.
    #[must_use]
    pub fn sufficient(&self, reserve: f64) -> Option<u32> {
        let (due, remaining) = (self.due_ms(), self.remaining());
        let enough = |&cores: &u32| {
            let time = self.job.estimate.time_ms(self.used_with(cores, true));
            self.pause_with_ms(cores) + (1.0 + reserve) * remaining * time <= due
        };
        (1..=self.most()).find(enough)
    }

    /// Probability to be on time if it is given so many cores now, as far as its estimate knows.
    #[must_use]
    pub fn chance_with(&self, cores: u32, elastic: bool) -> f64 {
        let deviation = self.remaining() * self.job.estimate.deviation_ms(self.used_with(cores, elastic));
        let slack = self.slack_with_ms(cores, elastic);
        if deviation > 0.0 { normal_below(slack / deviation) } else { f64::from(u8::from(slack >= 0.0)) }
    }

    /// Whether its time to spare is more than [`TO_SPARE`] of the time that it still needs.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        self.is_running() && self.slack_ms() > TO_SPARE * self.work_ms(self.used())
    }
}
