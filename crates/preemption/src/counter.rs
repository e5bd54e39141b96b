//! What a node receives from the storage tells how long an epoch takes: each begins with a burst. A job's counter is generated as it
//! would look, and its period found in it, without looking at what it was made of.

use sched_distill_core::rng::Stream;

/// Samples per predicted epoch.
pub const SAMPLES: usize = 32;

/// How far the period may be from the prediction, as a factor.
const WITHIN: f64 = 1.5;

/// A correlation that is more than chance.
const LEAST_CORRELATION: f64 = 0.15;

/// How a job's counter looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Time of an epoch, ms.
    pub epoch_ms: f64,
    /// Share of the epoch in which its data arrive.
    pub burst: f64,
    /// Share of the data that memory does not hold, and that arrives anew in every epoch.
    pub missing: f64,
    /// Other traffic, as a share of a whole burst's: its standard deviation.
    pub noise: f64,
}

impl Traffic {
    /// So many samples of what arrives in each interval, a whole burst's rate being 1.
    #[must_use]
    pub fn samples(&self, count: usize, interval_ms: f64, stream: &mut Stream) -> Vec<f64> {
        let burst_ms = self.burst * self.epoch_ms;
        // How long bursts have been on up to a time.
        let on_ms = |ms: f64| (ms / self.epoch_ms).floor() * burst_ms + (ms % self.epoch_ms).min(burst_ms);
        let one = |i: usize| {
            let from_ms = i as f64 * interval_ms;
            let burst = self.missing * (on_ms(from_ms + interval_ms) - on_ms(from_ms)) / interval_ms;
            (burst + self.noise * stream.normal().abs()).max(0.0)
        };
        (0..count).map(one).collect()
    }
}

/// The period of a counter sampled at intervals, if it has one that is not far from what is expected, ms.
///
/// ```
/// use sched_distill_core::rng::Stream;
/// use sched_distill_preemption::counter::{Traffic, period_ms};
/// let traffic = Traffic { epoch_ms: 92_000.0, burst: 0.25, missing: 0.6, noise: 0.1 };
/// let seen = traffic.samples(120, 2500.0, &mut Stream::new(1, "doc"));
/// let found = period_ms(&seen, 2500.0, 80_000.0).expect("bursts stand out");
/// assert!((found / 92_000.0 - 1.0).abs() < 0.05);
/// ```
#[must_use]
pub fn period_ms(samples: &[f64], interval_ms: f64, expected_ms: f64) -> Option<f64> {
    let count = samples.len();
    let mean = samples.iter().sum::<f64>() / count.max(1) as f64;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count.max(1) as f64;
    if variance <= 0.0 {
        return None;
    }
    let correlation = |lag: usize| {
        let pairs = samples.iter().zip(&samples[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (variance * (count - lag) as f64)
    };
    let first = ((expected_ms / WITHIN / interval_ms).ceil() as usize).max(2);
    let last = ((WITHIN * expected_ms / interval_ms).floor() as usize).min(count * 2 / 3);
    // A little beyond either end, so that every lag has neighbours.
    let all: Vec<f64> = (first - 1..=last + 1).filter(|&lag| lag < count).map(correlation).collect();
    let inner = 1..all.len().checked_sub(1)?;
    let best = inner.max_by(|&a, &b| all[a].total_cmp(&all[b]))?;
    if all[best] < LEAST_CORRELATION {
        return None;
    }
    let [before, at, after] = [all[best - 1], all[best], all[best + 1]];
    let curvature = before - 2.0 * at + after;
    let aside = if curvature < 0.0 { (0.5 * (before - after) / curvature).clamp(-0.5, 0.5) } else { 0.0 };
    Some(((first - 1 + best) as f64 + aside) * interval_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_found_in_noise() {
        let mut stream = Stream::new(4, "counter");
        let (mut found, mut near) = (0, 0);
        for _ in 0..500 {
            let traffic = Traffic {
                epoch_ms: 60_000.0 * (0.08 * stream.normal()).exp(),
                burst: stream.uniform_in(0.1, 0.4),
                missing: stream.uniform_in(0.1, 1.0),
                noise: 0.1,
            };
            let interval_ms = 60_000.0 / SAMPLES as f64;
            let count = (3.0 * traffic.epoch_ms / interval_ms) as usize;
            if let Some(period) = period_ms(&traffic.samples(count, interval_ms, &mut stream), interval_ms, 60_000.0) {
                found += 1;
                near += u32::from((period / traffic.epoch_ms - 1.0).abs() < 0.05);
            }
        }
        assert!(found >= 450 && near >= 400, "{found} found, {near} of them within 5 %");
    }

    #[test]
    fn noise_has_no_period() {
        let mut stream = Stream::new(5, "noise");
        let traffic = Traffic { epoch_ms: 1e9, burst: 0.0, missing: 0.0, noise: 1.0 };
        let mut chance = || {
            let samples = traffic.samples(200, 1.0, &mut stream);
            u32::from(period_ms(&samples, 1.0, 32.0).is_some())
        };
        let found: u32 = (0..100).map(|_| chance()).sum();
        assert!(found < 60, "{found}");
        assert_eq!(period_ms(&[1.0; 50], 1.0, 10.0), None);
        assert_eq!(period_ms(&[], 1.0, 10.0), None);
        assert_eq!(period_ms(&[1.0, 2.0], 1.0, 10.0), None);
    }
}
