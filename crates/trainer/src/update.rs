//! What the updates of all networks have in common.

use super::{
    Weights,
    adam::{Adam, clip},
};
use rayon::prelude::*;
use sched_distill_core::rng::Stream;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, TchError, Tensor};

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

/// What the weights are moved for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// Make the recorded decisions more probable.
    Imitate,
    /// Make decisions that came out well more probable.
    Reinforce { algorithm: Algorithm, clip: f64, entropy: f64 },
}

/// What a network says about decisions, one entry each.
pub(super) struct Answers {
    /// Log-probability of the decision to learn from.
    pub(super) log_prob: Tensor,
    /// Entropy of all distributions that the decision was drawn from, nats.
    pub(super) entropy: Tensor,
}

impl Goal {
    /// What is to become small, decision by decision: of decisions with these log-probabilities when they were made,
    /// and these advantages. Adds its figures to `sums`.
    pub(super) fn losses(
        self,
        answers: &Answers,
        (old, advantage): (&Tensor, &Tensor),
        sums: &mut Sums,
    ) -> Result<Tensor, TchError> {
        let loss = match self {
            Self::Imitate => answers.log_prob.f_neg()?,
            Self::Reinforce { algorithm, clip, .. } => {
                regret(algorithm, clip, (&answers.log_prob, old, advantage), sums)?
            }
        };
        sums.loss += sum(&loss)?;
        sums.entropy += sum(&answers.entropy)?;
        match self {
            Self::Imitate => Ok(loss),
            Self::Reinforce { entropy, .. } => loss.f_sub(&answers.entropy.f_mul_scalar(entropy)?),
        }
    }
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
fn regret(
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
fn sum(t: &Tensor) -> Result<f64, TchError> {
    f64::try_from(t.f_sum(Kind::Double)?)
}

/// The weights, and what moves them.
pub(super) struct Moving<'a> {
    pub(super) weights: &'a mut Weights,
    pub(super) adam: &'a mut Adam,
    /// Step of Adam.
    pub(super) rate: f64,
}

impl Moving<'_> {
    /// Goes a step; the length of the gradient's first part, which is the policy's. Its parts, which begin at these
    /// places, are kept at a length of at most `max_gradient` each.
    pub(super) fn step(&mut self, mut gradient: Vec<f32>, parts: &[usize], max_gradient: f64) -> f64 {
        let mut first = 0.0;
        let mut rest = &mut gradient[..];
        for (n, from) in parts.iter().enumerate() {
            let until = parts.get(n + 1).map_or(rest.len(), |next| next - from);
            let (part, after) = rest.split_at_mut(until);
            let length = clip(part, max_gradient);
            if n == 0 {
                first = length;
            }
            rest = after;
        }
        self.adam.step(&mut self.weights.data, &gradient, self.rate);
        first
    }
}

/// Several passes over the steps of an iteration, each in an order of its own; `gradient` computes that of a step and
/// adds its figures. Passes end early once the policy has moved by more than `max_kl`, if that is given. See
/// [`Moving::step`] for the gradient's parts.
pub(super) fn passes<B>(
    steps: &[B],
    (epochs, max_kl): (u32, Option<f64>),
    mut moving: Moving,
    (parts, max_gradient): (&[usize], f64),
    stream: &mut Stream,
    mut gradient: impl FnMut(&Weights, &B, &mut Sums, &mut Stream) -> Result<Vec<f32>, TchError>,
) -> Result<UpdateStats, TchError> {
    let mut stats = UpdateStats::default();
    for epoch in 0..epochs {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        shuffle(&mut order, stream);
        let (mut sums, mut lengths) = (Sums::default(), 0.0);
        for &i in &order {
            let mut of_step = Sums::default();
            let gradient = gradient(moving.weights, &steps[i], &mut of_step, stream)?;
            sums.add(&of_step);
            lengths += moving.step(gradient, parts, max_gradient);
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

/// The gradient of what is to become small, as a mean over so many decisions, by the weights that a network lies over.
pub(super) fn gradient(objective: &Tensor, decisions: i64, weights: &Tensor) -> Result<Vec<f32>, TchError> {
    objective.f_div_scalar(decisions as f64)?.f_backward()?;
    Vec::<f32>::try_from(weights.f_grad()?.f_to_device(Device::Cpu)?)
}

/// The gradient of a step, and whatever else comes of its shards, from what `one` computes of each with its figures,
/// which are added to `sums`. All is added up in order, so that sums do not depend on the number of threads.
pub(super) fn step<B: Send, T: Send>(
    shards: impl IndexedParallelIterator<Item = B>,
    sums: &mut Sums,
    one: impl Fn(B) -> Result<(Vec<f32>, Sums, T), TchError> + Sync + Send,
) -> Result<(Vec<f32>, Vec<T>), TchError> {
    let parts: Vec<_> = shards.map(one).collect::<Result<_, _>>()?;
    let mut total = vec![0.0; parts.first().map_or(0, |part| part.0.len())];
    let mut others = Vec::with_capacity(parts.len());
    for (gradient, of_shard, other) in parts {
        total.iter_mut().zip(gradient).for_each(|(t, g)| *t += g);
        sums.add(&of_shard);
        others.push(other);
    }
    Ok((total, others))
}

/// Fisher–Yates.
pub(super) fn shuffle<T>(list: &mut [T], stream: &mut Stream) {
    for i in (1..list.len()).rev() {
        list.swap(i, stream.below(i + 1));
    }
}
