//! Training of the Decima network.
//!
//! Sources: H. Mao et al., *Learning Scheduling Algorithms for Data Processing Clusters*, SIGCOMM 2019, for the network and its
//! training; J. Schulman et al., *Proximal Policy Optimization Algorithms*, 2017, for the update.

mod batch;
mod experience;
mod gradients;
mod network;
mod params;
mod rollout;
mod update;

#[cfg(test)]
mod tests;

pub use gradients::teacher_gradients;
pub use params::DecimaParams;

use super::{
    Examine, IterationRow, Layout, Lessons, ParamError, Phase, Replay, Schedule, TrainError, Trainee, Weights,
    adam::Adam,
    returns::advantages,
    session::{RolloutId, check_device, examiner, parallel, turn, update_stream},
    update::Moving,
};
use rollout::{Driver, Rollout, Shown, play};
use sched_distill_core::{
    figure::Figure,
    network::{NeuralError, Tensors},
    policy::Policy,
    rng::EpisodeId,
    scenario::Scenario as _,
    simulation::{EditBudget, Editable as _},
};
use sched_distill_dag::{
    Dag,
    edit::JobEdit,
    network::{DecimaCheckpoint, DecimaPolicy, DecimaWeights, shapes},
    workload::{DagWorkload, JobArrival},
};
use sched_distill_judge::{
    attack::{AttackError, Gaming, gamed},
    practice::Turn,
};
use std::sync::{Arc, atomic::AtomicBool};
use tch::Device;
use update::update;

/// Questions at which users who game the network ask it what an edit would change.
const QUESTIONS: u32 = 4;

/// The tensors of the network, 20,802 numbers.
#[must_use]
pub fn layout() -> Layout {
    shapes().into()
}

/// Untrained weights, the scores' last layers ten times smaller than the others, so that all candidates begin about equal.
#[must_use]
pub fn random(seed: u64) -> Weights {
    Weights::random(layout(), seed, |name| if name.contains("mlp_score.4") { 0.1 } else { 1.0 })
}

/// The weights of a checkpoint, whatever its names are wrapped in and whether or not it has batch normalisations: these become part of
/// the layers. `origin` names it in errors.
///
/// # Errors
///
/// A checkpoint of another network, or of other widths than [`layout`] has.
pub fn weights(tensors: &Tensors, origin: &str) -> Result<Weights, NeuralError> {
    Weights::from_tensors(layout(), &DecimaCheckpoint::read(tensors, origin)?.usual(origin)?, origin)
}

/// The network that schedules with these weights.
fn network(weights: &Weights) -> Result<Arc<DecimaWeights>, NeuralError> {
    Ok(Arc::new(DecimaWeights::from_tensors(&weights.to_tensors(), "in training")?))
}

/// Teaches Decima. Job sequences come from the workloads in turn; validations look at all of them.
pub struct DecimaTrainee<'a> {
    workloads: &'a [DagWorkload],
    reference: (&'a str, &'a dyn Policy<Dag>),
    lessons: Option<&'a Lessons<Dag>>,
    params: &'a DecimaParams,
    device: Device,
}

impl<'a> DecimaTrainee<'a> {
    /// Checks what it is told. `reference` is the policy that validations compare with.
    ///
    /// # Errors
    ///
    /// No workload, parameters out of range, imitation without lessons, or a device that is not there.
    pub fn new(
        workloads: &'a [DagWorkload],
        reference: (&'a str, &'a dyn Policy<Dag>),
        lessons: Option<&'a Lessons<Dag>>,
        params: &'a DecimaParams,
        device: Device,
    ) -> Result<Self, TrainError> {
        params.check()?;
        ParamError::lists(workloads.len(), lessons.is_some(), &params.schedule)?;
        check_device(device)?;
        Ok(Self { workloads, reference, lessons, params, device })
    }

    /// Rollouts of the network.
    fn own(&self, iteration: u32, weights: &Weights, stop: &AtomicBool) -> Result<Vec<Rollout>, TrainError> {
        let (sequences, each) = (self.params.gradient.sequences, self.params.gradient.rollouts);
        let weights = network(weights)?;
        let turn = |i| self.turn((iteration, Phase::Reinforcement), i);
        let described = parallel(sequences, stop, |s| self.described(turn(s * each), &weights, stop))?;
        parallel(sequences * each, stop, |i| {
            let jobs = (self.workload(turn(i)), described[(i / each) as usize].clone());
            Ok(play(jobs, &mut sampling(&weights), Driver::Own, turn(i).into(), self.params.gradient.returns)?)
        })
    }

    /// Rollouts that a teacher comments on.
    fn taught(
        &self,
        iteration: u32,
        lessons: &Lessons<Dag>,
        weights: &Weights,
        stop: &AtomicBool,
    ) -> Result<Vec<Rollout>, TrainError> {
        let (gradient, weights) = (&self.params.gradient, network(weights)?);
        // Declared numbers are moved in the update, by the gradient itself.
        let shown = |workload: &DagWorkload, episode| -> Result<Shown, TrainError> {
            Ok(Shown { edits: self.gamed(workload, &["split", "edge"], &weights, episode, stop)? })
        };
        parallel(gradient.sequences * gradient.rollouts, stop, |i| {
            let (mut network, turn) = (sampling(&weights), self.turn((iteration, Phase::Imitation), i));
            Ok(match lessons {
                Lessons::Policy(teacher) => {
                    let mut teacher = teacher.fresh();
                    let workload = self.workload(turn);
                    let jobs = workload.jobs(turn.episode);
                    let driver = match turn.taught {
                        Some(true) => Driver::Teacher { teacher: &mut *teacher, shown: shown(workload, turn.episode)? },
                        _ => Driver::Watched { teacher: &mut *teacher },
                    };
                    play((workload, jobs), &mut network, driver, turn.into(), gradient.returns)?
                }
                Lessons::Trace(recorded) => {
                    let episode = &recorded.episodes[turn.episode.episode as usize % recorded.episodes.len()];
                    let id = RolloutId { episode: episode.id, draws: 0 };
                    let jobs = recorded.workload.jobs(id.episode);
                    let shown = shown(&recorded.workload, id.episode)?;
                    let driver = Driver::Teacher { teacher: &mut Replay::new(episode), shown };
                    play((&recorded.workload, jobs), &mut network, driver, id, gradient.returns)?
                }
            })
        })
    }

    /// By job of an episode how its user describes it to the network as it is, by edits of some sorts; empty where nobody games.
    fn gamed(
        &self,
        workload: &DagWorkload,
        sorts: &[&str],
        weights: &Arc<DecimaWeights>,
        episode: EpisodeId,
        stop: &AtomicBool,
    ) -> Result<Vec<Option<JobEdit>>, TrainError> {
        let share = self.params.adversarial;
        if share == 0.0 {
            return Ok(Vec::new());
        }
        let greedy = DecimaPolicy::new(Arc::clone(weights), false).may_strand();
        let sorts = sorts.iter().map(|&sort| sort.to_owned()).collect();
        let budget = EditBudget { sorts, ..EditBudget::default() };
        let gaming = Gaming { share, budget, questions: QUESTIONS };
        gamed::<Dag>(workload, &greedy, &gaming, episode, stop).map_err(|e| match e {
            AttackError::Interrupted => TrainError::Interrupted,
            other => TrainError::Attack(other),
        })
    }

    /// The jobs of an episode as their users describe them.
    fn described(
        &self,
        turn: Turn,
        weights: &Arc<DecimaWeights>,
        stop: &AtomicBool,
    ) -> Result<Vec<JobArrival>, TrainError> {
        let workload = self.workload(turn);
        let mut jobs = workload.jobs(turn.episode);
        for (job, edit) in (0..).zip(self.gamed(workload, &[], weights, turn.episode, stop)?) {
            if let Some(edit) = edit {
                jobs = Dag::edited(&jobs, job, &edit).map_err(AttackError::from)?;
            }
        }
        Ok(jobs)
    }

    fn turn(&self, which: (u32, Phase), rollout: u32) -> Turn {
        let DecimaParams { schedule, gradient, .. } = self.params;
        turn(schedule.seed, which, (gradient.sequences, gradient.rollouts), rollout)
    }

    /// Where its job sequence comes from.
    fn workload(&self, turn: Turn) -> &DagWorkload {
        &self.workloads[turn.workload as usize % self.workloads.len()]
    }
}

impl Trainee for DecimaTrainee<'_> {
    fn schedule(&self) -> &Schedule {
        &self.params.schedule
    }

    fn objective(&self) -> &'static Figure {
        const { &Dag::INFO }.objective()
    }

    fn examiner<'b>(&'b self, stop: &'b AtomicBool) -> Result<Box<Examine<'b>>, TrainError> {
        examiner::<Dag>(self.workloads, self.reference, self.schedule(), stop, |weights, sample| {
            Ok(Box::new(DecimaPolicy::new(network(weights)?, sample).may_strand()))
        })
    }

    fn latest_counts(&self) -> bool {
        // On jobs that are described as they are the network would be best that nobody has hardened.
        self.params.adversarial > 0.0
    }

    fn iterate(
        &self,
        (iteration, phase): (u32, Phase),
        (weights, adam): (&mut Weights, &mut Adam),
        stop: &AtomicBool,
    ) -> Result<IterationRow, TrainError> {
        let params = self.params;
        let rollouts = match self.lessons.filter(|_| phase == Phase::Imitation) {
            Some(lessons) => self.taught(iteration, lessons, weights, stop)?,
            None => self.own(iteration, weights, stop)?,
        };
        let came = rollouts.iter().map(|r| (r.experience.steps.len(), &r.outcome));
        let mut row = IterationRow::new(iteration, phase).with_rollouts(came);
        let experience: Vec<_> = rollouts.into_iter().map(|r| r.experience).collect();
        let goal = params.steps.goal(params.gradient.algorithm, &params.schedule, &mut row);
        let advantage = if phase == Phase::Reinforcement {
            let moments: Vec<_> = experience.iter().map(|e| e.steps.iter().map(|step| step.moment).collect()).collect();
            let found = advantages(&moments, &params.gradient.groups(), params.gradient.returns, 1.0);
            row.explained = found.explained;
            found.scaled
        } else {
            experience.iter().map(|e| vec![0.0; e.steps.len()]).collect()
        };
        let mut stream = update_stream(&params.schedule, iteration, stop)?;
        let moving = Moving { weights, adam, rate: row.learning_rate };
        row.update = update((&experience, &advantage), (params, goal), moving, self.device, &mut stream)?;
        Ok(row)
    }
}

/// The network as it explores.
fn sampling(weights: &Arc<DecimaWeights>) -> DecimaPolicy {
    DecimaPolicy::new(Arc::clone(weights), true).may_strand()
}
