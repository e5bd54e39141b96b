//! The cluster as far as a scheduler may know it: the simulator keeps a state of it, anyone can make one, and both lend views.

mod build;
mod cache;
mod change;
mod claim;
mod decision;
mod job;
mod json;
mod place;
mod truth;
mod view;

pub use build::NewJob;
pub use change::Change;
pub use decision::Decision;
pub use job::JobView;
pub use sched_distill_core::state::{DecisionError, StateError};
pub use view::{Question, View};

use crate::Cluster;
use cache::Caches;
use claim::Claim;
use sched_distill_core::state::{Arrives, Jobs};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, sync::Arc};
pub(crate) use truth::Truth;

/// Where a job is. As JSON it is told of those alone that hold GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// It waits, with a claim or without.
    #[serde(skip)]
    Waiting,
    /// It was served at this moment, and will be placed when the questions are over.
    #[serde(skip)]
    Served,
    /// It holds GPUs while its container starts, data come, and it warms up.
    Loading,
    /// It holds GPUs and computes.
    Computing,
    /// It holds GPUs and writes its checkpoint.
    Saving,
    /// It is complete.
    #[serde(skip)]
    Gone,
}

impl Stage {
    /// Whether it holds GPUs of nodes.
    pub(crate) fn holds(self) -> bool {
        matches!(self, Self::Loading | Self::Computing | Self::Saving)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: u32,
    /// Place of its model in [`Cluster::models`].
    pub(crate) model: u16,
    pub(crate) arrival_ms: f64,
    pub(crate) gpus: u32,
    pub(crate) samples: f64,
    pub(crate) batch: u32,
    /// Epochs that its user declares.
    pub(crate) declared: f64,
    pub(crate) data_gb: f64,
    pub(crate) checkpoint_gb: f64,
    /// Predicted time of an epoch, before its counter has told and after; the second must not be shown before.
    pub(crate) epoch_ms: [f64; 2],
    pub(crate) stage: Stage,
    /// Whether it computes for the last time before it is suspended, or is being saved.
    pub(crate) condemned: bool,
    /// When its stage began.
    pub(crate) since_ms: f64,
    /// Epochs done when its stage began.
    pub(crate) done: f64,
    /// Epochs per ms while it computes: known to the simulator alone, which need not count epochs up then. 0 in a state made by hand.
    pub(crate) pace: f64,
    /// When the epoch began that it is in, in a state made by hand.
    pub(crate) began_ms: f64,
    /// Whole epochs when it last began to compute.
    pub(crate) resumed_at: f64,
    /// Time that it has computed and has held GPUs, before its present stage and since it got those that it has.
    pub(crate) computed_ms: f64,
    pub(crate) held_ms: f64,
    pub(crate) held_since_ms: f64,
    pub(crate) starts: u32,
    pub(crate) preemptions: u32,
    /// Nodes that hold its data.
    pub(crate) cached_on: u32,
    /// Its nodes, ascending, and GPUs that it holds on each.
    pub(crate) nodes: Vec<(u32, u32)>,
}

impl Arrives for Job {
    #[inline]
    fn arrival(&self) -> (u32, f64) {
        (self.id, self.arrival_ms)
    }
}

impl Job {
    /// Epochs done at a time.
    #[inline]
    pub(crate) fn done_at(&self, time_ms: f64) -> f64 {
        match self.stage {
            Stage::Computing => self.done + (time_ms - self.since_ms) * self.pace,
            _ => self.done,
        }
    }

    /// Whole epochs done at a time. Rounding does not keep an epoch that has just ended from counting.
    #[inline]
    pub(crate) fn whole_at(&self, time_ms: f64) -> f64 {
        (self.done_at(time_ms) + 1e-9).floor()
    }

    /// When the epoch began that it is in.
    #[inline]
    pub(crate) fn epoch_began_ms(&self, time_ms: f64) -> f64 {
        match self.pace > 0.0 {
            // Rounding puts it neither before the beginning nor after now.
            true => (self.since_ms + (self.whole_at(time_ms) - self.done) / self.pace).clamp(0.0, time_ms),
            false => self.began_ms,
        }
    }
}

/// Nodes and the jobs on them, as far as a scheduler may know them.
///
/// Who runs a cluster keeps one: adds jobs as they arrive, says what they do and how far they are, and asks when something has
/// happened. [`ClusterState::answer`] keeps the books. It is also read and written as JSON (by serde). `docs/preemption.md`
/// describes both.
///
/// ```
/// use sched_distill_preemption::{Cluster, ClusterState, Decision, Model, NewJob, heuristic::PickyMan};
///
/// let mut state = ClusterState::new(Cluster { nodes: 1, node_gpus: 4, ..Cluster::default() })?;
/// let job = NewJob { arrival_ms: 0.0, gpus: 4, samples: 5e4, batch: 64, epochs: 20.0, data_gb: 10.0, checkpoint_gb: 5.0 };
/// state.add_job(7, "model", job)?;
/// let seen = state.ask(0.0)?.expect("a job waits, and there is room");
/// let decision = PickyMan::default().decide(&seen);
/// assert_eq!(decision, Decision::Serve { job: 7 });
/// state.answer(decision)?;
/// assert_eq!(state.free(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "json::RawState")]
pub struct ClusterState {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) time_ms: f64,
    /// By number.
    pub(crate) jobs: Jobs<Job>,
    /// When the first and the last of those that have arrived did.
    pub(crate) arrivals_ms: [f64; 2],
    /// Numbers of the jobs that wait without a claim, and of those that hold GPUs, ascending.
    pub(crate) waiting: Vec<u32>,
    pub(crate) busy: Vec<u32>,
    /// Jobs served at this moment, in order.
    pub(crate) served: Vec<u32>,
    /// Jobs that are not asked about any more at this moment.
    pub(crate) passed: Vec<u32>,
    /// Claims in order, and the one for which jobs are being condemned.
    pub(crate) claims: Vec<Claim>,
    pub(crate) forming: Option<Claim>,
    /// Free GPUs by node (0 of those that are down), and their sum less what served jobs will take.
    pub(crate) node_free: Vec<u32>,
    pub(crate) node_up: Vec<bool>,
    pub(crate) free: u32,
    /// GPUs of the jobs that can be condemned.
    pub(crate) condemnable: u32,
    pub(crate) caches: Caches,
    /// Transfers under way.
    pub(crate) transfers: u32,
    /// Whether questions are open.
    pub(crate) open: bool,
    /// Jobs that were condemned or pardoned, and jobs that were placed, for the simulator to take note of.
    pub(crate) touched: Vec<u32>,
    pub(crate) begun: Vec<u32>,
    /// Lists for claims and for placing, kept to be used again.
    pub(crate) spare: Vec<Vec<u32>>,
    order: Vec<(Reverse<u32>, bool, u32)>,
}

impl ClusterState {
    /// An empty cluster at time 0 and the jobs that will arrive there.
    pub(crate) fn of(cluster: Arc<Cluster>, jobs: Vec<Job>) -> Self {
        let nodes = cluster.nodes as usize;
        Self {
            time_ms: 0.0,
            jobs: jobs.into(),
            arrivals_ms: [0.0; 2],
            waiting: Vec::new(),
            busy: Vec::new(),
            served: Vec::new(),
            passed: Vec::new(),
            claims: Vec::new(),
            forming: None,
            node_free: vec![cluster.node_gpus; nodes],
            node_up: vec![true; nodes],
            free: cluster.gpus(),
            condemnable: 0,
            caches: Caches::new(nodes),
            transfers: 0,
            open: false,
            touched: Vec::new(),
            begun: Vec::new(),
            spare: Vec::new(),
            order: Vec::new(),
            cluster,
        }
    }

    /// The open question, if one is.
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        let asks = self.open && (self.forming.is_some() || self.asks_anyhow() || self.anyone_can_be_served());
        asks.then_some(View { state: self, truth: Truth::default() })
    }

    /// The same for who closes questions as soon as nothing more is asked ([`ClusterState::close_if_done`]).
    #[cfg(feature = "simulate")]
    #[inline]
    pub(crate) fn open_question(&self) -> Option<View<'_>> {
        debug_assert_eq!(self.open, self.view().is_some());
        self.open.then_some(View { state: self, truth: Truth::default() })
    }

    /// Whether questions are asked as long as jobs are there.
    fn asks_anyhow(&self) -> bool {
        self.cluster.free && !(self.waiting.is_empty() && self.busy.is_empty() && self.served.is_empty())
    }

    fn anyone_can_be_served(&self) -> bool {
        let most = self.free.max(self.unreserved() + self.condemnable);
        self.waiting.iter().any(|&id| {
            self.jobs.index(id).is_some_and(|index| self.jobs[index].gpus <= most) && !self.passed.contains(&id)
        })
    }

    /// Free GPUs, less those that jobs served at this moment will take.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// A job has arrived, the last in `jobs` that has.
    pub(crate) fn arrive(&mut self, arrival_ms: f64) {
        if self.jobs.arrived_so_far() == 0 {
            self.arrivals_ms[0] = arrival_ms;
        }
        self.arrivals_ms[1] = arrival_ms;
        self.waiting.push(self.jobs[self.jobs.arrived as usize].id);
        self.jobs.arrived += 1;
    }

    /// Whether a job can be condemned.
    #[inline]
    pub(crate) fn can_be_condemned(&self, job: &Job) -> bool {
        let stage = job.stage == Stage::Computing || (self.cluster.free && job.stage == Stage::Loading);
        stage && !job.condemned
    }

    /// Puts a job into another stage from now on, or changes whether it is condemned, and keeps the books on it.
    pub(crate) fn enter(&mut self, index: usize, stage: Stage, condemned: bool) {
        let now = self.time_ms;
        if self.can_be_condemned(&self.jobs[index]) {
            self.condemnable -= self.jobs[index].gpus;
        }
        let job = &mut self.jobs[index];
        if job.stage != stage {
            if job.stage == Stage::Computing {
                job.computed_ms += now - job.since_ms;
            }
            match (job.stage.holds(), stage.holds()) {
                (false, true) => job.held_since_ms = now,
                (true, false) => job.held_ms += now - job.held_since_ms,
                _ => {}
            }
            if stage == Stage::Computing {
                job.resumed_at = job.whole_at(now);
                job.began_ms = now;
            }
            (job.stage, job.since_ms, job.pace) = (stage, now, 0.0);
        }
        job.condemned = condemned;
        if self.can_be_condemned(&self.jobs[index]) {
            self.condemnable += self.jobs[index].gpus;
        }
    }

    /// A job begins to compute: from now on at so many epochs per ms.
    pub(crate) fn compute(&mut self, index: usize, pace: f64) {
        self.enter(index, Stage::Computing, false);
        self.jobs[index].pace = pace;
    }

    /// A job has reached the end of the epoch at which it was condemned to stop; it has done so many.
    pub(crate) fn save(&mut self, index: usize, whole: f64) {
        self.enter(index, Stage::Saving, true);
        self.jobs[index].done = whole;
        self.jobs[index].preemptions = self.jobs[index].preemptions.saturating_add(1);
    }

    /// A job gives its GPUs back, having done so many epochs: it waits again, or is complete.
    pub(crate) fn release(&mut self, index: usize, stage: Stage, done: f64) {
        let id = self.jobs[index].id;
        self.enter(index, stage, false);
        self.jobs[index].done = done;
        self.give_back(index);
        remove(&mut self.busy, id);
        for claim in &mut self.claims {
            claim.condemned.retain(|&other| other != id);
        }
        match stage {
            Stage::Gone => self.forget_data(index),
            _ => insert(&mut self.waiting, id),
        }
    }

    /// A node fails: its jobs wait again, from their last whole epoch on. Tells which, ascending.
    pub(crate) fn fail(&mut self, node: u32, hit: &mut Vec<u32>) {
        hit.clear();
        for place in 0..self.busy.len() {
            let id = self.busy[place];
            if let Some(index) = self.jobs.index(id)
                && self.jobs[index].nodes.iter().any(|(on, _)| *on == node)
            {
                hit.push(id);
            }
        }
        for &id in hit.iter() {
            if let Some(index) = self.jobs.index(id) {
                let whole = self.jobs[index].whole_at(self.time_ms);
                self.release(index, Stage::Waiting, whole);
            }
        }
        self.forget_node(node);
        self.free -= std::mem::take(&mut self.node_free[node as usize]);
        self.node_up[node as usize] = false;
    }

    /// A failed node is up again.
    pub(crate) fn repair(&mut self, node: u32) {
        self.node_up[node as usize] = true;
        self.node_free[node as usize] = self.cluster.node_gpus;
        self.free += self.cluster.node_gpus;
    }

    /// Opens the questions of a moment.
    pub(crate) fn open(&mut self) {
        self.passed.clear();
        self.settle();
        self.open = true;
    }

    /// Carries out a legal decision; when nothing more is asked, jobs that were served begin.
    pub(crate) fn apply(&mut self, decision: Decision) {
        match decision {
            Decision::Serve { job } => self.serve_next(job),
            Decision::Condemn { job } => self.condemn(job),
            Decision::Wait if self.forming.is_some() => self.drop_claim(),
            Decision::Wait => self.open = false,
        }
        self.close_if_done();
    }

    /// Ends the questions of a moment at which nothing more is asked.
    pub(crate) fn close_if_done(&mut self) {
        if self.view().is_none() {
            self.open = false;
            self.begin_served();
        }
    }
}

/// Adds a number to a list that ascends.
pub(crate) fn insert(list: &mut Vec<u32>, id: u32) {
    if let Err(place) = list.binary_search(&id) {
        list.insert(place, id);
    }
}

/// Takes a number out of a list that ascends.
pub(crate) fn remove(list: &mut Vec<u32>, id: u32) {
    if let Ok(place) = list.binary_search(&id) {
        list.remove(place);
    }
}
