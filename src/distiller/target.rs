//! Training rows of a level: which choices, which target, which weight.

use super::{FitError, Target, choice::Choices};
use crate::{
    rng::Stream,
    trace::{Choice, LevelTable},
};

/// Lowest ln(p / best p) that is told apart; below it a candidate is simply out of the question.
const LOG_FLOOR: f64 = -6.0;

/// Choices of less weight than this are left out. Below the first level a choice weighs as much as its parent is probable,
/// and what lies behind improbable parents is much in number but little in weight.
const LEAST_WEIGHT: f32 = 1e-3;

/// Rows to learn from.
pub(super) struct Rows {
    /// Features, row-major.
    pub(super) x: Vec<f32>,
    pub(super) y: Vec<f64>,
    pub(super) weight: Vec<f64>,
    /// Where each choice begins, and the end.
    pub(super) bounds: Vec<usize>,
}

impl Rows {
    /// Weighted variance of the target.
    pub(super) fn variance(&self) -> f64 {
        variance(&self.y, &self.weight)
    }
}

/// Weighted variance.
pub(super) fn variance(y: &[f64], weight: &[f64]) -> f64 {
    let total: f64 = weight.iter().sum();
    let mean = y.iter().zip(weight).map(|(y, w)| w * y).sum::<f64>() / total;
    y.iter().zip(weight).map(|(y, w)| w * (y - mean) * (y - mean)).sum::<f64>() / total
}

/// ln(p / best p) of every candidate, floored; of deterministic policies 0 for the executed one and the floor for others.
pub(super) fn log_ratio(choice: &Choice<'_>) -> impl Iterator<Item = f64> {
    let target = choice.target();
    let known = choice.has_probabilities();
    let best = f64::from(choice.log_prob[target]);
    choice.log_prob.iter().enumerate().map(move |(i, &p)| match known {
        true => (f64::from(p) - best).max(LOG_FLOOR),
        false if i == target => 0.0,
        false => LOG_FLOOR,
    })
}

/// The choices to learn from among those that count, and their weights. Where there are more than `most`, so many are drawn in proportion to their
/// weights and at even distances, which keeps the total weight and, on average, that of every choice.
pub(super) fn weighted<'a>(
    table: &'a LevelTable,
    balance: f64,
    most: Option<usize>,
    counts: impl Fn(&Choice<'_>) -> bool,
) -> Result<Vec<(Choice<'a>, f64)>, FitError> {
    if table.width() == 0 {
        return Err(FitError::NoFeatures { level: table.spec.name.clone() });
    }
    let usable = || table.iter().filter(|c| !c.is_forced() && c.header.weight >= LEAST_WEIGHT && counts(c));
    let mut kind_weight = vec![0.0; table.kinds.len()];
    for choice in usable() {
        kind_weight[choice.header.kind as usize] += f64::from(choice.header.weight);
    }
    let total: f64 = kind_weight.iter().sum();
    if total <= 0.0 {
        return Err(FitError::NoChoices { level: table.spec.name.clone() });
    }
    let present = kind_weight.iter().filter(|&&w| w > 0.0).count() as f64;
    let weight = |choice: &Choice<'_>| {
        let lift = (total / (present * kind_weight[choice.header.kind as usize])).powf(balance);
        f64::from(choice.header.weight) * lift
    };
    let all: Vec<(Choice<'_>, f64)> = usable().map(|choice| (choice, weight(&choice))).collect();
    Ok(match most.filter(|&most| most < all.len()) {
        Some(most) => thin(&all, most),
        None => all,
    })
}

fn thin<'a>(all: &[(Choice<'a>, f64)], most: usize) -> Vec<(Choice<'a>, f64)> {
    let each = all.iter().map(|(_, weight)| weight).sum::<f64>() / most as f64;
    let start = Stream::new(0, "thinned choices").uniform();
    let (mut upto, mut drawn) = (0.0, 0.0);
    let draw = |&(choice, weight): &(Choice<'a>, f64)| {
        upto += weight / each;
        let before = drawn;
        drawn = (upto - start).ceil().clamp(before, most as f64);
        (drawn > before).then_some((choice, (drawn - before) * each))
    };
    all.iter().filter_map(draw).collect()
}

/// All choices with two or more candidates, weighted as in [`rows`], with the teacher's own probabilities: no logarithm is
/// taken of them, so that they need no floor. Of deterministic policies the executed candidate has probability 1.
pub(super) fn choices(table: &LevelTable, balance: f64, most: Option<usize>) -> Result<Choices, FitError> {
    let mut choices = Choices::new(table.width());
    for (choice, weight) in weighted(table, balance, most, |_| true)? {
        let (target, known) = (choice.target(), choice.has_probabilities());
        let probability = choice.log_prob.iter().enumerate().map(|(i, &p)| match known {
            true => f64::from(p).exp(),
            false => f64::from(u8::from(i == target)),
        });
        choices.push(choice.x, probability, weight, u64::from(choice.header.episode));
    }
    check_finite(choices.data().x, table)?;
    Ok(choices)
}

/// Rows of all choices with two or more candidates. A choice's weight is shared by its candidates, so that a choice among
/// many counts like one among few; `balance` as in [`super::FitParams`].
pub(super) fn rows(table: &LevelTable, target: Target, balance: f64, most: Option<usize>) -> Result<Rows, FitError> {
    let mut rows = Rows { x: Vec::new(), y: Vec::new(), weight: Vec::new(), bounds: vec![0] };
    for (choice, weight) in weighted(table, balance, most, |_| true)? {
        let weight = weight / choice.len() as f64;
        rows.x.extend_from_slice(choice.x);
        rows.weight.resize(rows.weight.len() + choice.len(), weight);
        let best = f64::from(choice.log_prob[choice.target()]);
        rows.y.extend(log_ratio(&choice).map(|r| match target {
            Target::LogRatio => r,
            Target::RelativeProbability => r.exp(),
            Target::Probability if best.is_nan() => r.exp(),
            Target::Probability => (r + best).exp(),
        }));
        rows.bounds.push(rows.y.len());
    }
    check_finite(&rows.x, table)?;
    Ok(rows)
}

fn check_finite(x: &[f32], table: &LevelTable) -> Result<(), FitError> {
    let width = table.width();
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(FitError::NotFinite {
            level: table.spec.name.clone(),
            feature: table.spec.features[i % width].name.clone(),
            row: i / width,
            value: x[i],
        }),
    }
}
