//! The cluster as far as a scheduler may know it: the simulator keeps a state of it, anyone can make one, and both lend views.

mod build;
mod change;
mod json;
mod nodes;
mod strand;
mod view;

use crate::cluster::{JobType, NodeShare, TrainingCluster};
pub use change::Change;
use nodes::Nodes;
pub use sched_distill_core::state::StateError;
use sched_distill_core::state::{Arrives, Jobs};
use serde::Deserialize;
use std::sync::Arc;
pub use view::{Decision, DecisionError, JobView, Placement, Task, View};

/// Marks "no entry".
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) id: u32,
    /// Place of its type in [`TrainingCluster::types`].
    pub(crate) kind: u8,
    pub(crate) arrival_slot: u32,
    /// Epochs that it is believed to take.
    pub(crate) epochs: f64,
    /// Epochs done.
    pub(crate) progress: f64,
    /// Of this slot, as all that follows.
    pub(crate) dominant_share: f64,
    pub(crate) workers: u32,
    pub(crate) servers: u32,
    pub(crate) used: [u32; 2],
    /// Its first entry of [`ClusterState::shares`], or [`NONE`].
    first_share: u32,
}

/// Nodes and the training jobs on them, as far as a scheduler may know them.
///
/// Who runs a cluster keeps one: adds jobs as they arrive, says how far they are, and opens a slot when tasks may be placed anew.
/// The policy answers until it closes the slot; [`ClusterState::answer`] keeps the books. It is also read and written as JSON (by
/// serde). `docs/cluster-state.md` describes both.
///
/// ```
/// use sched_distill_training::{ClusterState, Decision, cluster::{Speed, TrainingCluster, job_types}, heuristic::Drf};
///
/// let (types, slot_s) = (job_types(), 1200.0);
/// let speed = Speed::formula(&types, slot_s, [4, 4], 0.0)?;
/// let mut state = ClusterState::new(TrainingCluster {
///     types, nodes: 3, node_slots: [8, 8], slot_s, max_workers: 4, max_servers: 4, speed: speed.into(), speed_error: 0.0,
/// })?;
/// state.add_job(5, "resnet-50", 40, 30.0)?;
/// state.set_progress(5, 12.5)?;
///
/// let mut placed = 0;
/// let mut question = state.open_slot(42)?;
/// while let Some(view) = question {
///     let decision = Drf.decide(&view);
///     placed += usize::from(decision != Decision::Close);
///     question = state.answer(decision)?;
/// }
/// // The job alone gets a worker and a server at a time, up to its maxima; two pairs fit on a node.
/// assert_eq!((placed, state.placements().len()), (4, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "json::RawState")]
pub struct ClusterState {
    pub(crate) cluster: Arc<TrainingCluster>,
    pub(crate) slot: u32,
    /// By number.
    pub(crate) jobs: Jobs<Job>,
    /// Numbers of the arrived, uncompleted jobs in order of arrival.
    pub(crate) live: Vec<u32>,
    nodes: Nodes,
    /// Slots of CPU and GPU in use on all nodes.
    pub(crate) used: [u32; 2],
    pub(crate) capacity: [u32; 2],
    /// Tasks of this slot in the order in which they were placed.
    pub(crate) placements: Vec<Placement>,
    /// Jobs' tasks by node and the place of the same job's next entry; kept only if speeds depend on placement.
    shares: Vec<(NodeShare, u32)>,
    /// Whether the slot is being filled, which in a simulator it always is.
    open: bool,
}

impl Arrives for Job {
    #[inline]
    fn arrival(&self) -> (u32, f64) {
        (self.id, self.arrival_slot.into())
    }
}

impl Job {
    /// A job of which nothing has happened.
    pub(crate) fn new(id: u32, kind: u8, arrival_slot: u32, epochs: f64) -> Self {
        Self {
            id,
            kind,
            arrival_slot,
            epochs,
            progress: 0.0,
            dominant_share: 0.0,
            workers: 0,
            servers: 0,
            used: [0; 2],
            first_share: NONE,
        }
    }
}

impl ClusterState {
    /// An empty cluster in slot 0 and the jobs that will arrive there.
    pub(crate) fn of(cluster: Arc<TrainingCluster>, jobs: Vec<Job>) -> Self {
        Self {
            slot: 0,
            jobs: jobs.into(),
            live: Vec::new(),
            nodes: Nodes::new(cluster.nodes),
            used: [0; 2],
            capacity: cluster.capacity(),
            placements: Vec::new(),
            shares: Vec::new(),
            open: true,
            cluster,
        }
    }

    /// The open question; `None` if no slot is open or no job is there.
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        (self.open && !self.live.is_empty()).then_some(View { state: self })
    }

    /// Tasks placed in this slot, in order.
    #[must_use]
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    pub(crate) fn job_type(&self, job: &Job) -> &JobType {
        &self.cluster.types[job.kind as usize]
    }

    fn node_free(&self, node: u32) -> [u32; 2] {
        let (all, used) = (self.cluster.node_slots, self.nodes.used(node));
        [all[0] - used[0], all[1] - used[1]]
    }

    /// The node that tasks go to unless a decision names another one.
    pub(crate) fn head(&self) -> u32 {
        self.nodes.head()
    }

    /// That node once these slots of one are taken.
    pub(crate) fn head_after(&self, node: u32, slots: [u32; 2]) -> u32 {
        self.nodes.head_after(node, slots)
    }

    /// Whether a job's maxima allow a task.
    #[inline]
    fn can_take(&self, job: &Job, task: Task) -> bool {
        let [workers, servers] = task.counts();
        job.workers + workers <= self.cluster.max_workers && job.servers + servers <= self.cluster.max_servers
    }

    /// Epochs per slot, without luck, if the job had these tasks (workers, parameter servers) on the head node besides its own.
    #[inline]
    pub(crate) fn speed_with(&self, job: &Job, more: [u32; 2]) -> f64 {
        if !self.cluster.speed.by_placement() {
            return self.cluster.speed.by_count(job.kind, job.workers + more[0], job.servers + more[1]);
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
        self.cluster.speed.by_nodes(job.kind, grown.chain(new))
    }

    /// A job's tasks by node; only if speeds depend on placement.
    fn shares_of(&self, job: &Job) -> impl Iterator<Item = NodeShare> + Clone {
        let mut next = job.first_share;
        std::iter::from_fn(move || {
            let (share, after) = self.shares.get(next as usize)?;
            next = *after;
            Some(*share)
        })
    }

    /// Places a task of the job at this index of `jobs`.
    pub(crate) fn place(&mut self, index: usize, task: Task, node: u32) {
        let ([workers, servers], asked) = (task.counts(), task.request(self.job_type(&self.jobs[index])));
        self.nodes.take(node, asked);
        self.used = [self.used[0] + asked[0], self.used[1] + asked[1]];
        let capacity = self.capacity;
        let job = &mut self.jobs[index];
        job.workers += workers;
        job.servers += servers;
        job.used = [job.used[0] + asked[0], job.used[1] + asked[1]];
        // Nodes without GPUs have none to share.
        let share = |resource: usize| f64::from(job.used[resource]) / f64::from(capacity[resource].max(1));
        job.dominant_share = share(0).max(share(1));
        let (job, tasks) = (job.id, [(workers, Task::Worker), (servers, Task::Server)]);
        self.placements.extend(tasks.iter().filter(|t| t.0 > 0).map(|&(_, task)| Placement { job, task, node }));
        if self.cluster.speed.by_placement() {
            self.add_share(index, NodeShare { node, workers, servers });
        }
    }

    /// Adds tasks to the job's entry of their node, or makes one in front of the others.
    fn add_share(&mut self, index: usize, new: NodeShare) {
        let first = self.jobs[index].first_share;
        let mut at = first;
        while let Some((share, next)) = self.shares.get_mut(at as usize) {
            if share.node == new.node {
                share.workers += new.workers;
                share.servers += new.servers;
                return;
            }
            at = *next;
        }
        self.jobs[index].first_share = self.shares.len() as u32;
        self.shares.push((new, first));
    }

    /// Takes all tasks of the slot away.
    pub(crate) fn release(&mut self) {
        self.nodes.clear();
        self.used = [0; 2];
        self.placements.clear();
        self.shares.clear();
        for place in 0..self.live.len() {
            let Some(index) = self.jobs.index(self.live[place]) else { continue };
            let job = &mut self.jobs[index];
            (job.workers, job.servers, job.used) = (0, 0, [0; 2]);
            (job.dominant_share, job.first_share) = (0.0, NONE);
        }
    }
}
