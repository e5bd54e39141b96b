//! Queues that never preempt: first in, first out; the shortest job first; the shortest as a small tree has it.

use super::{least, waiting};
use crate::state::{Decision, Question, View};

/// Waiting jobs in some order, none of them at another's expense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// In order of arrival; nobody begins before who arrived first.
    Fifo,
    /// The least predicted time left first, of those that fit.
    Sjf,
    /// As Lucid (ASPLOS 2023) has it: a small tree learned from earlier jobs predicts how long a job runs, and the least GPU time goes
    /// first, of those that fit.
    LucidLike,
}

impl Queue {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        if seen.question() != Question::Serve {
            return Decision::Wait;
        }
        let room = seen.unreserved();
        let fits = |job: u32| seen.job(job).gpus() <= room;
        let chosen = match self {
            Self::Fifo => waiting(seen).next().filter(|&job| fits(job)),
            Self::Sjf => least(waiting(seen), |job| fits(job).then(|| seen.job(job).left_ms())),
            Self::LucidLike => least(waiting(seen), |id| {
                let job = seen.job(id);
                let run_ms = seen.cluster().earlier.run_ms(job.gpus(), job.declared(), job.packed_epoch_ms());
                fits(id).then(|| f64::from(job.gpus()) * run_ms)
            }),
        };
        chosen.map_or(Decision::Wait, |job| Decision::Serve { job })
    }
}
