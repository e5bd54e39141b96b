//! What the updates of all networks have in common.

use super::adam::{Adam, clip};
use sched_distill_core::rng::Stream;
use serde::{Deserialize, Serialize};
use tch::{Kind, TchError, Tensor};

/// How gradients are made from rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Several passes over the rollouts with a clipped ratio of probabilities (J. Schulman et al., *Proximal Policy
    /// Optimization Algorithms*, 2017).
    Ppo,
    /// One step of the plain policy gradient with the input-dependent baseline, as Decima was trained.
    Reinforce,
}

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

/// What is to become small so that decisions with an advantage become more probable, decision by decision: less the advantage times
/// the ratio of probabilities, kept from going further than `clip` from 1, or times the log-probability.
pub(super) fn regret(
    algorithm: Algorithm,
    clip: f64,
    (log_prob, old, advantage): (&Tensor, &Tensor, &Tensor),
    sums: &mut Sums,
) -> Result<Tensor, TchError> {
    let change = log_prob.f_sub(old)?;
    let ratio = change.f_exp()?;
    sums.kl += sum(&ratio.f_sub_scalar(1.0)?.f_sub(&change)?)?;
    let gain = match algorithm {
        Algorithm::Ppo => {
            let near = ratio.f_clamp(1.0 - clip, 1.0 + clip)?;
            sums.clipped += sum(&ratio.f_ne_tensor(&near)?)?;
            ratio.f_mul(advantage)?.f_minimum(&near.f_mul(advantage)?)?
        }
        Algorithm::Reinforce => log_prob.f_mul(advantage)?,
    };
    gain.f_neg()
}

/// The sum of a tensor, in double precision.
pub(super) fn sum(t: &Tensor) -> Result<f64, TchError> {
    f64::try_from(t.f_sum(Kind::Double)?)
}

/// Several passes over the steps of an iteration, each in an order of its own; `gradient` computes that of a step with its figures.
/// Passes end early once the policy has moved by more than `max_kl`, if that is given. The gradient's parts, which begin at these
/// places, are kept at a length of at most `max_gradient` each.
pub(super) fn passes<B>(
    steps: &[B],
    (epochs, max_kl): (u32, Option<f64>),
    (weights, adam, rate): (&mut super::Weights, &mut Adam, f64),
    (parts, max_gradient): (&[usize], f64),
    stream: &mut Stream,
    mut gradient: impl FnMut(&super::Weights, &B, &mut Stream) -> Result<(Vec<f32>, Sums), TchError>,
) -> Result<UpdateStats, TchError> {
    let mut stats = UpdateStats::default();
    for epoch in 0..epochs {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        shuffle(&mut order, stream);
        let (mut sums, mut lengths) = (Sums::default(), 0.0);
        for &i in &order {
            let (mut moved, of_step) = gradient(weights, &steps[i], stream)?;
            sums.add(&of_step);
            let mut rest = &mut moved[..];
            for (n, from) in parts.iter().enumerate() {
                let until = parts.get(n + 1).map_or(rest.len(), |next| next - from);
                let (part, after) = rest.split_at_mut(until);
                let length = clip(part, max_gradient);
                // The first part is the policy.
                lengths += if n == 0 { length } else { 0.0 };
                rest = after;
            }
            adam.step(&mut weights.data, &moved, rate);
        }
        stats = sums.means();
        stats.gradient = lengths / order.len().max(1) as f64;
        stats.epochs = epoch + 1;
        if max_kl.is_some_and(|most| stats.kl > most) {
            break;
        }
    }
    Ok(stats)
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
