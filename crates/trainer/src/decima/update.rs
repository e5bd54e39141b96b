//! From rollouts to better weights.

use super::{
    batch::{Batch, Block},
    experience::Experience,
    network::{Inputs, Network},
    params::DecimaParams,
};
use crate::{
    Weights,
    libtorch::floats,
    update::{Goal, Moving, Sums, UpdateStats, gradient, passes, shuffle, step},
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

/// One update over the decisions of some rollouts. In imitation the network learns them also where jobs, a share of `adversarial`
/// of their states, are described so that it takes these decisions for less probable.
///
/// # Errors
///
/// What libtorch fails with, e.g. for want of memory on the device.
pub(super) fn update(
    (rollouts, advantages): (&[Experience], &[Vec<f32>]),
    (params, goal): (&DecimaParams, Goal),
    moving: Moving,
    device: Device,
    stream: &mut Stream,
) -> Result<UpdateStats, TchError> {
    let (epochs, minibatches, max_kl) = params.gradient.passes(goal);
    let steps = batches(rollouts, advantages, minibatches, stream);
    let parts = (&[0][..], params.steps.max_gradient);
    passes(&steps, (epochs, max_kl), moving, parts, stream, |weights, shards, sums, stream| {
        let decisions = shards.iter().map(|b| b.decisions).sum();
        let gamed: Vec<_> = shards.iter().map(|batch| gamed(batch, goal, params.adversarial, stream)).collect();
        let of_shard = |shard| self::shard(weights, shard, goal, decisions, device);
        Ok(step(shards.par_iter().zip(&gamed), sums, of_shard)?.0)
    })
}

/// Job states that are described otherwise, by their place in the batch; none where nobody games.
fn gamed(batch: &Batch, goal: Goal, share: f64, stream: &mut Stream) -> Vec<bool> {
    match goal {
        Goal::Imitate if share > 0.0 => (0..batch.jobs).map(|_| stream.uniform() < share).collect(),
        _ => Vec::new(),
    }
}

/// Gradient and figures of one shard; `decisions` is the number in the whole step.
fn shard(
    weights: &Weights,
    (batch, gamed): (&Batch, &Vec<bool>),
    goal: Goal,
    decisions: i64,
    device: Device,
) -> Result<(Vec<f32>, Sums, ()), TchError> {
    let network = Network::new(weights, device)?;
    let mut sums = Sums { decisions: batch.decisions as f64, ..Sums::default() };
    let mut inputs = Inputs::new(batch, device)?;
    if !gamed.is_empty() {
        inputs.x = misdescribed(&network, &inputs, batch, gamed)?;
    }
    let objective = objective(&network, &inputs, goal, &mut sums)?;
    Ok((gradient(&objective, decisions, &network.weights)?, sums, ()))
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
    let losses = goal.losses(&network.answers(inputs, &inputs.x)?, (&inputs.old, &inputs.advantage), sums)?;
    losses.f_sum(losses.kind())
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
