//! Choices to learn from, in memory.

use super::LogitError;

/// Choices with the teacher's probabilities. `T` is `f32` or `f64`.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceData<'a, T = f32> {
    /// Features, shape `(rows, width)`, row-major, the candidates of a choice one behind the other.
    pub x: &'a [T],
    /// Features per candidate.
    pub width: usize,
    /// Where each choice's rows begin, and the end: `choices + 1` entries, the first of them 0.
    pub bounds: &'a [usize],
    /// The teacher's probability of each candidate, shape `(rows,)`; scaled so that those of a choice add up to 1.
    pub probability: &'a [f64],
    /// Weight of each choice, shape `(choices,)`.
    pub weight: &'a [f64],
    /// Which choices belong together (the episode), shape `(choices,)`: standard errors allow for any dependence among them.
    pub cluster: &'a [u64],
}

/// Choices that own their parts, to be collected one by one.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    pub(super) x: Vec<f32>,
    pub(super) width: usize,
    pub(super) bounds: Vec<usize>,
    pub(super) probability: Vec<f64>,
    pub(super) weight: Vec<f64>,
    pub(super) cluster: Vec<u64>,
}

impl Choices {
    pub(crate) fn new(width: usize) -> Self {
        let (x, probability, weight, cluster) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { x, width, bounds: vec![0], probability, weight, cluster }
    }

    pub(crate) fn push(&mut self, x: &[f32], probability: impl IntoIterator<Item = f64>, weight: f64, cluster: u64) {
        self.x.extend_from_slice(x);
        self.probability.extend(probability);
        self.bounds.push(self.probability.len());
        self.weight.push(weight);
        self.cluster.push(cluster);
    }

    /// Teaches other probabilities.
    pub(crate) fn set_probability(&mut self, probability: Vec<f64>) {
        self.probability = probability;
    }

    pub(crate) fn data(&self) -> ChoiceData<'_> {
        let Self { x, width, bounds, probability, weight, cluster } = self;
        ChoiceData { x, width: *width, bounds, probability, weight, cluster }
    }
}

/// One choice of [`ChoiceData`].
#[derive(Clone, Copy)]
pub(crate) struct OneChoice<'a, T> {
    /// Shape `(candidates, width)`.
    pub(crate) x: &'a [T],
    pub(crate) probability: &'a [f64],
    pub(crate) weight: f64,
}

impl<'a, T: Copy + Into<f64>> ChoiceData<'a, T> {
    /// Number of choices.
    #[must_use]
    pub fn choices(&self) -> usize {
        self.weight.len()
    }

    pub(crate) fn choice(&self, c: usize) -> OneChoice<'a, T> {
        let (start, end) = (self.bounds[c], self.bounds[c + 1]);
        OneChoice {
            x: &self.x[start * self.width..end * self.width],
            probability: &self.probability[start..end],
            weight: self.weight[c],
        }
    }

    /// Checks the parts against each other; returns the weight of all choices with two candidates or more.
    pub(crate) fn check(&self) -> Result<f64, LogitError> {
        let (rows, choices) = (self.probability.len(), self.weight.len());
        let shape = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(LogitError::Shape { what, found, expected }),
        };
        shape("the features' matrix", self.x.len(), rows * self.width)?;
        shape("the list of bounds", self.bounds.len(), choices + 1)?;
        shape("the list of clusters", self.cluster.len(), choices)?;
        shape("the last choice's end", self.bounds[choices], rows)?;
        shape("the first choice's begin", self.bounds[0], 0)?;
        if let Some(choice) = self.bounds.windows(2).position(|b| b[0] >= b[1]) {
            let value = self.bounds[choice + 1] as f64;
            return Err(LogitError::Value { what: "end", choice, value, allowed: "above the begin" });
        }
        if let Some(i) = self.x.iter().position(|&v| !v.into().is_finite()) {
            return Err(LogitError::NotFinite { row: i / self.width, column: i % self.width, value: self.x[i].into() });
        }
        let mut total = 0.0;
        for choice in 0..choices {
            let OneChoice { probability, weight, .. } = self.choice(choice);
            if !(weight.is_finite() && weight >= 0.0) {
                let allowed = "finite and not negative";
                return Err(LogitError::Value { what: "weight", choice, value: weight, allowed });
            }
            let bad = probability.iter().copied().find(|p| !(p.is_finite() && *p >= 0.0));
            let sum: f64 = probability.iter().sum();
            if bad.is_some() || sum <= 0.0 {
                let allowed = "finite and not negative, with a positive sum in each choice";
                return Err(LogitError::Value { what: "probability", choice, value: bad.unwrap_or(sum), allowed });
            }
            total += if probability.len() > 1 { weight } else { 0.0 };
        }
        if total > 0.0 && total.is_finite() { Ok(total) } else { Err(LogitError::NoChoices) }
    }
}
