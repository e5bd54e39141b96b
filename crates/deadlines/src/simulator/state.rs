//! The simulator's state, and the interface to whoever decides.

use super::record::Change;
use crate::{
    Cluster, Estimate,
    state::{ClusterState, Job, NewJob},
    workload::DeadlineJob,
};
use sched_distill_core::{
    rng::hash,
    simulation::{Bound, EventQueue, IdleSpells, Occupancy},
};
use std::sync::Arc;

/// What draws of measurements are keyed by, besides the episode.
const LUCK: u64 = 0x4d45_4153_5552_4544;

/// What nobody but the simulator knows of a job.
#[derive(Clone, Debug)]
pub(super) struct JobRun {
    pub(super) job: DeadlineJob,
    /// When it was complete; NaN before.
    pub(super) completed_ms: f64,
    /// When it was refused; NaN if it was not.
    pub(super) refused_ms: f64,
    /// Measurements so far, and iterations done when the last one was made or the job last got cores.
    pub(super) measurements: u64,
    pub(super) window_from: f64,
    /// Core time that it has held and used, up to when it last got cores, ms.
    pub(super) allocated_ms: f64,
    pub(super) used_ms: f64,
}

/// One episode. It ends when all jobs are complete or refused, when nothing need happen any more, or when far more has happened than jobs
/// need ([`Bound`]).
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) state: ClusterState,
    pub(super) runs: Vec<JobRun>,
    /// The next event of each running job: its end or its first measurement.
    pub(super) queue: EventQueue,
    /// Numbers of jobs by deadline, and how many of them have passed.
    pub(super) by_deadline: Vec<u32>,
    pub(super) passed: usize,
    /// Number of the next check; it comes at that many times the time between two.
    pub(super) next_check: u64,
    /// Jobs measured first at this moment.
    pub(super) measured: Vec<u32>,
    pub(super) ended: bool,
    pub(super) luck: u64,
    pub(super) events: u64,
    pub(super) bound: Bound,
    pub(super) decisions: u64,
    pub(super) idle: IdleSpells,
    pub(super) timeline: Option<Occupancy>,
    pub(super) changes: Option<Vec<Change>>,
}

impl DeadlineJob {
    /// What its user declares.
    pub(crate) fn declared(&self) -> NewJob {
        NewJob {
            arrival_ms: self.arrival_ms,
            deadline_ms: self.declared_deadline_ms,
            iterations: self.declared_iterations,
            requested: self.requested,
            threads: self.threads,
            largest: self.largest,
        }
    }
}

impl Simulator {
    /// An episode before its first question: jobs in order of arrival on a cluster, with the luck of a seed.
    #[must_use]
    pub fn new(cluster: Arc<Cluster>, jobs: Vec<DeadlineJob>, seed: u64) -> Self {
        let earlier = |job: &DeadlineJob| cluster.models[job.model as usize].earlier;
        let declared = |(id, job): (u32, &DeadlineJob)| Job::new(id, job.model, job.declared(), earlier(job));
        let state = ClusterState::of(cluster.clone(), (0..).zip(&jobs).map(declared).collect());
        let mut by_deadline: Vec<u32> = (0..jobs.len() as u32).collect();
        let deadline = |id: u32| jobs[id as usize].declared_deadline_ms;
        by_deadline.sort_by(|&a, &b| deadline(a).total_cmp(&deadline(b)).then(a.cmp(&b)));
        let run = |job: DeadlineJob| JobRun {
            job,
            completed_ms: f64::NAN,
            refused_ms: f64::NAN,
            measurements: 0,
            window_from: 0.0,
            allocated_ms: 0.0,
            used_ms: 0.0,
        };
        let mut sim = Self {
            bound: Bound::of(cluster.events(&jobs)),
            queue: EventQueue::new(jobs.len() as u32),
            runs: jobs.into_iter().map(run).collect(),
            state,
            by_deadline,
            passed: 0,
            next_check: 0,
            measured: Vec::new(),
            ended: false,
            luck: hash(&[seed, LUCK]),
            events: 0,
            decisions: 0,
            idle: IdleSpells::default(),
            timeline: None,
            changes: None,
        };
        sim.pass();
        sim
    }

    /// The same moment with a job that has not arrived declared as in `jobs`.
    pub(crate) fn described(&self, jobs: &[DeadlineJob], job: u32) -> Self {
        debug_assert!(job >= self.state.jobs.arrived, "job {job} is there already");
        let mut episode = self.clone();
        let (new, declared) = (&jobs[job as usize], &mut episode.state.jobs[job as usize]);
        (declared.deadline_ms, declared.iterations) = (new.declared_deadline_ms, new.declared_iterations);
        episode.runs[job as usize].job = *new;
        let deadline = |id: u32| episode.runs[id as usize].job.declared_deadline_ms;
        let mut order = std::mem::take(&mut episode.by_deadline);
        order.sort_by(|&a, &b| deadline(a).total_cmp(&deadline(b)).then(a.cmp(&b)));
        episode.passed = order.partition_point(|&id| deadline(id) <= episode.state.time_ms);
        episode.by_deadline = order;
        episode
    }

    /// What is believed of a job's iterations, and what is so: for tests of predictions.
    #[must_use]
    pub fn estimate(&self, job: u32) -> Option<(Estimate, DeadlineJob)> {
        let place = job as usize;
        self.runs.get(place).map(|run| (self.state.jobs[place].estimate, run.job))
    }
}
