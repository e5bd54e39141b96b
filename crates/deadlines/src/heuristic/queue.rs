//! Queues that give what users request: first in, first out, earliest deadline, least slack, and earliest deadline with a test.

use super::{give_up, keep, least};
use crate::state::{Decision, Question, View};

/// Jobs in some order, each with the cores that its user requests. Deadlines are never given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// In order of arrival, as the default scheduler of Kubernetes has it.
    Fifo,
    /// The earliest deadline first.
    Edf,
    /// The least time to spare first.
    LeastSlack,
}

impl Queue {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        let key = |job: u32| match self {
            Self::Fifo => 0.0,
            Self::Edf => seen.job(job).deadline_ms(),
            Self::LeastSlack => seen.job(job).slack_ms(),
        };
        requested(seen, key)
    }
}

/// Starts the job with the least key whose request fits.
pub(super) fn requested(seen: &View<'_>, key: impl Fn(u32) -> f64) -> Decision {
    if let Question::Running(job) = seen.question() {
        return keep(seen, job);
    }
    let fits = |job: u32| seen.job(job).requested() <= seen.room();
    match least(seen, |job| fits(job).then(|| key(job))) {
        Some(job) => Decision::Start { job, cores: seen.job(job).requested(), elastic: false },
        None => Decision::Wait,
    }
}

/// The earliest deadline first, each job with the cores that its user requests; the deadline of a job that is predicted to be late with
/// them is given up.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdfTest {
    /// Whether such jobs are refused, where that is allowed.
    pub refuse: bool,
}

impl EdfTest {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        if seen.question() == Question::Start
            && let Some(job) = seen.waiting().iter().copied().find(|&job| seen.job(job).slack_ms() < 0.0)
        {
            return give_up(seen, job, self.refuse);
        }
        Queue::Edf.decide(seen)
    }
}
