//! Training of the scorer, the network for any scenario.
//!
//! Sources: J. Schulman et al., *Proximal Policy Optimization Algorithms*, 2017, for the update; H. Mao et al., *Variance Reduction for
//! Reinforcement Learning in Input-Driven Environments*, ICLR 2019, for what a decision is compared with. Nothing here knows a kind
//! of cluster: an episode is a table per level, with costs ([`AnyGround`]).

mod batch;
mod gradients;
mod network;
mod params;
mod update;

#[cfg(test)]
mod tests;

pub use gradients::scorer_gradients;
pub use params::ScorerParams;

use super::{
    Examine, IterationRow, Layout, ParamError, Phase, Schedule, TrainError, Trainee, Weights,
    adam::Adam,
    returns::advantages,
    session::{RolloutId, check_device, episodes, parallel},
};
use batch::Findings;
use sched_distill_core::{
    figure::Figure,
    level::FeatureSet,
    network::{
        NeuralError,
        scorer::{ScorerShape, ScorerWeights},
    },
    rng::{Stream, hash},
};
use sched_distill_judge::practice::{AnyGround, Clock, Moment, Practice, Survey, Turn, Validation};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tch::Device;
use update::{Frame, Goal};

/// The tensors of a network for a feature set.
#[must_use]
pub fn layout(set: &FeatureSet, shape: ScorerShape) -> Layout {
    Layout { texts: shape.texts(set), ..Layout::from(shape.tensors(set)) }
}

/// Untrained weights with the means and scales of a survey; those of the last layers are ten times smaller than the others, so that all
/// candidates begin about equal.
#[must_use]
pub fn random(set: &FeatureSet, shape: ScorerShape, seed: u64, survey: &Survey) -> Weights {
    let last = |name: &str| name.ends_with("score.1.weight") || name == "value.2.weight";
    let mut weights = Weights::random(layout(set, shape), seed, |name| if last(name) { 0.1 } else { 1.0 });
    // Means and scales come first, level by level.
    let norms = survey.levels.iter().flat_map(|level| level.mean.iter().chain(&level.scale));
    weights.data.iter_mut().zip(norms).for_each(|(to, &from)| *to = from);
    weights
}

/// Teaches a scorer. Episodes come from the workloads in turn; validations look at all of them.
pub struct ScorerTrainee<'a> {
    ground: &'a dyn AnyGround,
    params: &'a ScorerParams,
    clock: Clock,
    device: Device,
}

impl<'a> ScorerTrainee<'a> {
    /// Checks what it is told. `survey` is of the ground, by [`ScorerParams::survey`] episodes.
    ///
    /// # Errors
    ///
    /// Parameters out of range, imitation without lessons, or a device that is not there.
    pub fn new(
        ground: &'a dyn AnyGround,
        survey: &Survey,
        params: &'a ScorerParams,
        device: Device,
    ) -> Result<Self, TrainError> {
        params.check()?;
        ParamError::lists(ground.workloads(), ground.has_lessons(), &params.schedule)?;
        check_device(device)?;
        let (discount, _) = params.returns.rates();
        let clock = Clock { unit_ms: survey.stay_ms, cost: survey.cost, discount };
        Ok(Self { ground, params, clock, device })
    }

    fn frame(&self) -> Frame<'_> {
        Frame { set: self.ground.feature_set(), params: self.params, device: self.device }
    }

    /// Practice episodes of an iteration; the network's own come in groups of one job sequence.
    fn practise(
        &self,
        (iteration, phase): (u32, Phase),
        weights: &Weights,
        stop: &AtomicBool,
    ) -> Result<Vec<Practice>, TrainError> {
        let (each, count) = (self.params.rollouts, self.params.sequences * self.params.rollouts);
        let weights = network(weights)?;
        let imitates = phase == Phase::Imitation;
        parallel(count, stop, |i| {
            // As many numbers for an iteration as it may have sequences, whether it imitates or not. Who schedules in a warm start
            // changes from one to the next, so that workloads change with every other.
            let sequence = if imitates { i } else { i / each };
            let (workloads, which) =
                if imitates { (count.div_ceil(2), i / 2) } else { (self.params.sequences, sequence) };
            let workload = (iteration - 1).wrapping_mul(workloads).wrapping_add(which);
            let episode = (iteration - 1).wrapping_mul(count).wrapping_add(sequence);
            let id = RolloutId::new(self.params.schedule.seed, episode, iteration, i);
            // At first the network would only show states that nobody gets into.
            let taught = imitates.then_some(i % 2 == 0 || iteration == 1);
            let turn = Turn { taught, workload, episode: id.episode, draws: id.draws };
            Ok(self.ground.play(&weights, turn, self.clock)?)
        })
    }

    /// What the network's own episodes tell: advantages, what states are worth, and how much of the costs was expected.
    fn findings(&self, weights: &Weights, practice: &[Practice]) -> Result<(Findings, f64), TrainError> {
        let values = self.frame().values(weights, practice)?;
        let moments = |(episode, values): (&Practice, &Vec<f64>)| -> Vec<Moment> {
            let pairs = episode.steps.iter().zip(values);
            pairs.map(|(step, &estimate)| Moment { estimate, ..step.moment }).collect()
        };
        let moments: Vec<Vec<Moment>> = practice.iter().zip(&values).map(moments).collect();
        let (sequences, each) = (self.params.sequences as usize, self.params.rollouts as usize);
        let groups: Vec<_> = (0..sequences).map(|s| s * each..(s + 1) * each).collect();
        let found = advantages(&moments, &groups, self.params.returns, self.params.blame);
        Ok((Findings { advantages: found.scaled, worths: found.lessons }, found.explained))
    }
}

impl Trainee for ScorerTrainee<'_> {
    fn schedule(&self) -> &Schedule {
        &self.params.schedule
    }

    fn objective(&self) -> &'static Figure {
        self.ground.objective()
    }

    fn examiner<'b>(&'b self, stop: &'b AtomicBool) -> Result<Box<Examine<'b>>, TrainError> {
        let judge = self.ground.examiner(episodes(self.schedule()), stop)?;
        Ok(Box::new(move |weights| {
            let weights = network(weights)?;
            Ok(Validation { greedy: judge(&weights, false)?, sampled: judge(&weights, true)? })
        }))
    }

    fn iterate(
        &self,
        (iteration, phase): (u32, Phase),
        (weights, adam): (&mut Weights, &mut Adam),
        stop: &AtomicBool,
    ) -> Result<IterationRow, TrainError> {
        let params = self.params;
        let practice = self.practise((iteration, phase), weights, stop)?;
        let came = practice.iter().filter_map(|e| Some((e.steps.len(), e.outcome.as_ref()?)));
        let mut row = IterationRow::new(iteration, phase).with_rollouts(came);
        let (goal, findings) = if phase == Phase::Reinforcement {
            let (findings, explained) = self.findings(weights, &practice)?;
            let share = params.schedule.share(iteration);
            row.explained = explained;
            row.entropy_weight = params.entropy.at(share);
            row.learning_rate = params.learning_rate.at(share);
            let goal = Goal::Reinforce { algorithm: params.algorithm, clip: params.clip, entropy: row.entropy_weight };
            (goal, Some(findings))
        } else {
            row.learning_rate = params.imitation_rate;
            (Goal::Imitate, None)
        };
        if stop.load(Ordering::Relaxed) {
            return Err(TrainError::Interrupted);
        }
        let mut stream = Stream::new(hash(&[params.schedule.seed, u64::from(iteration)]), "update");
        let learned = (&practice[..], findings.as_ref());
        row.update = self.frame().update(learned, (weights, adam), (goal, row.learning_rate), &mut stream)?;
        Ok(row)
    }
}

/// The network with these weights.
fn network(weights: &Weights) -> Result<Arc<ScorerWeights>, NeuralError> {
    Ok(Arc::new(ScorerWeights::from_tensors(&weights.to_tensors(), "in training")?))
}
