//! The simulator's state, and the interface to whoever decides.

use super::record::{SlotRecord, Timeline};
use crate::{
    cluster::TrainingCluster,
    state::{ClusterState, Job},
    workload::TrainingJob,
};
use sched_distill_core::{
    rng::hash,
    simulation::{Bound, IdleSpells},
};
use std::sync::Arc;

/// Tells the luck of the speeds from other draws under an episode's seed.
const LUCK: u64 = 0x7370_6565_6400;

/// What happens to a job beyond what schedulers see.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobRun {
    /// Epochs that it will really take.
    pub(super) real_epochs: f64,
    /// Slots from slot 0 to its completion; NaN until then.
    pub(super) completion: f64,
}

/// A cluster at work on one episode's jobs. Cloning it at a question allows what-if runs. The episode ends when all jobs are done, or
/// when it has stalled: after 1,000 slots in a row in which no job made progress while no arrival was to come, and after far more slots than
/// its jobs need ([`Bound`]).
#[derive(Clone, Debug)]
pub struct Simulator {
    /// What schedulers see.
    pub(super) state: ClusterState,
    pub(super) runs: Vec<JobRun>,
    pub(super) ended: bool,
    /// Slots in a row without progress and without arrivals to come.
    pub(super) stalled: u32,
    /// Slots that have passed, and how many may.
    pub(super) passed: u64,
    pub(super) bound: Bound,
    /// Key of the luck of the speeds.
    pub(super) luck: u64,
    pub(super) last_reward: f64,
    pub(super) total_reward: f64,
    pub(super) decisions: u64,
    /// Sum over slots of the share of slots of CPU and GPU in use.
    pub(super) busy: f64,
    pub(super) idle: IdleSpells,
    pub(super) timeline: Option<Timeline>,
    pub(super) records: Option<Vec<SlotRecord>>,
}

impl Simulator {
    /// A cluster before its first question. `seed` fixes the luck of the speeds.
    ///
    /// Jobs must be in order of arrival, as [`crate::workload::TrainingWorkload::jobs`] gives them.
    #[must_use]
    pub fn new(cluster: Arc<TrainingCluster>, jobs: Vec<TrainingJob>, seed: u64) -> Self {
        debug_assert!(jobs.windows(2).all(|w| w[0].arrival_slot <= w[1].arrival_slot));
        let declared =
            (0u32..).zip(&jobs).map(|(id, job)| Job::new(id, job.kind, job.arrival_slot, job.epochs)).collect();
        let run = |job: &TrainingJob| JobRun { real_epochs: job.real_epochs, completion: f64::NAN };
        // Slots are counted in 32 bits.
        let bound = Bound::of(cluster.events(&jobs).min(2e7));
        let mut sim = Self {
            state: ClusterState::of(cluster, declared),
            runs: jobs.iter().map(run).collect(),
            ended: false,
            stalled: 0,
            passed: 0,
            bound,
            luck: hash(&[seed, LUCK]),
            last_reward: 0.0,
            total_reward: 0.0,
            decisions: 0,
            busy: 0.0,
            idle: IdleSpells::default(),
            timeline: None,
            records: None,
        };
        sim.open_slot();
        sim
    }

    /// The same moment with a job that has not arrived declared as in `jobs`.
    pub(crate) fn described(&self, jobs: &[TrainingJob], job: u32) -> Self {
        debug_assert!(job >= self.state.jobs.arrived, "job {job} is there already");
        let mut episode = self.clone();
        episode.state.jobs[job as usize].epochs = jobs[job as usize].epochs;
        episode
    }

    /// The reward of the slot closed last: over its jobs, the sum of epochs done in it by epochs believed. 0 before any.
    #[must_use]
    pub fn last_reward(&self) -> f64 {
        self.last_reward
    }

    /// Sum of the rewards of all slots so far.
    #[must_use]
    pub fn total_reward(&self) -> f64 {
        self.total_reward
    }
}
