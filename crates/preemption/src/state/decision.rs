//! What a scheduler may answer, and what is no answer.

use super::{DecisionError, Question, View};
use sched_distill_core::state::few;
use serde::{Deserialize, Serialize};

/// An answer to one question. As JSON it is `{"do": "serve", "job": 5}`, `{"do": "condemn", "job": 3}` or `{"do": "wait"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Serve no more jobs now; at a question who is condemned, condemn no one, so that the job in question is passed over.
    Wait,
    /// Let a waiting job begin if it fits; otherwise others will be condemned for it.
    Serve {
        /// One of [`View::candidates`].
        job: u32,
    },
    /// Suspend a job at the end of its epoch for the one in question.
    Condemn {
        /// One of [`View::candidates`].
        job: u32,
    },
}

impl Decision {
    /// The job that it is about, if it is about one.
    #[must_use]
    pub fn job(self) -> Option<u32> {
        match self {
            Self::Wait => None,
            Self::Serve { job } | Self::Condemn { job } => Some(job),
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
        let (job, what) = match (self.question(), decision) {
            (_, Decision::Wait) => return Ok(()),
            (Question::Serve, Decision::Serve { job }) => (job, "served"),
            (Question::Condemn(_), Decision::Condemn { job }) => (job, "condemned"),
            (Question::Serve, _) => return other("the question is which waiting job is served next".to_owned()),
            (Question::Condemn(job), _) => {
                return other(format!("the question is which job is condemned for job {job}"));
            }
        };
        if self.is_candidate(job) {
            return Ok(());
        }
        let allowed = match self.candidates().next() {
            None => "no job can".to_owned(),
            Some(_) => format!("that can be: {}", few(self.candidates())),
        };
        Err(DecisionError::NotAllowed { time_ms, problem: format!("job {job} cannot be {what}; {allowed}") })
    }
}
