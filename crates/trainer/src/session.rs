//! A training, iteration by iteration, whatever network it is of.

use super::{Checkpoint, IterationRow, Schedule, TrainError, UpdateStats, Weights, adam::Adam, checkpoint::Best};
use rayon::prelude::*;
use sched_distill_core::{
    figure::Figure,
    network::NeuralError,
    policy::Policy,
    rng::{EpisodeId, Split, Stream, hash},
    simulation::{Simulated, Workload},
};
use sched_distill_judge::practice::{Turn, Validation, Validator};
use sched_distill_trace::recorder::{Episodes, RolloutError};
use serde::{Deserialize, Serialize};
use std::{
    sync::atomic::{AtomicBool, Ordering},
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

/// A network that can be trained.
pub trait Trainee: Sync {
    /// How long, and how it is looked at.
    fn schedule(&self) -> &Schedule;

    /// What it is judged by.
    fn objective(&self) -> &'static Figure;

    /// Gets ready to look at networks on validation episodes: runs what they are compared with.
    ///
    /// # Errors
    ///
    /// A policy that fails, or an interruption.
    fn examiner<'a>(&'a self, stop: &'a AtomicBool) -> Result<Box<Examine<'a>>, TrainError>;

    /// Whether a later network is better than an earlier one whatever validation says, as long as it strands no cluster: where
    /// validation does not measure what is trained for.
    fn latest_counts(&self) -> bool {
        false
    }

    /// Does one iteration: rollouts and update. It may leave half-moved weights behind if it fails.
    ///
    /// # Errors
    ///
    /// A rollout or libtorch that fails, or an interruption.
    fn iterate(
        &self,
        which: (u32, Phase),
        moving: (&mut Weights, &mut Adam),
        stop: &AtomicBool,
    ) -> Result<IterationRow, TrainError>;
}

/// Looks at a network on validation episodes.
pub type Examine<'a> = dyn Fn(&Weights) -> Result<Validation, TrainError> + 'a;

/// A training that goes on step by step. What it needs to go on later is in its [`Checkpoint`].
pub struct Session<'a, L: Trainee> {
    trainee: &'a L,
    examine: Box<Examine<'a>>,
    stop: &'a AtomicBool,
    checkpoint: Checkpoint,
}

impl<'a, L: Trainee> Session<'a, L> {
    /// A training that goes on from `checkpoint`. Looks at the network if nothing has been done yet.
    ///
    /// # Errors
    ///
    /// A schedule out of range, a policy that fails, or an interruption.
    pub fn new(trainee: &'a L, checkpoint: Checkpoint, stop: &'a AtomicBool) -> Result<Self, TrainError> {
        let schedule = trainee.schedule();
        schedule.check()?;
        // One thread per shard of a step is faster than several within it, and keeps sums in order.
        tch::set_num_threads(1);
        let examine = trainee.examiner(stop)?;
        let mut session = Self { trainee, examine, stop, checkpoint };
        if session.checkpoint.rows.is_empty() {
            let begin = Instant::now();
            let mut row = IterationRow::new(0, Phase::Start);
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
        let schedule = self.trainee.schedule();
        let done = self.checkpoint.iteration().unwrap_or(0);
        if done >= schedule.imitation + schedule.iterations {
            return Some(End::Iterations);
        }
        let best = self.checkpoint.best.as_ref().map_or(0, |b| b.iteration);
        let looks = self.checkpoint.rows.iter().filter(|r| r.iteration > best && r.validation.is_some());
        let looks = looks.filter(|r| r.phase == Phase::Reinforcement).count();
        (schedule.patience > 0 && looks >= schedule.patience as usize).then_some(End::Patience)
    }

    /// Does the next iteration.
    ///
    /// # Errors
    ///
    /// [`TrainError::Interrupted`] leaves the checkpoint as it was before the iteration; after any other error it should not
    /// be saved.
    pub fn step(&mut self) -> Result<&IterationRow, TrainError> {
        let begin = Instant::now();
        let schedule = *self.trainee.schedule();
        let iteration = 1 + self.checkpoint.iteration().unwrap_or(0);
        let phase = if iteration <= schedule.imitation { Phase::Imitation } else { Phase::Reinforcement };
        let before = (self.checkpoint.weights.clone(), self.checkpoint.adam.clone());
        if iteration == schedule.imitation + 1 {
            // What imitation has learned of gradients says nothing about those to come.
            self.checkpoint.adam = Adam::new(self.checkpoint.weights.data.len());
        }
        match self.iterate(iteration, phase) {
            Ok(row) => {
                self.finish(row, begin);
                Ok(&self.checkpoint.rows[self.checkpoint.rows.len() - 1])
            }
            Err(error) => {
                (self.checkpoint.weights, self.checkpoint.adam) = before;
                Err(error)
            }
        }
    }

    fn iterate(&mut self, iteration: u32, phase: Phase) -> Result<IterationRow, TrainError> {
        let schedule = self.trainee.schedule();
        let Checkpoint { weights, adam, .. } = &mut self.checkpoint;
        let mut row = self.trainee.iterate((iteration, phase), (weights, adam), self.stop)?;
        let last = schedule.imitation + schedule.iterations;
        // Iterations of reinforcement are counted by themselves.
        let count = if phase == Phase::Reinforcement { iteration - schedule.imitation } else { iteration };
        if count.is_multiple_of(schedule.validate_every) || iteration == schedule.imitation || iteration == last {
            self.validate(&mut row)?;
        }
        Ok(row)
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

    /// Looks at the network on validation episodes and keeps it if it is the best.
    fn validate(&mut self, row: &mut IterationRow) -> Result<(), TrainError> {
        let weights = &self.checkpoint.weights;
        let validation = (self.examine)(weights)?;
        row.validation = Some(validation);
        let best = self.checkpoint.best.as_ref().filter(|_| !self.trainee.latest_counts());
        let figure = self.trainee.objective();
        let cost = |score: f64| figure.cost(Some(score));
        let best = best.map_or(f64::INFINITY, |b| cost(b.score));
        let score = validation.score(self.trainee.schedule().judge, figure);
        if let Some(score) = score.filter(|&score| cost(score) < best) {
            self.checkpoint.best = Some(Best { iteration: row.iteration, score, weights: weights.clone() });
        }
        Ok(())
    }

    fn finish(&mut self, row: IterationRow, begin: Instant) {
        self.checkpoint.rows.push(row);
        self.checkpoint.seconds.push(begin.elapsed().as_secs_f64());
    }
}

impl IterationRow {
    /// An iteration in which nothing has happened yet.
    pub(super) fn new(iteration: u32, phase: Phase) -> Self {
        Self {
            iteration,
            phase,
            decisions: 0,
            objective: None,
            stalled: 0,
            explained: 0.0,
            update: UpdateStats::default(),
            learning_rate: 0.0,
            entropy_weight: 0.0,
            validation: None,
        }
    }

    /// The same with what came of its rollouts: for each its decisions, and its outcome.
    pub(super) fn with_rollouts<'a>(
        mut self,
        rollouts: impl Iterator<Item = (usize, &'a sched_distill_core::simulation::Outcome)>,
    ) -> Self {
        let (mut sum, mut completed) = (0.0, 0.0);
        for (decisions, outcome) in rollouts {
            self.decisions += decisions as u64;
            self.stalled += u32::from(outcome.stalled());
            if let Some(value) = outcome.objective() {
                (sum, completed) = (sum + value, completed + 1.0);
            }
        }
        self.objective = (completed > 0.0).then(|| sum / completed);
        self
    }
}

/// The episodes of a validation.
pub(super) fn episodes(schedule: &Schedule) -> Episodes {
    Episodes { seed: schedule.seed, split: Split::Validation, first: 0, count: schedule.validation, timelines: 0 }
}

/// Looks at networks that `policy` makes schedulers of, greedy or sampling, on all workloads.
pub(super) fn examiner<'a, S: Simulated>(
    workloads: &'a [Workload<S>],
    reference: (&str, &dyn Policy<S>),
    schedule: &Schedule,
    stop: &'a AtomicBool,
    policy: impl Fn(&Weights, bool) -> Result<Box<dyn Policy<S>>, NeuralError> + 'a,
) -> Result<Box<Examine<'a>>, TrainError> {
    let validator = Validator::<S>::new(workloads, reference, episodes(schedule), stop)?;
    Ok(Box::new(move |weights| {
        let mode = |sample| -> Result<_, TrainError> { Ok(validator.judge(&*policy(weights, sample)?, stop)?) };
        Ok(Validation { greedy: mode(false)?, sampled: mode(true)? })
    }))
}

impl From<RolloutError> for TrainError {
    fn from(error: RolloutError) -> Self {
        match error {
            RolloutError::Interrupted => Self::Interrupted,
            other => Self::Rollout(other),
        }
    }
}

/// Which rollout: the episode, and the seed of the network's draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolloutId {
    pub(super) episode: EpisodeId,
    pub(super) draws: u64,
}

impl From<Turn> for RolloutId {
    fn from(turn: Turn) -> Self {
        Self { episode: turn.episode, draws: turn.draws }
    }
}

/// The rollout of a number in an iteration, of so many job sequences with so many rollouts each; in imitation all are
/// of different ones.
pub(super) fn turn(seed: u64, (iteration, phase): (u32, Phase), (sequences, each): (u32, u32), rollout: u32) -> Turn {
    let count = sequences * each;
    let (sequence, workloads, workload) = match phase {
        // Workloads change with every other rollout, as who schedules changes from one to the next.
        Phase::Imitation => (rollout, count.div_ceil(2), rollout / 2),
        Phase::Start | Phase::Reinforcement => (rollout / each, sequences, rollout / each),
    };
    let number = |per_iteration: u32, n| (iteration - 1).wrapping_mul(per_iteration).wrapping_add(n);
    Turn {
        // At first the network would only show states that nobody gets into.
        taught: (phase == Phase::Imitation).then_some(rollout.is_multiple_of(2) || iteration == 1),
        workload: number(workloads, workload),
        // As many numbers for an iteration as it may have sequences, whether it imitates or not.
        episode: EpisodeId::new(seed, Split::Train, number(count, sequence)),
        draws: hash(&[seed, u64::from(iteration), u64::from(rollout)]),
    }
}

/// What the update of an iteration draws from, unless the user has stopped it.
pub(super) fn update_stream(schedule: &Schedule, iteration: u32, stop: &AtomicBool) -> Result<Stream, TrainError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(TrainError::Interrupted),
        false => Ok(Stream::new(hash(&[schedule.seed, u64::from(iteration)]), "update")),
    }
}

/// Rollouts in parallel, results in order.
pub(super) fn parallel<T: Send>(
    count: u32,
    stop: &AtomicBool,
    one: impl Fn(u32) -> Result<T, TrainError> + Sync,
) -> Result<Vec<T>, TrainError> {
    let all: Vec<Result<T, TrainError>> = (0..count)
        .into_par_iter()
        .map(|i| if stop.load(Ordering::Relaxed) { Err(TrainError::Interrupted) } else { one(i) })
        .collect();
    all.into_iter().collect()
}

/// Whether libtorch has a device.
pub(super) fn check_device(device: Device) -> Result<(), TrainError> {
    if let Device::Cuda(asked) = device {
        let found = tch::Cuda::device_count();
        if asked as i64 >= found {
            return Err(TrainError::Device { asked, found });
        }
    }
    Ok(())
}
