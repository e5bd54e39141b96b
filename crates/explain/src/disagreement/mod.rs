//! A small tree over choices: where does a student depart from its teacher, and what does it cost?

mod column;
#[cfg(test)]
mod tests;

use super::path::{Paths, edges};
use column::{Column, columns};
use rayon::prelude::*;
use sched_distill_core::{
    level::{Scope, Values},
    model::Tree,
};
use sched_distill_judge::evaluator::{Disagreement, Estimate, Instead, Region, Scorer, bootstrap};
use sched_distill_learn::{Targets, TreeData, TreeError, TreeParams, fit_tree};
use sched_distill_trace::{Choice, LevelTable};
use std::cmp::Ordering;

/// Least share of the weight in a region, in the episodes that regions are found on.
const LEAST_SHARE: f64 = 0.01;

/// Least share of the target's variance that a split must take away, in the same episodes: less is noise more often than not.
const LEAST_GAIN: f64 = 0.001;

/// One choice and what the scorer makes of it.
struct Case<'a> {
    choice: Choice<'a>,
    weight: f64,
    /// The teacher's candidate.
    target: usize,
    /// The scorer's.
    taken: usize,
    /// NaN where probabilities are not known.
    regret: f64,
    /// Place of the episode among those that have choices. Regions are found on even ones and measured on odd ones.
    episode: usize,
    /// Leaf of the tree, once there is one.
    leaf: usize,
}

impl Case<'_> {
    fn departs(&self) -> bool {
        self.taken != self.target
    }
}

// What is summed over cases.

fn weight(case: &Case<'_>) -> f64 {
    case.weight
}

fn departure(case: &Case<'_>) -> f64 {
    if case.departs() { case.weight } else { 0.0 }
}

fn regret(case: &Case<'_>) -> f64 {
    case.weight * case.regret
}

/// Divides the choices of a table into at most `max_regions` regions by where `scorer` departs from the teacher.
///
/// A regression tree is grown on every other episode, the first one included: of the regret (the teacher's best
/// probability minus its probability of the scorer's candidate) where all probabilities are known, else of whether the
/// scorer departs. It may ask for the kind of choice, the number of candidates, the features that all candidates of a
/// choice have in common, and those of the teacher's candidate; but not for those of the scorer's candidate, because the
/// two together would say that candidates differ where they differ. What the scorer takes instead is told afterwards. A
/// region has 1 % of the weight or more, and a split takes away 0.1 % of the variance or more. All figures are from the
/// other episodes; a region in which they have no choice is left out. Intervals resample episodes; `seed` fixes them.
///
/// Who has no such quantity, by `values`, is below all others in it, and a region that holds such choices says so.
///
/// Choices with a single candidate are left out; `None` unless there are others in two episodes.
///
/// # Errors
///
/// No region asked for at all, or a feature that is not finite.
pub fn disagreement(
    (table, values): (&LevelTable, &Values),
    scorer: &Scorer,
    max_regions: usize,
    seed: u64,
) -> Result<Option<Disagreement>, TreeError> {
    let mut cases = cases(table, scorer);
    let episodes = cases.last().map_or(0, |last| last.episode + 1);
    if episodes < 2 {
        return Ok(None);
    }
    let probable = cases.iter().all(|c| !c.regret.is_nan());
    let columns = columns(table, values, &cases);
    let tree = grow(&mut cases, (&columns, values), probable, max_regions)?;
    let (searched, measured): (Vec<_>, Vec<_>) = cases.into_iter().partition(|c| c.episode.is_multiple_of(2));
    let figures = Figures { cases: &measured, episodes, seed };
    let paths = Paths::new(&tree, &edges(&tree));
    let region = |place: usize| -> Option<Region> {
        let leaf = paths.leaf[place] as usize;
        let mut sides = paths.sides(place).to_vec();
        // In the order of the columns, which is the one that reads best.
        sides.sort_by_key(|side| side.feature);
        let words = sides.iter().map(|s| columns[s.feature as usize].words(s.lo, s.hi)).collect::<Vec<_>>();
        let part = |of: fn(&Case<'_>) -> f64| move |c: &Case<'_>| if c.leaf == leaf { of(c) } else { 0.0 };
        Some(Region {
            rule: if words.is_empty() { "all".to_owned() } else { words.join(" and ") },
            conditions: sides.iter().map(|s| columns[s.feature as usize].condition(s.lo, s.hi)).collect(),
            choices: measured.iter().filter(|c| c.leaf == leaf).count(),
            share: figures.ratio(part(weight), weight)?,
            disagree: figures.ratio(part(departure), part(weight))?,
            regret: figures.ratio(part(regret), part(weight)),
            share_of_disagreement: figures.ratio(part(departure), departure),
            share_of_regret: figures.ratio(part(regret), regret),
            instead: instead((table, values), &searched, &figures, leaf),
        })
    };
    let mut regions: Vec<Region> = (0..paths.len()).filter_map(region).collect();
    let cost = |r: &Region| r.share_of_regret.or(r.share_of_disagreement).map_or(0.0, |e| e.value);
    regions.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let Some(disagree) = figures.ratio(departure, weight) else { return Ok(None) };
    Ok(Some(Disagreement {
        level: table.spec.name.clone(),
        by: if probable { "regret" } else { "disagreement" }.to_owned(),
        found_on: episodes.div_ceil(2),
        measured_on: episodes / 2,
        choices: measured.len(),
        disagree,
        regret: figures.ratio(regret, weight),
        regions,
    }))
}

fn cases<'a>(table: &'a LevelTable, scorer: &Scorer) -> Vec<Case<'a>> {
    let judge = |scores: &mut Vec<f64>, choice: Choice<'a>| {
        let (target, taken) = (choice.target(), scorer.choose(&choice, scores));
        let p = |i: usize| f64::from(choice.log_prob[i]).exp();
        let regret = if choice.has_probabilities() { p(target) - p(taken) } else { f64::NAN };
        let weight = f64::from(choice.header.weight);
        Case { choice, weight, target, taken, regret, episode: 0, leaf: 0 }
    };
    let choices: Vec<Choice<'a>> = table.iter().filter(|c| !c.is_forced()).collect();
    let mut cases: Vec<Case<'a>> = choices.into_par_iter().map_init(Vec::new, judge).collect();
    for i in 1..cases.len() {
        let [before, case] = [&cases[i - 1], &cases[i]];
        cases[i].episode = before.episode + usize::from(before.choice.header.episode != case.choice.header.episode);
    }
    cases
}

/// Grows the tree on the even episodes and finds the leaf of every case.
fn grow(
    cases: &mut [Case<'_>],
    (columns, values): (&[Column], &Values),
    probable: bool,
    max_regions: usize,
) -> Result<Tree, TreeError> {
    let row = |case: &Case<'_>, x: &mut Vec<f32>| x.extend(columns.iter().map(|c| c.value(case, values)));
    let (mut x, mut target, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases.iter().filter(|c| c.episode.is_multiple_of(2)) {
        row(case, &mut x);
        target.push(if probable { case.regret } else { f64::from(u8::from(case.departs())) });
        weight.push(case.weight);
    }
    let sum = |f: &dyn Fn(f64) -> f64| weight.iter().zip(&target).map(|(w, &t)| w * f(t)).sum::<f64>();
    let (total, mean) = (sum(&|_| 1.0), sum(&|t| t) / sum(&|_| 1.0));
    let variance = sum(&|t| (t - mean).powi(2)) / total;
    let params = TreeParams::default()
        .max_leaf_nodes(max_regions)
        .min_weight_leaf(LEAST_SHARE * total)
        .min_impurity_decrease(LEAST_GAIN * variance);
    let data = TreeData { x: &x, width: columns.len(), targets: Targets::Values(&target), weight: Some(&weight) };
    let tree = fit_tree(data, &params)?;
    for case in cases {
        x.clear();
        row(case, &mut x);
        case.leaf = tree.apply(&x);
    }
    Ok(tree)
}

/// Figures of the cases that measure.
struct Figures<'a> {
    cases: &'a [Case<'a>],
    episodes: usize,
    seed: u64,
}

impl Figures<'_> {
    /// A ratio of two sums over the cases; `None` if it is not a number, as that of regrets where probabilities are not known.
    fn ratio(&self, top: impl Fn(&Case<'_>) -> f64, bottom: impl Fn(&Case<'_>) -> f64) -> Option<Estimate> {
        let mut sums = vec![(0.0, 0.0); self.episodes / 2];
        for case in self.cases {
            let (above, below) = &mut sums[case.episode / 2];
            *above += top(case);
            *below += bottom(case);
        }
        let estimate = bootstrap(sums.len(), self.seed, |counts| {
            let (above, below) = sums
                .iter()
                .zip(counts)
                .fold((0.0, 0.0), |(above, below), (s, &c)| (above + s.0 * f64::from(c), below + s.1 * f64::from(c)));
            above / below
        });
        estimate.value.is_finite().then_some(estimate)
    }
}

/// The feature in which the two candidates differ most consistently in a leaf's departures of the episodes that search, and
/// how consistently they do in those that measure. Ranks and ratios order candidates as the quantities do that they are
/// formed from, so those are enough.
fn instead(
    (table, values): (&LevelTable, &Values),
    searched: &[Case<'_>],
    figures: &Figures<'_>,
    leaf: usize,
) -> Option<Instead> {
    let order = |c: &Case<'_>, column: usize| {
        let [taken, target] = [c.taken, c.target].map(|i| c.choice.row(i));
        let both = values.has(taken, column) && values.has(target, column);
        let order = if both { taken[column].partial_cmp(&target[column]) } else { None };
        order.unwrap_or(Ordering::Equal)
    };
    let mut best: Option<(f64, usize)> = None;
    for (column, spec) in table.spec.features.iter().enumerate() {
        if matches!(spec.scope, Scope::Rank | Scope::Ratio) {
            continue;
        }
        let departures = searched.iter().filter(|c| c.leaf == leaf && c.departs());
        let lean: f64 = departures.map(|c| c.weight * f64::from(order(c, column) as i8)).sum();
        if lean.abs() > best.map_or(0.0, |(most, _)| most.abs()) {
            best = Some((lean, column));
        }
    }
    let (lean, column) = best?;
    let (more, side) = if lean > 0.0 { (true, Ordering::Greater) } else { (false, Ordering::Less) };
    let here = |c: &Case<'_>| if c.leaf == leaf { departure(c) } else { 0.0 };
    let share = figures.ratio(|c| if order(c, column) == side { here(c) } else { 0.0 }, here)?;
    Some(Instead { feature: table.spec.features[column].name.clone(), more, share })
}
