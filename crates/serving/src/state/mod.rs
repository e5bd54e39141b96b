//! The server as far as a scheduler may know it: the simulator keeps a state of it, anyone can make one, and both lend views.

mod best;
mod build;
mod change;
mod decision;
mod json;
mod queue;
mod view;

pub use best::{BatchView, Extension};
pub use build::NewTask;
pub use change::Change;
pub use decision::Decision;
pub use sched_distill_core::state::{DecisionError, StateError};
pub use view::{GroupView, Question, QueueView, RunningView, TaskView, View};

use crate::{Batch, Server};
use queue::{Group, Queue};
use serde::Deserialize;
use std::sync::Arc;

/// Stands for no task where the place of one is expected.
pub(crate) const NONE: u32 = u32::MAX;

/// A task, and its neighbours in lists.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: u32,
    pub(crate) application: u32,
    /// As declared.
    pub(crate) size: u32,
    pub(crate) arrival_ms: f64,
    /// Batches of its application that had begun when it arrived.
    pub(crate) begun_before: u64,
    /// The tasks before and after it in the queue of its application, and after it among those of its size.
    before: u32,
    after: u32,
    after_of_size: u32,
}

impl Task {
    pub(crate) fn new(id: u32, application: u32, size: u32, arrival_ms: f64) -> Self {
        let (before, after, after_of_size) = (NONE, NONE, NONE);
        Self { id, application, size, arrival_ms, begun_before: 0, before, after, after_of_size }
    }
}

/// A number that counts half after a half-life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Decaying {
    pub(crate) value: f64,
    pub(crate) at_ms: f64,
}

impl Decaying {
    /// What is left of it.
    #[inline]
    pub(crate) fn at(self, time_ms: f64, half_life_ms: f64) -> f64 {
        match self.value == 0.0 {
            true => 0.0,
            false => self.value * ((self.at_ms - time_ms) / half_life_ms).exp2(),
        }
    }

    pub(crate) fn add(&mut self, more: f64, time_ms: f64, half_life_ms: f64) {
        *self = Self { value: self.at(time_ms, half_life_ms) + more, at_ms: time_ms };
    }
}

/// A batch on its accelerator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    pub(crate) busy: bool,
    pub(crate) application: u32,
    pub(crate) batch: Batch,
    pub(crate) started_ms: f64,
    /// When it is predicted to end.
    pub(crate) ends_ms: f64,
    /// Numbers of its tasks in the order in which they joined it.
    pub(crate) tasks: Vec<u32>,
}

/// The batch that is being formed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forming {
    pub(crate) application: u32,
    pub(crate) batch: Batch,
    /// Places of its tasks.
    pub(crate) places: Vec<u32>,
    /// By how much their slowdowns grow, added up, 1/ms, and the time that they would take in full batches of equal size, ms.
    pub(crate) pace: f64,
    pub(crate) full_ms: f64,
    /// When the oldest of them arrived, ms.
    pub(crate) oldest_ms: f64,
}

impl Forming {
    /// A batch of an application without tasks yet.
    fn start(&mut self, application: u32) {
        (self.application, self.batch) = (application, Batch::default());
        (self.pace, self.full_ms, self.oldest_ms) = (0.0, 0.0, f64::INFINITY);
        self.places.clear();
    }

    /// A task joins.
    fn add(&mut self, place: u32, group: Group) {
        self.batch = self.batch.with(group.size);
        self.places.push(place);
        self.pace += group.pace;
        self.full_ms += group.full_ms;
        self.oldest_ms = self.oldest_ms.min(group.oldest_ms);
    }
}

/// Applications, their waiting tasks and the batches that run, as far as a scheduler may know them.
///
/// Who serves keeps one: adds tasks as they arrive, says which accelerators are done, and asks when something has happened.
/// [`ServerState::answer`] keeps the books. It is also read and written as JSON (by serde). `docs/serving.md` describes both.
///
/// ```
/// use sched_distill_serving::{Application, Decision, Law, NewTask, Server, ServerState, heuristic::DyBatch};
///
/// let law = Law::Padded { alpha_ms: 3.0, beta_ms: 0.03 };
/// let server = Server { applications: vec![Application::new("text", law, 50.0)], ..Server::default() };
/// let mut state = ServerState::new(server)?;
/// state.add_task(NewTask { id: 0, application: 0, size: 20, arrival_ms: 0.0 })?;
/// state.add_task(NewTask { id: 1, application: 0, size: 25, arrival_ms: 0.5 })?;
/// state.ask(1.0)?;
/// while let Some(seen) = state.view() {
///     let decision = DyBatch::default().decide(&seen);
///     state.answer(decision)?;
/// }
/// assert_eq!(state.running(0).expect("a batch runs").tasks, [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "json::RawState")]
pub struct ServerState {
    pub(crate) server: Arc<Server>,
    pub(crate) time_ms: f64,
    /// By place: in a simulator their numbers, elsewhere any that is free.
    pub(crate) tasks: Vec<Task>,
    /// Places that are free, in a state made by hand.
    free: Vec<u32>,
    /// By application.
    pub(crate) queues: Vec<Queue>,
    /// Waiting tasks of all, without those of the batch that is being formed.
    pub(crate) waiting: u32,
    /// Tasks that have arrived, those included that were refused.
    pub(crate) arrived: u64,
    /// Number and arrival of the task that arrived last.
    last_arrival: Option<(u32, f64)>,
    /// The application whose batch began last.
    pub(crate) served: Option<u32>,
    /// By accelerator.
    pub(crate) running: Vec<Running>,
    pub(crate) idle: u32,
    /// Whether a batch is being formed, and which.
    pub(crate) is_forming: bool,
    pub(crate) forming: Forming,
    /// Whether questions are open.
    pub(crate) open: bool,
    /// Accelerators whose batch has begun, for the simulator to take note of.
    pub(crate) begun: Vec<u32>,
}

impl ServerState {
    /// A server without tasks at time 0, and those that will arrive there.
    pub(crate) fn of(server: Arc<Server>, tasks: Vec<Task>) -> Self {
        let accelerators = server.accelerators;
        Self {
            time_ms: 0.0,
            tasks,
            free: Vec::new(),
            queues: vec![Queue::default(); server.applications.len()],
            waiting: 0,
            arrived: 0,
            last_arrival: None,
            served: None,
            running: vec![Running::default(); accelerators as usize],
            idle: accelerators,
            is_forming: false,
            forming: Forming::default(),
            open: false,
            begun: Vec::new(),
            server,
        }
    }

    /// The open question, if one is.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        let asks = self.open && (self.is_forming || (self.idle > 0 && self.waiting > 0));
        asks.then_some(View { state: self })
    }

    /// A task arrives; `false` if the queue of its application is full, and it is refused.
    #[inline]
    pub(crate) fn arrive(&mut self, place: u32) -> bool {
        let task = &self.tasks[place as usize];
        let (application, arrival_ms) = (task.application as usize, task.arrival_ms);
        self.last_arrival = Some((task.id, arrival_ms));
        self.arrived += 1;
        let half_life_ms = self.server.half_life_ms;
        self.queues[application].arrivals.add(1.0, arrival_ms, half_life_ms);
        if self.queues[application].count >= self.server.applications[application].queue {
            return false;
        }
        self.tasks[place as usize].begun_before = self.queues[application].begun;
        self.enqueue(place);
        true
    }

    /// Carries out a legal decision.
    #[inline]
    pub(crate) fn apply(&mut self, decision: Decision) {
        match decision {
            Decision::Serve { application } => {
                self.is_forming = true;
                self.forming.start(application);
            }
            Decision::Add { task } => {
                let Some(place) = self.place_of_head(task) else { return };
                let Some(group) = self.take(place) else { return };
                self.forming.add(place, group);
                if !self.can_add() {
                    self.begin();
                }
            }
            Decision::Close => self.begin(),
            Decision::Wait { .. } => self.open = false,
        }
    }

    /// Whether a waiting task could join the batch that is being formed.
    #[inline]
    fn can_add(&self) -> bool {
        let application = self.forming.application as usize;
        // What the smallest does not fit into is full.
        let smallest = self.queues[application].groups.first();
        smallest.is_some_and(|g| self.server.applications[application].holds(self.forming.batch.with(g.size)))
    }

    /// The batch that is being formed begins on the first idle accelerator.
    fn begin(&mut self) {
        let Some(accelerator) = self.running.iter().position(|running| !running.busy) else { return };
        let (application, batch) = (self.forming.application, self.forming.batch);
        let ms = self.server.applications[application as usize].ms(batch);
        let tasks = &self.tasks;
        let running = &mut self.running[accelerator];
        (running.busy, running.application, running.batch) = (true, application, batch);
        (running.started_ms, running.ends_ms) = (self.time_ms, self.time_ms + ms);
        running.tasks.clear();
        running.tasks.extend(self.forming.places.iter().map(|&place| tasks[place as usize].id));
        let queue = &mut self.queues[application as usize];
        queue.begun += 1;
        queue.used.add(ms, self.time_ms, self.server.half_life_ms);
        self.served = Some(application);
        self.is_forming = false;
        self.idle -= 1;
        self.begun.push(accelerator as u32);
    }

    /// The batch on an accelerator has ended.
    pub(crate) fn finish(&mut self, accelerator: usize) {
        let running = &mut self.running[accelerator];
        running.busy = false;
        let off_ms = self.time_ms - running.ends_ms;
        if off_ms != 0.0 {
            let queue = &mut self.queues[running.application as usize];
            queue.used.add(off_ms, self.time_ms, self.server.half_life_ms);
        }
        self.idle += 1;
    }

    /// When a waiting task next makes schedulers look again, ms: after now, and `None` if none does.
    pub(crate) fn next_timeout_ms(&self) -> Option<f64> {
        let oldest = self.queues.iter().zip(&self.server.applications).filter(|(queue, _)| queue.count > 0);
        let timeouts = oldest.map(|(queue, app)| self.tasks[queue.first as usize].arrival_ms + app.timeout_ms);
        timeouts.filter(|ms| *ms > self.time_ms).reduce(f64::min)
    }

    /// Whether more than half of the accelerators idle although a task has waited for its timeout.
    pub(crate) fn idles_beside_work(&self) -> bool {
        let timed_out = |application| View { state: self }.is_timed_out(application);
        2 * self.idle as usize > self.running.len() && (0..self.queues.len() as u32).any(timed_out)
    }
}
