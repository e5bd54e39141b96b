//! The front of size against fidelity as plain data (`front.json`).

use super::{By, FrontModel, pareto};
use sched_distill_judge::evaluator::{Estimate, FidelityRow};
use serde::{Deserialize, Serialize};

/// What sizes buy: all models that were fitted, and the best student of every total size. All figures are on validation choices
/// and validation episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeFront {
    /// Hash of the trace that the models were fitted on.
    pub trace: String,
    /// The figure that models are compared by.
    pub by: By,
    /// The models, level by level.
    pub levels: Vec<FrontLevel>,
    /// The best student of every total size that was tried, the smallest first.
    pub totals: Vec<FrontTotal>,
}

/// The models of one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontLevel {
    /// Level, e.g. `job`.
    pub level: String,
    /// All that were fitted.
    pub models: Vec<FrontEntry>,
}

/// One model's size and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEntry {
    /// Learner that fitted it.
    pub learner: String,
    /// Leaves or coefficients.
    pub size: usize,
    /// Whether no other model of the level is as small and better.
    pub on_front: bool,
    /// One row per kind, and one for all.
    pub fidelity: Vec<FidelityRow>,
}

/// The best student of a total size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontTotal {
    /// Size over all levels.
    pub size: usize,
    /// Its file, as shown to people.
    pub student: String,
    /// Its models, one per level.
    pub models: Vec<FrontChoice>,
    /// Its objective against the teacher's, as the scenario compares it; `None` if it stalled or did not run.
    #[serde(alias = "jct_ratio")]
    pub to_teacher: Option<Estimate>,
}

/// The model that a student has at one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontChoice {
    /// Level, e.g. `job`.
    pub level: String,
    /// Learner that fitted it.
    pub learner: String,
    /// Leaves or coefficients.
    pub size: usize,
}

impl FrontLevel {
    /// The models of a level, those on the front marked.
    #[must_use]
    pub fn new(level: &str, models: &[FrontModel], by: By) -> Self {
        let best = pareto(models, by);
        let entry = |(i, m): (usize, &FrontModel)| FrontEntry {
            learner: m.named.name.clone(),
            size: m.size,
            on_front: best.contains(&i),
            fidelity: m.fidelity.clone(),
        };
        Self { level: level.to_owned(), models: models.iter().enumerate().map(entry).collect() }
    }
}

impl FrontChoice {
    /// A model of the front as part of a student.
    #[must_use]
    pub fn new(level: &str, model: &FrontModel) -> Self {
        Self { level: level.to_owned(), learner: model.named.name.clone(), size: model.size }
    }
}
