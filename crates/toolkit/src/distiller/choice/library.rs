//! The pairwise logit by linfa-logistic, for comparison.
//!
//! Version 0.8.1 knows neither weights nor probabilities as targets, so it gets a sample of pairs and outcomes: pairs drawn in
//! proportion to their weight, winners with the target's chance. Its coefficients are ours but for the sample's noise.

use super::{LogitError, LogitParams, data::ChoiceData, design::Design, pairs::shares};
use linfa::{Dataset, ParamGuard, traits::Fit};
use linfa_logistic::LogisticRegression;
use ndarray::{Array1, Array2};
use sched_distill_core::{model::ChoiceLogit, rng::Stream};

/// Pairs drawn: its time goes with their number, and more of them change little.
const SAMPLE: usize = 10_000;

/// It stops when the gradient, a mean over the sample, is shorter than this.
const CLOSE: f64 = 1e-5;

/// A pairwise logit without standard errors. `params.objective` is not looked at.
///
/// # Errors
///
/// As [`super::fit_logit`]; `Err(Err(..))` is what linfa-logistic says.
pub(in crate::distiller) fn fit_linfa_logistic(
    data: &ChoiceData<'_, f32>,
    params: &LogitParams,
) -> Result<ChoiceLogit, Result<LogitError, String>> {
    let valid = params.check_ref().map_err(Ok)?;
    let total = data.check().map_err(Ok)?;
    let design = Design::new(data, total, valid).map_err(Ok)?;
    let k = design.used.len();
    let mut coefficient = vec![0.0; design.sd.len()];
    if k > 0 {
        let (x, won) = sample(data, &design, total);
        let data = Dataset::new(x, won);
        let fitted = LogisticRegression::default()
            .alpha(valid.ridge * SAMPLE as f64)
            .with_intercept(false)
            .gradient_tolerance(CLOSE * SAMPLE as f64)
            .fit(&data)
            .map_err(|e| Err(e.to_string()))?;
        // Whichever label it takes as positive.
        let sign = if fitted.labels().pos.class { 1.0 } else { -1.0 };
        for (&term, c) in design.used.iter().zip(fitted.params()) {
            coefficient[term] = sign * c / design.sd[term];
        }
    }
    Ok(ChoiceLogit {
        coefficient,
        standard_error: None,
        feature_sd: design.sd.clone(),
        interactions: valid.interactions.clone(),
    })
}

/// Differences of scaled terms, and whether the first of the two won.
fn sample(data: &ChoiceData<'_, f32>, design: &Design, total: f64) -> (Array2<f64>, Array1<bool>) {
    let k = design.used.len();
    let (mut x, mut won, mut z) = (Vec::with_capacity(SAMPLE * k), Vec::with_capacity(SAMPLE), Vec::new());
    let mut stream = Stream::new(0, "sampled pairs");
    let start = stream.uniform();
    let (mut upto, mut drawn) = (0.0, 0);
    for c in 0..data.choices() {
        let choice = data.choice(c);
        if choice.probability.len() < 2 {
            continue;
        }
        design.rows(choice, &mut z);
        for (i, j, share) in shares(&choice) {
            upto += choice.weight / total * share;
            while drawn < SAMPLE && start + (drawn as f64) < upto * SAMPLE as f64 {
                // Every second pair the other way round, so that there are winners on both sides.
                let (a, b) = if drawn % 2 == 0 { (i, j) } else { (j, i) };
                x.extend((0..k).map(|t| z[a * k + t] - z[b * k + t]));
                won.push(stream.uniform() * (choice.probability[a] + choice.probability[b]) < choice.probability[a]);
                drawn += 1;
            }
        }
    }
    let x = Array2::from_shape_fn((won.len(), k), |(i, j)| x[i * k + j]);
    (x, Array1::from(won))
}
