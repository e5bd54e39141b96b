//! What a scheduler may answer, and what is no answer.

use super::{DecisionError, Question, View};
use sched_distill_core::state::few;
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

impl View<'_> {
    /// Whether a decision is legal.
    ///
    /// # Errors
    ///
    /// If not, why.
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        let time_ms = self.time_ms() as u64;
        let other = |asked: String| Err(DecisionError::Other { time_ms, found: format!("{decision:?}"), asked });
        let refused = |problem: String| Err(DecisionError::NotAllowed { time_ms, problem });
        // How many cores for whom, and how many it can use of how many there are.
        let (job, cores, largest, room) = match (self.question(), decision) {
            (Question::Running(asked), Decision::Resize { job, cores }) if job == asked => {
                let view = self.job(job);
                // To keep what one has is always possible.
                (job, cores, view.largest().max(view.cores()), view.room())
            }
            (Question::Running(asked), _) => {
                return other(format!("the question is how many cores running job {asked} gets"));
            }
            (Question::Start, Decision::Resize { .. }) => {
                return other("the question is which waiting job begins next, if any".to_owned());
            }
            (Question::Start, Decision::Wait) => return Ok(()),
            (
                Question::Start,
                Decision::Start { job, .. } | Decision::BestEffort { job } | Decision::Refuse { job },
            ) => {
                if self.waiting().binary_search(&job).is_err() {
                    return refused(format!("job {job} does not wait; waiting are {}", few(self.waiting())));
                }
                match decision {
                    Decision::Start { cores, elastic: true, .. } => (job, cores, self.job(job).largest(), self.room()),
                    Decision::Start { cores, .. } => (job, cores, self.job(job).most_as_submitted(), self.room()),
                    Decision::Refuse { .. } if !self.cluster().may_refuse => {
                        let instead = "it can be started or put into the best-effort class";
                        return refused(format!("job {job} may not be refused in this cluster; {instead}"));
                    }
                    _ => return Ok(()),
                }
            }
        };
        match (1..=largest.min(room)).contains(&cores) {
            true => Ok(()),
            false => refused(format!(
                "{cores} cores for job {job}; it can use up to {largest}, and the node with most room has {room}"
            )),
        }
    }
}
