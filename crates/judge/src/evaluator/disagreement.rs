//! Where a student departs from its teacher, and what that costs, as plain data.

use super::Estimate;
use serde::{Deserialize, Serialize};

/// The choices of one level, divided into regions by how far the student departs from the teacher there. The regions come
/// from some episodes and every figure from others, so that none is flattered by the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disagreement {
    /// Level, e.g. `job`.
    pub level: String,
    /// What tells the regions apart: `regret`, or `disagreement` where the teacher's probabilities are not known.
    pub by: String,
    /// Episodes that the regions were found on.
    pub found_on: usize,
    /// Episodes that the figures are from.
    pub measured_on: usize,
    /// Choices with at least two candidates in them.
    pub choices: usize,
    /// Weighted share of these in which the student takes another candidate than the teacher's target.
    pub disagree: Estimate,
    /// Mean over these of the teacher's best probability minus its probability of the student's candidate; `None` for
    /// deterministic teachers.
    pub regret: Option<Estimate>,
    /// Every choice is in one of them; the one with most of the regret (else of the disagreement) comes first.
    pub regions: Vec<Region>,
}

/// A region of choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Which choices, in words; `all` if there is only one region.
    pub rule: String,
    /// The same as bounds, all of which hold.
    pub conditions: Vec<Condition>,
    /// Choices measured.
    pub choices: usize,
    /// Weighted share of the level's choices.
    pub share: Estimate,
    /// Weighted share of the region's choices in which the student departs.
    pub disagree: Estimate,
    /// Mean regret of the region's choices; `None` for deterministic teachers.
    pub regret: Option<Estimate>,
    /// Share of the level's disagreement; `None` if the student never departs.
    pub share_of_disagreement: Option<Estimate>,
    /// Share of the level's regret; `None` if there is none.
    pub share_of_regret: Option<Estimate>,
    /// What the student takes instead; `None` where it does not depart, or no feature tells.
    pub instead: Option<Instead>,
}

/// Bounds of one column: `above < value <= at_most`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// `kind=NAME` (1 for choices of that kind, else 0), `candidates` (their number), a feature that the candidates of a choice
    /// have in common, or `teacher.FEATURE`: of the teacher's candidate.
    pub column: String,
    /// Lower bound; not met by the bound itself.
    pub above: Option<f32>,
    /// Upper bound.
    pub at_most: Option<f32>,
    /// Whether it also holds where there is no such quantity, as of giving nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_none: bool,
}

/// The feature in which the student's candidates differ most consistently from the teacher's where it departs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    /// Feature of the level.
    pub feature: String,
    /// Whether the student's candidate has more of it; else it has less.
    pub more: bool,
    /// Weighted share of the region's departures in which that is so.
    pub share: Estimate,
}
