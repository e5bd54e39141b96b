//! Training of the DL2 network: a warm-up that does as a heuristic does, then actor-critic learning from a prioritised memory, with
//! job-aware exploration.
//!
//! Source: Y. Peng et al., *DL2: A Deep Learning-driven Scheduler for Deep Learning Clusters*, arXiv 1909.06040. It differs from the
//! published training where that showed to learn better: decisions answer for the slots to come as well and for the time that jobs
//! lose ([`Reward::Time`]), a decision's blame fades with the decisions after it, steps are kept short (J. Schulman et al.,
//! *Proximal Policy Optimization Algorithms*, 2017), and exploration fades. The memory holds the rollouts of an iteration.

mod batch;
mod experience;
mod exploration;
mod network;
mod params;
mod rollout;
mod update;

#[cfg(test)]
mod tests;

pub use params::{Dl2Params, Reward};

use super::{
    Algorithm, Examine, IterationRow, Layout, Lessons, ParamError, Phase, Replay, Schedule, TrainError, Trainee,
    Weights,
    adam::Adam,
    session::{RolloutId, check_device, examiner, parallel, turn, update_stream},
    update::Moving,
};
use experience::Experience;
use rollout::{Driver, play};
use sched_distill_core::{
    figure::Figure, network::NeuralError, policy::Policy, scenario::Scenario as _, simulation::Outcome,
};
use sched_distill_training::{
    Training,
    network::{Dl2Policy, Dl2Shape, Dl2Weights, WINDOW},
    workload::TrainingWorkload,
};
use std::sync::{Arc, atomic::AtomicBool};
use tch::Device;
use update::Frame;

/// The tensors of a network.
#[must_use]
pub fn layout(shape: Dl2Shape) -> Layout {
    let mut layout = Layout::from(shape.tensors());
    layout.texts.insert(WINDOW.to_owned(), shape.window.to_string());
    layout
}

/// Untrained weights, those of the last layers ten times smaller than the others, so that all actions begin about equal.
#[must_use]
pub fn random(shape: Dl2Shape, seed: u64) -> Weights {
    Weights::random(
        layout(shape),
        seed,
        |name| if name.contains("score") || name.contains("close") { 0.1 } else { 1.0 },
    )
}

/// Teaches DL2. Traces come from the workloads in turn; validations look at all of them.
pub struct Dl2Trainee<'a> {
    workloads: &'a [TrainingWorkload],
    reference: (&'a str, &'a dyn Policy<Training>),
    lessons: Option<&'a Lessons<Training>>,
    params: &'a Dl2Params,
    shape: Dl2Shape,
    device: Device,
}

impl<'a> Dl2Trainee<'a> {
    /// Checks what it is told. `reference` is the policy that validations compare with.
    ///
    /// # Errors
    ///
    /// No workload, parameters out of range, imitation without lessons, or a device that is not there.
    pub fn new(
        workloads: &'a [TrainingWorkload],
        reference: (&'a str, &'a dyn Policy<Training>),
        lessons: Option<&'a Lessons<Training>>,
        params: &'a Dl2Params,
        shape: Dl2Shape,
        device: Device,
    ) -> Result<Self, TrainError> {
        params.check()?;
        ParamError::lists(workloads.len(), lessons.is_some(), &params.schedule)?;
        check_device(device)?;
        Ok(Self { workloads, reference, lessons, params, shape, device })
    }

    fn network(&self, weights: &Weights, sample: bool) -> Result<Dl2Policy, NeuralError> {
        let weights = Dl2Weights::from_tensors(&weights.to_tensors(), "in training")?;
        Ok(Dl2Policy::new(Arc::new(weights), sample))
    }

    /// Rollouts of an iteration.
    fn rollouts(
        &self,
        which: (u32, Phase),
        weights: &Weights,
        stop: &AtomicBool,
    ) -> Result<(Vec<Experience>, Vec<Outcome>), TrainError> {
        let params = self.params;
        let network = self.network(weights, true)?;
        let exploration = params.exploration.at(params.schedule.share(which.0));
        let rollouts = parallel(params.traces, stop, |i| {
            let mut network = network.copy();
            let turn = turn(params.schedule.seed, which, (params.traces, 1), i);
            let workload = &self.workloads[turn.workload as usize % self.workloads.len()];
            let rollout = match self.lessons.zip(turn.taught) {
                None => play(workload, &mut network, Driver::Own { exploration }, turn.into(), params),
                Some((Lessons::Policy(teacher), schedules)) => {
                    let mut teacher = teacher.fresh();
                    let driver = Driver::Taught { teacher: &mut *teacher, schedules };
                    play(workload, &mut network, driver, turn.into(), params)
                }
                Some((Lessons::Trace(recorded), _)) => {
                    let episode = &recorded.episodes[turn.episode.episode as usize % recorded.episodes.len()];
                    let id = RolloutId { episode: episode.id, draws: 0 };
                    let driver = Driver::Replayed { trace: &mut Replay::new(episode) };
                    play(&recorded.workload, &mut network, driver, id, params)
                }
            };
            Ok(rollout?)
        })?;
        Ok(rollouts.into_iter().unzip())
    }
}

impl Trainee for Dl2Trainee<'_> {
    fn schedule(&self) -> &Schedule {
        &self.params.schedule
    }

    fn objective(&self) -> &'static Figure {
        const { &Training::INFO }.objective()
    }

    fn examiner<'b>(&'b self, stop: &'b AtomicBool) -> Result<Box<Examine<'b>>, TrainError> {
        examiner::<Training>(self.workloads, self.reference, self.schedule(), stop, |weights, sample| {
            Ok(Box::new(self.network(weights, sample)?))
        })
    }

    fn iterate(
        &self,
        (iteration, phase): (u32, Phase),
        (weights, adam): (&mut Weights, &mut Adam),
        stop: &AtomicBool,
    ) -> Result<IterationRow, TrainError> {
        let params = self.params;
        let (memory, outcomes) = self.rollouts((iteration, phase), weights, stop)?;
        let came = memory.iter().map(|e| e.steps.len()).zip(&outcomes);
        let mut row = IterationRow::new(iteration, phase).with_rollouts(came);
        row.explained = explained(&memory);
        let goal = params.steps.goal(Algorithm::Ppo, &params.schedule, &mut row);
        let correction = params.correction.at(params.schedule.share(iteration));
        let correction = (phase == Phase::Reinforcement).then_some(correction);
        let mut stream = update_stream(&params.schedule, iteration, stop)?;
        let frame = Frame { shape: self.shape, params, device: self.device };
        let moving = Moving { weights, adam, rate: row.learning_rate };
        row.update = frame.update((&memory, correction), goal, moving, &mut stream)?;
        Ok(row)
    }
}

/// Share of the variance of what states turned out to be worth that the value network knew.
fn explained(memory: &[Experience]) -> f64 {
    let steps = || memory.iter().flat_map(|e| &e.steps);
    let count = steps().count().max(1) as f64;
    let mean = steps().map(|s| s.target).sum::<f64>() / count;
    let variance: f64 = steps().map(|s| (s.target - mean).powi(2)).sum();
    let left: f64 = steps().map(|s| (s.target - s.value).powi(2)).sum();
    if variance > 0.0 { 1.0 - left / variance } else { 0.0 }
}
