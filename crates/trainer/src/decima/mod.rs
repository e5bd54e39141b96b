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
    session::{RolloutId, check_device, examiner, parallel},
};
use rollout::{Driver, Rollout, Shown, play};
use sched_distill_core::{
    figure::Figure,
    network::{NeuralError, Tensors},
    policy::Policy,
    rng::{Stream, hash},
    scenario::Scenario as _,
    simulation::{EditBudget, Editable as _},
};
use sched_distill_dag::{
    Dag,
    edit::JobEdit,
    network::{DecimaCheckpoint, DecimaPolicy, DecimaWeights, shapes},
    workload::{DagWorkload, JobArrival},
};
use sched_distill_judge::attack::{AttackError, Gaming, gamed};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tch::Device;
use update::{Goal, Update};

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

    /// Rollouts of the network, and which of them are of one job sequence.
    fn own(
        &self,
        iteration: u32,
        weights: &Weights,
        stop: &AtomicBool,
    ) -> Result<(Vec<Rollout>, Vec<std::ops::Range<usize>>), TrainError> {
        let (sequences, each) = (self.params.sequences, self.params.rollouts);
        let weights = network(weights)?;
        let workload = |sequence: u32| self.workload((iteration - 1).wrapping_mul(sequences).wrapping_add(sequence));
        let described =
            parallel(sequences, stop, |s| self.described(workload(s), &weights, self.id(iteration, s, 0), stop))?;
        let rollouts = parallel(sequences * each, stop, |i| {
            let (sequence, id) = (i / each, self.id(iteration, i / each, i));
            let jobs = (workload(sequence), described[sequence as usize].clone());
            Ok(play(jobs, &mut sampling(&weights), Driver::Own, id, self.params.returns)?)
        })?;
        let groups = (0..sequences as usize).map(|s| s * each as usize..(s + 1) * each as usize);
        Ok((rollouts, groups.collect()))
    }

    /// Rollouts that a teacher comments on.
    fn taught(
        &self,
        iteration: u32,
        lessons: &Lessons<Dag>,
        weights: &Weights,
        stop: &AtomicBool,
    ) -> Result<Vec<Rollout>, TrainError> {
        let count = self.params.sequences * self.params.rollouts;
        let weights = network(weights)?;
        // Declared numbers are moved in the update, by the gradient itself.
        let shown = |workload: &DagWorkload, id| -> Result<Shown, TrainError> {
            Ok(Shown { edits: self.gamed(workload, &["split", "edge"], &weights, id, stop)? })
        };
        parallel(count, stop, |i| {
            let mut network = sampling(&weights);
            Ok(match lessons {
                Lessons::Policy(teacher) => {
                    let mut teacher = teacher.fresh();
                    // At first the network would only show states that nobody gets into.
                    let schedules = i % 2 == 0 || iteration == 1;
                    // Workloads change with every other rollout, as who schedules changes from one to the next.
                    let number = (iteration - 1).wrapping_mul(count.div_ceil(2)).wrapping_add(i / 2);
                    let (workload, id) = (self.workload(number), self.id(iteration, i, i));
                    let jobs = workload.jobs(id.episode);
                    let driver = match schedules {
                        true => Driver::Teacher { teacher: &mut *teacher, shown: shown(workload, id)? },
                        false => Driver::Watched { teacher: &mut *teacher },
                    };
                    play((workload, jobs), &mut network, driver, id, self.params.returns)?
                }
                Lessons::Trace(recorded) => {
                    let place = ((iteration - 1) * count + i) as usize % recorded.episodes.len();
                    let episode = &recorded.episodes[place];
                    let id = RolloutId { episode: episode.id, draws: 0 };
                    let jobs = recorded.workload.jobs(id.episode);
                    let shown = shown(&recorded.workload, id)?;
                    let driver = Driver::Teacher { teacher: &mut Replay::new(episode), shown };
                    play((&recorded.workload, jobs), &mut network, driver, id, self.params.returns)?
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
        id: RolloutId,
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
        gamed::<Dag>(workload, &greedy, &gaming, id.episode, stop).map_err(|e| match e {
            AttackError::Interrupted => TrainError::Interrupted,
            other => TrainError::Attack(other),
        })
    }

    /// The jobs of an episode as their users describe them.
    fn described(
        &self,
        workload: &DagWorkload,
        weights: &Arc<DecimaWeights>,
        id: RolloutId,
        stop: &AtomicBool,
    ) -> Result<Vec<JobArrival>, TrainError> {
        let mut jobs = workload.jobs(id.episode);
        for (job, edit) in (0..).zip(self.gamed(workload, &[], weights, id, stop)?) {
            if let Some(edit) = edit {
                jobs = Dag::edited(&jobs, job, &edit).map_err(AttackError::from)?;
            }
        }
        Ok(jobs)
    }

    /// Where the job sequence of a number comes from.
    fn workload(&self, sequence: u32) -> &DagWorkload {
        &self.workloads[sequence as usize % self.workloads.len()]
    }

    fn id(&self, iteration: u32, sequence: u32, rollout: u32) -> RolloutId {
        let per_iteration = self.params.sequences * self.params.rollouts;
        // As many numbers for an iteration as it may have sequences, whether it imitates or not.
        let episode = (iteration - 1).wrapping_mul(per_iteration).wrapping_add(sequence);
        RolloutId::new(self.params.schedule.seed, episode, iteration, rollout)
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
        let (rollouts, groups) = match self.lessons.filter(|_| phase == Phase::Imitation) {
            Some(lessons) => (self.taught(iteration, lessons, weights, stop)?, Vec::new()),
            None => self.own(iteration, weights, stop)?,
        };
        let came = rollouts.iter().map(|r| (r.experience.steps.len(), &r.outcome));
        let mut row = IterationRow::new(iteration, phase).with_rollouts(came);
        let experience: Vec<_> = rollouts.into_iter().map(|r| r.experience).collect();
        let (goal, advantage) = if phase == Phase::Reinforcement {
            let moments: Vec<_> = experience.iter().map(|e| e.steps.iter().map(|step| step.moment).collect()).collect();
            let found = advantages(&moments, &groups, params.returns, 1.0);
            let share = params.schedule.share(iteration);
            row.explained = found.explained;
            row.entropy_weight = params.entropy.at(share);
            row.learning_rate = params.learning_rate.at(share);
            let goal = Goal::Reinforce { algorithm: params.algorithm, clip: params.clip, entropy: row.entropy_weight };
            (goal, found.scaled)
        } else {
            row.learning_rate = params.imitation_rate;
            (
                Goal::Imitate { adversarial: params.adversarial },
                experience.iter().map(|e| vec![0.0; e.steps.len()]).collect(),
            )
        };
        if stop.load(Ordering::Relaxed) {
            return Err(TrainError::Interrupted);
        }
        let mut update = Update { weights, adam, device: self.device };
        let mut stream = Stream::new(hash(&[params.schedule.seed, u64::from(iteration)]), "update");
        row.update = update.run((&experience, &advantage), (goal, row.learning_rate), params, &mut stream)?;
        Ok(row)
    }
}

/// The network as it explores.
fn sampling(weights: &Arc<DecimaWeights>) -> DecimaPolicy {
    DecimaPolicy::new(Arc::clone(weights), true).may_strand()
}
