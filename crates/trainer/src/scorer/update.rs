//! From practice episodes to better weights.

use super::{
    batch::{Batch, Findings, Place},
    network::{Inputs, Network},
    params::ScorerParams,
};
use crate::{
    Weights,
    update::{Goal, Moving, Sums, UpdateStats, gradient, passes, shuffle, step},
};
use rayon::prelude::*;
use sched_distill_core::{level::FeatureSet, rng::Stream};
use sched_distill_judge::practice::Practice;
use tch::{Device, TchError, Tensor};

/// Decisions whose gradient is computed at once. The gradients of a step are added in order, so that their sum does not depend on the
/// number of threads.
const SHARD: usize = 1024;

/// The network, apart from its weights.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) set: &'a FeatureSet,
    pub(super) params: &'a ScorerParams,
    pub(super) device: Device,
}

impl Frame<'_> {
    /// One update over the decisions of some episodes.
    ///
    /// # Errors
    ///
    /// What libtorch fails with, e.g. for want of memory on the device.
    pub(super) fn update(
        self,
        (episodes, findings): (&[Practice], Option<&Findings>),
        goal: Goal,
        moving: Moving,
        stream: &mut Stream,
    ) -> Result<UpdateStats, TchError> {
        let (epochs, minibatches, max_kl) = self.params.gradient.passes(goal);
        let mut order = all(episodes);
        shuffle(&mut order, stream);
        let each = order.len().div_ceil(minibatches).max(1);
        let steps: Vec<Vec<Batch>> = order
            .chunks(each)
            .map(|step| step.par_chunks(SHARD).map(|shard| Batch::new(episodes, findings, shard)).collect())
            .collect();
        // Neither the policy nor the network that values states is to be slowed down by the other.
        let parts = (&[0, self.value_at()][..], self.params.steps.max_gradient);
        passes(&steps, (epochs, max_kl), moving, parts, stream, |weights, shards, sums, _| {
            let decisions = shards.iter().map(|batch| batch.decisions).sum();
            Ok(step(shards.par_iter(), sums, |batch| self.shard(weights, batch, goal, decisions))?.0)
        })
    }

    /// What states are valued at now, by episode and decision.
    ///
    /// # Errors
    ///
    /// What libtorch fails with.
    pub(super) fn values(self, weights: &Weights, episodes: &[Practice]) -> Result<Vec<Vec<f64>>, TchError> {
        let places = all(episodes);
        let shards: Vec<Vec<f32>> = places
            .par_chunks(SHARD)
            .map(|shard| {
                let network = Network::new(weights, self.set, self.params.shape, self.device)?;
                let inputs = Inputs::new(&Batch::new(episodes, None, shard), self.set, self.device)?;
                let values = tch::no_grad(|| network.values(&inputs))?.f_to_device(Device::Cpu)?;
                Vec::<f32>::try_from(values)
            })
            .collect::<Result<_, TchError>>()?;
        let mut all = shards.into_iter().flatten().map(f64::from);
        Ok(episodes.iter().map(|e| all.by_ref().take(e.steps.len()).collect()).collect())
    }

    /// Where the weights of the network that values states begin; they come last.
    fn value_at(self) -> usize {
        let tensors = self.params.shape.tensors(self.set);
        let own = tensors.iter().take_while(|(name, _)| name != "value.0.weight");
        own.map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    /// Gradient and figures of one shard; `decisions` is the number in the whole step.
    fn shard(
        self,
        weights: &Weights,
        batch: &Batch,
        goal: Goal,
        decisions: i64,
    ) -> Result<(Vec<f32>, Sums, ()), TchError> {
        let network = Network::new(weights, self.set, self.params.shape, self.device)?;
        let mut sums = Sums { decisions: batch.decisions as f64, ..Sums::default() };
        let inputs = Inputs::new(batch, self.set, self.device)?;
        let objective = objective(&network, &inputs, goal, &mut sums)?;
        Ok((gradient(&objective, decisions, &network.weights)?, sums, ()))
    }
}

/// All decisions, episode after episode.
fn all(episodes: &[Practice]) -> Vec<Place> {
    let of = |(e, episode): (usize, &Practice)| (0..episode.steps.len() as u32).map(move |s| (e as u32, s));
    episodes.iter().enumerate().flat_map(of).collect()
}

/// What is to become small, summed over the decisions, in reinforcement with the error of what their states are valued
/// at; adds its figures to `sums`.
pub(super) fn objective(network: &Network, inputs: &Inputs, goal: Goal, sums: &mut Sums) -> Result<Tensor, TchError> {
    let mut losses = goal.losses(&network.answers(inputs)?, (&inputs.old, &inputs.advantage), sums)?;
    if let Goal::Reinforce { .. } = goal {
        losses = losses.f_add(&network.values(inputs)?.f_sub(&inputs.worth)?.f_square()?)?;
    }
    losses.f_sum(losses.kind())
}
