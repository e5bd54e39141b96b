//! What a scheduler may see: the cluster at one question. Nothing here tells the future, nor the luck of a slot.

use super::state::{JobState, Placement, Simulator, Task};
use crate::workload::{JobType, TrainingCluster, TrainingJob};

/// The cluster at an open question. Borrows from the simulator; copying it is free.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub(super) sim: &'a Simulator,
}

impl<'a> Observation<'a> {
    /// The slot that is being filled, from 0.
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.sim.slot
    }

    /// Start of the slot, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        f64::from(self.sim.slot) * self.sim.cluster.slot_ms()
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &'a TrainingCluster {
        &self.sim.cluster
    }

    /// Number of jobs that have arrived so far.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.sim.arrived
    }

    /// Numbers of the arrived, uncompleted jobs in order of arrival; never empty.
    #[must_use]
    pub fn live_jobs(&self) -> &'a [u32] {
        &self.sim.live
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

    /// The node with the fewest slots in use, of the lowest number among equals.
    #[must_use]
    pub fn head(&self) -> u32 {
        self.sim.nodes.head()
    }

    /// Free slots of CPU and GPU on a node.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    pub fn node_free(&self, node: u32) -> [u32; 2] {
        self.sim.node_free(node)
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
        self.sim.used
    }

    /// Slots of CPU and GPU free on all nodes.
    #[must_use]
    pub fn free(&self) -> [u32; 2] {
        [self.sim.capacity[0] - self.sim.used[0], self.sim.capacity[1] - self.sim.used[1]]
    }

    /// Tasks placed in this slot, in order.
    #[must_use]
    pub fn placements(&self) -> &'a [Placement] {
        &self.sim.placements
    }

    /// A job's tasks placed in this slot, in order. This looks through all tasks.
    pub fn tasks_on(&self, job: u32) -> impl Iterator<Item = Placement> + use<'a> {
        self.sim.placements.iter().filter(move |p| p.job == job).copied()
    }
}

/// One job.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    sim: &'a Simulator,
    id: u32,
}

impl<'a> JobView<'a> {
    fn job(&self) -> &'a TrainingJob {
        &self.sim.jobs[self.id as usize]
    }

    fn state(&self) -> &'a JobState {
        &self.sim.states[self.id as usize]
    }

    /// Job number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Place of its type in [`TrainingCluster::types`].
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.job().kind
    }

    /// Its type.
    #[must_use]
    pub fn job_type(&self) -> &'a JobType {
        self.sim.job_type(self.id)
    }

    /// Slot at whose start it arrived.
    #[must_use]
    pub fn arrival_slot(&self) -> u32 {
        self.job().arrival_slot
    }

    /// Slots since its arrival.
    #[must_use]
    pub fn stay(&self) -> u32 {
        self.sim.slot - self.job().arrival_slot
    }

    /// Epochs that it is believed to take.
    #[must_use]
    pub fn epochs(&self) -> f64 {
        self.job().epochs
    }

    /// Epochs done before this slot.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.state().progress
    }

    /// Epochs left as far as is known; negative if the job takes longer than believed.
    #[must_use]
    pub fn remaining_epochs(&self) -> f64 {
        self.job().epochs - self.state().progress
    }

    /// Share of the believed epochs that is left; negative if the job takes longer than believed.
    #[must_use]
    pub fn remaining_share(&self) -> f64 {
        1.0 - self.state().progress / self.job().epochs
    }

    /// Workers in this slot.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.state().workers
    }

    /// Parameter servers in this slot.
    #[must_use]
    pub fn servers(&self) -> u32 {
        self.state().servers
    }

    /// Slots of CPU and GPU in use by the job.
    #[must_use]
    pub fn used(&self) -> [u32; 2] {
        self.state().used
    }

    /// The larger of its shares of the cluster's CPU and GPU slots.
    #[must_use]
    pub fn dominant_share(&self) -> f64 {
        self.state().dominant_share
    }

    /// Slots of CPU and GPU that a task takes.
    #[must_use]
    pub fn request(&self, task: Task) -> [u32; 2] {
        task.request(self.job_type())
    }

    /// Whether the job may have this task besides those it has. Room is not looked at, see [`Observation::fits`].
    #[must_use]
    pub fn can_take(&self, task: Task) -> bool {
        self.sim.can_take(self.id, task)
    }

    /// Epochs per slot with the tasks it has, without luck.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.sim.speed_with(self.id, [0; 2])
    }

    /// Epochs per slot if this task were added on the head node, without luck. It need not fit, and it may be one beyond the
    /// maxima.
    #[must_use]
    pub fn speed_with(&self, task: Task) -> f64 {
        self.sim.speed_with(self.id, task.counts())
    }

    /// The most epochs per slot that it could do in this slot if it got this task and whatever more it wants, see
    /// [`crate::workload::Speed::in_reach`]; 0 beyond the maxima.
    #[must_use]
    pub fn speed_in_reach(&self, task: Task) -> f64 {
        let [workers, servers] = task.counts();
        self.sim.cluster.speed.in_reach(self.kind(), self.workers() + workers, self.servers() + servers)
    }

    /// The most epochs per slot that the job can do, see [`crate::workload::Speed::best`].
    #[must_use]
    pub fn best_speed(&self) -> f64 {
        self.sim.cluster.speed.best(self.job().kind)
    }
}
