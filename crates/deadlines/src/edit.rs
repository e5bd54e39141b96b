//! Edits of a job's description: another declared deadline, other declared iterations.

use sched_distill_core::simulation::{Edit, EditBudget, EditInfo, small_steps};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sorts of edits.
pub const EDITS: &[EditInfo] = &[
    EditInfo {
        name: "deadline",
        meaning: "a job declares more or less time until its deadline than its user has",
        usual: true,
        is_number: true,
    },
    EditInfo {
        name: "iterations",
        meaning: "a job declares that it takes more or fewer iterations than it does",
        usual: true,
        is_number: true,
    },
];

/// Another number in a declaration; the job really takes what it takes, and is needed when it is needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DeclaredEdit {
    /// Another time from arrival to deadline.
    Deadline {
        /// Time that was declared, ms.
        was: f64,
        /// Times these.
        factor: f64,
    },
    /// Other iterations.
    Iterations {
        /// Iterations that were declared.
        was: f64,
        /// Times these.
        factor: f64,
    },
}

impl Edit for DeclaredEdit {
    fn sort(&self) -> &'static str {
        match self {
            Self::Deadline { .. } => "deadline",
            Self::Iterations { .. } => "iterations",
        }
    }

    fn cost(&self) -> f64 {
        (self.factor() - 1.0).abs()
    }

    fn slope(&self) -> Option<([Self; 2], f64)> {
        let small = |factor| match *self {
            Self::Deadline { was, .. } => Self::Deadline { was, factor },
            Self::Iterations { was, .. } => Self::Iterations { was, factor },
        };
        let (steps, times) = small_steps(self.factor());
        Some((steps.map(small), times))
    }
}

impl DeclaredEdit {
    /// Times what it was the number becomes.
    #[must_use]
    pub fn factor(&self) -> f64 {
        let (Self::Deadline { factor, .. } | Self::Iterations { factor, .. }) = *self;
        factor
    }
}

impl fmt::Display for DeclaredEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline { factor, .. } => write!(f, "the job declares {factor} times the time until its deadline"),
            Self::Iterations { factor, .. } => write!(f, "the job declares {factor} times its iterations"),
        }
    }
}

/// All edits that a budget allows of a job that declares so much time and so many iterations.
pub(crate) fn edits(time_ms: f64, iterations: f64, budget: &EditBudget) -> Vec<DeclaredEdit> {
    let of = |info: &EditInfo| {
        let is_deadline = info.name == "deadline";
        budget.factors(info.name).map(move |factor| match is_deadline {
            true => DeclaredEdit::Deadline { was: time_ms, factor },
            false => DeclaredEdit::Iterations { was: iterations, factor },
        })
    };
    EDITS.iter().filter(|info| budget.allows(info)).flat_map(of).collect()
}
