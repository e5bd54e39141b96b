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
    session::{check_device, episodes, parallel, turn, update_stream},
    update::Moving,
};
use batch::Findings;
use sched_distill_core::{
    figure::Figure,
    level::FeatureSet,
    network::{
        NeuralError,
        scorer::{ScorerShape, ScorerWeights},
    },
};
use sched_distill_judge::practice::{AnyGround, Clock, Moment, Practice, Survey, Validation};
use std::sync::{Arc, atomic::AtomicBool};
use tch::Device;
use update::Frame;

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
        let (discount, _) = params.gradient.returns.rates();
        let clock = Clock { unit_ms: survey.stay_ms, cost: survey.cost, discount };
        Ok(Self { ground, params, clock, device })
    }

    fn frame(&self) -> Frame<'_> {
        Frame { set: self.ground.feature_set(), params: self.params, device: self.device }
    }

    /// Practice episodes of an iteration; the network's own come in groups of one job sequence.
    fn practise(&self, which: (u32, Phase), weights: &Weights, stop: &AtomicBool) -> Result<Vec<Practice>, TrainError> {
        let (sequences, each) = (self.params.gradient.sequences, self.params.gradient.rollouts);
        let (seed, weights) = (self.params.schedule.seed, network(weights)?);
        parallel(sequences * each, stop, |i| {
            Ok(self.ground.play(&weights, turn(seed, which, (sequences, each), i), self.clock)?)
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
        let gradient = &self.params.gradient;
        let found = advantages(&moments, &gradient.groups(), gradient.returns, self.params.blame);
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
        let goal = params.steps.goal(params.gradient.algorithm, &params.schedule, &mut row);
        let mut findings = None;
        if phase == Phase::Reinforcement {
            let (found, explained) = self.findings(weights, &practice)?;
            row.explained = explained;
            findings = Some(found);
        }
        let mut stream = update_stream(&params.schedule, iteration, stop)?;
        let moving = Moving { weights, adam, rate: row.learning_rate };
        row.update = self.frame().update((&practice, findings.as_ref()), goal, moving, &mut stream)?;
        Ok(row)
    }
}

/// The network with these weights.
fn network(weights: &Weights) -> Result<Arc<ScorerWeights>, NeuralError> {
    Ok(Arc::new(ScorerWeights::from_tensors(&weights.to_tensors(), "in training")?))
}
