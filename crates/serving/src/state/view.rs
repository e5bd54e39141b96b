//! What a scheduler may know of the server at a question. Nothing here tells the future.
//!
//! A [`View`] is lent by the simulator, and by a [`ServerState`] that anyone can make: features, heuristics, networks and students
//! read it alone.

use super::{Decision, Running, ServerState, queue::Group};
use crate::{Application, Batch, Server};
use serde::Serialize;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which application is served next, if any.
    Serve,
    /// Which task joins the batch of this application, or whether it is closed.
    Form(u32),
}

/// The server at an open question. Borrows from who lends it; copying it is free.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct View<'a> {
    pub(crate) state: &'a ServerState,
}

/// The waiting tasks of an application, and what it has had.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a> {
    pub(super) state: &'a ServerState,
    application: u32,
}

/// Waiting tasks of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupView {
    /// Their size, as declared.
    pub size: u32,
    /// How many there are.
    pub count: u32,
    /// Number of the oldest.
    pub task: u32,
    /// When that arrived, ms.
    pub arrival_ms: f64,
    /// Batches of its application that have begun since.
    pub passed: u64,
    /// Time of a task of this size in a batch of its own, ms.
    pub solo_ms: f64,
    /// 1 ÷ that, 1/ms: by how much the slowdown of each grows per ms.
    pub pace: f64,
}

/// A waiting task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskView {
    /// Its size, as declared.
    pub size: u32,
    /// Its number.
    pub task: u32,
    /// When it arrived, ms.
    pub arrival_ms: f64,
    /// Batches of its application that have begun since.
    pub passed: u64,
}

/// A batch on its accelerator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningView<'a> {
    /// Its application.
    pub application: u32,
    /// Its tasks, as declared.
    pub batch: Batch,
    /// Their numbers.
    pub tasks: &'a [u32],
    /// When it began, ms.
    pub started_ms: f64,
    /// When it is predicted to end, ms.
    pub ends_ms: f64,
}

impl Running {
    pub(super) fn view(&self) -> RunningView<'_> {
        let &Self { application, batch, started_ms, ends_ms, ref tasks, .. } = self;
        RunningView { application, batch, tasks, started_ms, ends_ms }
    }
}

impl<'a> QueueView<'a> {
    fn group(self, group: Group) -> GroupView {
        let task = &self.state.tasks[group.first as usize];
        GroupView {
            size: group.size,
            count: group.count,
            task: task.id,
            arrival_ms: group.oldest_ms,
            passed: self.state.queues[self.application as usize].begun - task.begun_before,
            solo_ms: group.solo_ms,
            pace: group.pace,
        }
    }

    /// The application.
    #[inline]
    #[must_use]
    pub fn application(self) -> &'a Application {
        &self.state.server.applications[self.application as usize]
    }

    /// How many tasks wait.
    #[inline]
    #[must_use]
    pub fn count(self) -> u32 {
        self.state.queues[self.application as usize].count
    }

    /// The oldest waiting task; `None` if none waits.
    #[inline]
    #[must_use]
    pub fn oldest(self) -> Option<TaskView> {
        let queue = &self.state.queues[self.application as usize];
        let task = self.state.tasks.get(queue.first as usize)?;
        let passed = queue.begun - task.begun_before;
        Some(TaskView { size: task.size, task: task.id, arrival_ms: task.arrival_ms, passed })
    }

    /// Waiting tasks by size, ascending; each with the oldest of them.
    #[inline]
    pub fn groups(self) -> impl Iterator<Item = GroupView> + 'a {
        self.by_size().iter().map(move |group| self.group(*group))
    }

    /// By how much the slowdowns of its waiting tasks grow, added up, 1/ms.
    #[must_use]
    pub fn pace(self) -> f64 {
        self.by_size().iter().map(|group| f64::from(group.count) * group.pace).sum()
    }

    /// The groups that [`QueueView::groups`] tells of.
    pub(super) fn by_size(self) -> &'a [Group] {
        &self.state.queues[self.application as usize].groups
    }

    /// Accelerator time that it has had, with what is older counting less, ms.
    #[inline]
    #[must_use]
    pub fn used_ms(self) -> f64 {
        self.state.queues[self.application as usize].used.at(self.state.time_ms, self.state.server.half_life_ms)
    }

    /// Tasks that have arrived lately, 1/ms: older ones count less.
    #[must_use]
    pub fn rate(self) -> f64 {
        let half_life_ms = self.state.server.half_life_ms;
        let count = self.state.queues[self.application as usize].arrivals.at(self.state.time_ms, half_life_ms);
        count * std::f64::consts::LN_2 / half_life_ms
    }
}

impl<'a> View<'a> {
    /// The time, ms.
    #[inline]
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.state.time_ms
    }

    /// The server.
    #[inline]
    #[must_use]
    pub fn server(&self) -> &'a Server {
        &self.state.server
    }

    /// What is asked.
    #[inline]
    #[must_use]
    pub fn question(&self) -> Question {
        match self.state.is_forming {
            true => Question::Form(self.state.forming.application),
            false => Question::Serve,
        }
    }

    /// Number of applications.
    #[must_use]
    pub fn applications(&self) -> u32 {
        self.state.queues.len() as u32
    }

    /// The waiting tasks of an application.
    ///
    /// # Panics
    ///
    /// What is asked of them does, if there is no such application.
    #[inline]
    #[must_use]
    pub fn queue(&self, application: u32) -> QueueView<'a> {
        QueueView { state: self.state, application }
    }

    /// Waiting tasks of all applications.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.state.waiting
    }

    /// Idle accelerators.
    #[must_use]
    pub fn idle(&self) -> u32 {
        self.state.idle
    }

    /// The batches that run, by accelerator.
    pub fn running(&self) -> impl Iterator<Item = RunningView<'a>> + 'a {
        self.state.running.iter().filter(|running| running.busy).map(Running::view)
    }

    /// The application whose batch began last.
    #[must_use]
    pub fn served(&self) -> Option<u32> {
        self.state.served
    }

    /// How many places after the application that was served last an application comes in a round: 0 for the next one.
    #[inline]
    #[must_use]
    pub fn turn(&self, application: u32) -> u32 {
        let count = self.state.queues.len() as u32;
        match self.state.served {
            Some(last) => (application + count - last - 1) % count,
            None => application,
        }
    }

    /// Applications that can be served, those with waiting tasks, by place.
    #[inline]
    pub fn candidates(&self) -> impl Iterator<Item = u32> + use<'a> {
        (0..).zip(&self.state.queues).filter(|(_, queue)| queue.count > 0).map(|(place, _)| place)
    }

    /// The batch that is being formed; empty if none is.
    #[inline]
    #[must_use]
    pub fn batch(&self) -> Batch {
        if self.state.is_forming { self.state.forming.batch } else { Batch::default() }
    }

    /// The tasks of that batch: sizes and arrivals, ms, in the order in which they joined it.
    pub fn formed(&self) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        let places: &[u32] = if self.state.is_forming { &self.state.forming.places } else { &[] };
        let tasks = &self.state.tasks;
        places.iter().map(|&place| (tasks[place as usize].size, tasks[place as usize].arrival_ms))
    }

    /// Whether a task of a size fits into the batch that is being formed.
    #[inline]
    #[must_use]
    pub fn fits(&self, size: u32) -> bool {
        let application = &self.state.server.applications[self.state.forming.application as usize];
        application.holds(self.batch().with(size))
    }

    /// Waiting tasks that can join the batch that is being formed, by size; each size with the oldest task of it, which would be the
    /// one. Empty if no batch is being formed.
    #[inline]
    pub fn groups(&self) -> impl Iterator<Item = GroupView> + use<'a> {
        let application = self.state.forming.application;
        let groups = &self.state.queues[application as usize].groups;
        // Larger ones do not fit where smaller ones do not.
        let fitting = if self.state.is_forming { groups.partition_point(|group| self.fits(group.size)) } else { 0 };
        self.queue(application).groups().take(fitting)
    }

    /// Of [`View::groups`] the one with the largest size up to this, and the one with the smallest above it.
    #[inline]
    #[must_use]
    pub fn nearest(&self, size: u32) -> [Option<GroupView>; 2] {
        let queue = self.queue(self.state.forming.application);
        let groups = &self.state.queues[self.state.forming.application as usize].groups;
        let above = groups.partition_point(|group| group.size <= size);
        let at = |place: Option<usize>| {
            let group = queue.group(*groups.get(place?)?);
            (self.state.is_forming && self.fits(group.size)).then_some(group)
        };
        [at(above.checked_sub(1)), at(Some(above))]
    }

    /// Whether a legal decision leaves the server idle beside work, for good for all that is known: to wait where more than half of the
    /// accelerators idle, although a task has waited for the timeout of its application.
    #[must_use]
    pub fn strands(&self, decision: Decision) -> bool {
        matches!(decision, Decision::Wait { .. }) && self.state.idles_beside_work()
    }

    /// Whether the oldest waiting task of an application has waited for its timeout.
    #[must_use]
    pub fn is_timed_out(&self, application: u32) -> bool {
        let queue = self.queue(application);
        // As the timeout is worked out, so that rounding does not matter.
        queue.oldest().is_some_and(|task| task.arrival_ms + queue.application().timeout_ms <= self.time_ms())
    }
}
