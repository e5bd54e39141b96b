//! What a scheduler may see: the cluster at one question. Nothing here tells the future.

use super::state::{Job, Simulator, Source, Stage, StageRef};
use crate::workload::JobTemplate;

/// The cluster at an open question. Borrows from the simulator; copying it is free.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub(super) sim: &'a Simulator,
}

impl<'a> Observation<'a> {
    /// Clock, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.sim.time_ms
    }

    /// Size of the cluster.
    #[must_use]
    pub fn num_executors(&self) -> u32 {
        self.sim.cluster.num_executors
    }

    /// Executors on offer; at least 1.
    #[must_use]
    pub fn committable(&self) -> u32 {
        self.sim.committable()
    }

    /// The pool whose executors are on offer.
    #[must_use]
    pub fn source(&self) -> Source {
        self.sim.source()
    }

    /// The job that releases the executors, if it is still active.
    #[must_use]
    pub fn source_job(&self) -> Option<u32> {
        let job = self.sim.pool_job(self.sim.source);
        (job != super::state::NONE && self.sim.is_active(job)).then_some(job)
    }

    /// Stages that may be chosen, ordered by job (in arrival order), then stage; never empty.
    #[must_use]
    pub fn schedulable(&self) -> &'a [StageRef] {
        &self.sim.schedulable
    }

    /// Numbers of the arrived, uncompleted jobs in arrival order.
    #[must_use]
    pub fn active_jobs(&self) -> &'a [u32] {
        &self.sim.active
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
        self.sim.arrived
    }

    /// Jobs that arrived at or after `time_ms`.
    #[must_use]
    pub fn arrived_since(&self, time_ms: f64) -> u32 {
        let arrived = &self.sim.jobs[..self.sim.arrived as usize];
        (arrived.len() - arrived.partition_point(|j| j.arrival_ms < time_ms)) as u32
    }

    /// Executors that run a task.
    #[must_use]
    pub fn busy_executors(&self) -> u32 {
        self.sim.busy
    }

    /// Executors on their way to a stage.
    #[must_use]
    pub fn moving_executors(&self) -> u32 {
        self.sim.moving
    }

    /// An arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived.
    #[must_use]
    pub fn job(&self, job: u32) -> JobView<'a> {
        assert!(job < self.sim.arrived, "job {job} has not arrived");
        JobView { sim: self.sim, id: job }
    }

    /// A stage of an arrived job.
    #[must_use]
    pub fn stage(&self, stage: StageRef) -> StageView<'a> {
        self.job(stage.job).stage(stage.stage)
    }
}

/// A moment in the life of a job. Equal stamps, even of different observations, mean equal tasks: what is not launched, what
/// runs, what is completed, and how long tasks took. (Supply, promises and offers may differ.) So what was computed from
/// these alone can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    simulator: u64,
    job: u32,
    version: u32,
}

/// One job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    sim: &'a Simulator,
    id: u32,
}

impl<'a> JobView<'a> {
    fn job(&self) -> &'a Job {
        &self.sim.jobs[self.id as usize]
    }

    /// Job number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Stage graph. Task durations in it are the simulator's secret: look at ids, parents and children only.
    #[must_use]
    pub fn template(&self) -> &'a JobTemplate {
        &self.job().template
    }

    /// Arrival time, ms.
    #[must_use]
    pub fn arrival_ms(&self) -> f64 {
        self.job().arrival_ms
    }

    /// Executor count as schedulers see it: held, promised and moving ones (and, an oddity, some that were handed back).
    #[must_use]
    pub fn supply(&self) -> u32 {
        u32::try_from(self.job().supply).unwrap_or(0)
    }

    /// What changes whenever a task of the job is launched or ends.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp { simulator: self.sim.identity.0, job: self.id, version: self.job().version }
    }

    /// Executors attached to the job.
    #[must_use]
    pub fn attached(&self) -> u32 {
        self.job().attached
    }

    /// All stages by id, completed ones included.
    pub fn stages(&self) -> impl DoubleEndedIterator<Item = StageView<'a>> + ExactSizeIterator + use<'a> {
        let job = *self;
        (0..self.job().num_stages as usize).map(move |s| job.stage(s as u32))
    }

    /// Stages not yet completed, by id.
    pub fn active_stages(&self) -> impl DoubleEndedIterator<Item = StageView<'a>> + use<'a> {
        self.stages().filter(|s| !s.is_complete())
    }

    /// A stage by id.
    #[must_use]
    pub fn stage(&self, stage: u32) -> StageView<'a> {
        let job = self.job();
        StageView { id: stage, job: *self, stage: &self.sim.stages[(job.first_stage + stage) as usize] }
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
        StageRef { job: self.job.id, stage: self.id }
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
        self.job.template().parents(self.id)
    }

    /// Stages that wait for this one.
    #[must_use]
    pub fn children(&self) -> &'a [u32] {
        self.job.template().children(self.id)
    }
}
