//! Who decides: a thread that owns the state of the server, asks a policy whenever something has happened, and hands out batches.

use crate::{
    Metrics, Models,
    accelerator::{self, Batch, Done},
};
use sched_distill_core::{policy::Policy, scenario::Said, text::one_line};
use sched_distill_serving::{
    Batch as Sum, Decision, NewTask, ServerState, Serving, StateError, View, heuristic::DyBatch,
};
use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// After how many tasks a state begins anew.
const RENEWAL: u64 = 1 << 31;

/// What the model made of a task.
pub type Answer = Result<Vec<f32>, NoAnswer>;

/// Why a task has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The queue of its application is full.
    #[error("the queue of the application is full; try again in {retry_after_s} s")]
    Full {
        /// After how long those who wait now will have been answered.
        retry_after_s: u64,
    },
    /// The model failed on it.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The server ends.
    #[error("the server is ending")]
    Ending,
}

/// What a scheduler is told.
pub(crate) enum Event {
    /// Tasks of one request, which are all taken in or none.
    Arrived(Vec<Arrived>),
    /// Whoever asked is gone.
    Gone {
        task: u64,
    },
    Done(Done),
    /// Nothing more will arrive.
    End,
}

pub(crate) struct Arrived {
    task: u64,
    application: u32,
    size: u32,
    values: Vec<f64>,
    at: Instant,
    reply: oneshot::Sender<Answer>,
}

/// Where tasks come in. Clones are the same door.
#[derive(Clone)]
pub struct Door {
    // Numbers and arrivals ascend in the order in which the scheduler hears of them.
    inner: Arc<Mutex<(u64, Sender<Event>)>>,
}

/// A task that was asked. Dropped before its answer has come, it is taken back.
pub struct Ticket {
    task: u64,
    door: Door,
    answer: oneshot::Receiver<Answer>,
    is_answered: bool,
}

impl Door {
    fn send(&self, event: Event) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // To nobody once all is over.
        let _ = inner.1.send(event);
    }

    /// Asks a model for tasks, by size and numbers as [`Models::size`] has them. All are taken in, or none.
    #[must_use]
    pub fn ask(&self, application: u32, tasks: Vec<(u32, Vec<f64>)>) -> Vec<Ticket> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut arrived, mut tickets) = (Vec::with_capacity(tasks.len()), Vec::with_capacity(tasks.len()));
        let at = Instant::now();
        for (size, values) in tasks {
            let (reply, answer) = oneshot::channel();
            let task = inner.0;
            inner.0 += 1;
            arrived.push(Arrived { task, application, size, values, at, reply });
            tickets.push(Ticket { task, door: self.clone(), answer, is_answered: false });
        }
        let _ = inner.1.send(Event::Arrived(arrived));
        tickets
    }

    /// Says that nothing more will come: what waits is answered, then the scheduler ends.
    pub fn end(&self) {
        self.send(Event::End);
    }
}

impl Ticket {
    /// Waits for the answer.
    pub async fn answer(&mut self) -> Answer {
        let answer = (&mut self.answer).await;
        self.is_answered = true;
        answer.unwrap_or(Err(NoAnswer::Ending))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_answered {
            self.door.send(Event::Gone { task: self.task });
        }
    }
}

/// A task between arrival and answer.
struct Pending {
    application: u32,
    size: u32,
    /// Gone once a batch has it.
    values: Vec<f64>,
    at: Instant,
    reply: oneshot::Sender<Answer>,
}

/// Keeps the books and asks the policy.
pub struct Scheduler {
    models: Models,
    state: ServerState,
    /// The number of the task that is 0 in the state.
    first: u64,
    /// After how many tasks a state begins anew.
    renewal: u64,
    policy: Box<dyn Policy<Serving>>,
    probabilities: Said,
    start: Instant,
    pending: HashMap<u64, Pending>,
    /// What waits, by application.
    waiting: Vec<Sum>,
    /// By accelerator: the tasks of its batch, and when it began; empty of idle ones.
    running: Vec<(Vec<u64>, Instant)>,
    accelerators: Vec<Sender<Batch>>,
    until_ms: Option<f64>,
    is_ending: bool,
    metrics: Arc<Metrics>,
}

impl Scheduler {
    /// Starts a scheduler and its accelerators: where tasks come in, and the thread that ends some time after [`Door::end`], or with an
    /// error if the books do not fit what happens, which is one of this program.
    ///
    /// # Errors
    ///
    /// Threads that cannot be started.
    ///
    /// # Panics
    ///
    /// If the server of the models is none, which none that a workload made is.
    pub fn start(
        models: Models,
        policy: Box<dyn Policy<Serving>>,
        metrics: Arc<Metrics>,
    ) -> io::Result<(Door, JoinHandle<Result<(), StateError>>)> {
        Self::start_renewed(models, policy, metrics, RENEWAL)
    }

    /// The same, with a state that begins anew after so many tasks, as soon as nothing is in it: its numbers have 32 bits.
    ///
    /// # Errors
    ///
    /// As for [`Scheduler::start`], which renews it after 2³¹ tasks.
    ///
    /// # Panics
    ///
    /// As for [`Scheduler::start`].
    pub fn start_renewed(
        models: Models,
        policy: Box<dyn Policy<Serving>>,
        metrics: Arc<Metrics>,
        renewal: u64,
    ) -> io::Result<(Door, JoinHandle<Result<(), StateError>>)> {
        let (sender, events) = mpsc::channel();
        let mut accelerators = Vec::new();
        for number in 0..models.server().accelerators {
            let (batches, received) = mpsc::channel();
            let (models, sender) = (models.clone(), sender.clone());
            thread::Builder::new().name(format!("accelerator {number}")).spawn(move || {
                // Nobody hears it once the scheduler has ended.
                let tell = |done| drop(sender.send(Event::Done(done)));
                accelerator::run(number, &models, &received, tell);
            })?;
            accelerators.push(batches);
        }
        let state = ServerState::new(models.server().clone()).expect("the server of a workload");
        let start = Instant::now();
        let mut scheduler = Self {
            state,
            first: 0,
            renewal,
            policy,
            probabilities: Said::default(),
            start,
            pending: HashMap::new(),
            waiting: vec![Sum::default(); models.server().applications.len()],
            running: vec![(Vec::new(), start); accelerators.len()],
            accelerators,
            until_ms: None,
            is_ending: false,
            metrics,
            models,
        };
        scheduler.policy.reset(0);
        let thread = thread::Builder::new().name("scheduler".to_owned()).spawn(move || scheduler.run(&events))?;
        Ok((Door { inner: Arc::new(Mutex::new((0, sender))) }, thread))
    }

    fn run(&mut self, events: &Receiver<Event>) -> Result<(), StateError> {
        while !(self.is_ending && self.pending.is_empty()) {
            let first = match self.patience() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(patience) => events.recv_timeout(patience),
            };
            if matches!(first, Err(RecvTimeoutError::Disconnected)) {
                break;
            }
            // As in the simulator all batches that have ended come before all tasks that have arrived.
            let (done, others): (Vec<Event>, Vec<Event>) =
                first.into_iter().chain(events.try_iter()).partition(|event| matches!(event, Event::Done(_)));
            done.into_iter().chain(others).try_for_each(|event| self.take(event))?;
            self.ask()?;
        }
        Ok(())
    }

    fn now_ms(&self) -> f64 {
        self.ms(Instant::now())
    }

    fn ms(&self, at: Instant) -> f64 {
        1e3 * at.saturating_duration_since(self.start).as_secs_f64()
    }

    /// How long nothing has to be asked unless something happens.
    fn patience(&self) -> Option<Duration> {
        let next_ms = self.state.ask_again_ms().into_iter().chain(self.until_ms).reduce(f64::min)?;
        Some(Duration::from_secs_f64(1e-3 * (next_ms - self.now_ms()).clamp(0.0, 1e9)))
    }

    fn take(&mut self, event: Event) -> Result<(), StateError> {
        match event {
            Event::Arrived(request) => self.arrive(request),
            Event::Gone { task } => self.forget(task),
            Event::Done(done) => self.finish(done),
            Event::End => {
                self.is_ending = true;
                Ok(())
            }
        }
    }

    fn arrive(&mut self, request: Vec<Arrived>) -> Result<(), StateError> {
        let Some(&Arrived { task: last, application, .. }) = request.last() else { return Ok(()) };
        if self.pending.is_empty() && last - self.first >= self.renewal {
            self.state = ServerState::new(self.models.server().clone())?;
            self.first = request[0].task;
        }
        let room =
            self.models.server().applications[application as usize].queue - self.waiting[application as usize].count;
        let refused = match last - self.first < u64::from(u32::MAX) && request.len() <= room as usize {
            _ if self.is_ending => Some(NoAnswer::Ending),
            false => Some(NoAnswer::Full { retry_after_s: self.retry_after_s() }),
            true => None,
        };
        for Arrived { task, size, values, at, reply, .. } in request {
            if let Some(reason) = &refused {
                self.metrics.refused(application);
                let _ = reply.send(Err(reason.clone()));
                continue;
            }
            let id = (task - self.first) as u32;
            self.state.add_task(NewTask { id, application, size, arrival_ms: self.ms(at) })?;
            self.count(application, |waiting| waiting.with(size));
            self.pending.insert(task, Pending { application, size, values, at, reply });
        }
        Ok(())
    }

    /// More or fewer tasks wait.
    fn count(&mut self, application: u32, change: impl FnOnce(Sum) -> Sum) {
        let waiting = &mut self.waiting[application as usize];
        *waiting = change(*waiting);
        self.metrics.waiting(application, waiting.count);
    }

    /// Time that all that waits takes in full batches, s: 1 at least.
    fn retry_after_s(&self) -> u64 {
        let applications = self.models.server().applications.iter().zip(&self.waiting);
        let full_ms: f64 = applications.map(|(of, w)| f64::from(w.count) * of.full_ms(w.mean_size())).sum();
        (1e-3 * full_ms / self.accelerators.len() as f64).ceil().max(1.0) as u64
    }

    /// Whoever asked for a task is gone. What a batch has already goes on.
    fn forget(&mut self, task: u64) -> Result<(), StateError> {
        let waits = self.pending.get(&task).is_some_and(|pending| !pending.values.is_empty());
        let Some(Pending { application, size, .. }) = waits.then(|| self.pending.remove(&task)).flatten() else {
            return Ok(());
        };
        self.state.remove_task((task - self.first) as u32)?;
        self.count(application, |waiting| without(waiting, 1, size.into()));
        self.metrics.gone(application);
        Ok(())
    }

    fn finish(&mut self, Done { accelerator, at, results }: Done) -> Result<(), StateError> {
        let now_ms = self.now_ms();
        self.state.set_time(now_ms)?;
        self.state.set_done(accelerator)?;
        let (tasks, began) = &mut self.running[accelerator as usize];
        let took = at.saturating_duration_since(*began);
        for (place, (task, result)) in tasks.drain(..).zip(results).enumerate() {
            let Some(Pending { application, size, at: arrived, reply, .. }) = self.pending.remove(&task) else {
                continue;
            };
            if place == 0 {
                self.metrics.ended(application, took);
            }
            let failed = result.is_err();
            match reply.send(result.map_err(NoAnswer::Failed)) {
                Ok(()) if failed => self.metrics.failed(application),
                Ok(()) => {
                    let latency = arrived.elapsed();
                    let alone_ms = self.models.server().applications[application as usize].solo_ms(size);
                    self.metrics.answered(application, latency, 1e3 * latency.as_secs_f64() / alone_ms);
                }
                // Nobody is there any more to hear it.
                Err(_) => self.metrics.unheard(application),
            }
        }
        Ok(())
    }

    /// Asks as long as there is something to ask, and lets the batches begin.
    fn ask(&mut self) -> Result<(), StateError> {
        let now_ms = self.now_ms();
        self.until_ms = None;
        let asked = Instant::now();
        let mut questions = 0;
        let mut seen = self.state.ask(now_ms)?;
        while let Some(view) = seen {
            questions += 1;
            let decision = decide(&mut *self.policy, &mut self.probabilities, &view, &self.metrics);
            if let Decision::Wait { until_ms } = decision {
                // Other times than those to come are none to wait for.
                self.until_ms = until_ms.filter(|ms| *ms > now_ms);
            }
            seen = self
                .state
                .answer(decision)
                .map_err(|e| StateError { field: "decision".to_owned(), problem: e.to_string() })?;
        }
        if questions > 0 {
            self.metrics.asked(questions, asked.elapsed());
        }
        self.begin();
        Ok(())
    }

    /// Hands batches that have begun to their accelerators.
    fn begin(&mut self) {
        for (accelerator, (tasks, began)) in (0..).zip(&mut self.running) {
            let Some(running) = self.state.running(accelerator).filter(|_| tasks.is_empty()) else { continue };
            tasks.extend(running.tasks.iter().map(|&id| self.first + u64::from(id)));
            *began = Instant::now();
            let values =
                tasks.iter().filter_map(|task| self.pending.get_mut(task).map(|p| std::mem::take(&mut p.values)));
            let batch = Batch { application: running.application, tasks: values.collect() };
            let (application, formed) = (running.application, running.batch);
            let waiting = &mut self.waiting[application as usize];
            *waiting = without(*waiting, formed.count, formed.total);
            self.metrics.waiting(application, waiting.count);
            self.metrics.began(application, formed, running.ends_ms - running.started_ms);
            // An accelerator ends after those who send it batches.
            let _ = self.accelerators[accelerator as usize].send(batch);
        }
    }
}

/// What is left of tasks of which some wait no longer.
fn without(waiting: Sum, count: u32, total: u64) -> Sum {
    Sum { count: waiting.count - count, total: waiting.total - total, ..waiting }
}

/// What the policy answers; where that is nothing that can be done, what `dybatch` would.
fn decide(policy: &mut dyn Policy<Serving>, probabilities: &mut Said, view: &View<'_>, metrics: &Metrics) -> Decision {
    probabilities.clear();
    let decided = policy.decide(view, probabilities).map_err(|e| e.to_string());
    decided.and_then(|decision| view.check(decision).map(|()| decision).map_err(|e| e.to_string())).unwrap_or_else(
        |why| {
            if metrics.fell_back() == 0 {
                let why = one_line(&why);
                eprintln!("the policy cannot answer, dybatch does (distill_batcher_fallbacks counts on): {why}");
            }
            DyBatch::default().decide(view)
        },
    )
}
