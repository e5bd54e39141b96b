//! What a counterfactual may change, and what a change costs.

use super::super::error::{ExplainError, expect_length};
use sched_distill_core::level::{FLAG, LevelSpec};

/// What may change, and at what cost.
///
/// A missing value stays missing, and no value becomes missing. A value that is already outside its range, or no whole number
/// where these are asked for, may stay as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    /// A change of this size costs 1; positive, one per feature. A feature's standard deviation is a good choice.
    pub scale: Vec<f64>,
    /// Features that change to whole numbers only.
    pub integer: Vec<bool>,
    /// Features that must stay as they are.
    pub fixed: Vec<bool>,
    /// Smallest and largest value that a feature may change to.
    pub range: Vec<(f32, f32)>,
    /// Pairs `(a, b)` of features with `x[a] <= x[b]`, by what they mean. Must hold in the row at hand; the pairs must not
    /// form a circle, directions aside.
    pub at_most: Vec<(usize, usize)>,
    /// Groups of features with one value, by what they mean: they move together, at the cost of all. Must hold in the row at
    /// hand.
    pub equal: Vec<Vec<usize>>,
}

impl Constraints {
    /// Anything may change, by steps of 1.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            scale: vec![1.0; width],
            integer: vec![false; width],
            fixed: vec![false; width],
            range: vec![(f32::MIN, f32::MAX); width],
            at_most: Vec::new(),
            equal: Vec::new(),
        }
    }

    /// What a level's features say: which are whole, that flags are 0 or 1, and that none is negative.
    #[must_use]
    pub fn for_level(level: &LevelSpec) -> Self {
        let mut constraints = Self::new(level.features.len());
        for (column, feature) in level.features.iter().enumerate() {
            constraints.integer[column] = feature.whole;
            constraints.range[column] = (0.0, if feature.unit == FLAG { 1.0 } else { f32::MAX });
        }
        constraints
    }

    /// Lets features be negative that are in one of the rows, shape `(rows, width)`.
    #[must_use]
    pub fn with_negatives(mut self, x: &[f32]) -> Self {
        let width = self.range.len().max(1);
        for (column, range) in self.range.iter_mut().enumerate() {
            if x.chunks_exact(width).any(|r| r[column] < 0.0) {
                range.0 = f32::MIN;
            }
        }
        self
    }

    /// Sets the scales to the features' standard deviations over rows, shape `(rows, width)`; a feature that does not vary
    /// keeps the scale 1. Missing and infinite values are left out.
    #[must_use]
    pub fn scaled_by(mut self, x: &[f32]) -> Self {
        let width = self.scale.len().max(1);
        for (feature, scale) in self.scale.iter_mut().enumerate() {
            let values = || x.chunks_exact(width).map(|r| f64::from(r[feature])).filter(|v| v.is_finite());
            let count = values().count().max(1) as f64;
            let mean = values().sum::<f64>() / count;
            let sd = (values().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
            if sd > 0.0 {
                *scale = sd;
            }
        }
        self
    }

    /// Fixes every feature that is the same for all candidates of a choice, shape `(candidates, width)`: what describes the
    /// cluster cannot change for one candidate alone.
    #[must_use]
    pub fn with_common_fixed(mut self, x: &[f32]) -> Self {
        let width = self.fixed.len().max(1);
        for (feature, fixed) in self.fixed.iter_mut().enumerate() {
            let mut values = x.chunks_exact(width).map(|r| r[feature].to_bits());
            let first = values.next();
            *fixed |= values.all(|v| Some(v) == first);
        }
        self
    }

    /// Checks the lists against the width.
    pub(super) fn check(&self, width: usize) -> Result<(), ExplainError> {
        expect_length("scale", self.scale.len(), width)?;
        expect_length("integer", self.integer.len(), width)?;
        expect_length("fixed", self.fixed.len(), width)?;
        expect_length("range", self.range.len(), width)?;
        if let Some(index) = self.scale.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
            let (value, expected) = (self.scale[index], "a finite number above 0");
            return Err(ExplainError::BadNumber { name: "scale", index, value, expected });
        }
        let pairs = self.at_most.iter().flat_map(|&(a, b)| [a, b]);
        match pairs.chain(self.equal.iter().flatten().copied()).find(|&f| f >= width) {
            Some(feature) => Err(ExplainError::NoSuchFeature { feature, width }),
            None => Ok(()),
        }
    }
}

/// Features that move together.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) features: Vec<usize>,
    /// The value at hand.
    pub(super) value: f32,
    /// Cost of a change by 1.
    pub(super) price: f64,
    pub(super) integer: bool,
    pub(super) fixed: bool,
    pub(super) range: (f32, f32),
}

impl Variable {
    /// What a change to a value costs: the distance, and the number of features.
    pub(super) fn cost(&self, value: f32) -> Cost {
        if value == self.value || (value.is_nan() && self.value.is_nan()) {
            return Cost::default();
        }
        let distance = (f64::from(value) - f64::from(self.value)).abs() * self.price;
        Cost { distance, changed: self.features.len() }
    }

    /// Whether a change may lead to a value.
    pub(super) fn may_become(&self, value: f32) -> bool {
        let in_range = self.range.0 <= value && value <= self.range.1;
        !self.fixed && in_range && (!self.integer || value.fract() == 0.0)
    }
}

/// Distance, then number of changed features.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct Cost {
    pub(super) distance: f64,
    pub(super) changed: usize,
}

impl Cost {
    pub(super) const NEVER: Self = Self { distance: f64::INFINITY, changed: usize::MAX };

    pub(super) fn plus(self, other: Self) -> Self {
        let changed = self.changed.saturating_add(other.changed);
        Self { distance: self.distance + other.distance, changed }
    }
}

/// The variables of a row, and the pairs `(a, b)` of them with `a <= b`.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    pub(super) list: Vec<Variable>,
    /// Variable of each feature.
    pub(super) of: Vec<usize>,
    pub(super) at_most: Vec<(usize, usize)>,
}

impl Variables {
    pub(super) fn new(constraints: &Constraints, row: &[f32]) -> Result<Self, ExplainError> {
        constraints.check(row.len())?;
        let mut joined = Joined::new(row.len());
        for group in &constraints.equal {
            for pair in group.windows(2) {
                let same = row[pair[0]] == row[pair[1]] || (row[pair[0]].is_nan() && row[pair[1]].is_nan());
                if !same {
                    let text = format!(
                        "features {} and {} are tied to be equal, but are {} and {}",
                        pair[0], pair[1], row[pair[0]], row[pair[1]]
                    );
                    return Err(ExplainError::Tie(text));
                }
                joined.join(pair[0], pair[1]);
            }
        }
        let mut list: Vec<Variable> = Vec::new();
        let mut number = vec![usize::MAX; row.len()];
        let mut of = Vec::with_capacity(row.len());
        for (feature, &value) in row.iter().enumerate() {
            let root = joined.find(feature);
            if number[root] == usize::MAX {
                number[root] = list.len();
                list.push(Variable {
                    features: Vec::new(),
                    value,
                    price: 0.0,
                    integer: false,
                    fixed: value.is_nan(),
                    range: (f32::MIN, f32::MAX),
                });
            }
            of.push(number[root]);
            let variable = &mut list[number[root]];
            variable.features.push(feature);
            variable.price += 1.0 / constraints.scale[feature];
            variable.integer |= constraints.integer[feature];
            variable.fixed |= constraints.fixed[feature];
            let (low, high) = constraints.range[feature];
            variable.range = (variable.range.0.max(low), variable.range.1.min(high));
        }
        let mut at_most: Vec<(usize, usize)> = Vec::new();
        let mut joined = Joined::new(list.len());
        for &(a, b) in &constraints.at_most {
            if row[a] > row[b] {
                let text = format!("feature {a} is tied to be at most feature {b}, but is {} over {}", row[a], row[b]);
                return Err(ExplainError::Tie(text));
            }
            let pair = (of[a], of[b]);
            // A missing value is neither above nor below another.
            if row[a].is_nan() || row[b].is_nan() || pair.0 == pair.1 || at_most.contains(&pair) {
                continue;
            }
            if !joined.join(pair.0, pair.1) {
                return Err(ExplainError::Tie(format!("the tie of features {a} and {b} closes a circle of ties")));
            }
            at_most.push(pair);
        }
        Ok(Self { list, of, at_most })
    }
}

/// Sets that are joined one by one.
struct Joined(Vec<usize>);

impl Joined {
    fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    fn find(&self, mut i: usize) -> usize {
        while self.0[i] != i {
            i = self.0[i];
        }
        i
    }

    /// Joins two sets; false if they were one already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_stays_whole_and_what_was_negative_may_be() {
        let set = sched_distill_training::feature::feature_set();
        let level = set.level("cluster").expect("a level of the scenario");
        let column = |name: &str| level.features.iter().position(|f| f.name == name).expect("a feature of the level");
        let at_first = Constraints::for_level(level);
        let whole = ["fewest_tasks", "jobs_in_system", "head_cpu"].map(|name| at_first.integer[column(name)]);
        // A mean of tasks is none.
        let means = ["tasks_per_job", "free_cpu_per_job"].map(|name| at_first.integer[column(name)]);
        assert_eq!((whole, means), ([true; 3], [false; 2]));
        let mut rows = vec![1.0; 2 * level.features.len()];
        rows[level.features.len() + 3] = -2.0;
        let range = at_first.with_negatives(&rows).range;
        assert!(range.iter().enumerate().all(|(i, range)| (range.0 < 0.0) == (i == 3)));
    }
}
