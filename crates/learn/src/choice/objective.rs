//! The loss of one choice as a function of its scores: value, slope and curvature.

use sched_distill_core::level::log_sum_exp;

/// Loss of one choice with the probabilities `p` and the scores `s`; fills `slope` with ∂loss/∂sᵢ. With the columns `z`, shape
/// `(candidates, width)`, zᵀ·slope is the gradient in the coefficients.
#[inline(always)]
pub(super) fn loss(p: &[f64], s: &[f64], slope: &mut [f64]) -> f64 {
    let total: f64 = p.iter().sum();
    let log_sum = log_sum_exp(s);
    let mut value = 0.0;
    for ((slope, p), s) in slope.iter_mut().zip(p).zip(s) {
        let target = p / total;
        value += target * (log_sum - s);
        *slope = (s - log_sum).exp() - target;
    }
    value
}

/// Fills `bent`, shape `(candidates, width)`, with H·z, where H is the matrix of second derivatives of the loss in the scores;
/// zᵀ·bent is the Hessian in the coefficients. `slope` is what [`loss`] says.
#[inline(always)]
pub(super) fn bend(p: &[f64], slope: &[f64], z: &[f64], bent: &mut [f64]) {
    let width = z.len() / p.len();
    if width == 0 {
        return;
    }
    let total: f64 = p.iter().sum();
    let q = |i: usize| slope[i] + p[i] / total;
    // H = diag(q) − q·qᵀ, so that row i of H·z is qᵢ (zᵢ − the mean of z under q). The mean grows in the last row, which is
    // the last to need it.
    let (others, mean) = bent.split_at_mut(z.len() - width);
    mean.fill(0.0);
    for (i, z) in z.chunks_exact(width).enumerate() {
        let q = q(i);
        mean.iter_mut().zip(z).for_each(|(m, z)| *m += q * z);
    }
    for (i, (bent, z)) in others.chunks_exact_mut(width).zip(z.chunks_exact(width)).enumerate() {
        let q = q(i);
        bent.iter_mut().zip(z).zip(&*mean).for_each(|((b, z), m)| *b = q * (z - m));
    }
    let (last, q) = (&z[z.len() - width..], q(p.len() - 1));
    mean.iter_mut().zip(last).for_each(|(m, z)| *m = q * (z - *m));
}
