//! The simulator's state, and the interface to whoever decides.

use super::{
    nodes::Nodes,
    observation::Observation,
    record::{SlotRecord, Timeline},
};
use crate::workload::{JobType, NodeShare, TrainingCluster, TrainingJob};
use sched_distill_core::rng::hash;
use std::{fmt, sync::Arc};

/// Marks "no entry".
pub(super) const NONE: u32 = u32::MAX;

/// Tells the luck of the speeds from other draws under an episode's seed.
const LUCK: u64 = 0x7370_6565_6400;

/// What a job may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// A worker.
    Worker,
    /// A parameter server.
    Server,
    /// A worker and a parameter server on the same node.
    Both,
}

impl Task {
    /// All there are, in order.
    pub const ALL: [Task; 3] = [Task::Worker, Task::Server, Task::Both];

    /// How many workers and parameter servers it is.
    #[inline]
    #[must_use]
    pub fn counts(self) -> [u32; 2] {
        match self {
            Task::Worker => [1, 0],
            Task::Server => [0, 1],
            Task::Both => [1, 1],
        }
    }

    /// Slots of CPU and GPU that it takes for a job of this type.
    #[inline]
    #[must_use]
    pub fn request(self, job_type: &JobType) -> [u32; 2] {
        match self {
            Task::Worker => job_type.worker,
            Task::Server => job_type.server,
            Task::Both => job_type.bundle(),
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Task::Worker => "a worker",
            Task::Server => "a parameter server",
            Task::Both => "a worker and a parameter server",
        })
    }
}

/// An answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Place nothing more in this slot.
    Close,
    /// Place a task.
    Add {
        /// One of [`Observation::live_jobs`].
        job: u32,
        /// What to place.
        task: Task,
        /// The node; `None` for the head.
        node: Option<u32>,
    },
}

/// One task on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Its job.
    pub job: u32,
    /// [`Task::Worker`] or [`Task::Server`].
    pub task: Task,
    /// The node.
    pub node: u32,
}

/// An illegal decision. The simulator's state is unchanged, so another decision may follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// No such job has arrived, or it is done.
    #[error("slot {slot}: job {job} is not live; live are {allowed}")]
    NotLive {
        /// The slot.
        slot: u32,
        /// The job asked for.
        job: u32,
        /// The first of those that are.
        allowed: String,
    },
    /// The job has as many of these tasks as it may.
    #[error(
        "slot {slot}: {task} for job {job}, which has {workers} workers of at most {max_workers} and {servers} parameter servers of at most {max_servers}"
    )]
    AtMaximum {
        /// The slot.
        slot: u32,
        /// The job asked for.
        job: u32,
        /// What was asked for.
        task: Task,
        /// Its workers.
        workers: u32,
        /// Its parameter servers.
        servers: u32,
        /// Most workers.
        max_workers: u32,
        /// Most parameter servers.
        max_servers: u32,
    },
    /// There is no such node.
    #[error("slot {slot}: {task} for job {job} on node {node}; there are nodes 0..{nodes}")]
    NoNode {
        /// The slot.
        slot: u32,
        /// The job asked for.
        job: u32,
        /// What was asked for.
        task: Task,
        /// The node asked for.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// The node has too little room.
    #[error("slot {slot}: {task} for job {job} takes {asked:?} slots of CPU and GPU; node {node} has {free:?} free")]
    NoRoom {
        /// The slot.
        slot: u32,
        /// The job asked for.
        job: u32,
        /// What was asked for.
        task: Task,
        /// The node.
        node: u32,
        /// Its free slots of CPU and GPU.
        free: [u32; 2],
        /// What the task takes.
        asked: [u32; 2],
    },
    /// The episode has ended.
    #[error("the episode has ended; no decision is expected")]
    Ended,
}

/// What changes of a job. The rest is in its [`TrainingJob`].
#[derive(Clone, Copy, Debug)]
pub(super) struct JobState {
    /// Epochs done.
    pub(super) progress: f64,
    /// Slots from slot 0 to its completion; NaN until then.
    pub(super) completion: f64,
    /// Of this slot, as all that follows.
    pub(super) dominant_share: f64,
    pub(super) workers: u32,
    pub(super) servers: u32,
    pub(super) used: [u32; 2],
    /// Its first entry of [`Simulator::shares`], or [`NONE`].
    pub(super) first_share: u32,
}

/// A cluster at work on one episode's jobs. Cloning it at a question allows what-if runs.
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) cluster: Arc<TrainingCluster>,
    pub(super) jobs: Arc<[TrainingJob]>,
    pub(super) states: Vec<JobState>,
    pub(super) nodes: Nodes,
    /// Slots of CPU and GPU in use on all nodes.
    pub(super) used: [u32; 2],
    pub(super) capacity: [u32; 2],
    /// Tasks of this slot in the order in which they were placed.
    pub(super) placements: Vec<Placement>,
    /// Jobs' tasks by node and the place of the same job's next entry; kept only if speeds depend on placement.
    pub(super) shares: Vec<(NodeShare, u32)>,
    pub(super) slot: u32,
    /// Jobs that have arrived.
    pub(super) arrived: u32,
    /// Arrived, uncompleted jobs in order of arrival.
    pub(super) live: Vec<u32>,
    pub(super) ended: bool,
    /// Slots in a row without progress and without arrivals to come.
    pub(super) stalled: u32,
    /// Key of the luck of the speeds.
    pub(super) luck: u64,
    pub(super) last_reward: f64,
    pub(super) total_reward: f64,
    pub(super) decisions: u64,
    /// Sum over slots of the share of slots of CPU and GPU in use.
    pub(super) busy: f64,
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
        let idle = JobState {
            progress: 0.0,
            completion: f64::NAN,
            dominant_share: 0.0,
            workers: 0,
            servers: 0,
            used: [0; 2],
            first_share: NONE,
        };
        let mut sim = Self {
            states: vec![idle; jobs.len()],
            nodes: Nodes::new(cluster.nodes),
            used: [0; 2],
            capacity: cluster.capacity(),
            placements: Vec::new(),
            shares: Vec::new(),
            slot: 0,
            arrived: 0,
            live: Vec::new(),
            ended: false,
            stalled: 0,
            luck: hash(&[seed, LUCK]),
            last_reward: 0.0,
            total_reward: 0.0,
            decisions: 0,
            busy: 0.0,
            timeline: None,
            records: None,
            cluster,
            jobs: jobs.into(),
        };
        sim.open_slot();
        sim
    }

    /// The open question, or `None` once the episode has ended: when all jobs are done, or when it has stalled. It has stalled
    /// after 1,000 slots in a row in which no job made progress while no arrival was to come.
    #[must_use]
    pub fn observation(&self) -> Option<Observation<'_>> {
        (!self.ended).then_some(Observation { sim: self })
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

    pub(super) fn job_type(&self, job: u32) -> &JobType {
        &self.cluster.types[self.jobs[job as usize].kind as usize]
    }

    pub(super) fn node_free(&self, node: u32) -> [u32; 2] {
        let (all, used) = (self.cluster.node_slots, self.nodes.used(node));
        [all[0] - used[0], all[1] - used[1]]
    }

    /// Whether a job's maxima allow a task.
    #[inline]
    pub(super) fn can_take(&self, job: u32, task: Task) -> bool {
        let (state, [workers, servers]) = (&self.states[job as usize], task.counts());
        state.workers + workers <= self.cluster.max_workers && state.servers + servers <= self.cluster.max_servers
    }

    /// Epochs per slot, without luck, if the job had these tasks (workers, parameter servers) on the head node besides its own.
    #[inline]
    pub(super) fn speed_with(&self, job: u32, more: [u32; 2]) -> f64 {
        let (kind, state) = (self.jobs[job as usize].kind, &self.states[job as usize]);
        if !self.cluster.speed.by_placement() {
            return self.cluster.speed.by_count(kind, state.workers + more[0], state.servers + more[1]);
        }
        let head = self.nodes.head();
        let shares = self.shares_of(job);
        let new = (more != [0; 2] && !shares.clone().any(|share| share.node == head)).then_some(NodeShare {
            node: head,
            workers: more[0],
            servers: more[1],
        });
        let grown = shares.map(move |mut share| {
            if share.node == head {
                share.workers += more[0];
                share.servers += more[1];
            }
            share
        });
        self.cluster.speed.by_nodes(kind, grown.chain(new))
    }

    /// A job's tasks by node; only if speeds depend on placement.
    fn shares_of(&self, job: u32) -> impl Iterator<Item = NodeShare> + Clone {
        let mut next = self.states[job as usize].first_share;
        std::iter::from_fn(move || {
            let (share, after) = self.shares.get(next as usize)?;
            next = *after;
            Some(*share)
        })
    }
}
