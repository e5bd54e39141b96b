//! The cluster as far as a scheduler may know it: the simulator keeps a state of it, anyone can make one, and both lend views.

mod build;
mod change;
mod decision;
mod job;
mod json;
mod view;

use crate::{Cluster, Estimate};
pub use build::NewJob;
pub use change::Change;
pub use decision::Decision;
pub use job::{Class, JobView};
use sched_distill_core::state::{Arrives, Jobs};
pub use sched_distill_core::state::{DecisionError, StateError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
pub use view::{Question, View};

/// Predicted time to spare, as a share of the time still needed, from which on a check finds a job with time to spare.
pub const TO_SPARE: f64 = 0.15;

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    /// It waits.
    Waiting,
    /// It holds cores of a node.
    Running(Held),
    /// It is complete or was refused.
    Gone,
}

/// What a running job holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    pub(crate) node: u32,
    pub(crate) cores: u32,
    /// Whether the program uses all of them, rather than as many as it was submitted with.
    #[serde(default)]
    pub(crate) elastic: bool,
    /// From when on it computes: after a restart it stands still until then.
    #[serde(default)]
    pub(crate) from_ms: f64,
    /// When it got these cores.
    #[serde(default)]
    pub(crate) since_ms: f64,
    /// Checks in a row that found it with time to spare.
    #[serde(default)]
    pub(crate) spare_checks: u32,
    /// Iterations per ms: known to the simulator alone, which need not count iterations up then. 0 in a state made by hand.
    #[serde(skip)]
    pub(crate) pace: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) id: u32,
    /// Place of its model in [`Cluster::models`].
    pub(crate) model: u16,
    pub(crate) arrival_ms: f64,
    /// As declared.
    pub(crate) deadline_ms: f64,
    /// As declared.
    pub(crate) iterations: f64,
    pub(crate) requested: u32,
    pub(crate) threads: u32,
    pub(crate) largest: u32,
    pub(crate) class: Class,
    pub(crate) stage: Stage,
    /// Iterations done when it got the cores that it has.
    pub(crate) done: f64,
    pub(crate) estimate: Estimate,
}

impl Arrives for Job {
    #[inline]
    fn arrival(&self) -> (u32, f64) {
        (self.id, self.arrival_ms)
    }
}

impl Job {
    /// Iterations done at a moment.
    #[inline]
    pub(crate) fn done_at(&self, time_ms: f64) -> f64 {
        match self.stage {
            Stage::Running(held) => self.done + (time_ms - held.from_ms).max(0.0) * held.pace,
            _ => self.done,
        }
    }

    /// Whether so many cores would be another number than it holds.
    #[cfg(feature = "simulate")]
    pub(crate) fn is_resized(&self, cores: u32) -> bool {
        matches!(self.stage, Stage::Running(held) if held.cores != cores)
    }

    /// Cores that the program uses of so many.
    #[inline]
    pub(crate) fn used(&self, cores: u32, elastic: bool) -> u32 {
        cores.min(if elastic { self.largest } else { self.threads })
    }
}

/// Nodes and the jobs on them, as far as a scheduler may know them.
///
/// Who runs a cluster keeps one: adds jobs as they arrive, says how far they are and how long their iterations took, and asks when
/// something has happened. [`ClusterState::answer`] keeps the books. It is also read and written as JSON (by serde).
/// `docs/deadlines.md` describes both.
///
/// ```
/// use sched_distill_deadlines::{Cluster, ClusterState, Decision, Estimate, Model, NewJob, heuristic::Qos};
///
/// let earlier = Estimate::from_jobs(&[vec![(1, 4000.0), (4, 1100.0)], vec![(2, 2100.0), (8, 620.0)]], 0.05);
/// let model = Model { name: "resnet".into(), earlier, cores_used: vec![] };
/// let mut state = ClusterState::new(Cluster {
///     nodes: 1, node_cores: 32, check_ms: 6e4, restart_ms: 1e4, window: 20, noise: 0.05, may_refuse: false, models: vec![model],
/// })?;
/// let job = NewJob { arrival_ms: 0.0, deadline_ms: 6e5, iterations: 1000.0, requested: 6, threads: 4, largest: 16 };
/// state.add_job(7, "resnet", job)?;
/// let seen = state.ask(0.0)?.expect("a job waits, and cores are free");
/// // A thousand iterations in ten minutes: 600 ms each, 8 % kept in reserve.
/// let decision = Qos::default().decide(&seen);
/// assert_eq!(decision, Decision::Start { job: 7, cores: 10, elastic: true });
/// state.answer(decision)?;
/// assert_eq!(state.free(), 22);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "json::RawState")]
pub struct ClusterState {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) time_ms: f64,
    /// By number.
    pub(crate) jobs: Jobs<Job>,
    /// Numbers of waiting jobs in order of arrival: those with a deadline to keep, and best effort.
    pub(crate) waiting: Vec<u32>,
    pub(crate) best_effort: Vec<u32>,
    /// Numbers of running jobs, ascending.
    pub(crate) running: Vec<u32>,
    /// Free cores by node, their sum, and the most on one node.
    pub(crate) node_free: Vec<u32>,
    pub(crate) free: u32,
    pub(crate) most_free: u32,
    /// Running jobs that are still to be asked about, last first; and whether a check asks.
    pub(crate) to_ask: Vec<u32>,
    pub(crate) is_check: bool,
    /// Whether a waiting job may be started now.
    pub(crate) starts: bool,
}

impl ClusterState {
    /// An empty cluster at time 0 and the jobs that will arrive there.
    pub(crate) fn of(cluster: Arc<Cluster>, jobs: Vec<Job>) -> Self {
        Self {
            time_ms: 0.0,
            jobs: jobs.into(),
            waiting: Vec::new(),
            best_effort: Vec::new(),
            running: Vec::new(),
            node_free: vec![cluster.node_cores; cluster.nodes as usize],
            free: cluster.cores(),
            most_free: cluster.node_cores,
            to_ask: Vec::new(),
            is_check: false,
            starts: false,
            cluster,
        }
    }

    /// The open question, if one is.
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        let starts = self.starts && !self.waiting.is_empty() && self.free > 0;
        (!self.to_ask.is_empty() || starts).then_some(View { state: self })
    }

    /// Free cores on all nodes.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// The node with least free cores of those that have so many, of the lowest number among equals.
    pub(crate) fn node_for(&self, cores: u32) -> Option<u32> {
        let fits = self.node_free.iter().zip(0..).filter(|(free, _)| **free >= cores);
        fits.min_by_key(|(free, _)| **free).map(|(_, node)| node)
    }

    /// Free cores of the node that has most, if a job were given so many cores; `held` is what it has.
    pub(crate) fn most_free_with(&self, held: Option<&Held>, cores: u32) -> u32 {
        let kept = held.map_or(0, |held| held.cores);
        let own = held.map(|held| held.node).filter(|&node| self.node_free[node as usize] + kept >= cores);
        let to = own.or_else(|| self.node_for(cores));
        let free = |(node, free): (u32, &u32)| {
            let given_back = if held.is_some_and(|held| held.node == node) { kept } else { 0 };
            (free + given_back).saturating_sub(if to == Some(node) { cores } else { 0 })
        };
        (0..).zip(&self.node_free).map(free).max().unwrap_or(0)
    }

    /// Most cores that a running job could hold.
    pub(crate) fn room_of(&self, held: &Held) -> u32 {
        self.most_free.max(self.node_free[held.node as usize] + held.cores)
    }

    /// Takes cores of a node.
    pub(crate) fn take(&mut self, node: u32, cores: u32) {
        self.node_free[node as usize] -= cores;
        self.free -= cores;
        self.most_free = self.node_free.iter().copied().max().unwrap_or(0);
    }

    /// Gives a running job's cores back.
    pub(crate) fn give_back(&mut self, held: &Held) {
        let free = &mut self.node_free[held.node as usize];
        *free += held.cores;
        self.most_free = self.most_free.max(*free);
        self.free += held.cores;
    }

    /// Lets a waiting job begin.
    pub(crate) fn begin(&mut self, index: usize, cores: u32, elastic: bool) {
        let Some(node) = self.node_for(cores) else { return };
        self.take(node, cores);
        let now = self.time_ms;
        let job = &mut self.jobs[index];
        job.stage =
            Stage::Running(Held { node, cores, elastic, from_ms: now, since_ms: now, spare_checks: 0, pace: 0.0 });
        let (id, class) = (job.id, job.class);
        let queue = if class == Class::Deadline { &mut self.waiting } else { &mut self.best_effort };
        queue.retain(|&other| other != id);
        let place = self.running.partition_point(|&other| other < id);
        self.running.insert(place, id);
    }

    /// Gives a running job another number of cores, on its own node if that has room.
    pub(crate) fn resize(&mut self, index: usize, cores: u32) {
        let (now, restart_ms) = (self.time_ms, self.cluster.restart_ms);
        let Stage::Running(held) = self.jobs[index].stage else { return };
        if held.cores == cores {
            return;
        }
        self.give_back(&held);
        let own = self.node_free[held.node as usize] >= cores;
        let Some(node) = (if own { Some(held.node) } else { self.node_for(cores) }) else {
            // It was checked that there is room.
            self.take(held.node, held.cores);
            return;
        };
        self.take(node, cores);
        let job = &mut self.jobs[index];
        job.done = job.done_at(now);
        job.stage = Stage::Running(Held {
            node,
            cores,
            elastic: true,
            from_ms: now + restart_ms,
            since_ms: now,
            spare_checks: 0,
            pace: 0.0,
        });
    }

    /// Takes a job out, complete or refused.
    pub(crate) fn end(&mut self, index: usize) {
        let (id, now) = (self.jobs[index].id, self.time_ms);
        let others = |queue: &mut Vec<u32>| queue.retain(|&other| other != id);
        match self.jobs[index].stage {
            Stage::Running(held) => {
                self.give_back(&held);
                others(&mut self.running);
                others(&mut self.to_ask);
            }
            _ => {
                others(&mut self.waiting);
                others(&mut self.best_effort);
            }
        }
        let job = &mut self.jobs[index];
        job.done = job.done_at(now);
        job.stage = Stage::Gone;
    }

    /// Carries out a legal decision; what has begun or was resized is told by its place in `jobs`.
    pub(crate) fn apply(&mut self, decision: Decision) -> Option<usize> {
        let index = decision.job().and_then(|job| self.jobs.index(job));
        match (decision, index) {
            (Decision::Start { cores, elastic, .. }, Some(index)) => {
                self.begin(index, cores, elastic);
                Some(index)
            }
            (Decision::Resize { cores, .. }, Some(index)) => {
                self.to_ask.pop();
                let before = self.jobs[index].stage;
                self.resize(index, cores);
                (self.jobs[index].stage != before).then_some(index)
            }
            (Decision::BestEffort { job }, Some(index)) => {
                self.jobs[index].class = Class::BestEffort;
                self.waiting.retain(|&other| other != job);
                let place = self.best_effort.partition_point(|&other| other < job);
                self.best_effort.insert(place, job);
                None
            }
            (Decision::Refuse { .. }, Some(index)) => {
                self.end(index);
                None
            }
            _ => {
                self.starts = false;
                None
            }
        }
    }

    /// The next best-effort job that begins by itself, as submitted on as many cores as its program uses: the oldest one that fits, if no
    /// other job waits or nothing runs.
    pub(crate) fn next_best_effort(&self) -> Option<(usize, u32)> {
        if !self.waiting.is_empty() && !self.running.is_empty() {
            return None;
        }
        self.best_effort.iter().find_map(|&id| {
            let index = self.jobs.index(id)?;
            let cores = self.jobs[index].threads.min(self.cluster.node_cores);
            (cores <= self.most_free).then_some((index, cores))
        })
    }

    /// Brings the number of checks in a row up to date that found each running job with time to spare.
    pub(crate) fn check_running(&mut self) {
        for place in 0..self.running.len() {
            let Some(index) = self.jobs.index(self.running[place]) else { continue };
            let to_spare = JobView { state: self, job: &self.jobs[index] }.is_ahead();
            if let Stage::Running(held) = &mut self.jobs[index].stage {
                held.spare_checks = if to_spare { held.spare_checks.saturating_add(1) } else { 0 };
            }
        }
    }

    /// Opens the questions of a moment: about these running jobs, and then whether a waiting one is to be started.
    pub(crate) fn open(&mut self, asked: impl DoubleEndedIterator<Item = u32>) {
        self.to_ask.clear();
        self.to_ask.extend(asked.rev());
        self.is_check = false;
        self.starts = true;
    }

    /// Opens the questions of a check: about the running jobs that have computed for the time between two checks since they got their
    /// cores. Without that, who resizes a job at every check could keep it from computing for ever.
    pub(crate) fn open_check(&mut self) {
        self.open(std::iter::empty());
        self.is_check = true;
        let since_ms = self.time_ms - self.cluster.check_ms;
        for place in (0..self.running.len()).rev() {
            let job = self.running[place];
            let Some(index) = self.jobs.index(job) else { continue };
            if matches!(self.jobs[index].stage, Stage::Running(held) if held.from_ms <= since_ms) {
                self.to_ask.push(job);
            }
        }
    }
}
