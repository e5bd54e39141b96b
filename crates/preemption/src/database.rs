//! How long an epoch takes: what profiled jobs of a model say of the next one, and what the traffic of the job itself adds.

use serde::{Deserialize, Serialize};

/// Weight of the belief that a part of the law counts for nothing, against one profile.
const RIDGE: f64 = 1e-3;

/// Error of a prediction from profiles, and of a period found in a counter, as shares.
const PROFILES_ERROR: f64 = 0.08;
const COUNTER_ERROR: f64 = 0.03;

/// Shortest time that is predicted, and the time where nothing is known, ms.
const LEAST_MS: f64 = 1.0;
const UNKNOWN_MS: f64 = 60_000.0;

/// An epoch of an earlier job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// GPUs that it ran on.
    pub gpus: u32,
    /// Samples per step and GPU.
    pub batch: u32,
    /// Samples per epoch.
    pub samples: f64,
    /// Time of an epoch, ms.
    pub epoch_ms: f64,
}

/// Time of an epoch: `fixed + samples/gpus · compute + samples/(batch·gpus) · step + samples · serial`, ms.
///
/// ```
/// use sched_distill_preemption::{EpochLaw, Profile};
/// let truth = EpochLaw([5000.0, 2.0, 30.0, 0.1]);
/// let profile = |gpus, batch, samples| Profile { gpus, batch, samples, epoch_ms: truth.time_ms(gpus, batch, samples) };
/// let four = [profile(1, 32, 4e4), profile(2, 64, 9e4), profile(4, 128, 2e5), profile(8, 32, 5e5)];
/// let law = EpochLaw::fit(&four);
/// assert!((law.time_ms(4, 64, 3e5) / truth.time_ms(4, 64, 3e5) - 1.0).abs() < 0.1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochLaw(pub [f64; 4]);

fn design(gpus: u32, batch: u32, samples: f64) -> [f64; 4] {
    let share = samples / f64::from(gpus);
    [1.0, share, share / f64::from(batch), samples]
}

fn dot(x: [f64; 4], y: [f64; 4]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

impl EpochLaw {
    /// Least squares of the relative error over profiles, with a weak pull to 0 that keeps few profiles from determining too much.
    #[must_use]
    pub fn fit(profiles: &[Profile]) -> Self {
        if profiles.is_empty() {
            return Self([UNKNOWN_MS, 0.0, 0.0, 0.0]);
        }
        let rows = profiles.iter().map(|p| design(p.gpus, p.batch, p.samples).map(|x| x / p.epoch_ms));
        let rows: Vec<[f64; 4]> = rows.collect();
        let scale: [f64; 4] = std::array::from_fn(|k| rows.iter().map(|x| x[k]).sum::<f64>() / rows.len() as f64);
        // In parts of equal size, so that the equations are well conditioned.
        let scaled = |x: &[f64; 4]| -> [f64; 4] { std::array::from_fn(|k| x[k] / scale[k]) };
        let mut equations = [[0.0; 5]; 4];
        for x in rows.iter().map(scaled) {
            for (equation, own) in equations.iter_mut().zip(x) {
                (0..4).for_each(|k| equation[k] += own * x[k]);
                equation[4] += own;
            }
        }
        (0..4).for_each(|k| equations[k][k] += RIDGE);
        let solution = solve(equations);
        Self(std::array::from_fn(|k| solution[k] / scale[k]))
    }

    /// Predicted time of an epoch, ms.
    #[must_use]
    pub fn time_ms(&self, gpus: u32, batch: u32, samples: f64) -> f64 {
        dot(self.0, design(gpus, batch, samples)).max(LEAST_MS)
    }
}

/// Solves four equations by elimination; the matrix is positive definite.
fn solve(mut a: [[f64; 5]; 4]) -> [f64; 4] {
    for i in 0..4 {
        let pivot = a[i];
        for (_, row) in a.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    std::array::from_fn(|i| a[i][4] / a[i][i])
}

/// What profiles and the counter say together, weighted by their errors.
#[must_use]
pub(crate) fn combined(profiles_ms: f64, counter_ms: f64) -> f64 {
    let [profiles, counter] = [PROFILES_ERROR, COUNTER_ERROR].map(|error| 1.0 / (error * error));
    (profiles_ms * profiles + counter_ms * counter) / (profiles + counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    #[test]
    fn the_law_makes_the_error_least() {
        let mut stream = Stream::new(3, "profiles");
        let truth = EpochLaw([8000.0, 3.0, 40.0, 0.2]);
        let mut one = || {
            let (gpus, batch) = (1 << stream.below(4), 32 << stream.below(3));
            let samples = stream.uniform_in(1e4, 2e5);
            Profile {
                gpus,
                batch,
                samples,
                epoch_ms: truth.time_ms(gpus, batch, samples) * stream.uniform_in(0.9, 1.1),
            }
        };
        let profiles: Vec<Profile> = (0..6).map(|_| one()).collect();
        let rows: Vec<[f64; 4]> =
            profiles.iter().map(|p| design(p.gpus, p.batch, p.samples).map(|x| x / p.epoch_ms)).collect();
        let scale: [f64; 4] = std::array::from_fn(|k| rows.iter().map(|x| x[k]).sum::<f64>() / rows.len() as f64);
        let loss = |law: &EpochLaw| {
            let error: f64 = rows.iter().map(|x| (dot(*x, law.0) - 1.0).powi(2)).sum();
            error + (0..4).map(|k| RIDGE * (scale[k] * law.0[k]).powi(2)).sum::<f64>()
        };
        let law = EpochLaw::fit(&profiles);
        for (k, scale) in scale.into_iter().enumerate() {
            for step in [-1e-4, 1e-4] {
                let mut other = law;
                other.0[k] += step / scale;
                assert!(loss(&other) > loss(&law), "part {k}");
            }
        }
        assert_eq!(EpochLaw::fit(&[]).time_ms(4, 32, 1e5), UNKNOWN_MS);
    }

    #[test]
    fn the_surer_one_counts_more() {
        let both = combined(100.0, 110.0);
        assert!((both - (100.0 / 64.0 + 110.0 / 9.0) / (1.0 / 64.0 + 1.0 / 9.0)).abs() < 1e-9, "{both}");
    }
}
