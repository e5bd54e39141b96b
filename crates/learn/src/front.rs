//! Size against fidelity: models of many sizes per level, and which of them to take for a given total size.
//!
//! Levels are chosen together. A student's size is the sum over its levels, and so is its value: each level's figure on the
//! validation choices, averaged over the kinds of choice so that a rare kind counts as much as a common one. The best
//! combination within a size is found exactly, size by size (a knapsack problem of as many items as levels).

use super::{
    FitError, FitParams, Learner,
    fit::{pick_like_teacher, take_the_first},
    temperature::fit_temperature,
};
use rayon::prelude::*;
use sched_distill_core::{
    level::ALL_KINDS,
    model::{NamedModel, Pick, ScoreCandidates},
};
use sched_distill_judge::evaluator::{FidelityRow, Role, Scorer, fidelity};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The figure that models are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Top-1 agreement.
    Top1,
    /// Top-3 agreement.
    Top3,
    /// Probability regret; less is better.
    Regret,
    /// Cross-entropy; less is better.
    CrossEntropy,
}

impl By {
    /// All figures.
    pub const ALL: [Self; 4] = [Self::Top1, Self::Top3, Self::Regret, Self::CrossEntropy];

    /// Its name, e.g. `cross-entropy`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Top1 => "top1",
            Self::Top3 => "top3",
            Self::Regret => "regret",
            Self::CrossEntropy => "cross-entropy",
        }
    }

    /// Whether more is better.
    #[must_use]
    pub fn grows(self) -> bool {
        matches!(self, Self::Top1 | Self::Top3)
    }

    /// The figure in a row; `None` where the teacher or the model has no probabilities.
    #[must_use]
    pub fn of(self, row: &FidelityRow) -> Option<f64> {
        match self {
            Self::Top1 => Some(row.top1.value),
            Self::Top3 => Some(row.top3.value),
            Self::Regret => row.regret.map(|e| e.value),
            Self::CrossEntropy => row.cross_entropy.map(|e| e.value),
        }
    }
}

/// A demand on one level and kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind, e.g. `free`, or `all`.
    pub kind: String,
    /// Which figure.
    pub by: By,
    /// Least value, or most where less is better.
    pub bound: f64,
}

/// `LEVEL/KIND/FIGURE=X`.
impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form =
            || "expected LEVEL/KIND/FIGURE=X, e.g. job/free/top1=0.7; figures are top1, top3, regret, cross-entropy";
        let (what, bound) = text.split_once('=').ok_or_else(form)?;
        let [level, kind, figure] = what.split('/').collect::<Vec<_>>()[..] else { return Err(form().to_owned()) };
        let by = By::ALL.into_iter().find(|by| by.name() == figure).ok_or_else(form)?;
        let bound = bound.parse::<f64>().ok().filter(|b| b.is_finite()).ok_or_else(form)?;
        Ok(Self { level: level.to_owned(), kind: kind.to_owned(), by, bound })
    }
}

impl Gate {
    pub(super) fn holds(&self, model: &FrontModel) -> bool {
        let row = model.fidelity.iter().find(|r| r.kind == self.kind);
        let figure = row.and_then(|r| self.by.of(r));
        figure.is_some_and(|v| if self.by.grows() { v >= self.bound } else { v <= self.bound })
    }
}

/// A model of one level with its figures on the validation choices.
#[derive(Clone, Debug)]
pub struct FrontModel {
    /// The model; its name is that of its learner.
    pub named: NamedModel,
    /// What it takes of its probabilities.
    pub pick: Pick,
    /// Leaves or coefficients, at least 1.
    pub size: usize,
    /// One row per kind, and one for all.
    pub fidelity: Vec<FidelityRow>,
}

impl FrontModel {
    /// Of a level without choices: the first candidate is taken.
    #[must_use]
    pub fn first() -> Self {
        Self { named: take_the_first(), pick: Pick::Mode, size: 0, fidelity: Vec::new() }
    }

    /// Mean over the kinds of choice; larger is better. `None` where the figure is not defined.
    #[must_use]
    pub fn value(&self, by: By) -> Option<f64> {
        let rows: Vec<&FidelityRow> = self.fidelity.iter().filter(|r| r.kind != ALL_KINDS).collect();
        let sum = rows.iter().map(|r| by.of(r)).sum::<Option<f64>>()?;
        Some(if by.grows() { sum } else { -sum } / rows.len().max(1) as f64)
    }

    /// Standard error of the mean over the kinds of top-1 agreement: what the intervals of the kinds come to, as if these
    /// were independent.
    #[must_use]
    pub fn top1_error(&self) -> f64 {
        let rows: Vec<&FidelityRow> = self.fidelity.iter().filter(|r| r.kind != ALL_KINDS).collect();
        let squares = rows.iter().map(|r| ((r.top1.high - r.top1.low) / (2.0 * Z975)).powi(2));
        squares.sum::<f64>().sqrt() / rows.len().max(1) as f64
    }

    /// Whether it agrees with the teacher in every choice that it was measured on.
    #[must_use]
    pub fn is_always_right(&self) -> bool {
        !self.fidelity.is_empty() && self.fidelity.iter().all(|r| r.top1.value >= 1.0)
    }
}

/// Half the width of a 95 % interval in standard errors.
const Z975: f64 = 1.959_964;

/// Fits models of several sizes at one level with one learner. Trees are kept at powers of two, as they
/// grow; logits come in all sizes from one search.
///
/// # Errors
///
/// What the learner objects to.
pub fn front_models(
    train: &LevelTable,
    validation: &LevelTable,
    learner: Learner,
    sizes: &[usize],
    params: &FitParams,
) -> Result<Vec<FrontModel>, FitError> {
    let sizes: Vec<usize> = sizes.iter().copied().filter(|n| learner.is_logit() || n.is_power_of_two()).collect();
    let models = learner.with(params).fit_sizes(train, &sizes)?;
    let judged = models.into_par_iter().map(|model| {
        let temperature = fit_temperature(&model, validation);
        let named = NamedModel { name: learner.name().to_owned(), temperature, model };
        let pick = pick_like_teacher(&named, validation);
        let fidelity = fidelity(validation, &[Scorer::model(&named, Role::Student).picking(pick)], 0);
        FrontModel { size: named.model.size().max(1), named, pick, fidelity }
    });
    Ok(judged.collect())
}

/// The models that no other one beats in both size and value, the smallest first: their places in the list.
#[must_use]
pub fn pareto(models: &[FrontModel], by: By) -> Vec<usize> {
    let value = |i: usize| models[i].value(by).unwrap_or(f64::NEG_INFINITY);
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by(|&a, &b| models[a].size.cmp(&models[b].size).then(value(b).total_cmp(&value(a))));
    let mut best = f64::NEG_INFINITY;
    order.retain(|&i| {
        let better = value(i) > best;
        best = best.max(value(i));
        better
    });
    order
}

/// One model per level, by its place in the level's list, with the largest sum of values among those of at most `most` in total
/// that pass all gates; of equal sums the smallest. `None` if there is no such combination.
#[must_use]
pub fn best_within(levels: &[(&str, &[FrontModel])], most: usize, by: By, gates: &[Gate]) -> Option<Vec<usize>> {
    // By total size: the best sum of values so far, and its models.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; most + 1];
    best[0] = Some((0.0, Vec::new()));
    for (level, models) in levels {
        let mut next: Vec<Option<(f64, Vec<usize>)>> = vec![None; most + 1];
        let passing = |model: &FrontModel| gates.iter().filter(|g| g.level == *level).all(|g| g.holds(model));
        for (i, model) in models.iter().enumerate().filter(|(_, m)| passing(m)) {
            let Some(value) = model.value(by) else { continue };
            for used in 0..=most.saturating_sub(model.size) {
                let (Some((sum, chosen)), true) = (&best[used], used + model.size <= most) else { continue };
                let place = &mut next[used + model.size];
                if place.as_ref().is_none_or(|(there, _)| sum + value > *there) {
                    *place = Some((sum + value, chosen.iter().copied().chain([i]).collect()));
                }
            }
        }
        best = next;
    }
    let mut found: Option<(f64, Vec<usize>)> = None;
    for candidate in best.into_iter().flatten() {
        if found.as_ref().is_none_or(|(sum, _)| candidate.0 > *sum) {
            found = Some(candidate);
        }
    }
    found.map(|(_, chosen)| chosen)
}

/// Per level the smallest model that passes its gates; the best one where a level has none. `Err` is the first gate that no
/// model passes together with those before it at its level.
///
/// # Errors
///
/// That gate.
pub fn smallest_passing<'a>(
    levels: &[(&str, &[FrontModel])],
    by: By,
    gates: &'a [Gate],
) -> Result<Vec<usize>, &'a Gate> {
    let pick = |(level, models): &(&str, &[FrontModel])| {
        let asked: Vec<&Gate> = gates.iter().filter(|g| g.level == *level).collect();
        let front = pareto(models, by);
        if asked.is_empty() {
            return Ok(front.last().copied().unwrap_or(0));
        }
        let mut left: Vec<usize> = (0..models.len()).collect();
        for gate in &asked {
            left.retain(|&i| gate.holds(&models[i]));
            if left.is_empty() {
                return Err(*gate);
            }
        }
        let value = |i: usize| models[i].value(by).unwrap_or(f64::NEG_INFINITY);
        left.sort_by(|&a, &b| models[a].size.cmp(&models[b].size).then(value(b).total_cmp(&value(a))));
        Ok(left[0])
    };
    levels.iter().map(pick).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use sched_distill_core::{
        model::{Model, Tree},
        rng::Stream,
    };
    use sched_distill_judge::evaluator::Estimate;

    fn model(size: usize, top1: &[(&str, f64)]) -> FrontModel {
        model_with(size, top1, None, 0.0)
    }

    /// A model with these figures, by kind; the error is the standard one of its agreement.
    pub(crate) fn model_with(size: usize, top1: &[(&str, f64)], regret: Option<f64>, error: f64) -> FrontModel {
        let exact = |value| Estimate { value, low: value, high: value };
        let about = |value| Estimate { value, low: value - Z975 * error, high: value + Z975 * error };
        let row = |&(kind, value): &(&str, f64)| FidelityRow {
            level: "job".to_owned(),
            kind: kind.to_owned(),
            scorer: "tree".to_owned(),
            role: Role::Student,
            choices: 1,
            episodes: 1,
            top1: about(value),
            top2: exact(value),
            top3: exact(value),
            regret: regret.map(exact),
            cross_entropy: None,
            kendall: None,
            executed: None,
            amount_error: None,
        };
        let named =
            NamedModel { name: "tree".to_owned(), temperature: 1.0, model: Model::Tree(Tree::leaf(0.0, 0.0, 1, 1.0)) };
        FrontModel { named, pick: Pick::Mode, size, fidelity: top1.iter().map(row).collect() }
    }

    #[test]
    fn kinds_count_alike_and_missing_figures_have_no_value() {
        let m = model(3, &[("x", 0.9), ("y", 0.5), ("all", 0.88)]);
        assert!((m.value(By::Top1).unwrap() - 0.7).abs() < 1e-15);
        assert_eq!(m.value(By::Regret), None);
    }

    #[test]
    fn the_front_holds_what_nothing_beats() {
        let models: Vec<FrontModel> =
            [(8, 0.5), (2, 0.5), (4, 0.4), (4, 0.6), (16, 0.7)].map(|(n, v)| model(n, &[("x", v)])).into();
        assert_eq!(pareto(&models, By::Top1), [1, 3, 4]);
    }

    #[test]
    fn the_best_combination_is_that_of_brute_force() {
        let mut s = Stream::new(5, "front");
        for _ in 0..50 {
            let level = |s: &mut Stream| -> Vec<FrontModel> {
                (0..1 + s.below(5)).map(|_| model(1 + s.below(9), &[("x", s.uniform())])).collect()
            };
            let (a, b, most) = (level(&mut s), level(&mut s), 2 + s.below(16));
            let gate = Gate { level: "a".to_owned(), kind: "x".to_owned(), by: By::Top1, bound: s.uniform() / 2.0 };
            let value = |m: &FrontModel| m.fidelity[0].top1.value;
            let mut best = (f64::NEG_INFINITY, None);
            for (i, x) in a.iter().enumerate().filter(|(_, m)| value(m) >= gate.bound) {
                for (j, y) in b.iter().enumerate() {
                    if x.size + y.size <= most && value(x) + value(y) > best.0 {
                        best = (value(x) + value(y), Some(vec![i, j]));
                    }
                }
            }
            assert_eq!(best_within(&[("a", &a), ("b", &b)], most, By::Top1, &[gate]), best.1);
        }
    }

    #[test]
    fn the_smallest_that_passes_is_taken_and_an_impossible_gate_is_named() {
        let models: Vec<FrontModel> = [(2, 0.5), (4, 0.6), (16, 0.7)].map(|(n, v)| model(n, &[("x", v)])).into();
        let gate = |bound| vec![Gate { level: "a".to_owned(), kind: "x".to_owned(), by: By::Top1, bound }];
        let levels: [(&str, &[FrontModel]); 2] = [("a", &models), ("b", &models)];
        assert_eq!(smallest_passing(&levels, By::Top1, &gate(0.55)), Ok(vec![1, 2]));
        assert_eq!(smallest_passing(&levels, By::Top1, &gate(0.8)).unwrap_err().bound, 0.8);
    }
}
