//! Training rows of a level: which choices, which target, which weight.

use super::{FitError, Target, choice::Choices, draw};
use sched_distill_trace::{Choice, LevelTable};
use std::borrow::Cow;

/// Lowest ln(p / best p) that is told apart; below it a candidate is simply out of the question.
const LOG_FLOOR: f64 = -6.0;

/// Rows to learn from.
pub(super) struct Rows<'a> {
    /// Features, row-major; those of the table where it has no others.
    pub(super) x: Cow<'a, [f32]>,
    pub(super) y: Vec<f64>,
    pub(super) weight: Vec<f64>,
    /// Where each choice begins, and the end.
    pub(super) bounds: Vec<usize>,
}

impl Rows<'_> {
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

/// What a model is taught about every candidate.
pub(super) fn target_of(choice: &Choice<'_>, target: Target) -> impl Iterator<Item = f64> {
    let best = f64::from(choice.log_prob[choice.target()]);
    log_ratio(choice).map(move |r| match target {
        Target::LogRatio => r,
        Target::RelativeProbability => r.exp(),
        Target::Probability if best.is_nan() => r.exp(),
        Target::Probability => (r + best).exp(),
    })
}

/// The choices to learn from among those that count, and their weights.
pub(super) fn weighted<'a>(
    table: &'a LevelTable,
    balance: f64,
    most: Option<usize>,
    counts: impl Fn(&Choice<'_>) -> bool,
) -> Result<Vec<(Choice<'a>, f64)>, FitError> {
    if table.width() == 0 {
        return Err(FitError::NoFeatures { level: table.spec.name.clone() });
    }
    let no_choices = || FitError::NoChoices { level: table.spec.name.clone() };
    draw::weighted(table, balance, most, counts).ok_or_else(no_choices)
}

/// All choices with two or more candidates, weighted as in [`rows`], with the teacher's own probabilities: no logarithm is
/// taken of them, so that they need no floor. Of deterministic policies the executed candidate has probability 1.
pub(super) fn choices(table: &LevelTable, balance: f64, most: Option<usize>) -> Result<Choices, FitError> {
    let mut choices = Choices::new(table.width());
    for (choice, weight) in weighted(table, balance, most, |_| true)? {
        push_choice(&mut choices, &choice, weight);
    }
    check_finite(choices.data().x, table)?;
    Ok(choices)
}

/// Adds a choice with the teacher's probabilities.
pub(super) fn push_choice(choices: &mut Choices, choice: &Choice<'_>, weight: f64) {
    let (target, known) = (choice.target(), choice.has_probabilities());
    let probability = choice.log_prob.iter().enumerate().map(|(i, &p)| match known {
        true => f64::from(p).exp(),
        false => f64::from(u8::from(i == target)),
    });
    choices.push(choice.x, probability, weight, u64::from(choice.header.episode));
}

/// Rows of all choices with two or more candidates. A choice's weight is shared by its candidates, so that a choice among
/// many counts like one among few; `balance` as in [`super::FitParams`].
pub(super) fn rows(
    table: &LevelTable,
    target: Target,
    balance: f64,
    most: Option<usize>,
) -> Result<Rows<'_>, FitError> {
    let chosen = weighted(table, balance, most, |_| true)?;
    let x = match chosen.len() == table.choices.len() {
        true => Cow::Borrowed(&table.x[..]),
        false => {
            let mut x = Vec::with_capacity(chosen.iter().map(|(choice, _)| choice.x.len()).sum());
            chosen.iter().for_each(|(choice, _)| x.extend_from_slice(choice.x));
            Cow::Owned(x)
        }
    };
    let mut rows = Rows { x, y: Vec::new(), weight: Vec::new(), bounds: vec![0] };
    for (choice, weight) in chosen {
        let weight = weight / choice.len() as f64;
        rows.weight.resize(rows.weight.len() + choice.len(), weight);
        rows.y.extend(target_of(&choice, target));
        rows.bounds.push(rows.y.len());
    }
    check_finite(&rows.x, table)?;
    Ok(rows)
}

pub(super) fn check_finite(x: &[f32], table: &LevelTable) -> Result<(), FitError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;

    #[test]
    fn a_level_without_features_or_without_choices_is_refused() {
        let mut table = tiny::table("job", &[(0, 0, vec![[1.0, 2.0], [2.0, 1.0]], 0)]);
        assert!(rows(&table, Target::LogRatio, 1.0, None).is_ok());
        (table.spec.features, table.x) = (Vec::new(), Vec::new());
        let refused = rows(&table, Target::LogRatio, 1.0, None).err();
        assert!(matches!(refused, Some(FitError::NoFeatures { level }) if level == "job"));
        let forced = tiny::table("job", &[(0, 0, vec![[1.0, 2.0]], 0)]);
        assert!(matches!(rows(&forced, Target::LogRatio, 1.0, None), Err(FitError::NoChoices { .. })));
    }
}
