//! Making a server state by hand.

use super::{Decision, DecisionError, RunningView, ServerState, StateError, Task, View};
use crate::{Batch, Server};
use sched_distill_core::state::{arrives, clock, numbers};
use std::sync::Arc;

/// Latest time, ms, and most of what else is counted.
pub(super) const MOST: f64 = 1e15;

/// A task as it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewTask {
    /// Its number. Numbers ascend in order of arrival.
    pub id: u32,
    /// Place of its application.
    pub application: u32,
    /// Its size, as declared.
    pub size: u32,
    /// When it arrived, ms.
    pub arrival_ms: f64,
}

impl ServerState {
    /// A server without tasks at time 0.
    ///
    /// # Errors
    ///
    /// No accelerators or applications, or numbers out of range.
    pub fn new(server: impl Into<Arc<Server>>) -> Result<Self, StateError> {
        let server = server.into();
        server.check().map_err(|problem| StateError::new("server", problem))?;
        Ok(Self::of(server, Vec::new()))
    }

    /// A task arrives. Tells whether it was taken in; if not, the queue of its application is full. Closes open questions.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the task added last, an unknown application, a size that memory does not hold.
    pub fn add_task(&mut self, new: NewTask) -> Result<bool, StateError> {
        self.check_task(new)?;
        self.close();
        let task = Task::new(new.id, new.application, new.size, new.arrival_ms);
        let place = match self.free.pop() {
            Some(place) => {
                self.tasks[place as usize] = task;
                place
            }
            None => self.put(task),
        };
        let is_in = self.arrive(place);
        if !is_in {
            self.free.push(place);
        }
        Ok(is_in)
    }

    pub(super) fn check_task(&self, new: NewTask) -> Result<(), StateError> {
        let of = |e: StateError| e.of("task", new.id);
        self.server.check_task(new.application, new.size).map_err(of)?;
        numbers(MOST, &[("arrival_ms", new.arrival_ms)]).map_err(of)?;
        if new.id == u32::MAX {
            return Err(of(StateError::new("id", format!("must be below {}, which stands for none", new.id))));
        }
        arrives("task", (new.id, new.arrival_ms), "arrival_ms", self.last_arrival)
    }

    /// Forgets a waiting task, as when its client has gone. Closes open questions.
    ///
    /// # Errors
    ///
    /// A task that does not wait.
    pub fn remove_task(&mut self, task: u32) -> Result<(), StateError> {
        let place = self.waiting_place(task).ok_or_else(|| {
            StateError::new(format!("task {task}"), "does not wait: it is unknown, in a batch, or answered")
        })?;
        self.close();
        // A batch that was closed without it has not taken it.
        self.take_any(place);
        self.free.push(place);
        Ok(())
    }

    /// The place of a waiting task by its number.
    pub(crate) fn waiting_place(&self, task: u32) -> Option<u32> {
        let mut all = (0..self.queues.len() as u32).flat_map(|application| self.in_queue(application));
        all.find(|&place| self.tasks[place as usize].id == task)
    }

    /// Says that the batch on an accelerator has ended now. Closes open questions.
    ///
    /// # Errors
    ///
    /// An accelerator that does not exist or is idle.
    pub fn set_done(&mut self, accelerator: u32) -> Result<(), StateError> {
        let wrong = |problem: String| Err(StateError::new(format!("accelerator {accelerator}"), problem));
        match self.running.get(accelerator as usize) {
            None => wrong(format!("there are 0..{}", self.running.len())),
            Some(running) if !running.busy => wrong("is idle".to_owned()),
            Some(_) => {
                self.close();
                self.finish(accelerator as usize);
                self.running[accelerator as usize].tasks.clear();
                Ok(())
            }
        }
    }

    /// The batch on an accelerator; `None` if it is idle or does not exist.
    #[must_use]
    pub fn running(&self, accelerator: u32) -> Option<RunningView<'_>> {
        self.running.get(accelerator as usize).filter(|running| running.busy).map(super::Running::view)
    }

    /// When to ask again if nothing happens until then, ms: the next timeout of a waiting task.
    #[must_use]
    pub fn ask_again_ms(&self) -> Option<f64> {
        (self.idle > 0).then(|| self.next_timeout_ms()).flatten()
    }

    /// Sets the clock. Closes open questions.
    ///
    /// # Errors
    ///
    /// A time before the present one or before a task's arrival.
    pub fn set_time(&mut self, time_ms: f64) -> Result<(), StateError> {
        clock("task", self.time_ms, time_ms, self.last_arrival)?;
        self.close();
        self.time_ms = time_ms;
        Ok(())
    }

    /// Asks which application is served next; `None` if no accelerator is idle or no task waits.
    ///
    /// # Errors
    ///
    /// As for [`ServerState::set_time`].
    pub fn ask(&mut self, time_ms: f64) -> Result<Option<View<'_>>, StateError> {
        self.set_time(time_ms)?;
        self.open = true;
        Ok(self.view())
    }

    /// Carries an answer out, and asks again while there is something to ask.
    ///
    /// # Errors
    ///
    /// An illegal decision, or no open question; nothing is changed then.
    pub fn answer(&mut self, decision: Decision) -> Result<Option<View<'_>>, DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)?;
        self.apply(decision);
        self.free_begun();
        Ok(self.view())
    }

    /// The places of tasks in batches that have begun can be used again.
    fn free_begun(&mut self) {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.free.extend_from_slice(&self.forming.places);
        }
    }

    /// Ends open questions without answers: the tasks of a batch that is being formed go on waiting, and one that could be closed
    /// begins.
    pub(super) fn close(&mut self) {
        if self.open && self.is_forming {
            match self.forming.batch == Batch::default() {
                true => self.is_forming = false,
                false => {
                    self.apply(Decision::Close);
                    self.free_begun();
                }
            }
        }
        self.open = false;
    }
}
