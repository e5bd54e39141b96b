//! The simulator's state, and the interface to whoever decides.

use super::{record::Change, storage::Storage};
use crate::{
    Cluster,
    state::{ClusterState, Job},
    workload::PreemptionJob,
};
use sched_distill_core::{
    rng::hash,
    simulation::{Bound, EventQueue, IdleSpells, Occupancy},
};
use std::sync::Arc;

/// What draws of starts are keyed by, besides the episode.
const LUCK: u64 = 0x5354_4152_5453;

/// What a job that holds GPUs is doing next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its container starts.
    Container,
    /// Data come.
    Transfer,
    /// It warms up.
    Warm,
    /// It computes, or does not hold GPUs.
    Other,
}

/// What nobody but the simulator knows of a job.
#[derive(Clone, Debug)]
pub(super) struct JobRun {
    pub(super) job: PreemptionJob,
    pub(super) phase: Phase,
    /// Times what its container and its warm-up take typically they take now.
    pub(super) slow: f64,
    /// When it was complete; NaN before.
    pub(super) completed_ms: f64,
    /// Whether it last lost its GPUs by being suspended.
    pub(super) is_resumed: bool,
    /// GPU time lost to preemption, ms.
    pub(super) lost_ms: f64,
    /// Time for which it has computed, before its present stage, ms.
    pub(super) computed_ms: f64,
}

/// One episode. It ends when all jobs are complete, when nothing need happen any more, or when far more has happened than jobs need
/// ([`Bound`]).
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) state: ClusterState,
    pub(super) runs: Vec<JobRun>,
    /// What is lent to rules that are clairvoyant.
    pub(super) truth: Vec<[f64; 2]>,
    /// Times in which jobs computed, from when to when.
    pub(super) computed: Vec<(f64, f64)>,
    /// The next event of each job that holds GPUs and waits for no transfer.
    pub(super) queue: EventQueue,
    pub(super) storage: Storage,
    /// The next event of each node, and how often its failures were drawn.
    pub(super) node_events: EventQueue,
    pub(super) failures_of: Vec<u64>,
    /// Whether the present moment is a check.
    pub(super) was_check: bool,
    pub(super) ended: bool,
    pub(super) complete: u32,
    pub(super) seed: u64,
    pub(super) luck: u64,
    pub(super) failure_luck: u64,
    pub(super) events: u64,
    pub(super) bound: Bound,
    pub(super) decisions: u64,
    /// Kept to be used again.
    pub(super) hit: Vec<u32>,
    pub(super) idle: IdleSpells,
    pub(super) timeline: Option<Occupancy>,
    pub(super) changes: Option<Vec<Change>>,
}

impl PreemptionJob {
    /// The job as schedulers know it.
    fn state(&self, id: u32, cluster: &Cluster) -> Job {
        Job::new(id, self.model, &self.declared(), cluster, self.counter_ms, self.bias)
    }

    /// What it really takes, as [`Truth`] has it.
    fn truth(&self) -> [f64; 2] {
        [self.epochs, self.epoch_ms]
    }
}

impl Simulator {
    /// An episode before its first question: jobs in order of arrival on a cluster, with the luck of a seed.
    #[must_use]
    pub fn new(cluster: Arc<Cluster>, jobs: Vec<PreemptionJob>, seed: u64) -> Self {
        let known = (0..).zip(&jobs).map(|(id, job)| job.state(id, &cluster)).collect();
        let run = |job: PreemptionJob| JobRun {
            job,
            phase: Phase::Other,
            slow: 1.0,
            completed_ms: f64::NAN,
            is_resumed: false,
            lost_ms: 0.0,
            computed_ms: 0.0,
        };
        let count = jobs.len() as u32;
        let mut sim = Self {
            bound: Bound::of(cluster.events(&jobs)),
            computed: Vec::with_capacity(2 * jobs.len()),
            queue: EventQueue::new(count),
            storage: Storage::new(count),
            node_events: EventQueue::new(cluster.nodes),
            failures_of: vec![0; cluster.nodes as usize],
            truth: jobs.iter().map(PreemptionJob::truth).collect(),
            runs: jobs.into_iter().map(run).collect(),
            state: ClusterState::of(cluster, known),
            was_check: false,
            ended: false,
            complete: 0,
            seed,
            luck: hash(&[seed, LUCK]),
            failure_luck: 0,
            events: 0,
            decisions: 0,
            hit: Vec::new(),
            idle: IdleSpells::default(),
            timeline: None,
            changes: None,
        };
        // As many as there are claims at a time, but for the wildest schedulers.
        sim.state.spare.extend((0..128).map(|_| Vec::with_capacity(16)));
        sim.schedule_failures();
        sim.pass();
        sim
    }

    /// The same moment with a job that has not arrived declared as in `jobs`.
    pub(crate) fn described(&self, jobs: &[PreemptionJob], job: u32) -> Self {
        debug_assert!(job >= self.state.jobs.arrived, "job {job} is there already");
        let mut episode = self.clone();
        let new = &jobs[job as usize];
        episode.state.jobs[job as usize] = new.state(job, &self.state.cluster);
        episode.truth[job as usize] = new.truth();
        episode.runs[job as usize].job = *new;
        episode
    }

    /// What a job really takes: for tests of predictions.
    #[must_use]
    pub fn truth(&self, job: u32) -> Option<&PreemptionJob> {
        self.runs.get(job as usize).map(|run| &run.job)
    }
}
