//! From rollouts to better weights: prioritised replay and an actor-critic step.

use super::{
    batch::{Batch, Place},
    experience::Experience,
    network::{Inputs, Network},
    params::Dl2Params,
};
use crate::{
    Weights,
    update::{Goal, Moving, Sums, UpdateStats, gradient, shuffle, step},
};
use rayon::prelude::*;
use sched_distill_core::rng::Stream;
use sched_distill_training::network::Dl2Shape;
use tch::{Device, TchError, Tensor};

/// Decisions whose gradient is computed at once.
const SHARD: usize = 512;
/// Least and greatest surprise that a priority knows, in standard deviations of all advantages.
const SURPRISE: [f64; 2] = [0.01, 4.0];

/// The networks, apart from their weights.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) shape: Dl2Shape,
    pub(super) params: &'a Dl2Params,
    pub(super) device: Device,
}

impl Frame<'_> {
    /// Learns from a memory of rollouts. Every step draws decisions, those with great surprises more often, which the exponent
    /// `correction` makes up for; in imitation there is none, and each decision is drawn as often as any other.
    ///
    /// # Errors
    ///
    /// What libtorch fails with, e.g. for want of memory on the device.
    pub(super) fn update(
        self,
        (memory, correction): (&[Experience], Option<f64>),
        goal: Goal,
        mut moving: Moving,
        stream: &mut Stream,
    ) -> Result<UpdateStats, TchError> {
        let params = self.params;
        let mut memory_order = Memory::new(memory, correction, params);
        let batch = params.batch as usize;
        // Neither network is to be slowed down by the other.
        let parts = [0, self.policy_len()];
        let steps = (memory_order.places.len() as f64 * params.reuse / batch as f64).ceil() as usize;
        let (mut sums, mut length) = (Sums::default(), 0.0);
        for _ in 0..steps {
            let drawn = memory_order.draw(batch, stream);
            let (gradient, values) = step(drawn.par_chunks(SHARD), &mut sums, |shard| {
                let list: Vec<(Place, f32)> =
                    shard.iter().map(|&(i, weight)| (memory_order.places[i], weight)).collect();
                let batch = Batch::new(self.shape, memory, &list, memory_order.scale);
                self.shard(moving.weights, &batch, goal, drawn.len())
            })?;
            length += moving.step(gradient, &parts, params.steps.max_gradient);
            memory_order.look_again(memory, drawn.iter().map(|d| d.0).zip(values.into_iter().flatten()));
        }
        let passes = params.reuse.ceil() as u32;
        Ok(UpdateStats { gradient: length / steps.max(1) as f64, epochs: passes, ..sums.means() })
    }

    /// Numbers of the network that scores actions; the value network's follow them.
    fn policy_len(self) -> usize {
        let shapes = self.shape.tensors();
        shapes[..shapes.len() / 2].iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    /// Gradient and figures of one shard, and what the value network said of each decision; `decisions` is the number
    /// in the whole step.
    fn shard(
        self,
        weights: &Weights,
        batch: &Batch,
        goal: Goal,
        decisions: usize,
    ) -> Result<(Vec<f32>, Sums, Vec<f32>), TchError> {
        let network = Network::new(weights, self.shape, self.device)?;
        let inputs = Inputs::new(batch, self.shape, self.device)?;
        let mut sums = Sums { decisions: batch.decisions as f64, ..Sums::default() };
        let (objective, values) = objective(&network, &inputs, goal, &mut sums)?;
        let gradient = gradient(&objective, decisions as i64, &network.weights)?;
        Ok((gradient, sums, Vec::<f32>::try_from(values.f_detach()?.f_to_device(Device::Cpu)?)?))
    }
}

/// What is to become small, summed over the decisions, and the values of their states; adds its figures to `sums`.
pub(super) fn objective(
    network: &Network,
    inputs: &Inputs,
    goal: Goal,
    sums: &mut Sums,
) -> Result<(Tensor, Tensor), TchError> {
    let losses = goal.losses(&network.answers(inputs)?, (&inputs.old, &inputs.advantage), sums)?;
    let values = network.values(inputs)?;
    let error = values.f_sub(&inputs.worth)?.f_square()?;
    let losses = losses.f_add(&error)?.f_mul(&inputs.weight)?;
    Ok((losses.f_sum(losses.kind())?, values))
}

/// The decisions of some rollouts with their priorities (T. Schaul et al., *Prioritized Experience Replay*, ICLR 2016).
pub(super) struct Memory {
    places: Vec<Place>,
    /// `None` where all are alike.
    priorities: Option<Vec<f64>>,
    order: Vec<usize>,
    exponent: f64,
    correction: f64,
    /// Standard deviation of the advantages.
    scale: f64,
}

impl Memory {
    /// With an exponent that makes up for priorities; without one all are alike.
    pub(super) fn new(memory: &[Experience], correction: Option<f64>, params: &Dl2Params) -> Self {
        let steps = || memory.iter().flat_map(|e| &e.steps);
        let places = memory.iter().enumerate().flat_map(|(r, e)| (0..e.steps.len()).map(move |s| (r as u32, s as u32)));
        let squares: f64 = steps().map(|s| (s.target - s.value).powi(2)).sum();
        let scale = (squares / steps().count().max(1) as f64).sqrt().max(1e-6);
        let (exponent, correction) = correction.map_or((0.0, 0.0), |correction| (params.priority, correction));
        let priority = |s: &super::experience::Step| surprise((s.target - s.value) / scale).powf(exponent);
        let priorities = (exponent > 0.0).then(|| steps().map(priority).collect());
        Self { places: places.collect(), priorities, order: Vec::new(), exponent, correction, scale }
    }

    /// Draws decisions with their weights, the greatest weight being 1. By priority, each from a segment of its own; else one after
    /// the other in random order, all of them before the first comes again.
    pub(super) fn draw(&mut self, count: usize, stream: &mut Stream) -> Vec<(usize, f32)> {
        let Some(priorities) = &self.priorities else {
            if self.order.len() < count {
                let mut more: Vec<usize> = (0..self.places.len()).collect();
                shuffle(&mut more, stream);
                self.order.splice(0..0, more);
            }
            let rest = self.order.len().saturating_sub(count);
            return self.order.split_off(rest).into_iter().map(|i| (i, 1.0)).collect();
        };
        let total: f64 = priorities.iter().sum();
        let least = priorities.iter().copied().fold(f64::INFINITY, f64::min);
        let (mut drawn, mut i, mut below) = (Vec::with_capacity(count), 0, 0.0);
        for segment in 0..count {
            let at = total * (segment as f64 + stream.uniform()) / count as f64;
            while i + 1 < priorities.len() && below + priorities[i] <= at {
                below += priorities[i];
                i += 1;
            }
            drawn.push((i, (priorities[i] / least).powf(-self.correction) as f32));
        }
        drawn
    }

    /// What the value network now says of decisions changes their priorities.
    fn look_again(&mut self, memory: &[Experience], seen: impl Iterator<Item = (usize, f32)>) {
        let Some(priorities) = &mut self.priorities else { return };
        for (i, value) in seen {
            let (rollout, step) = self.places[i];
            let target = memory[rollout as usize].steps[step as usize].target;
            priorities[i] = surprise((target - f64::from(value)) / self.scale).powf(self.exponent);
        }
    }
}

/// Size of a surprise, within limits.
fn surprise(scaled: f64) -> f64 {
    (scaled.abs() + SURPRISE[0]).min(SURPRISE[1])
}
