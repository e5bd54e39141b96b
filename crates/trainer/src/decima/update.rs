//! From rollouts to better weights.

use super::{
    batch::{Batch, Block},
    experience::Experience,
    network::{Inputs, Network},
    params::DecimaParams,
};
use crate::{
    Algorithm, Weights,
    adam::Adam,
    libtorch::floats,
    update::{Sums, UpdateStats, passes, regret, shuffle, sum, total},
};
use rayon::prelude::*;
use sched_distill_core::rng::Stream;
use sched_distill_dag::network::FEATURES;
use tch::{Device, TchError, Tensor};

/// Consecutive decisions that stay together; they share most states of their jobs.
const BLOCK: usize = 64;
/// Decisions whose gradient is computed at once. The gradients of a step are added in order, so that their sum does not
/// depend on the number of threads.
const SHARD: usize = 1024;

/// The node's feature that a user declares: its remaining work.
const WORK: usize = 4;
/// By how much of itself it may be said to be more or less.
const SHARE: f32 = 0.5;

/// What the weights are moved for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// Make the recorded decisions more probable, also where a share of the jobs' states is described so that they become less so.
    Imitate { adversarial: f64 },
    /// Make decisions that came out well more probable.
    Reinforce { algorithm: Algorithm, clip: f64, entropy: f64 },
}

/// What moves.
pub(super) struct Update<'a> {
    pub(super) weights: &'a mut Weights,
    pub(super) adam: &'a mut Adam,
    pub(super) device: Device,
}

impl Update<'_> {
    /// One update over the decisions of some rollouts.
    ///
    /// # Errors
    ///
    /// What libtorch fails with, e.g. for want of memory on the device.
    pub(super) fn run(
        &mut self,
        (rollouts, advantages): (&[Experience], &[Vec<f32>]),
        (goal, rate): (Goal, f64),
        params: &DecimaParams,
        stream: &mut Stream,
    ) -> Result<UpdateStats, TchError> {
        let (epochs, minibatches) = match goal {
            Goal::Reinforce { algorithm: Algorithm::Reinforce, .. } => (1, 1),
            Goal::Reinforce { .. } | Goal::Imitate { .. } => (params.epochs, params.minibatches as usize),
        };
        let steps = batches(rollouts, advantages, minibatches, stream);
        let max_kl = matches!(goal, Goal::Reinforce { .. }).then_some(params.max_kl);
        let device = self.device;
        let moving = (&mut *self.weights, &mut *self.adam, rate);
        passes(&steps, (epochs, max_kl), moving, (&[0], params.max_gradient), stream, |weights, shards, stream| {
            step(weights, shards, goal, device, stream)
        })
    }
}

/// The gradient of one step: the mean over its decisions.
fn step(
    weights: &Weights,
    shards: &[Batch],
    goal: Goal,
    device: Device,
    stream: &mut Stream,
) -> Result<(Vec<f32>, Sums), TchError> {
    let decisions: i64 = shards.iter().map(|b| b.decisions).sum();
    let gamed: Vec<Vec<bool>> = shards.iter().map(|batch| gamed(batch, goal, stream)).collect();
    let of_shard = |(batch, gamed): (&Batch, &Vec<bool>)| shard(weights, (batch, gamed), goal, decisions, device);
    let parts: Vec<_> = shards.par_iter().zip(&gamed).map(of_shard).collect::<Result<_, TchError>>()?;
    let mut sums = Sums::default();
    parts.iter().for_each(|(_, of_part)| sums.add(of_part));
    Ok((total(&parts), sums))
}

/// Job states that are described otherwise, by their place in the batch; none where nobody games.
fn gamed(batch: &Batch, goal: Goal, stream: &mut Stream) -> Vec<bool> {
    match goal {
        Goal::Imitate { adversarial } if adversarial > 0.0 => {
            (0..batch.jobs).map(|_| stream.uniform() < adversarial).collect()
        }
        _ => Vec::new(),
    }
}

/// Gradient and figures of one shard; `decisions` is the number in the whole step.
fn shard(
    weights: &Weights,
    (batch, gamed): (&Batch, &[bool]),
    goal: Goal,
    decisions: i64,
    device: Device,
) -> Result<(Vec<f32>, Sums), TchError> {
    let network = Network::new(weights, device)?;
    let mut sums = Sums { decisions: batch.decisions as f64, ..Sums::default() };
    let mut inputs = Inputs::new(batch, device)?;
    if !gamed.is_empty() {
        inputs.x = misdescribed(&network, &inputs, batch, gamed)?;
    }
    let objective = objective(&network, &inputs, goal, &mut sums)?;
    objective.f_div_scalar(decisions as f64)?.f_backward()?;
    let gradient = network.weights.f_grad()?.f_to_device(Device::Cpu)?;
    Ok((Vec::<f32>::try_from(gradient)?, sums))
}

/// The features of nodes with one stage of each of some job states said to be as much shorter or longer as a user may, where and
/// in which direction one step along the gradient makes the decisions to learn from least probable.
pub(super) fn misdescribed(
    network: &Network,
    inputs: &Inputs,
    batch: &Batch,
    gamed: &[bool],
) -> Result<Tensor, TchError> {
    let x = inputs.x.f_detach()?.f_set_requires_grad(true)?;
    let log_prob = network.answers(inputs, &x)?.log_prob.f_sum(inputs.x.kind())?;
    let gradient = Tensor::f_run_backward(&[log_prob], &[&x], false, false)?.remove(0);
    let gradient = Vec::<f32>::try_from(gradient.f_to_device(Device::Cpu)?.f_view([-1])?)?;
    let mut said = batch.x.clone();
    // Nodes of a job state stand together.
    let mut first = 0;
    for of_job in batch.node_job.chunk_by(|a, b| a == b) {
        let nodes = first..first + of_job.len();
        first = nodes.end;
        let effect = |node: usize| gradient[node * FEATURES + WORK] * batch.x[node * FEATURES + WORK];
        let most = nodes.max_by(|&a, &b| effect(a).abs().total_cmp(&effect(b).abs()));
        if let Some(node) = most.filter(|_| gamed[of_job[0] as usize]) {
            said[node * FEATURES + WORK] *= 1.0 - SHARE * effect(node).signum();
        }
    }
    floats(&said, inputs.x.device())?.f_view([-1, FEATURES as i64])
}

/// What is to become small, summed over the decisions; adds its figures to `sums`.
pub(super) fn objective(network: &Network, inputs: &Inputs, goal: Goal, sums: &mut Sums) -> Result<Tensor, TchError> {
    let answers = network.answers(inputs, &inputs.x)?;
    let loss = match goal {
        Goal::Imitate { .. } => answers.log_prob.f_neg()?,
        Goal::Reinforce { algorithm, clip, .. } => {
            regret(algorithm, clip, (&answers.log_prob, &inputs.old, &inputs.advantage), sums)?
        }
    };
    sums.loss += sum(&loss)?;
    sums.entropy += sum(&answers.entropy)?;
    let objective = match goal {
        Goal::Reinforce { entropy, .. } => loss.f_sub(&answers.entropy.f_mul_scalar(entropy)?)?,
        Goal::Imitate { .. } => loss,
    };
    objective.f_sum(objective.kind())
}

/// All decisions in random order, in blocks, dealt out to the steps of a pass.
fn batches(
    rollouts: &[Experience],
    advantages: &[Vec<f32>],
    minibatches: usize,
    stream: &mut Stream,
) -> Vec<Vec<Batch>> {
    let mut blocks: Vec<Block> = Vec::new();
    for (rollout, e) in rollouts.iter().enumerate() {
        let starts = (0..e.steps.len()).step_by(BLOCK);
        blocks.extend(starts.map(|s| Block { rollout, steps: s..(s + BLOCK).min(e.steps.len()) }));
    }
    shuffle(&mut blocks, stream);
    let each = blocks.len().div_ceil(minibatches.max(1)).max(1);
    let mut plan: Vec<(usize, Vec<Block>)> = Vec::new();
    for (step, of_step) in blocks.chunks_mut(each).enumerate() {
        // Neighbours share states of jobs: within a step they go into the same shard.
        of_step.sort_by_key(|b| (b.rollout, b.steps.start));
        plan.extend(of_step.chunks(SHARD / BLOCK).map(|shard| (step, shard.to_vec())));
    }
    let built: Vec<(usize, Batch)> =
        plan.par_iter().map(|(step, shard)| (*step, Batch::new(rollouts, advantages, shard))).collect();
    let mut steps: Vec<Vec<Batch>> = Vec::new();
    for (step, batch) in built {
        if steps.len() <= step {
            steps.push(Vec::new());
        }
        steps[step].push(batch);
    }
    steps
}
