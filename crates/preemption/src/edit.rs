//! Edits of a job's description: other declared epochs.

use sched_distill_core::simulation::{Edit, EditBudget, EditInfo, small_steps};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sorts of edits.
pub const EDITS: &[EditInfo] = &[EditInfo {
    name: "epochs",
    meaning: "a job declares that it takes more or fewer epochs than it does",
    usual: true,
    is_number: true,
}];

/// Other declared epochs; the job really takes what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochsEdit {
    /// Epochs that were declared.
    pub was: f64,
    /// Times these.
    pub factor: f64,
}

impl Edit for EpochsEdit {
    fn sort(&self) -> &'static str {
        "epochs"
    }

    fn cost(&self) -> f64 {
        (self.factor - 1.0).abs()
    }

    fn slope(&self) -> Option<([Self; 2], f64)> {
        let small = |factor| Self { factor, ..self.clone() };
        let (steps, times) = small_steps(self.factor);
        Some((steps.map(small), times))
    }
}

impl fmt::Display for EpochsEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the job declares {} times its epochs", self.factor)
    }
}

/// All edits that a budget allows of a job that declares so many epochs.
pub(crate) fn edits(was: f64, budget: &EditBudget) -> Vec<EpochsEdit> {
    let of = |info: &EditInfo| budget.factors(info.name).map(|factor| EpochsEdit { was, factor });
    EDITS.iter().filter(|info| budget.allows(info)).flat_map(of).collect()
}
