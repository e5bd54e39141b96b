//! What takes how long: medians over rounds, and the line that is nearest to them.

use super::{Estimate, bootstrap};

/// Median times, and `α + β x` fitted to them by least squares of relative errors.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedLine {
    /// Median by place, in the unit of the times.
    pub medians: Vec<f64>,
    /// What everything takes, not negative; with a 95 % interval over rounds.
    pub alpha: Estimate,
    /// What a unit of `x` takes; likewise.
    pub beta: Estimate,
    /// How far the line is off the medians, as a share of them: in the mean, and at most.
    pub error: [f64; 2],
}

/// Sums up rounds, in each of which everything was timed once: `x` and the times by place. There must be a round and a place.
///
/// ```
/// use sched_distill_judge::evaluator::timed_line;
/// let line = timed_line(&[1.0, 4.0], &[vec![3.0, 6.0], vec![3.0, 6.0]], 0);
/// assert!((line.alpha.value - 2.0).abs() < 1e-9 && (line.beta.value - 1.0).abs() < 1e-9);
/// ```
#[must_use]
pub fn timed_line(x: &[f64], rounds: &[Vec<f64>], seed: u64) -> TimedLine {
    let medians = |counts: &[u32]| -> Vec<f64> {
        let drawn = |place: usize| {
            rounds.iter().zip(counts).flat_map(move |(times, &n)| (0..n).map(move |_| times[place])).collect()
        };
        (0..x.len()).map(|place| median(drawn(place))).collect()
    };
    let line = |counts: &[u32]| fitted(x, &medians(counts));
    let alpha = bootstrap(rounds.len(), seed, |counts| line(counts)[0]);
    let beta = bootstrap(rounds.len(), seed, |counts| line(counts)[1]);
    let medians = medians(&vec![1; rounds.len()]);
    let off = |(x, y): (&f64, &f64)| ((alpha.value + beta.value * x) / y - 1.0).abs();
    let errors: Vec<f64> = x.iter().zip(&medians).map(off).collect();
    let error = [errors.iter().sum::<f64>() / errors.len() as f64, errors.iter().copied().fold(0.0, f64::max)];
    TimedLine { medians, alpha, beta, error }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    (values[low] + values[high]) / 2.0
}

/// `[α, β]` of `y ≈ α + β x`.
fn fitted(x: &[f64], y: &[f64]) -> [f64; 2] {
    let mut sums = [0.0; 5];
    for (x, y) in x.iter().zip(y) {
        let (u, v) = (1.0 / y, x / y);
        for (sum, term) in sums.iter_mut().zip([u * u, u * v, v * v, u, v]) {
            *sum += term;
        }
    }
    let [uu, uv, vv, u, v] = sums;
    let det = uu * vv - uv * uv;
    // Where x is the same everywhere, all of it is β.
    let alpha = if det > 1e-12 * uu * vv { (u * vv - v * uv) / det } else { 0.0 };
    if alpha > 0.0 { [alpha, (v - alpha * uv) / vv] } else { [0.0, v / vv] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let x = [1.0, 4.0, 16.0, 64.0, 128.0];
        let y = x.map(|x| 3.0 + 0.25 * x);
        let [alpha, beta] = fitted(&x, &y);
        assert!((alpha - 3.0).abs() < 1e-9 && (beta - 0.25).abs() < 1e-9, "{alpha} {beta}");
        // Below 0 it is 0; and where x is the same everywhere nothing tells one from the other.
        assert_eq!(fitted(&[1.0, 2.0], &[1.0, 3.0])[0], 0.0);
        assert_eq!(fitted(&[2.0, 2.0], &[4.0, 4.0]), [0.0, 2.0]);
    }

    #[test]
    fn rounds_are_summed_up() {
        let x = [10.0, 20.0, 40.0, 80.0];
        let round = |off: f64| x.map(|x| off * (2.0 + 0.1 * x)).to_vec();
        let found = timed_line(&x, &[round(0.9), round(1.0), round(1.3)], 1);
        assert_eq!(found.medians, round(1.0));
        assert!((found.alpha.value - 2.0).abs() < 1e-9 && (found.beta.value - 0.1).abs() < 1e-9);
        assert!((found.alpha.low - 1.8).abs() < 1e-9 && (found.alpha.high - 2.6).abs() < 1e-9, "{found:?}");
        assert!(found.error[1] < 1e-9);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
    }
}
