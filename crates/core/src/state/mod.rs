//! What states of all scenarios have in common when somebody tells them: jobs by number, figures within bounds, clocks that do not go
//! back, and the words in which what cannot be is refused.

mod check;
mod jobs;

pub use check::{arrived_by, arrives, clock, few, numbers, place_of, positive, up_to, whole};
pub use jobs::{Arrives, Jobs};

use std::fmt::Display;

/// Why a state is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct StateError {
    /// Which figure, e.g. ``job 3, `epochs` ``.
    pub field: String,
    /// What was found and what is allowed.
    pub problem: String,
}

impl StateError {
    /// What is wrong with a figure, by its name alone; [`StateError::of`] says whose it is.
    #[must_use]
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same with whose figure it is, e.g. of `"job"` 3.
    #[must_use]
    pub fn of(self, what: &str, number: impl Display) -> Self {
        Self { field: format!("{what} {number}, `{}`", self.field), ..self }
    }
}

/// Why a decision is illegal. It changes nothing, so another decision may follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// An answer to another question.
    #[error("at {time_ms} ms: got {found}; {asked}")]
    Other {
        /// The time, ms, rounded down.
        time_ms: u64,
        /// The decision.
        found: String,
        /// What is asked.
        asked: String,
    },
    /// An answer that cannot be carried out.
    #[error("at {time_ms} ms: {problem}")]
    NotAllowed {
        /// The time, ms, rounded down.
        time_ms: u64,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// There is no open question.
    #[error("no decision is expected: no question is open")]
    Ended,
}

/// The default of what is so unless it is said not to be.
#[must_use]
pub fn yes() -> bool {
    true
}

/// Whether that may be left out.
#[must_use]
pub fn is_true(value: &bool) -> bool {
    *value
}

/// Whether a value may be left out because it is the default of its type.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
