//! A job at a question: what was declared of it, what it holds, and what is predicted.

use super::{ClusterState, Job, Stage};

/// An arrived job. Times are in ms, data in GB.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    pub(crate) state: &'a ClusterState,
    pub(crate) job: &'a Job,
}

impl<'a> JobView<'a> {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.job.id
    }

    /// Place of its model in [`Cluster::models`](crate::Cluster::models).
    #[must_use]
    pub fn model(&self) -> u16 {
        self.job.model
    }

    /// When it arrived.
    #[must_use]
    pub fn arrival_ms(&self) -> f64 {
        self.job.arrival_ms
    }

    /// Time since it arrived.
    #[must_use]
    pub fn age_ms(&self) -> f64 {
        self.state.time_ms - self.job.arrival_ms
    }

    /// GPUs that it runs on.
    #[must_use]
    pub fn gpus(&self) -> u32 {
        self.job.gpus
    }

    /// Epochs that its user declares.
    #[must_use]
    pub fn declared(&self) -> f64 {
        self.job.declared
    }

    /// Data that it loads, GB.
    #[must_use]
    pub fn data_gb(&self) -> f64 {
        self.job.data_gb
    }

    /// Size of its checkpoint, GB.
    #[must_use]
    pub fn checkpoint_gb(&self) -> f64 {
        self.job.checkpoint_gb
    }

    /// Whether it is complete.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.job.stage == Stage::Gone
    }

    /// Whether it waits for GPUs; a job that was served at this moment does not.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.job.stage == Stage::Waiting
    }

    /// Whether it holds GPUs and computes.
    #[must_use]
    pub fn is_computing(&self) -> bool {
        self.job.stage == Stage::Computing
    }

    /// Whether it is to be suspended, or being saved.
    #[must_use]
    pub fn is_condemned(&self) -> bool {
        self.job.condemned
    }

    /// Whether it can be condemned.
    #[must_use]
    pub fn can_be_condemned(&self) -> bool {
        self.state.can_be_condemned(self.job)
    }

    /// Nodes that it is on, ascending, and GPUs that it holds on each.
    #[must_use]
    pub fn nodes(&self) -> &'a [(u32, u32)] {
        &self.job.nodes
    }

    /// Whether it is on more nodes than necessary.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        self.job.nodes.len() as u32 > self.state.cluster.fewest_nodes(self.job.gpus)
    }

    /// Whole epochs that it has done.
    #[must_use]
    pub fn whole(&self) -> f64 {
        self.job.whole_at(self.state.time_ms)
    }

    /// Whole epochs that it has done since it last began to compute; 0 if it does not.
    #[must_use]
    pub fn epochs_since_start(&self) -> f64 {
        if self.is_computing() { self.whole() - self.job.resumed_at } else { 0.0 }
    }

    /// Whether its counter has told how long epochs take.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.whole() >= f64::from(self.state.cluster.observe)
    }

    /// Predicted time of an epoch where it runs, or packed if it waits.
    #[must_use]
    pub fn epoch_ms(&self) -> f64 {
        self.packed_epoch_ms() * self.state.cluster.slowdown(self.job.gpus, self.job.nodes.len())
    }

    /// Predicted time of an epoch on as few nodes as it can be on.
    #[must_use]
    pub fn packed_epoch_ms(&self) -> f64 {
        self.job.epoch_ms[usize::from(self.is_observed())]
    }

    /// Time that it has spent in the epoch it is in; 0 of a job that does not compute.
    #[must_use]
    pub fn in_epoch_ms(&self) -> f64 {
        match self.is_computing() {
            true => (self.state.time_ms - self.job.epoch_began_ms(self.state.time_ms)).max(0.0),
            false => 0.0,
        }
    }

    /// Predicted time until the epoch's end of a job that computes; 0 of another.
    #[must_use]
    pub fn to_epoch_end_ms(&self) -> f64 {
        if self.is_computing() { (self.epoch_ms() - self.in_epoch_ms()).max(0.0) } else { 0.0 }
    }

    /// Predicted time of computing that is left.
    #[must_use]
    pub fn left_ms(&self) -> f64 {
        let left = self.job.declared - self.whole();
        match left > 0.0 {
            true => ((left - 1.0) * self.epoch_ms() + (self.epoch_ms() - self.in_epoch_ms()).max(0.0)).max(0.0),
            false => 0.0,
        }
    }

    /// Predicted time of computing that is left after the epoch it is in.
    #[must_use]
    pub fn left_after_epoch_ms(&self) -> f64 {
        (self.job.declared - self.whole() - 1.0).max(0.0) * self.epoch_ms()
    }

    /// Whether enough nodes hold its data.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.job.cached_on >= self.state.cluster.fewest_nodes(self.job.gpus)
    }

    /// Share of its data that it will have to load, as far as can be told.
    fn missing_share(&self) -> f64 {
        match self.is_waiting() && self.job.cached_on > 0 && self.job.gpus <= self.state.free {
            true => self.state.missing_share(self.job.id, self.job.gpus),
            false => f64::from(u8::from(!self.is_cached())),
        }
    }

    /// Predicted time to write its checkpoint, ms.
    #[must_use]
    pub fn saving_ms(&self) -> f64 {
        if self.state.cluster.free { 0.0 } else { self.job.checkpoint_gb / self.rate() }
    }

    /// Predicted time until it has given its GPUs back, ms, if it is condemned: until its epoch's end, and until it is saved.
    #[must_use]
    pub fn to_suspended_ms(&self) -> f64 {
        let saved_ms = if self.job.stage == Stage::Saving { self.state.time_ms - self.job.since_ms } else { 0.0 };
        self.to_epoch_end_ms() + (self.saving_ms() - saved_ms).max(0.0)
    }

    /// Predicted time to load it, ms: where it would be placed now if it waits and fits; otherwise, and again after it was suspended if it
    /// computes, without its data if enough nodes hold them.
    #[must_use]
    pub fn loading_ms(&self) -> f64 {
        let model = &self.state.cluster.models[self.job.model as usize];
        let checkpoint = if self.whole() >= 1.0 || self.is_computing() { self.job.checkpoint_gb } else { 0.0 };
        let transfer = match self.state.cluster.free {
            true => 0.0,
            false => (checkpoint + self.job.data_gb * self.missing_share()) / self.rate(),
        };
        model.container_ms + model.warm_ms + transfer
    }

    fn rate(&self) -> f64 {
        self.state.cluster.rate(self.state.transfers.saturating_add(1))
    }

    /// GPU time that it has had so far, ms.
    #[must_use]
    pub fn service_ms(&self) -> f64 {
        let now = if self.job.stage.holds() { self.state.time_ms - self.job.held_since_ms } else { 0.0 };
        f64::from(self.job.gpus) * (self.job.held_ms + now)
    }

    /// Time for which it has waited so far.
    #[must_use]
    pub fn waited_ms(&self) -> f64 {
        let now = if self.is_computing() { self.state.time_ms - self.job.since_ms } else { 0.0 };
        (self.age_ms() - self.job.computed_ms - now).max(0.0)
    }

    /// How often it was suspended.
    #[must_use]
    pub fn preemptions(&self) -> u32 {
        self.job.preemptions
    }
}
