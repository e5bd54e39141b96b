//! What a scheduler may answer, and what is no answer.

use super::{DecisionError, Question, View};
use sched_distill_core::state::few;
use serde::{Deserialize, Serialize};

/// An answer to one question. As JSON it is `{"do": "serve", "application": 1}`, `{"do": "add", "task": 17}`, `{"do": "close"}` or
/// `{"do": "wait"}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Let accelerators be idle until something happens, or until a time, if that comes earlier.
    Wait {
        /// The time, ms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<f64>,
    },
    /// Form a batch of an application.
    Serve {
        /// One of [`View::candidates`], by place.
        application: u32,
    },
    /// Add a task to the batch: the oldest of its size.
    Add {
        /// Its number, one of [`View::groups`].
        task: u32,
    },
    /// Begin the batch as it is.
    Close,
}

impl Decision {
    /// To wait until something happens.
    pub const WAIT: Self = Self::Wait { until_ms: None };

    /// The application that it serves, if it serves one.
    #[must_use]
    pub fn application(self) -> Option<u32> {
        match self {
            Self::Serve { application } => Some(application),
            _ => None,
        }
    }

    /// The task that it adds, if it adds one.
    #[must_use]
    pub fn task(self) -> Option<u32> {
        match self {
            Self::Add { task } => Some(task),
            _ => None,
        }
    }
}

impl View<'_> {
    /// Whether a decision is legal.
    ///
    /// # Errors
    ///
    /// If not, why.
    #[inline]
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        let is_legal = match (self.question(), decision) {
            (Question::Serve, Decision::Wait { until_ms }) => until_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0),
            (Question::Serve, Decision::Serve { application }) => {
                self.state.queues.get(application as usize).is_some_and(|queue| queue.count > 0)
            }
            (Question::Form(_), Decision::Add { task }) => {
                self.state.place_of_head(task).is_some_and(|place| self.fits(self.state.tasks[place as usize].size))
            }
            (Question::Form(_), Decision::Close) => self.batch().count > 0,
            _ => false,
        };
        if is_legal { Ok(()) } else { Err(self.refusal(decision)) }
    }

    /// Why a decision that is illegal is.
    #[cold]
    fn refusal(&self, decision: Decision) -> DecisionError {
        let time_ms = self.time_ms() as u64;
        let other = |asked: String| DecisionError::Other { time_ms, found: format!("{decision:?}"), asked };
        let no = |problem: String| DecisionError::NotAllowed { time_ms, problem };
        match (self.question(), decision) {
            (Question::Serve, Decision::Serve { application }) => {
                no(format!("application {application} cannot be served; that can be: {}", few(self.candidates())))
            }
            (Question::Form(_), Decision::Add { task }) => {
                let can = few(self.groups().map(|group| group.task));
                no(format!("task {task} cannot be added; that can be: {can}"))
            }
            (Question::Serve, Decision::Wait { .. }) => other("a time must be a number from 0 on".to_owned()),
            (Question::Serve, _) => other("the question is which application is served next, if any".to_owned()),
            (Question::Form(application), Decision::Close) => {
                other(format!("a batch of application {application} has at least one task"))
            }
            (Question::Form(application), _) => {
                other(format!("the question is which task joins the batch of application {application}"))
            }
        }
    }
}
