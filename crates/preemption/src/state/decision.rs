//! What a scheduler may answer, and what is no answer.

use super::{Question, View};
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

/// Why a decision is illegal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// An answer to another question.
    #[error("at {time_ms} ms: got {found}; {allowed}")]
    Other {
        /// The time, ms.
        time_ms: u64,
        /// The decision.
        found: String,
        /// What is asked.
        allowed: String,
    },
    /// A job that is not there to be served or condemned.
    #[error("at {time_ms} ms: job {job} cannot be {what}; {allowed}")]
    NoCandidate {
        /// The time, ms.
        time_ms: u64,
        /// The job.
        job: u32,
        /// `served` or `condemned`.
        what: &'static str,
        /// Who can.
        allowed: String,
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
        let (job, what) = match (self.question(), decision) {
            (_, Decision::Wait) => return Ok(()),
            (Question::Serve, Decision::Serve { job }) => (job, "served"),
            (Question::Condemn(_), Decision::Condemn { job }) => (job, "condemned"),
            (Question::Serve, _) => return Err(other("the question is which waiting job is served next".to_owned())),
            (Question::Condemn(job), _) => {
                return Err(other(format!("the question is which job is condemned for job {job}")));
            }
        };
        if self.is_candidate(job) {
            return Ok(());
        }
        let all: Vec<u32> = self.candidates().collect();
        let first: Vec<String> = all.iter().take(8).map(ToString::to_string).collect();
        let more = if all.len() > 8 { ", ..." } else { "" };
        let allowed = match all.is_empty() {
            true => "no job can".to_owned(),
            false => format!("that can be: {}{more}", first.join(", ")),
        };
        Err(DecisionError::NoCandidate { time_ms, job, what, allowed })
    }
}
