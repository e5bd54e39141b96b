//! 95 % intervals by resampling episodes.
//!
//! Choices of one episode are not independent, so whole episodes are drawn with replacement.

use super::Estimate;
use sched_distill_core::rng::Stream;

/// Resamples per interval.
pub(super) const RESAMPLES: usize = 1000;

/// The figure over all clusters `0..n` and its 95 % percentile interval. `statistic` gets how often each cluster is drawn.
///
/// The same seed gives the same interval. Resamples on which the statistic is not finite are left out.
pub fn bootstrap(n: usize, seed: u64, statistic: impl Fn(&[u32]) -> f64) -> Estimate {
    let value = statistic(&vec![1; n]);
    let mut found = Vec::with_capacity(RESAMPLES);
    draws(n, seed, |counts| found.push(statistic(counts)));
    let (low, high) = percentile_interval(&mut found).unwrap_or((value, value));
    Estimate { value, low, high }
}

/// A ratio from its logarithm.
pub(super) fn exponential(e: Estimate) -> Estimate {
    Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp() }
}

/// How often each of `n` clusters is drawn, resample by resample: the same for the same seed.
pub(super) fn draws(n: usize, seed: u64, mut each: impl FnMut(&[u32])) {
    let (mut counts, mut stream) = (vec![0; n], Stream::new(seed, "bootstrap"));
    for _ in 0..RESAMPLES {
        counts.fill(0);
        for _ in 0..n {
            counts[stream.below(n)] += 1;
        }
        each(&counts);
    }
}

impl Estimate {
    /// Decimals with which it is written after a factor: as many as two digits of half of its interval need, and `most` at most.
    ///
    /// ```
    /// use sched_distill_judge::evaluator::Estimate;
    /// let of = |low, high| Estimate { value: 1.0, low, high }.decimals(1.0, 3);
    /// assert_eq!([of(0.98, 1.02), of(0.8, 1.3), of(1.0, 1.0), of(0.0, 40.0)], [3, 2, 3, 0]);
    /// ```
    #[must_use]
    pub fn decimals(&self, factor: f64, most: usize) -> usize {
        let half = factor * (self.high - self.low) / 2.0;
        match half > 0.0 && half.is_finite() {
            true => (1.0 - half.log10().floor()).clamp(0.0, most as f64) as usize,
            false => most,
        }
    }
}

/// The 2.5 % and 97.5 % quantiles of the finite values, if there are any. Sorts the list.
pub fn percentile_interval(draws: &mut Vec<f64>) -> Option<(f64, f64)> {
    draws.retain(|d| d.is_finite());
    draws.sort_by(f64::total_cmp);
    let at = |q: f64| draws[((draws.len() - 1) as f64 * q).round() as usize];
    (!draws.is_empty()).then(|| (at(0.025), at(0.975)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_the_mean_about_as_often_as_they_say() {
        let covered = (0..200u64)
            .filter(|&trial| {
                let mut s = Stream::new(trial, "sample");
                let sample: Vec<f64> = (0..40).map(|_| s.exponential(3.0)).collect();
                let mean = |counts: &[u32]| {
                    let sum: f64 = sample.iter().zip(counts).map(|(v, &c)| v * f64::from(c)).sum();
                    sum / f64::from(counts.iter().sum::<u32>())
                };
                let e = bootstrap(40, trial, mean);
                assert!(e.low <= e.value && e.value <= e.high);
                e.low <= 3.0 && 3.0 <= e.high
            })
            .count();
        assert!((175..=199).contains(&covered), "{covered} of 200");
    }
}
