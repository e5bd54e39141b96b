//! The simulator's state, and the interface to whoever decides.

use crate::{
    Batch, Server,
    state::{ServerState, Task},
    workload::{self, ServingTask},
};
use sched_distill_core::simulation::{Bound, IdleSpells, JobEnd, Timeline};
use std::sync::Arc;

/// A batch that ran or runs, for tests.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchRun {
    /// Its accelerator.
    pub accelerator: u32,
    /// Its application.
    pub application: u32,
    /// Numbers of its tasks in the order in which they joined it.
    pub tasks: Vec<u32>,
    /// When it began and ends, ms.
    pub start_ms: f64,
    /// When it ends, ms.
    pub end_ms: f64,
}

/// What happened to a task, and what it takes alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskRun {
    /// Its real size.
    pub(super) size: u32,
    pub(super) solo_ms: f64,
    pub(super) end: JobEnd,
}

/// One episode. It ends when all tasks are answered or refused, when nothing need happen any more, or when far more has happened than
/// tasks need ([`Bound`]).
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) state: ServerState,
    pub(super) runs: Vec<TaskRun>,
    /// Arrivals count as those of the episode until then, ms.
    pub(super) horizon_ms: f64,
    /// The age at which a task costs twice as much per ms as at first.
    pub(super) tail_ms: f64,
    /// Tasks that have arrived.
    pub(super) arrived: u32,
    /// When the batch on each accelerator really ends; infinite if it is idle.
    pub(super) ends_ms: Vec<f64>,
    /// Until when somebody waits.
    pub(super) until_ms: f64,
    /// Completed tasks in the order of their completion.
    pub(super) done: Vec<u32>,
    /// Accelerator time up to the horizon, by application, ms.
    pub(super) busy_ms: Vec<f64>,
    /// Sizes that ran, added up, and with what they were padded to.
    pub(super) units: [f64; 2],
    pub(super) ended: bool,
    pub(super) events: u64,
    pub(super) bound: Bound,
    pub(super) decisions: u64,
    pub(super) idle: IdleSpells,
    pub(super) timeline: Option<Timeline>,
    pub(super) batches: Option<Vec<BatchRun>>,
}

/// The size that schedulers know: what is declared, or what memory holds if that is less.
fn known_size(server: &Server, task: &ServingTask) -> u32 {
    task.declared_size.min(server.applications[task.application as usize].most_size())
}

impl Simulator {
    /// An episode before its first question: tasks in order of arrival at a server, and until when they arrive, ms.
    #[must_use]
    pub fn new(server: Arc<Server>, tasks: Vec<ServingTask>, horizon_ms: f64) -> Self {
        let run = |task: &ServingTask| TaskRun {
            size: task.size,
            solo_ms: server.applications[task.application as usize].solo_ms(task.size),
            end: JobEnd::Unfinished,
        };
        let runs: Vec<TaskRun> = tasks.iter().map(run).collect();
        let known = (0..)
            .zip(&tasks)
            .map(|(id, task)| Task::new(id, task.application, known_size(&server, task), task.arrival_ms))
            .collect();
        let mut sim = Self {
            horizon_ms,
            tail_ms: f64::INFINITY,
            arrived: 0,
            ends_ms: vec![f64::INFINITY; server.accelerators as usize],
            until_ms: f64::INFINITY,
            done: Vec::with_capacity(tasks.len()),
            busy_ms: vec![0.0; server.applications.len()],
            units: [0.0; 2],
            ended: false,
            events: 0,
            bound: Bound::of(workload::events(tasks.len() as f64)),
            decisions: 0,
            idle: IdleSpells::default(),
            timeline: None,
            batches: None,
            state: ServerState::of(server.clone(), known),
            runs,
        };
        // As many as a batch has at most.
        let most = server.applications.iter().map(|app| app.most as usize).max().unwrap_or(0);
        sim.state.forming.places.reserve(most);
        sim.state.running.iter_mut().for_each(|running| running.tasks.reserve(most));
        sim.pass();
        sim
    }

    /// Makes tasks cost more as they grow older, per ms 1 + age ÷ `tail_ms` times as much as at first; without, the age does not matter.
    #[must_use]
    pub fn with_tail(mut self, tail_ms: f64) -> Self {
        self.tail_ms = tail_ms;
        self
    }

    /// The same moment with a task that has not arrived declared as in `tasks`.
    pub(crate) fn described(&self, tasks: &[ServingTask], task: u32) -> Self {
        debug_assert!(task >= self.arrived, "task {task} is there already");
        let mut episode = self.clone();
        episode.state.tasks[task as usize].size = known_size(&self.state.server, &tasks[task as usize]);
        episode
    }

    /// Keeps the batches of the rest of the episode for [`Simulator::batches`].
    pub fn record_batches(&mut self) {
        self.batches.get_or_insert_default();
    }

    /// Batches in the order in which they began, if [`Simulator::record_batches`] was called.
    #[must_use]
    pub fn batches(&self) -> &[BatchRun] {
        self.batches.as_deref().unwrap_or_default()
    }

    /// A batch as it really is.
    pub(super) fn real(&self, tasks: &[u32]) -> Batch {
        tasks.iter().fold(Batch::default(), |batch, &task| batch.with(self.runs[task as usize].size))
    }
}
