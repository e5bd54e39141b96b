//! Logits in linfa's terms: data sets in, arrays of scores out.

use super::{ChoiceData, LogitError, ValidLogitParams, logit::fit_valid};
use linfa::{
    Float,
    dataset::{AsSingleTargets, DatasetBase},
    traits::{Fit, PredictInplace},
};
use ndarray::{Array1, ArrayBase, Data, Ix2};
use sched_distill_core::model::Additive;

/// The target of one candidate in a linfa data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoiceTarget {
    /// Which choice the row belongs to; rows of a choice stand together.
    pub choice: u64,
    /// Which choices belong together, for standard errors, e.g. the episode; the same for all rows of a choice.
    pub cluster: u64,
    /// The probability that the candidate is taken.
    pub probability: f64,
}

/// A fitted logit as linfa's models are.
#[derive(Clone, Debug, PartialEq)]
pub struct LogitScorer(
    /// The logit.
    pub Additive,
);

/// Rows are candidates. A choice weighs as much as its rows on average; linfa's weights are 32-bit, and summed up in 64.
impl<F, D, T> Fit<ArrayBase<D, Ix2>, T, LogitError> for ValidLogitParams
where
    F: Float + Into<f64>,
    D: Data<Elem = F>,
    T: AsSingleTargets<Elem = ChoiceTarget>,
{
    type Object = LogitScorer;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<LogitScorer, LogitError> {
        let x = dataset.records();
        let targets = dataset.as_single_targets();
        let shape = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(LogitError::Shape { what, found, expected }),
        };
        shape("the number of targets", targets.len(), x.nrows())?;
        let weights = dataset.weights();
        shape("the number of weights", weights.map_or(x.nrows(), <[f32]>::len), x.nrows())?;
        let (mut bounds, mut weight, mut cluster) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = std::collections::BTreeSet::new();
        for (row, target) in targets.iter().enumerate() {
            if row > 0 && targets[row - 1].choice == target.choice {
                continue;
            }
            if !seen.insert(target.choice) {
                return Err(LogitError::Scattered { choice: target.choice, row });
            }
            bounds.push(row);
            cluster.push(target.cluster);
        }
        bounds.push(x.nrows());
        for rows in bounds.windows(2).map(|b| b[0]..b[1]) {
            let n = rows.len() as f64;
            weight.push(weights.map_or(1.0, |w| w[rows].iter().map(|&w| f64::from(w)).sum::<f64>() / n));
        }
        let probability: Vec<f64> = targets.iter().map(|t| t.probability).collect();
        let copy: Vec<F>;
        let values = match x.as_slice() {
            Some(values) => values,
            None => {
                copy = x.iter().copied().collect();
                &copy
            }
        };
        let data = ChoiceData {
            x: values,
            width: x.ncols(),
            bounds: &bounds,
            probability: &probability,
            weight: &weight,
            cluster: &cluster,
        };
        fit_valid(&data, self).map(LogitScorer)
    }
}

/// Scores, one per row.
impl<F, D> PredictInplace<ArrayBase<D, Ix2>, Array1<f64>> for LogitScorer
where
    F: Float + Into<f64>,
    D: Data<Elem = F>,
{
    fn predict_inplace(&self, x: &ArrayBase<D, Ix2>, y: &mut Array1<f64>) {
        for (row, y) in x.rows().into_iter().zip(y) {
            let terms = self.0.terms.iter().map(|term| {
                let factors = term.factors.iter().map(|f| row[f.feature as usize].into());
                term.coefficient * factors.product::<f64>()
            });
            *y = terms.sum();
        }
    }

    fn default_target(&self, x: &ArrayBase<D, Ix2>) -> Array1<f64> {
        Array1::zeros(x.nrows())
    }
}
