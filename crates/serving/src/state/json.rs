//! The server state as JSON.

use super::{
    Decaying, Forming, NewTask, Running, ServerState, StateError, Task, View,
    build::MOST,
    queue::{Group, Queue},
};
use crate::{Batch, Server};
use sched_distill_core::state::{numbers, up_to};
use serde::{Deserialize, Serialize, Serializer};

/// What a file or a message holds; `docs/serving.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    server: Server,
    time_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<RawAsk>,
    /// In order of arrival.
    waiting: Vec<RawTask>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    running: Vec<RawRunning>,
    /// By application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queues: Vec<RawQueue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    served: Option<u32>,
    #[serde(default)]
    arrived: u64,
    /// Number and arrival of the task that arrived last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_arrival: Option<(u32, f64)>,
}

/// Open questions.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAsk {
    /// The batch that is being formed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forming: Option<RawForming>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawForming {
    application: u32,
    /// In the order in which they joined it.
    tasks: Vec<RawTask>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTask {
    pub(crate) id: u32,
    pub(crate) application: u32,
    pub(crate) size: u32,
    pub(crate) arrival_ms: f64,
    #[serde(default)]
    pub(crate) passed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRunning {
    accelerator: u32,
    application: u32,
    count: u32,
    largest: u32,
    total: u64,
    started_ms: f64,
    ends_ms: f64,
    #[serde(default)]
    tasks: Vec<u32>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawQueue {
    begun: u64,
    used_ms: f64,
    used_at_ms: f64,
    arrivals: f64,
    arrivals_at_ms: f64,
}

impl RawState {
    fn new(state: &ServerState) -> Self {
        let task = |place: u32| {
            let task = &state.tasks[place as usize];
            let passed = state.queues[task.application as usize].begun - task.begun_before;
            RawTask { id: task.id, application: task.application, size: task.size, arrival_ms: task.arrival_ms, passed }
        };
        let running = |(accelerator, running): (u32, &Running)| {
            running.busy.then(|| RawRunning {
                accelerator,
                application: running.application,
                count: running.batch.count,
                largest: running.batch.largest,
                total: running.batch.total,
                started_ms: running.started_ms,
                ends_ms: running.ends_ms,
                tasks: running.tasks.clone(),
            })
        };
        let forming = state.is_forming.then(|| RawForming {
            application: state.forming.application,
            tasks: state.forming.places.iter().map(|&place| task(place)).collect(),
        });
        let queue = |queue: &Queue| RawQueue {
            begun: queue.begun,
            used_ms: queue.used.value,
            used_at_ms: queue.used.at_ms,
            arrivals: queue.arrivals.value,
            arrivals_at_ms: queue.arrivals.at_ms,
        };
        Self {
            server: Server::clone(&state.server),
            time_ms: state.time_ms,
            ask: state.view().map(|_| RawAsk { forming }),
            waiting: state.waiting_places().into_iter().map(task).collect(),
            running: (0..).zip(&state.running).filter_map(running).collect(),
            queues: state.queues.iter().map(queue).collect(),
            served: state.served,
            arrived: state.arrived,
            last_arrival: state.last_arrival,
        }
    }
}

impl TryFrom<RawState> for ServerState {
    type Error = StateError;

    fn try_from(raw: RawState) -> Result<Self, StateError> {
        let mut state = Self::new(raw.server)?;
        let applications = state.queues.len() as u32;
        let known = |field: String, application: u32| match application < applications {
            true => Ok(()),
            false => Err(StateError::new(field, format!("must be in 0..{applications}, got {application}"))),
        };
        state.set_time(raw.time_ms)?;
        state.read_queues(&raw.queues)?;
        if let Some(served) = raw.served {
            known("served".to_owned(), served)?;
            state.served = Some(served);
        }
        for running in &raw.running {
            known(format!("running on {}, `application`", running.accelerator), running.application)?;
            state.read_running(running)?;
        }
        for task in &raw.waiting {
            let place = state.read_task(task)?;
            let queue = &state.queues[task.application as usize];
            if queue.count >= state.server.applications[task.application as usize].queue {
                let problem = "more tasks wait than its queue takes";
                return Err(StateError::new(format!("application {}", task.application), problem));
            }
            state.enqueue(place);
        }
        if let Some(ask) = raw.ask {
            state.open = true;
            if let Some(forming) = ask.forming {
                known("ask.forming.application".to_owned(), forming.application)?;
                state.read_forming(&forming)?;
            }
            if state.view().is_none() {
                let problem = "nothing can be asked: no task waits, or no accelerator is idle";
                return Err(StateError::new("ask", problem));
            }
        }
        if let Some((last, ms)) = raw.last_arrival {
            let of_tasks = state.last_arrival.unwrap_or((0, 0.0));
            if last < of_tasks.0 || !(of_tasks.1..=state.time_ms).contains(&ms) {
                let problem =
                    format!("must be no earlier than those of waiting tasks and `time_ms`, got {last} at {ms}");
                return Err(StateError::new("last_arrival", problem));
            }
            state.last_arrival = Some((last, ms));
        }
        state.arrived = raw.arrived;
        Ok(state)
    }
}

impl ServerState {
    fn read_queues(&mut self, raw: &[RawQueue]) -> Result<(), StateError> {
        if raw.len() > self.queues.len() {
            let problem = format!("{} queues for {} applications", raw.len(), self.queues.len());
            return Err(StateError::new("queues", problem));
        }
        for (place, (queue, raw)) in self.queues.iter_mut().zip(raw).enumerate() {
            let of = |e: StateError| e.of("queue", place);
            let times = [("used_at_ms", raw.used_at_ms), ("arrivals_at_ms", raw.arrivals_at_ms)];
            // It is negative after a batch that took less than was predicted.
            if !(-MOST..=MOST).contains(&raw.used_ms) {
                let problem = format!("must be a number in -1e15..=1e15, got {}", raw.used_ms);
                return Err(of(StateError::new("used_ms", problem)));
            }
            numbers(MOST, &[("arrivals", raw.arrivals)]).and_then(|()| numbers(MOST, &times)).map_err(of)?;
            up_to(("`time_ms`", self.time_ms), &times).map_err(of)?;
            queue.begun = raw.begun;
            queue.used = Decaying { value: raw.used_ms, at_ms: raw.used_at_ms };
            queue.arrivals = Decaying { value: raw.arrivals, at_ms: raw.arrivals_at_ms };
        }
        Ok(())
    }

    fn read_running(&mut self, raw: &RawRunning) -> Result<(), StateError> {
        let wrong =
            |field: &str, problem: String| Err(StateError::new(field, problem).of("running on", raw.accelerator));
        let (count, now) = (self.running.len(), self.time_ms);
        let Some(running) = self.running.get_mut(raw.accelerator as usize).filter(|running| !running.busy) else {
            return wrong("accelerator", format!("must be in 0..{count}, each once, got {}", raw.accelerator));
        };
        if !(0.0..=now).contains(&raw.started_ms) {
            return wrong("started_ms", format!("must be a number up to `time_ms`, {now}, got {}", raw.started_ms));
        }
        if !(raw.started_ms..=MOST).contains(&raw.ends_ms) {
            return wrong("ends_ms", format!("must be a number from `started_ms` to {MOST:e}, got {}", raw.ends_ms));
        }
        let batch = Batch { count: raw.count, largest: raw.largest, total: raw.total };
        let (tasks, largest) = (u64::from(batch.count), u64::from(batch.largest));
        let is_batch = tasks > 0 && largest > 0 && (largest + tasks - 1..=tasks * largest).contains(&batch.total);
        if !is_batch {
            return wrong("count", "there must be a task at least, and `total` fit `count` and `largest`".to_owned());
        }
        *running = Running {
            busy: true,
            application: raw.application,
            batch,
            started_ms: raw.started_ms,
            ends_ms: raw.ends_ms,
            tasks: raw.tasks.clone(),
        };
        self.idle -= 1;
        Ok(())
    }

    /// Reads a task that waits or is in the batch that is being formed; its place.
    fn read_task(&mut self, raw: &RawTask) -> Result<u32, StateError> {
        let &RawTask { id, application, size, arrival_ms, passed } = raw;
        let of = |e: StateError| e.of("task", id);
        self.check_task(NewTask { id, application, size, arrival_ms })?;
        up_to(("`time_ms`", self.time_ms), &[("arrival_ms", arrival_ms)]).map_err(of)?;
        let begun = self.queues[application as usize].begun;
        let Some(begun_before) = begun.checked_sub(passed) else {
            let problem = format!("must be up to the batches that have begun (`queues`), {begun}, got {passed}");
            return Err(of(StateError::new("passed", problem)));
        };
        self.last_arrival = Some((id, arrival_ms));
        Ok(self.put(Task { begun_before, ..Task::new(id, application, size, arrival_ms) }))
    }

    fn read_forming(&mut self, raw: &RawForming) -> Result<(), StateError> {
        if self.idle == 0 {
            return Err(StateError::new("ask.forming", "no accelerator is idle"));
        }
        self.is_forming = true;
        self.forming.start(raw.application);
        let last_arrival = self.last_arrival.take();
        for task in &raw.tasks {
            let field = || format!("ask.forming, task {}", task.id);
            if task.application != raw.application {
                return Err(StateError::new(field(), "is of another application"));
            }
            if self.tasks.iter().any(|other| other.id == task.id) {
                return Err(StateError::new(field(), "stands there twice"));
            }
            // They stand in the order in which they joined it.
            self.last_arrival = None;
            let place = self.read_task(task)?;
            let of = &self.server.applications[raw.application as usize];
            self.forming.add(place, Group::new(of, task.size, 1, [place; 2], task.arrival_ms));
        }
        self.last_arrival = last_arrival;
        for task in &raw.tasks {
            let last = self.last_arrival.unwrap_or((0, 0.0));
            self.last_arrival = Some((last.0.max(task.id), last.1.max(task.arrival_ms)));
        }
        let application = &self.server.applications[raw.application as usize];
        if !application.holds(self.forming.batch) || !self.can_add() {
            let problem = "no other task can join the batch; it is no question which does";
            return Err(StateError::new("ask.forming", problem));
        }
        Ok(())
    }
}

impl View<'_> {
    /// The same question in a state of its own, for instance to keep it, to write it down or to try an answer.
    #[must_use]
    pub fn to_state(&self) -> ServerState {
        self.state.compact()
    }
}

impl ServerState {
    /// The same state without tasks that are yet to arrive or are gone.
    fn compact(&self) -> Self {
        let running = |running: &Running| if running.busy { running.clone() } else { Running::default() };
        let mut state = Self {
            time_ms: self.time_ms,
            arrived: self.arrived,
            last_arrival: self.last_arrival,
            served: self.served,
            running: self.running.iter().map(running).collect(),
            idle: self.idle,
            is_forming: self.is_forming,
            open: self.open,
            ..Self::of(self.server.clone(), Vec::new())
        };
        for (queue, of) in state.queues.iter_mut().zip(&self.queues) {
            (queue.begun, queue.used, queue.arrivals) = (of.begun, of.used, of.arrivals);
        }
        for place in self.waiting_places() {
            let place = state.put(self.tasks[place as usize].clone());
            state.enqueue(place);
        }
        if self.is_forming {
            let places =
                self.forming.places.iter().map(|&place| state.put(self.tasks[place as usize].clone())).collect();
            state.forming = Forming { places, ..self.forming.clone() };
        }
        state
    }

    /// The places of all waiting tasks, by their numbers.
    fn waiting_places(&self) -> Vec<u32> {
        let queues = 0..self.queues.len() as u32;
        let mut places: Vec<u32> = queues.flat_map(|application| self.in_queue(application)).collect();
        places.sort_by_key(|&place| self.tasks[place as usize].id);
        places
    }

    /// Takes a task in, in no queue; its place.
    pub(super) fn put(&mut self, task: Task) -> u32 {
        self.tasks.push(task);
        self.tasks.len() as u32 - 1
    }
}

impl Serialize for ServerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::new(self).serialize(serializer)
    }
}
