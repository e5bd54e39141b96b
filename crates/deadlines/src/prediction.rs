//! Prediction of training times: least squares of `t(c) = a + b/c + d·c` over the measurements of earlier jobs of the same model and of
//! the job itself, with its uncertainty.
//!
//! Measurements are relative: an error of 5 % counts the same at 0.1 s and at 10 s. What earlier jobs say is a belief about the law of
//! the next one, as wide as the jobs differ among themselves; each measurement of the job then narrows it (recursive least
//! squares, which gives what solving for all measurements at once would give).

use crate::Law;
use serde::{Deserialize, Serialize};

/// Shortest time that is predicted, ms: a belief that is far off may come out at nothing.
const LEAST_MS: f64 = 1e-3;

/// Spread among jobs that is believed in at least, as a share: a few alike may have been alike by chance.
const LEAST_SPREAD: f64 = 0.02;

/// Spread where nothing is known of a model.
const UNKNOWN_SPREAD: f64 = 1.0;

/// Core time of an iteration where nothing is known, ms.
const UNKNOWN_MS: f64 = 1e3;

/// Iterations' times of an earlier job: cores used, and the mean time of an iteration, ms.
pub type Measurement = (u32, f64);

/// What is believed of a law, and how sure it is.
///
/// ```
/// use sched_distill_deadlines::Estimate;
/// // Three earlier jobs whose iterations take 10 + 100/c ms, give and take 10 %.
/// let earlier: Vec<_> = [0.9, 1.0, 1.1].map(|f| vec![(1, f * 110.0), (2, f * 60.0), (4, f * 35.0), (10, f * 20.0)]).to_vec();
/// let mut estimate = Estimate::from_jobs(&earlier, 0.01);
/// assert!((estimate.time_ms(5) - 30.0).abs() < 0.6);
/// assert!(estimate.deviation_ms(5) > 2.0);
/// // One measurement on two cores tells that this job is a slow one, on other cores as well.
/// estimate.measure(2, 66.0, 0.01);
/// assert!((estimate.time_ms(5) - 33.0).abs() < 0.4 && estimate.deviation_ms(5) < 0.6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// `a`, `b` and `d`, ms.
    pub mean: [f64; 3],
    /// Their covariance, ms²: `aa, ab, ad, bb, bd, dd`.
    pub covariance: [f64; 6],
}

impl From<Law> for Estimate {
    /// A law that is known.
    fn from(law: Law) -> Self {
        Self { mean: [law.serial_ms, law.parallel_ms, law.overhead_ms], covariance: [0.0; 6] }
    }
}

/// What `a`, `b` and `d` count for on so many cores.
#[inline]
fn design(cores: u32) -> [f64; 3] {
    let cores = f64::from(cores.max(1));
    [1.0, 1.0 / cores, cores]
}

#[inline]
fn dot(x: [f64; 3], y: [f64; 3]) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

/// A symmetric matrix times a vector.
#[inline]
fn times([aa, ab, ad, bb, bd, dd]: [f64; 6], x: [f64; 3]) -> [f64; 3] {
    [dot([aa, ab, ad], x), dot([ab, bb, bd], x), dot([ad, bd, dd], x)]
}

/// The upper triangle of `x xᵀ`.
#[inline]
fn outer([a, b, d]: [f64; 3]) -> [f64; 6] {
    [a * a, a * b, a * d, b * b, b * d, d * d]
}

impl Estimate {
    /// What earlier jobs of a model say of the next one: the least squares law of them all, and a covariance of two parts: how far
    /// the jobs' times lie from that law, each taken as a whole, and how well the law itself is known from measurements with an
    /// error of `noise`, a share. Without any job this is a guess as wide as the times themselves.
    #[must_use]
    pub fn from_jobs(jobs: &[Vec<Measurement>], noise: f64) -> Self {
        // A weak belief that cores share all work keeps the fit defined where jobs were measured on one or two sizes.
        let (count, work) =
            jobs.iter().flatten().fold((0.0, 0.0), |(n, sum), &(c, ms)| (n + 1.0, sum + f64::from(c) * ms));
        let guess = if count > 0.0 { work / count } else { UNKNOWN_MS };
        let weak = |share: f64| (share * guess) * (share * guess);
        let mut pooled =
            Self { mean: [0.0, guess, 0.0], covariance: [weak(1.0), 0.0, 0.0, weak(1.0), 0.0, weak(0.01)] };
        for &(cores, time_ms) in jobs.iter().flatten() {
            pooled.measure(cores, time_ms, noise.max(1e-6));
        }
        let shares = |job: &Vec<Measurement>| {
            let all = job.iter().map(|&(cores, time_ms)| time_ms / pooled.time_ms(cores) - 1.0);
            (!job.is_empty()).then(|| all.sum::<f64>() / job.len() as f64)
        };
        let off: Vec<f64> = jobs.iter().filter_map(shares).collect();
        let spread = match off.len() {
            0 | 1 => UNKNOWN_SPREAD,
            n => (off.iter().map(|share| share * share).sum::<f64>() / (n - 1) as f64).sqrt().max(LEAST_SPREAD),
        };
        let whole = outer(pooled.mean);
        let covariance = std::array::from_fn(|i| spread * spread * whole[i] + pooled.covariance[i]);
        Self { covariance, ..pooled }
    }

    /// Predicted time of an iteration on so many cores, ms.
    #[inline]
    #[must_use]
    pub fn time_ms(&self, cores: u32) -> f64 {
        dot(design(cores), self.mean).max(LEAST_MS)
    }

    /// Standard deviation of that prediction, ms.
    #[inline]
    #[must_use]
    pub fn deviation_ms(&self, cores: u32) -> f64 {
        let x = design(cores);
        dot(x, times(self.covariance, x)).max(0.0).sqrt()
    }

    /// Takes in a mean time of iterations on so many cores, with an error of this share of it.
    pub fn measure(&mut self, cores: u32, time_ms: f64, error: f64) {
        let x = design(cores);
        let known = times(self.covariance, x);
        let variance = dot(x, known).max(0.0) + (error * time_ms) * (error * time_ms);
        if variance <= 0.0 {
            return;
        }
        let surprise = (time_ms - dot(x, self.mean)) / variance;
        let less = outer(known);
        self.mean = std::array::from_fn(|i| self.mean[i] + surprise * known[i]);
        self.covariance = std::array::from_fn(|i| self.covariance[i] - less[i] / variance);
    }
}

/// The probability that a normal variable is below so many standard deviations (Abramowitz and Stegun, formula 26.2.17; error below
/// 1e-7).
#[must_use]
pub(crate) fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let above = series.iter().fold(0.0, |sum, part| t * (sum + part)) * (-0.5 * z * z).exp() * 0.398_942_280_401;
    if z >= 0.0 { 1.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    /// Solves a 3 × 3 system by elimination.
    fn solve(mut a: [[f64; 4]; 3]) -> [f64; 3] {
        for i in 0..3 {
            let pivot = (i..3).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).unwrap();
            a.swap(i, pivot);
            for j in (0..3).filter(|&j| j != i) {
                let factor = a[j][i] / a[i][i];
                a[j] = std::array::from_fn(|k| a[j][k] - factor * a[i][k]);
            }
        }
        std::array::from_fn(|i| a[i][3] / a[i][i])
    }

    #[test]
    fn one_after_the_other_is_least_squares_of_all_at_once() {
        let mut stream = Stream::new(1, "least squares");
        let law = Law { serial_ms: 90.0, parallel_ms: 2800.0, overhead_ms: 3.0 };
        let mut estimate = Estimate { mean: [50.0, 2000.0, 1.0], covariance: [900.0, 0.0, 0.0, 1e6, 0.0, 4.0] };
        // Normal equations: the belief counts as a measurement of each part.
        let mut normal = [[0.0; 4]; 3];
        for (i, (mean, variance)) in [(50.0, 900.0), (2000.0, 1e6), (1.0, 4.0)].into_iter().enumerate() {
            normal[i][i] += 1.0 / variance;
            normal[i][3] += mean / variance;
        }
        for _ in 0..40 {
            let cores = 1 + stream.below(16) as u32;
            let time_ms = law.time_ms(cores) * (0.05 * stream.normal()).exp();
            estimate.measure(cores, time_ms, 0.05);
            let (x, variance) = (design(cores), (0.05 * time_ms).powi(2));
            for (row, weight) in normal.iter_mut().zip(x) {
                (0..3).for_each(|k| row[k] += weight * x[k] / variance);
                row[3] += weight * time_ms / variance;
            }
            for (a, b) in solve(normal).into_iter().zip(estimate.mean) {
                assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}");
            }
        }
        for cores in 1..=16 {
            let error = estimate.time_ms(cores) / law.time_ms(cores) - 1.0;
            assert!(error.abs() < 0.04, "{cores} cores: {error}");
        }
    }

    /// Of many jobs, as many are on time as is said.
    #[test]
    fn uncertainty_is_calibrated() {
        let mut stream = Stream::new(2, "calibration");
        let law = Law { serial_ms: 60.0, parallel_ms: 1900.0, overhead_ms: 1.0 };
        let job = |stream: &mut Stream| law.times((0.1 * stream.normal()).exp());
        let mut within = [0; 2];
        for _ in 0..50 {
            let database = |stream: &mut Stream| {
                let own = job(stream);
                let mut measured = || {
                    let cores = 1 + stream.below(16) as u32;
                    (cores, own.time_ms(cores) * (0.05 * stream.normal()).exp())
                };
                (0..3).map(|_| measured()).collect::<Vec<Measurement>>()
            };
            let earlier: Vec<_> = (0..12).map(|_| database(&mut stream)).collect();
            let before = Estimate::from_jobs(&earlier, 0.05);
            for _ in 0..40 {
                let own = job(&mut stream);
                let mut after = before;
                let cores = 1 + stream.below(16) as u32;
                after.measure(cores, own.time_ms(cores) * (0.05 * stream.normal()).exp(), 0.05);
                for (count, estimate) in within.iter_mut().zip([before, after]) {
                    let z = (own.time_ms(8) - estimate.time_ms(8)) / estimate.deviation_ms(8);
                    *count += u32::from(z.abs() < 1.0);
                }
            }
        }
        // 68 % lie within one standard deviation.
        assert!(within.iter().all(|&n| (1200..1520).contains(&n)), "{within:?}");
    }

    #[test]
    fn nothing_known_is_a_wide_guess() {
        let none = Estimate::from_jobs(&[], 0.05);
        assert!(none.time_ms(4) > 0.0 && none.deviation_ms(4) >= 0.9 * none.time_ms(4));
        let mut measured = none;
        measured.measure(4, 5000.0, 0.05);
        assert!((measured.time_ms(4) / 5000.0 - 1.0).abs() < 0.05, "{}", measured.time_ms(4));
    }

    #[test]
    fn the_normal_distribution() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.0, 0.158_655_254), (2.5, 0.993_790_335), (-6.0, 9.866e-10)]
        {
            assert!((normal_below(z) - p).abs() < 1e-7, "{z}: {}", normal_below(z));
        }
        assert_eq!((normal_below(f64::INFINITY), normal_below(f64::NEG_INFINITY)), (1.0, 0.0));
    }
}
