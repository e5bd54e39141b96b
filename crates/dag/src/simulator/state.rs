//! The simulator's state, and the interface to whoever decides.

use super::pools::Pools;
use crate::{
    state::{ClusterState, Job, Source, Stage, StageRef},
    workload::{self, Cluster, JobArrival, JobTemplate, Luck, Offers},
};
use sched_distill_core::{
    rng::hash,
    simulation::{Bound, EventQueue, IdleSpells, TaskRun, Timeline},
};
use std::{collections::VecDeque, sync::Arc};

/// Marks "no job", "no stage", "no pool".
pub(super) const NONE: u32 = u32::MAX;

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Executors really committed: to the stage, or to the common pool after [`Decision::Abstain`](crate::Decision::Abstain).
    pub committed: u32,
    /// Minus the job-time that passed before the next question, ms.
    pub reward: f64,
}

/// What happens to a job beyond what schedulers see.
#[derive(Clone, Debug)]
pub(super) struct JobRun {
    pub(super) template: Arc<JobTemplate>,
    /// NaN until completed.
    pub(super) completion_ms: f64,
    /// Stages with tasks not launched; the job is *saturated* when there are none.
    pub(super) unlaunched: u32,
}

/// What happens to a stage beyond what schedulers see; one line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct StageRun {
    pub(super) luck: Luck,
    /// Launches before its own first task that the luck is shared with, see [`crate::workload::Origin`].
    pub(super) first_task: u32,
    /// Which of the job's duration tables it has.
    pub(super) table: u32,
    /// What the next launch will take if it belongs to the wave `rest` and the job then has so many executors. It is worked
    /// out ahead, because from one event to the next the processor would have to wait for it.
    pub(super) expected_ms: f64,
    pub(super) expected_for: u32,
    /// Launches of the waves `fresh` and `first`; all others are of the wave `rest`.
    pub(super) launches: [u32; 2],
    pub(super) first_launch_ms: f64,
    pub(super) completion_ms: f64,
}

impl Stage {
    pub(super) fn in_frontier(&self) -> bool {
        self.incomplete_parents == 0 && !self.is_complete()
    }

    /// Brings this stage's bit up to date, which says whether it is on offer; how the number of stages on offer changes.
    pub(super) fn update_offer(&self, stage: u32, bits: &mut [u64]) -> i32 {
        let offered = self.is_ready() && !self.selected;
        let (word, bit) = (&mut bits[stage as usize / 64], 1 << (stage % 64));
        if offered == (*word & bit != 0) {
            return 0;
        }
        *word ^= bit;
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

/// A cluster at work on one episode's jobs. Cloning it at a question allows what-if runs.
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) cluster: Cluster,
    /// What schedulers see.
    pub(super) state: ClusterState,
    pub(super) job_runs: Vec<JobRun>,
    pub(super) stage_runs: Vec<StageRun>,
    pub(super) executors: Vec<Executor>,
    /// By executor: the stage whose task it runs, or [`NONE`].
    pub(super) running: Vec<u32>,
    /// Pool 0 is the common one; then one per job; then one per stage.
    pub(super) pools: Pools,
    /// One slot per executor: the end of its task, or of its way to a job.
    pub(super) queue: EventQueue,
    /// Infinite after the last arrival.
    pub(super) next_arrival_ms: f64,
    /// Pool index, or [`NONE`].
    pub(super) source: u32,
    /// One bit per stage: on offer, that is ready and not selected in this round.
    pub(super) offered: Vec<u64>,
    /// By job: number of stages on offer.
    pub(super) offers: Vec<i32>,
    /// Stage indices selected in this round.
    pub(super) selected: Vec<u32>,
    pub(super) discount_per_s: f64,
    pub(super) total_reward: f64,
    pub(super) events: u64,
    pub(super) bound: Bound,
    pub(super) decisions: u64,
    pub(super) busy_ms: f64,
    /// Stages of active jobs that can start and want executors.
    pub(super) open: u32,
    pub(super) idle: IdleSpells,
    pub(super) again: Again,
    /// Stages that can start and have not been submitted, and when they will be, ms, in that order.
    pub(super) submissions: VecDeque<(f64, u32)>,
    /// Where idle executors are offered after each event: the place among the active jobs of the one whose pool comes next, [`NONE`] when all
    /// have been offered.
    pub(super) next_idle: u32,
    /// The pool that was offered at the event itself.
    pub(super) offered_first: u32,
    pub(super) timeline: Option<Timeline>,
    pub(super) scratch: Scratch,
}

/// Idle executors are offered again in a spell that began then, at that time, from this pool on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) since_ms: f64,
    pub(super) due_ms: f64,
    pub(super) next_pool: u32,
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
    /// Jobs must be in order of arrival, as [`Workload::jobs`](sched_distill_core::simulation::Workload::jobs) gives them. Rewards are not discounted; see
    /// [`Simulator::with_discount`].
    ///
    /// # Panics
    ///
    /// If the cluster has more than 2²⁰ executors.
    #[must_use]
    pub fn new(cluster: Cluster, arrivals: Vec<JobArrival>, seed: u64) -> Self {
        debug_assert!(arrivals.windows(2).all(|w| w[0].arrival_ms <= w[1].arrival_ms));
        let tasks: u64 = arrivals.iter().map(|job| job.template.tasks()).sum();
        let idle = Executor { job: NONE, last_stage: NONE, destination: NONE, pool: 0 };
        let mut sim = Self {
            cluster,
            executors: vec![idle; cluster.num_executors as usize],
            running: vec![NONE; cluster.num_executors as usize],
            pools: Pools::new(1, cluster.num_executors),
            queue: EventQueue::new(cluster.num_executors),
            next_arrival_ms: arrivals.first().map_or(f64::INFINITY, |first| first.arrival_ms),
            state: ClusterState::of(cluster.num_executors, Vec::with_capacity(arrivals.len()), Vec::new()),
            job_runs: Vec::with_capacity(arrivals.len()),
            stage_runs: Vec::new(),
            source: NONE,
            offered: Vec::new(),
            offers: Vec::with_capacity(arrivals.len()),
            selected: Vec::new(),
            discount_per_s: 0.0,
            total_reward: 0.0,
            events: 0,
            bound: Bound::of(workload::events(arrivals.len() as f64, tasks as f64)),
            decisions: 0,
            busy_ms: 0.0,
            open: 0,
            idle: IdleSpells::default(),
            again: Again { since_ms: f64::NAN, due_ms: f64::NAN, next_pool: 0 },
            submissions: VecDeque::new(),
            next_idle: NONE,
            offered_first: NONE,
            timeline: None,
            scratch: Scratch::default(),
        };
        sim.state.intake = cluster.intake;
        for (id, arrival) in (0u32..).zip(arrivals) {
            sim.add(id, arrival, |stage| Luck::new(hash(&[seed, u64::from(id), u64::from(stage)])));
        }
        sim.pools.resize(1 + sim.state.jobs.len() + sim.state.stages.len());
        sim.start();
        sim
    }

    /// Adds the job that arrives after all others, but not its pools; `luck` is that of a stage of the job as it first was.
    pub(super) fn add(&mut self, id: u32, arrival: JobArrival, luck: impl Fn(u32) -> Luck) {
        let JobArrival { arrival_ms, template } = arrival;
        let template = match self.cluster.intake.is_credulous() {
            true => template,
            // What is put together is no more than what was allowed apart.
            false => template.taken_in(self.cluster.intake).map_or(template, Arc::new),
        };
        let (graph, first_stage) = (template.graph(), self.state.stages.len() as u32);
        let mut offers = 0;
        for ((stage, spec), origin) in (0u32..).zip(graph.stages()).zip(template.origins()) {
            let parents = graph.parents(stage).len() as u32;
            // A stage that waits counts as selected where only those are offered that can start.
            let selected = parents > 0 && self.cluster.offers == Offers::Task;
            let stage =
                Stage { unsaturated_parents: parents, incomplete_parents: parents, selected, ..Stage::new(id, spec) };
            self.offered.resize(self.state.stages.len() / 64 + 1, 0);
            offers += stage.update_offer(self.state.stages.len() as u32, &mut self.offered);
            self.state.stages.push(stage);
            self.stage_runs.push(StageRun {
                luck: luck(origin.stage),
                first_task: origin.first_task,
                table: origin.stage,
                expected_ms: 0.0,
                expected_for: NONE,
                first_launch_ms: f64::NAN,
                completion_ms: f64::NAN,
                launches: [0; 2],
            });
        }
        self.offers.push(offers);
        self.state.jobs.push(Job::new(id, Arc::clone(graph), arrival_ms, first_stage));
        let unlaunched = graph.stages().len() as u32;
        self.job_runs.push(JobRun { template, completion_ms: f64::NAN, unlaunched });
    }

    /// Discounts rewards at this rate per second (0 by default, which means not at all).
    #[must_use]
    pub fn with_discount(mut self, per_second: f64) -> Self {
        self.discount_per_s = per_second;
        self
    }

    /// Executors on offer: the source's, less those promised.
    pub(super) fn committable(&self) -> u32 {
        self.pools.committable(self.source)
    }

    pub(super) fn job_pool(job: u32) -> u32 {
        1 + job
    }

    pub(super) fn stage_pool(&self, stage: u32) -> u32 {
        1 + self.state.jobs.len() as u32 + stage
    }

    /// The job that a pool belongs to, or [`NONE`] for the common pool and for no pool.
    pub(super) fn pool_job(&self, pool: u32) -> u32 {
        let jobs = self.state.jobs.len() as u32;
        match pool {
            0 | NONE => NONE,
            p if p <= jobs => p - 1,
            p => self.state.stages[(p - 1 - jobs) as usize].job,
        }
    }

    pub(super) fn source(&self) -> Source {
        let jobs = self.state.jobs.len() as u32;
        match self.source {
            0 | NONE => Source::Common,
            p if p <= jobs => Source::Job(p - 1),
            p => Source::Stage(self.stage_ref(p - 1 - jobs)),
        }
    }

    pub(super) fn stage_ref(&self, index: u32) -> StageRef {
        let job = self.state.stages[index as usize].job;
        StageRef { job, stage: index - self.state.jobs[job as usize].first_stage }
    }

    pub(super) fn stage_index(&self, stage: StageRef) -> u32 {
        self.state.jobs[stage.job as usize].first_stage + stage.stage
    }

    pub(super) fn is_active(&self, job: u32) -> bool {
        job < self.state.jobs.arrived && self.state.jobs[job as usize].incomplete > 0
    }

    pub(super) fn log_run(&mut self, executor: u32, stage: u32, end_ms: f64) {
        let StageRef { job, stage } = self.stage_ref(stage);
        if let Some(timeline) = &mut self.timeline {
            timeline.push(TaskRun { lane: executor, job, part: stage, start_ms: self.state.time_ms, end_ms });
        }
    }
}
