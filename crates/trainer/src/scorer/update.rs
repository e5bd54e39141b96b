//! From practice episodes to better weights.

use super::{
    batch::{Batch, Findings, Place},
    network::{Inputs, Network},
    params::ScorerParams,
};
use crate::{
    Algorithm, Weights,
    adam::Adam,
    update::{Sums, UpdateStats, passes, regret, shuffle, sum, total},
};
use rayon::prelude::*;
use sched_distill_core::{level::FeatureSet, rng::Stream};
use sched_distill_judge::practice::Practice;
use tch::{Device, TchError, Tensor};

/// Decisions whose gradient is computed at once. The gradients of a step are added in order, so that their sum does not depend on the
/// number of threads.
const SHARD: usize = 1024;

/// What the weights are moved for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// Make the recorded decisions more probable.
    Imitate,
    /// Make decisions that came out well more probable, and value states better.
    Reinforce { algorithm: Algorithm, clip: f64, entropy: f64 },
}

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
        (weights, adam): (&mut Weights, &mut Adam),
        (goal, rate): (Goal, f64),
        stream: &mut Stream,
    ) -> Result<UpdateStats, TchError> {
        let params = self.params;
        let (epochs, minibatches) = match goal {
            Goal::Reinforce { algorithm: Algorithm::Reinforce, .. } => (1, 1),
            Goal::Reinforce { .. } | Goal::Imitate => (params.epochs, params.minibatches as usize),
        };
        let mut order = all(episodes);
        shuffle(&mut order, stream);
        let each = order.len().div_ceil(minibatches).max(1);
        let steps: Vec<Vec<Batch>> = order
            .chunks(each)
            .map(|step| step.par_chunks(SHARD).map(|shard| Batch::new(episodes, findings, shard)).collect())
            .collect();
        let max_kl = matches!(goal, Goal::Reinforce { .. }).then_some(params.max_kl);
        // Neither the policy nor the network that values states is to be slowed down by the other.
        let parts = [0, self.value_at()];
        let moving = (weights, adam, rate);
        passes(&steps, (epochs, max_kl), moving, (&parts, params.max_gradient), stream, |weights, shards, _| {
            let decisions: i64 = shards.iter().map(|batch| batch.decisions).sum();
            let shard = |batch: &Batch| self.shard(weights, batch, goal, decisions);
            let parts: Vec<_> = shards.par_iter().map(shard).collect::<Result<_, TchError>>()?;
            let mut sums = Sums::default();
            parts.iter().for_each(|(_, of_part)| sums.add(of_part));
            Ok((total(&parts), sums))
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
    fn shard(self, weights: &Weights, batch: &Batch, goal: Goal, decisions: i64) -> Result<(Vec<f32>, Sums), TchError> {
        let network = Network::new(weights, self.set, self.params.shape, self.device)?;
        let mut sums = Sums { decisions: batch.decisions as f64, ..Sums::default() };
        let inputs = Inputs::new(batch, self.set, self.device)?;
        let objective = objective(&network, &inputs, goal, &mut sums)?;
        objective.f_div_scalar(decisions as f64)?.f_backward()?;
        let gradient = network.weights.f_grad()?.f_to_device(Device::Cpu)?;
        Ok((Vec::<f32>::try_from(gradient)?, sums))
    }
}

/// All decisions, episode after episode.
fn all(episodes: &[Practice]) -> Vec<Place> {
    let of = |(e, episode): (usize, &Practice)| (0..episode.steps.len() as u32).map(move |s| (e as u32, s));
    episodes.iter().enumerate().flat_map(of).collect()
}

/// What is to become small, summed over the decisions; adds its figures to `sums`.
pub(super) fn objective(network: &Network, inputs: &Inputs, goal: Goal, sums: &mut Sums) -> Result<Tensor, TchError> {
    let answers = network.answers(inputs)?;
    let loss = match goal {
        Goal::Imitate => answers.log_prob.f_neg()?,
        Goal::Reinforce { algorithm, clip, .. } => {
            regret(algorithm, clip, (&answers.log_prob, &inputs.old, &inputs.advantage), sums)?
        }
    };
    sums.loss += sum(&loss)?;
    sums.entropy += sum(&answers.entropy)?;
    let objective = match goal {
        Goal::Reinforce { entropy, .. } => {
            let error = network.values(inputs)?.f_sub(&inputs.worth)?.f_square()?;
            loss.f_sub(&answers.entropy.f_mul_scalar(entropy)?)?.f_add(&error)?
        }
        Goal::Imitate => loss,
    };
    objective.f_sum(objective.kind())
}
