//! Training rows of a level: which choices, which target, which weight.

use super::{FitError, Target};
use crate::trace::{Choice, LevelTable};

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
        let weight: f64 = self.weight.iter().sum();
        let mean = self.y.iter().zip(&self.weight).map(|(y, w)| w * y).sum::<f64>() / weight;
        self.y.iter().zip(&self.weight).map(|(y, w)| w * (y - mean) * (y - mean)).sum::<f64>() / weight
    }
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

/// Rows of all choices with two or more candidates. A choice's weight is shared by its candidates, so that a choice among
/// many counts like one among few; `balance` as in [`super::FitParams`].
pub(super) fn rows(table: &LevelTable, target: Target, balance: f64) -> Result<Rows, FitError> {
    let usable = || table.iter().filter(|c| !c.is_forced() && c.header.weight >= LEAST_WEIGHT);
    let mut kind_weight = vec![0.0; table.kinds.len()];
    for choice in usable() {
        kind_weight[choice.header.kind as usize] += f64::from(choice.header.weight);
    }
    let total: f64 = kind_weight.iter().sum();
    if total <= 0.0 {
        return Err(FitError::NoChoices { level: table.spec.name.clone() });
    }
    let present = kind_weight.iter().filter(|&&w| w > 0.0).count() as f64;
    let mut rows = Rows { x: Vec::new(), y: Vec::new(), weight: Vec::new(), bounds: vec![0] };
    for choice in usable() {
        let lift = (total / (present * kind_weight[choice.header.kind as usize])).powf(balance);
        let weight = f64::from(choice.header.weight) * lift / choice.len() as f64;
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
    let width = table.width();
    if let Some(i) = rows.x.iter().position(|v| !v.is_finite()) {
        return Err(FitError::NotFinite {
            level: table.spec.name.clone(),
            feature: table.spec.features[i % width].name.clone(),
            row: i / width,
            value: rows.x[i],
        });
    }
    Ok(rows)
}
