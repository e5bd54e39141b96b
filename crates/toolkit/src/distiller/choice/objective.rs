//! The loss of one choice as a function of its scores: value, slope and curvature.

use sched_distill_core::level::log_sum_exp;

/// Loss of one choice and, in the callers' buffers, its derivatives.
///
/// `p` are the probabilities, `s` the scores, `z` the columns, shape `(candidates, width)`. Fills `slope` with ∂loss/∂sᵢ and
/// `bent`, shape `(candidates, width)`, with H·z, where H is the matrix of second derivatives in the scores; so zᵀ·slope is
/// the gradient in the coefficients and zᵀ·bent the Hessian.
pub(super) fn loss(p: &[f64], s: &[f64], z: &[f64], slope: &mut [f64], bent: &mut [f64]) -> f64 {
    let total: f64 = p.iter().sum();
    let width = z.len() / s.len();
    let log_sum = log_sum_exp(s);
    let q = |i: usize| (s[i] - log_sum).exp();
    let mut value = 0.0;
    for (i, slope) in slope.iter_mut().enumerate() {
        let target = p[i] / total;
        value += target * (log_sum - s[i]);
        *slope = q(i) - target;
    }
    // H = diag(q) − q·qᵀ, so that row i of H·z is qᵢ (zᵢ − the mean of z under q).
    for column in 0..width {
        let mean: f64 = (0..s.len()).map(|i| q(i) * z[i * width + column]).sum();
        (0..s.len()).for_each(|i| bent[i * width + column] = q(i) * (z[i * width + column] - mean));
    }
    value
}
