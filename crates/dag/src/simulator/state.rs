//! The simulator's state, and the interface to whoever decides.

use super::{observation::Observation, pools::Pools};
use crate::workload::{Cluster, JobArrival, JobTemplate, Luck};
use sched_distill_core::{
    rng::hash,
    simulation::{EventQueue, TaskRun, Timeline},
};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Marks "no job", "no stage", "no pool".
pub(super) const NONE: u32 = u32::MAX;

/// A stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageRef {
    /// Job number: its place in arrival order.
    pub job: u32,
    /// Stage number within the job.
    pub stage: u32,
}

impl fmt::Display for StageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {} of job {}", self.stage, self.job)
    }
}

/// The pool whose executors are on offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Executors that nobody owns.
    Common,
    /// Idle executors of a job.
    Job(u32),
    /// Executors at a stage, busy ones included.
    Stage(StageRef),
}

/// An answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Give executors to a stage. A surplus over the stage's demand stays on offer.
    Assign {
        /// One of [`Observation::schedulable`].
        stage: StageRef,
        /// `1..=committable`.
        executors: u32,
    },
    /// Give nothing: the executors on offer go back to the common pool.
    Abstain,
}

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Executors really committed: to the stage, or to the common pool after [`Decision::Abstain`].
    pub committed: u32,
    /// Minus the job-time that passed before the next question, ms.
    pub reward: f64,
}

/// An illegal decision. The simulator's state is unchanged, so another decision may follow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The stage may not be scheduled now.
    #[error("at {time_ms} ms: {stage} is not schedulable; schedulable are {allowed}")]
    NotSchedulable {
        /// Simulated time.
        time_ms: f64,
        /// The stage asked for.
        stage: StageRef,
        /// The stages that are.
        allowed: String,
    },
    /// Too many executors, or none.
    #[error("at {time_ms} ms: {executors} executors for {stage}; allowed are 1..={committable}")]
    Executors {
        /// Simulated time.
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

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) template: Arc<JobTemplate>,
    pub(super) arrival_ms: f64,
    /// NaN until completed.
    pub(super) completion_ms: f64,
    /// Index of stage 0 in [`Simulator::stages`].
    pub(super) first_stage: u32,
    pub(super) num_stages: u32,
    /// The executor count that schedulers see; see the supply rules in `executors.rs`.
    pub(super) supply: i32,
    /// Executors attached to the job.
    pub(super) attached: u32,
    /// Stages not completed.
    pub(super) incomplete: u32,
    /// Stages with tasks not launched; the job is *saturated* when there are none.
    pub(super) unlaunched: u32,
    /// Task launches and ends so far, see [`super::JobView::stamp`].
    pub(super) version: u32,
}

/// What a task launch touches comes first, in one line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Stage {
    pub(super) job: u32,
    pub(super) num_tasks: u32,
    /// Tasks not launched.
    pub(super) remaining: u32,
    pub(super) completed: u32,
    /// Executors on their way.
    pub(super) moving: u32,
    /// Commitments to this stage from all pools.
    pub(super) committed: u32,
    pub(super) luck: Luck,
    pub(super) recent_ms: f64,
    /// What the next launch will take if it belongs to the wave `rest` and the job then has so many executors. It is worked
    /// out ahead, because from one event to the next the processor would have to wait for it.
    pub(super) expected_ms: f64,
    pub(super) expected_for: u32,
    pub(super) saturated: bool,
    /// Chosen in the present round.
    pub(super) selected: bool,
    /// Whether its bit is set in [`Simulator::offered`].
    pub(super) offered: bool,
    pub(super) unsaturated_parents: u32,
    pub(super) incomplete_parents: u32,
    pub(super) executing: u32,
    /// Launches of the waves `fresh` and `first`; all others are of the wave `rest`.
    pub(super) launches: [u32; 2],
    pub(super) first_launch_ms: f64,
    pub(super) completion_ms: f64,
}

impl Stage {
    pub(super) fn demand(&self) -> i64 {
        i64::from(self.remaining) - i64::from(self.moving) - i64::from(self.committed)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.completed == self.num_tasks
    }

    pub(super) fn in_frontier(&self) -> bool {
        self.incomplete_parents == 0 && !self.is_complete()
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.saturated && self.unsaturated_parents == 0
    }

    /// Brings this stage's bit up to date, which says whether it is on offer; how the number of stages on offer changes.
    pub(super) fn update_offer(&mut self, stage: u32, bits: &mut [u64]) -> i32 {
        let offered = self.is_ready() && !self.selected;
        if offered == self.offered {
            return 0;
        }
        self.offered = offered;
        bits[stage as usize / 64] ^= 1 << (stage % 64);
        if offered { 1 } else { -1 }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Executor {
    /// Job it is attached to.
    pub(super) job: u32,
    /// Stage of its present or last task; [`NONE`] once cleared, which makes it fresh.
    pub(super) last_stage: u32,
    /// Stage it is moving to.
    pub(super) destination: u32,
    /// [`NONE`] while it moves.
    pub(super) pool: u32,
}

/// Tells one simulator from another; a clone is another one.
#[derive(Debug)]
pub(super) struct Identity(pub(super) u64);

impl Identity {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self::new()
    }
}

/// A cluster at work on one episode's jobs. Cloning it at a question allows what-if runs.
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) cluster: Cluster,
    pub(super) jobs: Vec<Job>,
    pub(super) stages: Vec<Stage>,
    pub(super) executors: Vec<Executor>,
    /// By executor: the stage whose task it runs, or [`NONE`].
    pub(super) running: Vec<u32>,
    /// Pool 0 is the common one; then one per job; then one per stage.
    pub(super) pools: Pools,
    /// One slot per executor: the end of its task, or of its way to a job.
    pub(super) queue: EventQueue,
    pub(super) time_ms: f64,
    pub(super) arrived: u32,
    /// Infinite after the last arrival.
    pub(super) next_arrival_ms: f64,
    /// Arrived, uncompleted jobs in arrival order.
    pub(super) active: Vec<u32>,
    /// Pool index, or [`NONE`].
    pub(super) source: u32,
    /// One bit per stage: on offer, that is ready and not selected in this round.
    pub(super) offered: Vec<u64>,
    /// By job: number of stages on offer.
    pub(super) offers: Vec<i32>,
    /// The stages of the open question.
    pub(super) schedulable: Vec<StageRef>,
    /// Stage indices selected in this round.
    pub(super) selected: Vec<u32>,
    pub(super) discount_per_s: f64,
    pub(super) total_reward: f64,
    pub(super) events: u64,
    pub(super) decisions: u64,
    pub(super) busy_ms: f64,
    /// Executors that run a task.
    pub(super) busy: u32,
    /// Executors on their way.
    pub(super) moving: u32,
    pub(super) timeline: Option<Timeline>,
    pub(super) scratch: Scratch,
    pub(super) identity: Identity,
}

/// Lists that are needed for a moment, kept for their memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) idle: Vec<u32>,
    pub(super) commitments: Vec<(u32, u32)>,
    pub(super) jobs: Vec<u32>,
}

impl Simulator {
    /// A cluster before its first question. `seed` fixes the luck of the task durations.
    ///
    /// Jobs must be in order of arrival, as [`crate::workload::Workload::jobs`] gives them. Rewards are not discounted; see
    /// [`Simulator::with_discount`].
    ///
    /// # Panics
    ///
    /// If the cluster has more than 2²⁰ executors.
    #[must_use]
    pub fn new(cluster: Cluster, arrivals: Vec<JobArrival>, seed: u64) -> Self {
        debug_assert!(arrivals.windows(2).all(|w| w[0].arrival_ms <= w[1].arrival_ms));
        let (mut jobs, mut stages) = (Vec::with_capacity(arrivals.len()), Vec::new());
        for (id, arrival) in arrivals.into_iter().enumerate() {
            let first_stage = stages.len() as u32;
            for (stage, template) in (0u32..).zip(arrival.template.stages()) {
                let parents = arrival.template.parents(stage).len() as u32;
                stages.push(Stage {
                    job: id as u32,
                    num_tasks: template.num_tasks,
                    remaining: template.num_tasks,
                    executing: 0,
                    completed: 0,
                    moving: 0,
                    committed: 0,
                    unsaturated_parents: parents,
                    incomplete_parents: parents,
                    saturated: false,
                    selected: false,
                    offered: parents == 0,
                    recent_ms: template.rough_ms,
                    luck: Luck::new(hash(&[seed, id as u64, u64::from(stage)])),
                    expected_ms: 0.0,
                    expected_for: NONE,
                    first_launch_ms: f64::NAN,
                    completion_ms: f64::NAN,
                    launches: [0; 2],
                });
            }
            let num_stages = stages.len() as u32 - first_stage;
            jobs.push(Job {
                template: arrival.template,
                arrival_ms: arrival.arrival_ms,
                completion_ms: f64::NAN,
                first_stage,
                num_stages,
                supply: 0,
                attached: 0,
                incomplete: num_stages,
                unlaunched: num_stages,
                version: 0,
            });
        }
        let (mut offered, mut offers) = (vec![0; stages.len().div_ceil(64)], vec![0; jobs.len()]);
        for (i, stage) in stages.iter().enumerate().filter(|(_, s)| s.offered) {
            offered[i / 64] |= 1 << (i % 64);
            offers[stage.job as usize] += 1;
        }
        let idle = Executor { job: NONE, last_stage: NONE, destination: NONE, pool: 0 };
        let mut sim = Self {
            cluster,
            executors: vec![idle; cluster.num_executors as usize],
            running: vec![NONE; cluster.num_executors as usize],
            pools: Pools::new(1 + jobs.len() + stages.len(), cluster.num_executors),
            queue: EventQueue::new(cluster.num_executors),
            time_ms: 0.0,
            arrived: 0,
            next_arrival_ms: jobs.first().map_or(f64::INFINITY, |j: &Job| j.arrival_ms),
            jobs,
            stages,
            active: Vec::new(),
            source: NONE,
            offered,
            offers,
            schedulable: Vec::new(),
            selected: Vec::new(),
            discount_per_s: 0.0,
            total_reward: 0.0,
            events: 0,
            decisions: 0,
            busy_ms: 0.0,
            busy: 0,
            moving: 0,
            timeline: None,
            scratch: Scratch::default(),
            identity: Identity::new(),
        };
        sim.start();
        sim
    }

    /// Discounts rewards at this rate per second (0 by default, which means not at all).
    #[must_use]
    pub fn with_discount(mut self, per_second: f64) -> Self {
        self.discount_per_s = per_second;
        self
    }

    /// The open question, or `None` once the episode has ended.
    #[must_use]
    pub fn observation(&self) -> Option<Observation<'_>> {
        (!self.schedulable.is_empty()).then_some(Observation { sim: self })
    }

    /// Executors on offer: the source's, less those promised.
    pub(super) fn committable(&self) -> u32 {
        self.pools.committable(self.source)
    }

    pub(super) fn job_pool(job: u32) -> u32 {
        1 + job
    }

    pub(super) fn stage_pool(&self, stage: u32) -> u32 {
        1 + self.jobs.len() as u32 + stage
    }

    /// The job that a pool belongs to, or [`NONE`] for the common pool and for no pool.
    pub(super) fn pool_job(&self, pool: u32) -> u32 {
        let jobs = self.jobs.len() as u32;
        match pool {
            0 | NONE => NONE,
            p if p <= jobs => p - 1,
            p => self.stages[(p - 1 - jobs) as usize].job,
        }
    }

    pub(super) fn source(&self) -> Source {
        let jobs = self.jobs.len() as u32;
        match self.source {
            0 | NONE => Source::Common,
            p if p <= jobs => Source::Job(p - 1),
            p => Source::Stage(self.stage_ref(p - 1 - jobs)),
        }
    }

    pub(super) fn stage_ref(&self, index: u32) -> StageRef {
        let job = self.stages[index as usize].job;
        StageRef { job, stage: index - self.jobs[job as usize].first_stage }
    }

    pub(super) fn stage_index(&self, stage: StageRef) -> u32 {
        self.jobs[stage.job as usize].first_stage + stage.stage
    }

    pub(super) fn is_active(&self, job: u32) -> bool {
        job < self.arrived && self.jobs[job as usize].incomplete > 0
    }

    pub(super) fn log_run(&mut self, executor: u32, stage: u32, end_ms: f64) {
        let StageRef { job, stage } = self.stage_ref(stage);
        if let Some(timeline) = &mut self.timeline {
            timeline.push(TaskRun { lane: executor, job, part: stage, start_ms: self.time_ms, end_ms });
        }
    }
}
