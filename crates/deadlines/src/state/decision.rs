//! What a scheduler may answer, and what is no answer.

use super::{Question, View};
use serde::{Deserialize, Serialize};

/// An answer to one question. As JSON it is `{"do": "start", "job": 5, "cores": 8, "elastic": true}`, `{"do": "best-effort", "job": 5}`,
/// `{"do": "refuse", "job": 5}`, `{"do": "wait"}` or, at a question about a running job, `{"do": "resize", "job": 5, "cores": 6}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Start nothing more now.
    Wait,
    /// Let a waiting job begin.
    Start {
        /// One of [`View::waiting`].
        job: u32,
        /// Cores that it gets, on one node.
        cores: u32,
        /// Whether its program is set up to use all of them; otherwise it uses as many as it was submitted with.
        elastic: bool,
    },
    /// Give a waiting job's deadline up: it begins by itself, on as many cores as its program uses, when no other job waits.
    BestEffort {
        /// One of [`View::waiting`].
        job: u32,
    },
    /// Turn a waiting job away, where that is allowed ([`Cluster::may_refuse`](crate::Cluster::may_refuse)).
    Refuse {
        /// One of [`View::waiting`].
        job: u32,
    },
    /// Give the running job that the question is about so many cores, all of which its program then uses; as many as it has to keep
    /// everything as it is.
    Resize {
        /// The job that the question is about.
        job: u32,
        /// Cores that it gets.
        cores: u32,
    },
}

impl Decision {
    /// The job that it is about.
    #[must_use]
    pub fn job(self) -> Option<u32> {
        match self {
            Self::Wait => None,
            Self::Start { job, .. } | Self::BestEffort { job } | Self::Refuse { job } | Self::Resize { job, .. } => {
                Some(job)
            }
        }
    }
}

/// An illegal decision. It changes nothing, so another decision may follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// The question is about a running job, and the answer is not, or the other way round.
    #[error("at {time_ms} ms: {found} is no answer; {allowed}")]
    Other {
        /// The time, ms, rounded.
        time_ms: u64,
        /// The answer.
        found: String,
        /// What is asked.
        allowed: String,
    },
    /// No such job waits.
    #[error("at {time_ms} ms: job {job} does not wait; {allowed}")]
    NotWaiting {
        /// The time, ms, rounded.
        time_ms: u64,
        /// The job asked for.
        job: u32,
        /// The first of those that do.
        allowed: String,
    },
    /// Too many or too few cores.
    #[error(
        "at {time_ms} ms: {cores} cores for job {job}; it can use up to {largest}, and the node with most room has {room}"
    )]
    Cores {
        /// The time, ms, rounded.
        time_ms: u64,
        /// The job asked for.
        job: u32,
        /// Cores asked for.
        cores: u32,
        /// Most that the job can use.
        largest: u32,
        /// Most that there are.
        room: u32,
    },
    /// Jobs may not be refused.
    #[error(
        "at {time_ms} ms: job {job} may not be refused in this cluster; it can be started or put into the best-effort class"
    )]
    NoRefusals {
        /// The time, ms, rounded.
        time_ms: u64,
        /// The job asked for.
        job: u32,
    },
    /// There is no open question.
    #[error("no decision is expected: no question is open")]
    Ended,
}

impl View<'_> {
    /// Whether a decision is legal.
    ///
    /// # Errors
    ///
    /// If not, why.
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        let time_ms = self.time_ms() as u64;
        let other = |allowed: String| DecisionError::Other { time_ms, found: format!("{decision:?}"), allowed };
        let cores_error = |job: u32, cores: u32, largest: u32, room: u32| match (1..=largest.min(room)).contains(&cores)
        {
            true => Ok(()),
            false => Err(DecisionError::Cores { time_ms, job, cores, largest, room }),
        };
        match (self.question(), decision) {
            (Question::Running(asked), Decision::Resize { job, cores }) if job == asked => {
                let view = self.job(job);
                // To keep what one has is always possible.
                cores_error(job, cores, view.largest().max(view.cores()), view.room())
            }
            (Question::Running(asked), _) => {
                Err(other(format!("the question is how many cores running job {asked} gets")))
            }
            (Question::Start, Decision::Resize { .. }) => {
                Err(other("the question is which waiting job begins next, if any".to_owned()))
            }
            (Question::Start, Decision::Wait) => Ok(()),
            (
                Question::Start,
                Decision::Start { job, .. } | Decision::BestEffort { job } | Decision::Refuse { job },
            ) => {
                if self.waiting().binary_search(&job).is_err() {
                    let first: Vec<String> = self.waiting().iter().take(8).map(ToString::to_string).collect();
                    let more = if self.waiting().len() > 8 { ", ..." } else { "" };
                    let allowed = format!("waiting are {}{more}", first.join(", "));
                    return Err(DecisionError::NotWaiting { time_ms, job, allowed });
                }
                let view = self.job(job);
                match decision {
                    Decision::Start { cores, elastic: true, .. } => {
                        cores_error(job, cores, view.largest(), self.room())
                    }
                    Decision::Start { cores, .. } => cores_error(job, cores, view.most_as_submitted(), self.room()),
                    Decision::Refuse { .. } if !self.cluster().may_refuse => {
                        Err(DecisionError::NoRefusals { time_ms, job })
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}
