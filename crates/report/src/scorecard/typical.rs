//! Values that the features of a level usually have: those of recorded choices, else those that an explanation names.

use crate::plain::base;
use sched_distill_core::level::{FLAG, FeatureSpec, LevelSpec, Scope};
use sched_distill_explain::{Column, LevelExplanation, Number, WhatIfLevel};

/// All but this share of the values at either end are usual.
const TAIL: f64 = 0.02;
/// A value so many times as far as all others is of another sort.
const FAR: f64 = 10.0;
/// Candidates of a choice, where none was recorded.
const CANDIDATES: f64 = 8.0;

pub(super) struct Typical {
    /// By feature the values that were seen, ascending; empty where none was.
    values: Vec<Vec<f32>>,
    /// By feature, whether all candidates have it in common in every choice that was seen.
    common: Vec<bool>,
}

impl Typical {
    /// Of the choices that the page holds, and for features that these lack of the explanation.
    pub(super) fn new(spec: &LevelSpec, recorded: Option<&WhatIfLevel>, explained: Option<&LevelExplanation>) -> Self {
        let of = |feature: &FeatureSpec| {
            let mut values = recorded.map_or(Vec::new(), |r| recorded_values(r, feature));
            if values.is_empty() {
                values = explained.map_or(Vec::new(), |e| explained_values(e, feature));
            }
            values.retain(|v| v.is_finite());
            values.sort_unstable_by(f32::total_cmp);
            values
        };
        let common = |feature: &FeatureSpec| recorded.is_some_and(|r| is_common(r, feature));
        Self { values: spec.features.iter().map(of).collect(), common: spec.features.iter().map(common).collect() }
    }

    /// Of choices in which a feature is common to all, and nothing else is known.
    #[cfg(test)]
    pub(super) fn with_common(spec: &LevelSpec, column: u32) -> Self {
        let mut typical = Self::new(spec, None, None);
        typical.common[column as usize] = true;
        typical
    }

    /// Whether candidates never differ in a feature: alone it decides nothing, and it may only change what others count.
    pub(super) fn is_common(&self, column: usize) -> bool {
        self.common[column]
    }

    /// From where to where the values of a feature usually are; where none was seen, as far as its thresholds tell.
    pub(super) fn range(&self, column: usize, feature: &FeatureSpec, thresholds: &[f32]) -> (f64, f64) {
        if feature.unit == FLAG {
            return (0.0, 1.0);
        }
        let values = &self.values[column];
        let at = |share: f64| f64::from(values[((values.len() - 1) as f64 * share).round() as usize]);
        if !values.is_empty() && at(TAIL) < at(1.0 - TAIL) {
            return (at(TAIL), at(1.0 - TAIL));
        }
        let farthest = thresholds.iter().map(|t| f64::from(*t)).fold(0.0, f64::max);
        match feature.scope {
            Scope::Rank => (0.0, (1.5 * farthest).max(CANDIDATES - 1.0).ceil()),
            Scope::Ratio => (1.0, (1.5 * farthest).max(5.0)),
            Scope::Share => (0.0, (1.5 * farthest).max(1.0)),
            Scope::Absolute if farthest > 0.0 => (0.0, 2.0 * farthest),
            Scope::Absolute => (0.0, 10.0),
        }
    }

    /// How much of a usual range an axis shows: not a single value far beyond all others, which stands for no limit, such as the time
    /// that a job still needs as long as it gets nothing.
    pub(super) fn shown(&self, column: usize, (low, high): (f64, f64)) -> (f64, f64) {
        let values = &self.values[column];
        let Some(&last) = values.last() else { return (low, high) };
        let others = &values[..values.partition_point(|&v| v < last)];
        let Some(&usual) = others.get(((others.len().max(1) - 1) as f64 * (1.0 - TAIL)).round() as usize) else {
            return (low, high);
        };
        let usual = f64::from(usual);
        if f64::from(last) <= high && usual > low && high - low > FAR * (usual - low) {
            (low, usual)
        } else {
            (low, high)
        }
    }

    /// A few values of a feature, from small to large: its usual least, its middle, and its usual largest one.
    pub(super) fn three(&self, column: usize, feature: &FeatureSpec, thresholds: &[f32]) -> Vec<f32> {
        let (low, high) = self.range(column, feature, thresholds);
        let values = &self.values[column];
        let middle = values.get(values.len() / 2).copied().unwrap_or(((low + high) / 2.0) as f32);
        let mut three = vec![low as f32, middle, high as f32];
        three.dedup();
        three
    }
}

fn is_common(level: &WhatIfLevel, feature: &FeatureSpec) -> bool {
    let place = |name: &str| level.features.iter().position(|f| f == name);
    let (Some(own), quantity) = (place(&feature.name), place(base(&feature.name))) else { return false };
    let mut choices = level.choices.iter().filter(|c| c.candidates > 1).peekable();
    choices.peek().is_some()
        && choices.all(|choice| match (&choice.columns[own], quantity) {
            (Column::Follows, Some(quantity)) => matches!(choice.columns[quantity], Column::Same(_)),
            (column, _) => matches!(column, Column::Same(_)),
        })
}

fn recorded_values(level: &WhatIfLevel, feature: &FeatureSpec) -> Vec<f32> {
    let place = |name: &str| level.features.iter().position(|f| f == name);
    let Some(own) = place(&feature.name) else { return Vec::new() };
    let quantity = place(base(&feature.name));
    let mut values = Vec::new();
    for choice in &level.choices {
        let of = |column: &Column<Number>| -> Vec<f32> {
            (0..choice.candidates).filter_map(|c| column.of(c)).map(|n| n.0).collect()
        };
        match (&choice.columns[own], quantity) {
            (Column::Follows, Some(quantity)) => values.extend(formed(feature, &of(&choice.columns[quantity]))),
            (column, _) => values.extend(of(column)),
        }
    }
    values
}

/// Ranks and ratios as far as the range of an axis needs them.
fn formed(feature: &FeatureSpec, of: &[f32]) -> Vec<f32> {
    let least = of.iter().copied().fold(f32::INFINITY, f32::min);
    match feature.scope {
        Scope::Rank => of.iter().map(|v| of.iter().filter(|other| *other < v).count() as f32).collect(),
        _ => of.iter().filter(|_| least > 0.0).map(|v| v / least).collect(),
    }
}

fn explained_values(level: &LevelExplanation, feature: &FeatureSpec) -> Vec<f32> {
    let points = level.points.features.iter().position(|f| *f == feature.name);
    let grid = || level.effects.iter().find(|e| e.feature == feature.name);
    match points {
        Some(place) => level.points.values[place].iter().copied().flatten().collect(),
        None => grid().map_or(Vec::new(), |e| e.grid.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn an_axis_leaves_out_one_value_that_stands_for_no_limit() {
        let spec = &feature_set().levels[0];
        let mut typical = Typical::new(spec, None, None);
        let mut shown = |values: Vec<f32>| {
            typical.values[0] = values;
            let range = typical.range(0, &FeatureSpec { unit: "ms".to_owned(), ..spec.features[0].clone() }, &[]);
            typical.shown(0, range)
        };
        let usual: Vec<f32> = (0..100).map(|v| v as f32).collect();
        assert_eq!(shown(usual.clone()), (2.0, 97.0));
        assert_eq!(shown([usual.clone(), vec![1e9; 30]].concat()), (3.0, 97.0));
        // Not so far, it is a value as others are; and a tail that few have is outside what is usual as it is.
        assert_eq!(shown([usual.clone(), vec![500.0; 30]].concat()), (3.0, 500.0));
        assert_eq!(shown([usual, vec![1e9]].concat()), (2.0, 98.0));
    }
}
