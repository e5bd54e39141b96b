//! What a scheduler may know of the cluster at a question, and what it may answer. Nothing here tells the future, nor the luck of
//! a slot.
//!
//! A [`View`] is lent by the simulator, and by a [`ClusterState`] that anyone can make: features, heuristics, networks and students
//! read it alone.

use super::{ClusterState, Job};
use crate::cluster::{JobType, TrainingCluster};
use sched_distill_core::state::few;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a job may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// An answer to one question. As JSON it is `{"do": "add", "job": 5, "task": "both", "node": 0}` or `{"do": "close"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Place nothing more in this slot.
    Close,
    /// Place a task.
    Add {
        /// One of [`View::live_jobs`].
        job: u32,
        /// What to place.
        task: Task,
        /// The node; `None` for the head.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<u32>,
    },
}

/// One task on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Its job.
    pub job: u32,
    /// [`Task::Worker`] or [`Task::Server`].
    pub task: Task,
    /// The node.
    pub node: u32,
}

/// An illegal decision. It changes nothing, so another decision may follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
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

/// The cluster at an open question. Borrows from who lends it; copying it is free.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct View<'a> {
    pub(crate) state: &'a ClusterState,
}

impl<'a> View<'a> {
    /// The slot that is being filled, from 0.
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.state.slot
    }

    /// Start of the slot, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        f64::from(self.state.slot) * self.state.cluster.slot_ms()
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &'a TrainingCluster {
        &self.state.cluster
    }

    /// Number of jobs that have arrived so far.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.state.jobs.arrived_so_far()
    }

    /// Numbers of the arrived, uncompleted jobs in order of arrival; never empty.
    #[must_use]
    pub fn live_jobs(&self) -> &'a [u32] {
        &self.state.live
    }

    /// An arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived.
    #[must_use]
    pub fn job(&self, job: u32) -> JobView<'a> {
        match self.state.jobs.find(job) {
            Some(job) => JobView { state: self.state, job },
            None => panic!("job {job} has not arrived"),
        }
    }

    /// The node with the fewest slots in use, of the lowest number among equals.
    #[must_use]
    pub fn head(&self) -> u32 {
        self.state.head()
    }

    /// Free slots of CPU and GPU on a node.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn node_free(&self, node: u32) -> [u32; 2] {
        self.state.node_free(node)
    }

    /// Whether the head has room for a task of a job. Maxima are not looked at, see [`JobView::can_take`].
    #[must_use]
    pub fn fits(&self, job: u32, task: Task) -> bool {
        self.fits_at(job, task, self.head())
    }

    /// Whether a node has room for a task of a job. Maxima are not looked at, see [`JobView::can_take`].
    ///
    /// # Panics
    ///
    /// If there is no such node or no such job.
    #[must_use]
    pub fn fits_at(&self, job: u32, task: Task, node: u32) -> bool {
        let (free, asked) = (self.node_free(node), self.job(job).request(task));
        asked[0] <= free[0] && asked[1] <= free[1]
    }

    /// Slots of CPU and GPU in use on all nodes.
    #[must_use]
    pub fn used(&self) -> [u32; 2] {
        self.state.used
    }

    /// Slots of CPU and GPU free on all nodes.
    #[must_use]
    pub fn free(&self) -> [u32; 2] {
        [self.state.capacity[0] - self.state.used[0], self.state.capacity[1] - self.state.used[1]]
    }

    /// Tasks placed in this slot, in order.
    #[must_use]
    pub fn placements(&self) -> &'a [Placement] {
        &self.state.placements
    }

    /// A job's tasks placed in this slot, in order. This looks through all tasks.
    pub fn tasks_on(&self, job: u32) -> impl Iterator<Item = Placement> + use<'a> {
        self.state.placements.iter().filter(move |p| p.job == job).copied()
    }

    /// Whether a decision is legal.
    ///
    /// # Errors
    ///
    /// If not, why.
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        let Decision::Add { job, task, node } = decision else { return Ok(()) };
        let (slot, nodes) = (self.slot(), self.cluster().nodes);
        if self.live_jobs().binary_search(&job).is_err() {
            return Err(DecisionError::NotLive { slot, job, allowed: few(self.live_jobs()) });
        }
        let view = self.job(job);
        if !view.can_take(task) {
            return Err(DecisionError::AtMaximum {
                slot,
                job,
                task,
                workers: view.workers(),
                servers: view.servers(),
                max_workers: self.cluster().max_workers,
                max_servers: self.cluster().max_servers,
            });
        }
        let node = node.unwrap_or(self.head());
        if node >= nodes {
            return Err(DecisionError::NoNode { slot, job, task, node, nodes });
        }
        let (free, asked) = (self.node_free(node), view.request(task));
        match asked[0] <= free[0] && asked[1] <= free[1] {
            true => Ok(()),
            false => Err(DecisionError::NoRoom { slot, job, task, node, free, asked }),
        }
    }
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

    /// Place of its type in [`TrainingCluster::types`].
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.job.kind
    }

    /// Its type.
    #[must_use]
    pub fn job_type(&self) -> &'a JobType {
        self.state.job_type(self.job)
    }

    /// Slot at whose start it arrived.
    #[must_use]
    pub fn arrival_slot(&self) -> u32 {
        self.job.arrival_slot
    }

    /// Slots since its arrival.
    #[must_use]
    pub fn stay(&self) -> u32 {
        self.state.slot - self.job.arrival_slot
    }

    /// Epochs that it is believed to take.
    #[must_use]
    pub fn epochs(&self) -> f64 {
        self.job.epochs
    }

    /// Epochs done before this slot.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.job.progress
    }

    /// Epochs left as far as is known; negative if the job takes longer than believed.
    #[must_use]
    pub fn remaining_epochs(&self) -> f64 {
        self.job.epochs - self.job.progress
    }

    /// Share of the believed epochs that is left; negative if the job takes longer than believed.
    #[must_use]
    pub fn remaining_share(&self) -> f64 {
        1.0 - self.job.progress / self.job.epochs
    }

    /// Workers in this slot.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.job.workers
    }

    /// Parameter servers in this slot.
    #[must_use]
    pub fn servers(&self) -> u32 {
        self.job.servers
    }

    /// Slots of CPU and GPU in use by the job.
    #[must_use]
    pub fn used(&self) -> [u32; 2] {
        self.job.used
    }

    /// The larger of its shares of the cluster's CPU and GPU slots.
    #[must_use]
    pub fn dominant_share(&self) -> f64 {
        self.job.dominant_share
    }

    /// Slots of CPU and GPU that a task takes.
    #[must_use]
    pub fn request(&self, task: Task) -> [u32; 2] {
        task.request(self.job_type())
    }

    /// Whether the job may have this task besides those it has. Room is not looked at, see [`View::fits`].
    #[must_use]
    pub fn can_take(&self, task: Task) -> bool {
        self.state.can_take(self.job, task)
    }

    /// Epochs per slot with the tasks it has, without luck.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.state.speed_with(self.job, [0; 2])
    }

    /// Epochs per slot if this task were added on the head node, without luck. It need not fit, and it may be one beyond the
    /// maxima.
    #[must_use]
    pub fn speed_with(&self, task: Task) -> f64 {
        self.state.speed_with(self.job, task.counts())
    }

    /// The most epochs per slot that it could do in this slot if it got this task and whatever more it wants, see
    /// [`crate::cluster::Speed::in_reach`]; 0 beyond the maxima.
    #[must_use]
    pub fn speed_in_reach(&self, task: Task) -> f64 {
        let [workers, servers] = task.counts();
        self.state.cluster.speed.in_reach(self.kind(), self.workers() + workers, self.servers() + servers)
    }

    /// The most epochs per slot that the job can do, see [`crate::cluster::Speed::best`].
    #[must_use]
    pub fn best_speed(&self) -> f64 {
        self.state.cluster.speed.best(self.job.kind)
    }
}
