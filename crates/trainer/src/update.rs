//! What the updates of all networks have in common.

use sched_distill_core::rng::Stream;
use serde::{Deserialize, Serialize};

/// What an update has seen, as means over its decisions; of the last pass where there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateStats {
    /// The objective's negative, without entropy.
    pub loss: f64,
    /// Entropy of the decisions' distributions, nats.
    pub entropy: f64,
    /// Kullback–Leibler divergence from the policy of the rollouts, nats (estimate of J. Schulman).
    pub kl: f64,
    /// Share of decisions whose ratio of probabilities was clipped.
    pub clipped: f64,
    /// Length of the gradient before clipping, mean over the steps.
    pub gradient: f64,
    /// Passes made.
    pub epochs: u32,
}

/// Sums over decisions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) decisions: f64,
    pub(super) loss: f64,
    pub(super) entropy: f64,
    pub(super) kl: f64,
    pub(super) clipped: f64,
}

impl Sums {
    pub(super) fn add(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.loss += other.loss;
        self.entropy += other.entropy;
        self.kl += other.kl;
        self.clipped += other.clipped;
    }

    pub(super) fn means(&self) -> UpdateStats {
        let n = self.decisions.max(1.0);
        UpdateStats {
            loss: self.loss / n,
            entropy: self.entropy / n,
            kl: self.kl / n,
            clipped: self.clipped / n,
            ..UpdateStats::default()
        }
    }
}

/// Adds the gradients of a step's shards up in order, so that the sum does not depend on the number of threads.
pub(super) fn total<T>(parts: &[(Vec<f32>, T)]) -> Vec<f32> {
    let mut total = vec![0.0; parts.first().map_or(0, |p| p.0.len())];
    for (gradient, _) in parts {
        total.iter_mut().zip(gradient).for_each(|(t, g)| *t += g);
    }
    total
}

/// Fisher–Yates.
pub(super) fn shuffle<T>(list: &mut [T], stream: &mut Stream) {
    for i in (1..list.len()).rev() {
        list.swap(i, stream.below(i + 1));
    }
}
