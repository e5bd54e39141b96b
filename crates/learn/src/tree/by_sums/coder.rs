//! Rows as sums need them: bins in place of values, and what a row adds to every sum, as whole numbers.

use super::{FeatureBins, ONE};
use crate::{
    FitError, Target,
    target::target_of,
    tree::{column::Binning, data::power_of_two_below},
};
use sched_distill_trace::{Choice, LevelTable};
use serde::{Deserialize, Serialize};

/// Rows in bins.
#[derive(Clone, Copy, Debug)]
pub struct CodedRows<'a> {
    /// The bin of every feature, shape `(rows, features)`, row-major.
    pub codes: &'a [u8],
    /// Weight of each row, in units of 2⁻⁶⁰.
    pub weight: &'a [i64],
    /// Weight × target, the target in units of [`Coder::unit`].
    pub first_moment: &'a [i64],
    /// Weight × target².
    pub second_moment: &'a [i64],
}

/// How choices become rows in bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coder {
    /// The bins of each feature.
    pub bins: Vec<FeatureBins>,
    /// What is learnt of each candidate.
    pub target: Target,
    /// By kind of choice, what its choices' weights are multiplied with.
    pub lift: Vec<f64>,
    /// Weight of all choices together.
    pub total: f64,
}

impl Coder {
    /// By what weights are multiplied so that together they are in `[1, 2)`: a power of two.
    #[must_use]
    pub fn scale(&self) -> f64 {
        power_of_two_below(self.total).recip()
    }

    /// A power of two that no target exceeds.
    #[must_use]
    pub fn unit(&self) -> f64 {
        match self.target {
            Target::Probability | Target::RelativeProbability => 1.0,
            Target::LogRatio => 8.0,
        }
    }

    /// Weight of each candidate of a choice; all of all choices together have one in `[1, 2)`.
    pub(super) fn weight_of_each(&self, choice: &Choice<'_>) -> f64 {
        let lift = self.lift[usize::from(choice.header.kind)];
        f64::from(choice.header.weight) * lift / choice.len() as f64 * self.scale()
    }

    /// Calls `row` with the bins of every candidate and its weight and moments.
    ///
    /// # Errors
    ///
    /// A feature that is not finite.
    pub fn code(&self, table: &LevelTable, mut row: impl FnMut(&[u8], [i64; 3])) -> Result<(), FitError> {
        crate::target::check_finite(&table.x, table)?;
        let binnings: Vec<Binning> = self.bins.iter().map(Binning::of).collect();
        let unit = self.unit();
        let mut codes = vec![0; binnings.len()];
        for choice in table.iter() {
            let weight = self.weight_of_each(&choice) * ONE;
            for (candidate, y) in target_of(&choice, self.target).enumerate() {
                let values = choice.row(candidate);
                codes.iter_mut().zip(&binnings).zip(values).for_each(|((code, b), &value)| *code = b.code(value));
                let y = y / unit;
                row(&codes, [weight, weight * y, weight * y * y].map(|summand| summand.round() as i64));
            }
        }
        Ok(())
    }
}
