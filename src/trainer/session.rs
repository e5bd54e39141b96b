//! A training, iteration by iteration.

use super::{
    Checkpoint, IterationRow, Lessons, TrainError, TrainParams, UpdateStats, Weights,
    checkpoint::Best,
    lessons::Replay,
    params::ParamError,
    returns::advantages,
    rollout::{Lead, Rollout, RolloutId, play},
    update::{Goal, Learner},
    validation::Arena,
};
use crate::{
    policy::{
        Policy,
        neural::{DecimaPolicy, DecimaWeights},
    },
    rng::{Split, Stream, episode_seed, hash},
    workload::dag::Workload,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};
use tch::Device;

/// What an iteration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The network as it was given.
    Start,
    /// Learning what a teacher does.
    Imitation,
    /// Learning from what decisions come to cost.
    Reinforcement,
}

/// Why a training is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// All iterations are done.
    Iterations,
    /// Validation has not improved for as long as the user wanted to wait.
    Patience,
}

/// A training that goes on step by step. What it needs to go on later is in its [`Checkpoint`].
pub struct Session<'a> {
    workloads: &'a [Box<dyn Workload>],
    lessons: Option<&'a Lessons>,
    params: &'a TrainParams,
    arena: Arena<'a>,
    device: Device,
    stop: &'a AtomicBool,
    checkpoint: Checkpoint,
}

impl<'a> Session<'a> {
    /// A training that goes on from `checkpoint`. Job sequences come from the workloads in turn, those of validations from
    /// the first. `reference` is the policy that validations compare with. Runs the reference, and looks at the network if
    /// nothing has been done yet.
    ///
    /// # Errors
    ///
    /// No workload, parameters out of range, imitation without lessons, a device that is not there, a policy that fails, or an
    /// interruption.
    pub fn new(
        workloads: &'a [Box<dyn Workload>],
        reference: (&str, &dyn Policy),
        lessons: Option<&'a Lessons>,
        params: &'a TrainParams,
        checkpoint: Checkpoint,
        device: Device,
        stop: &'a AtomicBool,
    ) -> Result<Self, TrainError> {
        params.check()?;
        // One thread per shard of a step is faster than several within it, and keeps sums in order.
        tch::set_num_threads(1);
        if let Device::Cuda(asked) = device {
            let found = tch::Cuda::device_count();
            if asked as i64 >= found {
                return Err(TrainError::Device { asked, found });
            }
        }
        let none = ParamError { name: "workloads", found: "none".to_owned(), allowed: "at least one" };
        let first = workloads.first().ok_or(none)?;
        let arena = Arena::new(&**first, reference, (params.seed, params.validation), stop)?;
        let mut session = Self { workloads, lessons, params, arena, device, stop, checkpoint };
        if session.checkpoint.rows.is_empty() {
            let begin = Instant::now();
            let mut row = session.row(0, Phase::Start, &[]);
            session.validate(&mut row)?;
            session.finish(row, begin);
        }
        Ok(session)
    }

    /// The state as it is.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Whether there is nothing left to do.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        let done = self.checkpoint.iteration().unwrap_or(0);
        if done >= self.params.imitation + self.params.iterations {
            return Some(End::Iterations);
        }
        let best = self.checkpoint.best.as_ref().map_or(0, |b| b.iteration);
        let looks = self.checkpoint.rows.iter().filter(|r| r.iteration > best && r.validation.is_some());
        let looks = looks.filter(|r| r.phase == Phase::Reinforcement).count();
        (self.params.patience > 0 && looks >= self.params.patience as usize).then_some(End::Patience)
    }

    /// Does the next iteration.
    ///
    /// # Errors
    ///
    /// [`TrainError::Interrupted`] leaves the checkpoint as it was before the iteration; after any other error it should not
    /// be saved.
    pub fn step(&mut self) -> Result<&IterationRow, TrainError> {
        let begin = Instant::now();
        let params = self.params;
        let iteration = 1 + self.checkpoint.iteration().unwrap_or(0);
        let lessons = self.lessons.filter(|_| iteration <= params.imitation);
        let phase = if lessons.is_some() { Phase::Imitation } else { Phase::Reinforcement };
        let (rollouts, groups) = match lessons {
            Some(lessons) => (self.taught(iteration, lessons)?, Vec::new()),
            None => self.own(iteration)?,
        };
        let mut row = self.row(iteration, phase, &rollouts);
        let experience: Vec<_> = rollouts.into_iter().map(|r| r.experience).collect();
        let share = f64::from(iteration - 1 - params.imitation.min(iteration - 1)) / f64::from(params.anneal);
        let (goal, advantage) = match phase {
            Phase::Reinforcement => {
                let found = advantages(&experience, &groups, params.returns);
                row.explained = found.explained;
                row.entropy_weight = params.entropy.at(share);
                row.learning_rate = params.learning_rate.at(share);
                let goal =
                    Goal::Reinforce { algorithm: params.algorithm, clip: params.clip, entropy: row.entropy_weight };
                (goal, found.scaled)
            }
            Phase::Start | Phase::Imitation => {
                row.learning_rate = params.imitation_rate;
                (Goal::Imitate, experience.iter().map(|e| vec![0.0; e.steps.len()]).collect())
            }
        };
        if self.stop.load(Ordering::Relaxed) {
            return Err(TrainError::Interrupted);
        }
        let before = (self.checkpoint.weights.clone(), self.checkpoint.adam.clone());
        if iteration == params.imitation + 1 {
            // What imitation has learned of gradients says nothing about those to come.
            self.checkpoint.adam = super::adam::Adam::new(self.checkpoint.weights.0.len());
        }
        let Checkpoint { weights, adam, .. } = &mut self.checkpoint;
        let mut learner = Learner { weights, adam, device: self.device };
        let mut stream = Stream::new(hash(&[params.seed, u64::from(iteration)]), "update");
        row.update = learner.update((&experience, &advantage), (goal, row.learning_rate), params, &mut stream)?;
        let last = params.imitation + params.iterations;
        // Iterations of reinforcement are counted by themselves.
        let count = if phase == Phase::Reinforcement { iteration - params.imitation } else { iteration };
        let due = count.is_multiple_of(params.validate_every) || iteration == params.imitation || iteration == last;
        if due && let Err(error) = self.validate(&mut row) {
            (self.checkpoint.weights, self.checkpoint.adam) = before;
            return Err(error);
        }
        self.finish(row, begin);
        Ok(&self.checkpoint.rows[self.checkpoint.rows.len() - 1])
    }

    /// Looks at the network of the last iteration, if that has not been done: for a training that ends before its time.
    ///
    /// # Errors
    ///
    /// [`TrainError::Interrupted`] leaves the checkpoint as it was.
    pub fn look(&mut self) -> Result<(), TrainError> {
        if let Some(mut row) = self.checkpoint.rows.pop_if(|row| row.validation.is_none()) {
            let looked = self.validate(&mut row);
            self.checkpoint.rows.push(row);
            looked?;
        }
        Ok(())
    }

    /// Rollouts of the network, and which of them are of one job sequence.
    fn own(&self, iteration: u32) -> Result<(Vec<Rollout>, Vec<std::ops::Range<usize>>), TrainError> {
        let (sequences, each) = (self.params.sequences, self.params.rollouts);
        let weights = self.checkpoint.weights.network()?;
        let rollouts = self.parallel(sequences * each, |i| {
            let id = self.id(iteration, i / each, i);
            let workload = self.workload((iteration - 1) * sequences + i / each);
            Ok(play(workload, &mut sampling(&weights), Lead::Own, id, self.params.returns)?)
        })?;
        let groups = (0..sequences as usize).map(|s| s * each as usize..(s + 1) * each as usize);
        Ok((rollouts, groups.collect()))
    }

    /// Rollouts that a teacher comments on.
    fn taught(&self, iteration: u32, lessons: &Lessons) -> Result<Vec<Rollout>, TrainError> {
        let count = self.params.sequences * self.params.rollouts;
        let weights = self.checkpoint.weights.network()?;
        self.parallel(count, |i| {
            let mut network = sampling(&weights);
            Ok(match lessons {
                Lessons::Policy(teacher) => {
                    let mut teacher = teacher.fresh();
                    // At first the network would only show states that nobody gets into.
                    let schedules = i % 2 == 0 || iteration == 1;
                    let lead = Lead::Taught { teacher: &mut *teacher, schedules };
                    let workload = self.workload((iteration - 1) * count + i);
                    play(workload, &mut network, lead, self.id(iteration, i, i), self.params.returns)?
                }
                Lessons::Trace(recorded) => {
                    let place = ((iteration - 1) * count + i) as usize % recorded.episodes.len().max(1);
                    let episode = recorded.episodes.get(place).ok_or_else(|| TrainError::Lessons {
                        path: "the trace".into(),
                        reason: "it has no episodes".to_owned(),
                    })?;
                    let id = RolloutId { episode: episode.episode, seed: episode.seed, draws: 0 };
                    let mut replay = Replay::new(episode);
                    let lead = Lead::Taught { teacher: &mut replay, schedules: true };
                    play(&*recorded.workload, &mut network, lead, id, self.params.returns)?
                }
            })
        })
    }

    /// Where the job sequence of a number comes from.
    fn workload(&self, sequence: u32) -> &dyn Workload {
        &*self.workloads[sequence as usize % self.workloads.len()]
    }

    fn id(&self, iteration: u32, sequence: u32, rollout: u32) -> RolloutId {
        let per_iteration = self.params.sequences * self.params.rollouts;
        // As many numbers for an iteration as it may have sequences, whether it imitates or not.
        let episode = (iteration - 1).wrapping_mul(per_iteration).wrapping_add(sequence);
        RolloutId {
            episode,
            seed: episode_seed(self.params.seed, Split::Train, u64::from(episode)),
            draws: hash(&[self.params.seed, u64::from(iteration), u64::from(rollout)]),
        }
    }

    fn parallel(
        &self,
        count: u32,
        one: impl Fn(u32) -> Result<Rollout, TrainError> + Sync,
    ) -> Result<Vec<Rollout>, TrainError> {
        let all: Vec<Result<Rollout, TrainError>> = (0..count)
            .into_par_iter()
            .map(|i| if self.stop.load(Ordering::Relaxed) { Err(TrainError::Interrupted) } else { one(i) })
            .collect();
        all.into_iter().collect()
    }

    fn row(&self, iteration: u32, phase: Phase, rollouts: &[Rollout]) -> IterationRow {
        let times: Vec<f64> = rollouts.iter().filter_map(|r| r.outcome.mean_jct_ms).collect();
        IterationRow {
            iteration,
            phase,
            decisions: rollouts.iter().map(|r| r.experience.steps.len() as u64).sum(),
            mean_jct_s: (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64 / 1e3),
            stalled: rollouts.iter().filter(|r| !r.outcome.completed).count() as u32,
            explained: 0.0,
            update: UpdateStats::default(),
            learning_rate: 0.0,
            entropy_weight: 0.0,
            validation: None,
        }
    }

    /// Looks at the network on validation episodes and keeps it if it is the best.
    fn validate(&mut self, row: &mut IterationRow) -> Result<(), TrainError> {
        let validation = self.arena.judge(&self.checkpoint.weights)?;
        row.validation = Some(validation);
        let best = self.checkpoint.best.as_ref().map_or(f64::INFINITY, |b| b.score);
        if let Some(score) = validation.score(self.params.judge).filter(|&score| score < best) {
            let weights: Weights = self.checkpoint.weights.clone();
            self.checkpoint.best = Some(Best { iteration: row.iteration, score, weights });
        }
        Ok(())
    }

    fn finish(&mut self, row: IterationRow, begin: Instant) {
        self.checkpoint.rows.push(row);
        self.checkpoint.seconds.push(begin.elapsed().as_secs_f64());
    }
}

/// The network as it explores.
fn sampling(weights: &Arc<DecimaWeights>) -> DecimaPolicy {
    DecimaPolicy::new(Arc::clone(weights), true)
}
