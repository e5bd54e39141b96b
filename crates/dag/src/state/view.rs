//! What a scheduler may know of the cluster at a question, and what it may answer. Nothing here tells the future.
//!
//! A [`View`] is lent by the simulator, and by a [`ClusterState`] that anyone can make: features, heuristics, networks and students
//! read it alone.

use super::{ClusterState, Job, Stage, json::RawDecision};
use crate::graph::JobGraph;
use sched_distill_core::state::few;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "[u32; 2]", into = "[u32; 2]")]
pub struct StageRef {
    /// Job number: numbers ascend in order of arrival.
    pub job: u32,
    /// Stage number within the job.
    pub stage: u32,
}

impl fmt::Display for StageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {} of job {}", self.stage, self.job)
    }
}

impl From<[u32; 2]> for StageRef {
    fn from([job, stage]: [u32; 2]) -> Self {
        Self { job, stage }
    }
}

impl From<StageRef> for [u32; 2] {
    fn from(StageRef { job, stage }: StageRef) -> Self {
        [job, stage]
    }
}

/// Whose executors are on offer. As JSON it is `"common"`, `{"job": 7}` or `{"stage": [7, 0]}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Executors that nobody owns.
    #[default]
    Common,
    /// Idle executors of a job.
    Job(u32),
    /// Executors at a stage, busy ones included.
    Stage(StageRef),
}

impl Source {
    /// The job that has them.
    #[must_use]
    pub fn job(self) -> Option<u32> {
        match self {
            Self::Common => None,
            Self::Job(job) | Self::Stage(StageRef { job, .. }) => Some(job),
        }
    }
}

/// An answer to one question. As JSON it is `{"do": "assign", "job": 7, "stage": 0, "executors": 3}` or `{"do": "abstain"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawDecision", into = "RawDecision")]
pub enum Decision {
    /// Give executors to a stage. A surplus over the stage's demand stays on offer.
    Assign {
        /// One of [`View::schedulable`].
        stage: StageRef,
        /// `1..=committable`.
        executors: u32,
    },
    /// Give nothing: the executors on offer go back to those that nobody owns.
    Abstain,
}

/// An illegal decision. It changes nothing, so another decision may follow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// The stage may not be scheduled now.
    #[error("at {time_ms} ms: {stage} is not schedulable; schedulable are {allowed}")]
    NotSchedulable {
        /// Time of the question.
        time_ms: f64,
        /// The stage asked for.
        stage: StageRef,
        /// The stages that are.
        allowed: String,
    },
    /// Too many executors, or none.
    #[error("at {time_ms} ms: {executors} executors for {stage}; allowed are 1..={committable}")]
    Executors {
        /// Time of the question.
        time_ms: f64,
        /// The stage asked for.
        stage: StageRef,
        /// Number asked for.
        executors: u32,
        /// Number on offer.
        committable: u32,
    },
    /// The episode has ended.
    #[error("the episode has ended; no decision is expected")]
    Ended,
}

/// The cluster at an open question. Borrows from who lends it; copying it is free.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct View<'a> {
    pub(crate) state: &'a ClusterState,
}

impl<'a> View<'a> {
    /// Clock, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.state.time_ms
    }

    /// Size of the cluster.
    #[must_use]
    pub fn num_executors(&self) -> u32 {
        self.state.num_executors
    }

    /// Executors on offer; at least 1.
    #[must_use]
    pub fn committable(&self) -> u32 {
        self.state.committable
    }

    /// Whose executors are on offer.
    #[must_use]
    pub fn source(&self) -> Source {
        self.state.source
    }

    /// Whether the executors on offer have idled beside work for long, and are therefore offered again.
    #[must_use]
    pub fn is_offered_again(&self) -> bool {
        self.state.again
    }

    /// The job that releases the executors, if it is still active.
    #[must_use]
    pub fn source_job(&self) -> Option<u32> {
        self.state.source_job
    }

    /// Stages that may be chosen, ordered by job (in arrival order), then stage; never empty.
    #[must_use]
    pub fn schedulable(&self) -> &'a [StageRef] {
        &self.state.schedulable
    }

    /// Numbers of the arrived, uncompleted jobs in arrival order.
    #[must_use]
    pub fn active_jobs(&self) -> &'a [u32] {
        &self.state.active
    }

    /// Executors that a job may get at this question: all on offer if it is the source's job, else no more than lift its
    /// supply to the size of the cluster.
    #[must_use]
    pub fn room(&self, job: u32) -> u32 {
        match self.source_job() == Some(job) {
            true => self.committable(),
            false => self.num_executors().saturating_sub(self.job(job).supply()).min(self.committable()),
        }
    }

    /// Number of jobs that have arrived so far.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.state.jobs.arrived_so_far()
    }

    /// Jobs that arrived at or after `time_ms`, which lies within the last 100 s.
    #[must_use]
    pub fn arrived_since(&self, time_ms: f64) -> u32 {
        let arrived = self.state.jobs.here();
        let here = arrived.len() - arrived.partition_point(|j| j.arrival_ms < time_ms);
        (here + self.state.gone_arrivals_ms.iter().filter(|&&t| t >= time_ms).count()) as u32
    }

    /// Executors that run a task.
    #[must_use]
    pub fn busy_executors(&self) -> u32 {
        self.state.busy
    }

    /// Executors on their way to a stage.
    #[must_use]
    pub fn moving_executors(&self) -> u32 {
        self.state.moving
    }

    /// An arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived.
    #[inline]
    #[must_use]
    pub fn job(&self, job: u32) -> JobView<'a> {
        match self.state.jobs.find(job) {
            Some(job) => JobView { state: self.state, job },
            None => panic!("job {job} has not arrived"),
        }
    }

    /// A stage of an arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived, or it has no such stage.
    #[must_use]
    pub fn stage(&self, stage: StageRef) -> StageView<'a> {
        self.job(stage.job).stage(stage.stage)
    }

    /// Whether a decision is legal.
    ///
    /// # Errors
    ///
    /// If not, why.
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        let (time_ms, committable) = (self.time_ms(), self.committable());
        let Decision::Assign { stage, executors } = decision else { return Ok(()) };
        if self.schedulable().binary_search(&stage).is_err() {
            return Err(DecisionError::NotSchedulable { time_ms, stage, allowed: few(self.schedulable()) });
        }
        match (1..=committable).contains(&executors) {
            true => Ok(()),
            false => Err(DecisionError::Executors { time_ms, stage, executors, committable }),
        }
    }
}

/// A moment in the life of a job. Equal stamps, even of different views, mean equal tasks: what is not launched, what runs, what is
/// completed, and how long tasks took. (Supply, promises and offers may differ.) So what was computed from these alone can be used
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    state: u64,
    job: u32,
    version: u32,
}

/// One job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    state: &'a ClusterState,
    job: &'a Job,
}

impl<'a> JobView<'a> {
    /// Job number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.job.id
    }

    /// What it declares: stages, edges, rough durations.
    #[must_use]
    pub fn graph(&self) -> &'a JobGraph {
        &self.job.graph
    }

    /// Arrival time, ms.
    #[must_use]
    pub fn arrival_ms(&self) -> f64 {
        self.job.arrival_ms
    }

    /// Executor count as schedulers see it: held, promised and moving ones (and, an oddity of the simulator, some that were handed
    /// back).
    #[must_use]
    pub fn supply(&self) -> u32 {
        u32::try_from(self.job.supply).unwrap_or(0)
    }

    /// What changes whenever a task of the job is launched or ends.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp { state: self.state.identity.0, job: self.job.id, version: self.job.version }
    }

    /// Executors attached to the job.
    #[must_use]
    pub fn attached(&self) -> u32 {
        self.job.attached
    }

    /// All stages by id, completed ones included.
    pub fn stages(&self) -> impl DoubleEndedIterator<Item = StageView<'a>> + ExactSizeIterator + use<'a> {
        let job = *self;
        (0..self.job.num_stages as usize).map(move |s| job.stage(s as u32))
    }

    /// Stages not yet completed, by id.
    pub fn active_stages(&self) -> impl DoubleEndedIterator<Item = StageView<'a>> + use<'a> {
        self.stages().filter(|s| !s.is_complete())
    }

    /// A stage by id.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    #[must_use]
    pub fn stage(&self, stage: u32) -> StageView<'a> {
        StageView { id: stage, job: *self, stage: &self.state.stages[(self.job.first_stage + stage) as usize] }
    }
}

/// One stage.
#[derive(Clone, Copy, Debug)]
pub struct StageView<'a> {
    id: u32,
    job: JobView<'a>,
    stage: &'a Stage,
}

impl<'a> StageView<'a> {
    /// Stage number within the job.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Job and stage number.
    #[must_use]
    pub fn stage_ref(&self) -> StageRef {
        StageRef { job: self.job.id(), stage: self.id }
    }

    /// Number of tasks in all.
    #[must_use]
    pub fn num_tasks(&self) -> u32 {
        self.stage.num_tasks
    }

    /// Tasks not yet launched.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.stage.remaining
    }

    /// Tasks running.
    #[must_use]
    pub fn executing(&self) -> u32 {
        self.stage.executing
    }

    /// Duration of the task launched last, ms; before any launch the rough estimate.
    #[must_use]
    pub fn recent_ms(&self) -> f64 {
        self.stage.recent_ms
    }

    /// Remaining work: tasks not launched × most recent duration, ms.
    #[must_use]
    pub fn work_ms(&self) -> f64 {
        f64::from(self.stage.remaining) * self.stage.recent_ms
    }

    /// Executors still wanted: tasks not launched, less executors moving here and promised.
    #[must_use]
    pub fn demand(&self) -> u32 {
        u32::try_from(self.stage.demand()).unwrap_or(0)
    }

    /// Executors at the stage, on their way, or promised to it.
    #[must_use]
    pub fn executors(&self) -> u32 {
        self.stage.executing + self.stage.moving + self.stage.committed
    }

    /// No fewer executors than were promised in this round.
    pub(super) fn promised_in_round(&self) -> u32 {
        if self.stage.selected { self.stage.committed } else { 0 }
    }

    /// Whether all tasks have ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stage.is_complete()
    }

    /// Parents that have not completed; while there are any, no task can start.
    #[must_use]
    pub fn incomplete_parents(&self) -> u32 {
        self.stage.incomplete_parents
    }

    /// Whether it could get executors as far as its graph is concerned: it wants some and its parents want none.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.stage.is_ready()
    }

    /// Stages that this one waits for, completed ones included.
    #[must_use]
    pub fn parents(&self) -> &'a [u32] {
        self.job.graph().parents(self.id)
    }

    /// Stages that wait for this one.
    #[must_use]
    pub fn children(&self) -> &'a [u32] {
        self.job.graph().children(self.id)
    }
}
