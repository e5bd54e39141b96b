//! Edits of a task's description: another declared size.

use sched_distill_core::simulation::{Edit, EditBudget, EditInfo, small_steps};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sorts of edits.
pub const EDITS: &[EditInfo] = &[EditInfo {
    name: "size",
    meaning: "a task declares that it is larger or smaller than it is",
    usual: true,
    is_number: true,
}];

/// Another declared size; the task really takes what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeEdit {
    /// The size that was declared.
    pub was: u32,
    /// Times that, to a whole number, at least 1.
    pub factor: f64,
}

impl SizeEdit {
    /// The size that is declared then.
    #[must_use]
    pub fn size(&self) -> u32 {
        (f64::from(self.was) * self.factor).round().max(1.0) as u32
    }
}

impl Edit for SizeEdit {
    fn sort(&self) -> &'static str {
        "size"
    }

    fn cost(&self) -> f64 {
        (self.factor - 1.0).abs()
    }

    fn slope(&self) -> Option<([Self; 2], f64)> {
        let small = |factor| Self { factor, ..self.clone() };
        let (steps, times) = small_steps(self.factor);
        let steps = steps.map(small);
        // Of small sizes such steps come to the same.
        (steps[0].size() != steps[1].size()).then_some((steps, times))
    }
}

impl fmt::Display for SizeEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task declares {} times its size", self.factor)
    }
}

/// All edits that a budget allows of a task that declares this size, and that change it.
pub(crate) fn edits(was: u32, budget: &EditBudget) -> Vec<SizeEdit> {
    let of = |info: &EditInfo| budget.factors(info.name).map(|factor| SizeEdit { was, factor });
    EDITS.iter().filter(|info| budget.allows(info)).flat_map(of).filter(|edit| edit.size() != was).collect()
}
