//! The waiting tasks of an application: by arrival, and by size.

use super::{Decaying, NONE, ServerState};
use crate::Application;

/// Tasks of one size, at least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) size: u32,
    pub(crate) count: u32,
    /// Places of the oldest and of the youngest.
    pub(crate) first: u32,
    last: u32,
    /// Time of a task of this size in a batch of its own, ms, and 1 ÷ that.
    pub(crate) solo_ms: f64,
    pub(crate) pace: f64,
    /// Time per task of a full batch of this size, ms.
    pub(crate) full_ms: f64,
    /// When the oldest arrived, ms.
    pub(crate) oldest_ms: f64,
}

impl Group {
    pub(super) fn new(of: &Application, size: u32, count: u32, [first, last]: [u32; 2], oldest_ms: f64) -> Self {
        let solo_ms = of.solo_ms(size);
        Self { size, count, first, last, solo_ms, pace: 1.0 / solo_ms, full_ms: of.full_ms(size), oldest_ms }
    }
}

/// The waiting tasks of an application, and what it has had.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Places of the oldest and of the youngest.
    pub(crate) first: u32,
    last: u32,
    pub(crate) count: u32,
    /// By size.
    pub(crate) groups: Vec<Group>,
    /// Batches that have begun.
    pub(crate) begun: u64,
    /// Accelerator time, ms, and arrivals.
    pub(crate) used: Decaying,
    pub(crate) arrivals: Decaying,
}

impl Default for Queue {
    fn default() -> Self {
        let (used, arrivals) = (Decaying::default(), Decaying::default());
        Self { first: NONE, last: NONE, count: 0, groups: Vec::new(), begun: 0, used, arrivals }
    }
}

impl ServerState {
    /// Puts a task at the end of the queue of its application.
    #[inline]
    pub(super) fn enqueue(&mut self, place: u32) {
        let size = self.tasks[place as usize].size;
        let queue = &mut self.queues[self.tasks[place as usize].application as usize];
        let task = &mut self.tasks[place as usize];
        let application = task.application;
        (task.before, task.after, task.after_of_size) = (queue.last, NONE, NONE);
        match queue.last {
            NONE => queue.first = place,
            last => self.tasks[last as usize].after = place,
        }
        queue.last = place;
        queue.count += 1;
        match queue.groups.binary_search_by_key(&size, |group| group.size) {
            Ok(at) => {
                let group = &mut queue.groups[at];
                self.tasks[group.last as usize].after_of_size = place;
                (group.last, group.count) = (place, group.count + 1);
            }
            Err(at) => {
                let of = &self.server.applications[application as usize];
                let arrival_ms = self.tasks[place as usize].arrival_ms;
                queue.groups.insert(at, Group::new(of, size, 1, [place; 2], arrival_ms));
            }
        }
        self.waiting += 1;
    }

    /// Takes the oldest task of its size out of its queue; those of its size as they were.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Option<Group> {
        let size = self.tasks[place as usize].size;
        let queue = &mut self.queues[self.tasks[place as usize].application as usize];
        let at = queue.groups.binary_search_by_key(&size, |group| group.size).ok()?;
        let taken = queue.groups[at];
        debug_assert_eq!(taken.first, place);
        match self.tasks[place as usize].after_of_size {
            NONE => {
                queue.groups.remove(at);
            }
            next => {
                let oldest_ms = self.tasks[next as usize].arrival_ms;
                queue.groups[at] = Group { first: next, count: taken.count - 1, oldest_ms, ..taken };
            }
        }
        self.unlink(place);
        Some(taken)
    }

    /// Takes any task out of its queue.
    pub(super) fn take_any(&mut self, place: u32) {
        let (application, size) = (self.tasks[place as usize].application, self.tasks[place as usize].size);
        self.unlink(place);
        self.regroup(application, size);
    }

    fn unlink(&mut self, place: u32) {
        let (application, before, after) = {
            let task = &self.tasks[place as usize];
            (task.application as usize, task.before, task.after)
        };
        let queue = &mut self.queues[application];
        match before {
            NONE => queue.first = after,
            _ => self.tasks[before as usize].after = after,
        }
        match after {
            NONE => queue.last = before,
            _ => self.tasks[after as usize].before = before,
        }
        queue.count -= 1;
        self.waiting -= 1;
    }

    /// Lists the tasks of a size anew, whichever there are.
    pub(super) fn regroup(&mut self, application: u32, size: u32) {
        let places: Vec<u32> =
            self.in_queue(application).filter(|&place| self.tasks[place as usize].size == size).collect();
        for (i, &place) in places.iter().enumerate() {
            self.tasks[place as usize].after_of_size = places.get(i + 1).copied().unwrap_or(NONE);
        }
        let of = &self.server.applications[application as usize];
        let groups = &mut self.queues[application as usize].groups;
        let at = groups.binary_search_by_key(&size, |group| group.size);
        match (at, places.first().zip(places.last())) {
            (Ok(at), None) => {
                groups.remove(at);
            }
            (Err(_), None) => {}
            (at, Some((&first, &last))) => {
                let group =
                    Group::new(of, size, places.len() as u32, [first, last], self.tasks[first as usize].arrival_ms);
                match at {
                    Ok(at) => groups[at] = group,
                    Err(at) => groups.insert(at, group),
                }
            }
        }
    }

    /// Changes the declared size of a waiting task.
    #[cfg(feature = "simulate")]
    pub(crate) fn set_size(&mut self, place: u32, size: u32) {
        let task = &mut self.tasks[place as usize];
        let (application, was) = (task.application, std::mem::replace(&mut task.size, size));
        self.regroup(application, was);
        self.regroup(application, size);
    }

    /// Places of the waiting tasks of an application, the oldest first.
    pub(crate) fn in_queue(&self, application: u32) -> impl Iterator<Item = u32> {
        let mut next = self.queues[application as usize].first;
        std::iter::from_fn(move || {
            let place = (next != NONE).then_some(next)?;
            next = self.tasks[place as usize].after;
            Some(place)
        })
    }

    /// The place of a task that is the oldest of its size of the application whose batch is being formed.
    #[inline]
    pub(crate) fn place_of_head(&self, id: u32) -> Option<u32> {
        let groups = &self.queues[self.forming.application as usize].groups;
        // In a simulator places are numbers.
        if let Some(task) = self.tasks.get(id as usize)
            && task.id == id
            && task.application == self.forming.application
        {
            let at = groups.binary_search_by_key(&task.size, |group| group.size).ok()?;
            return (groups[at].first == id).then_some(id);
        }
        groups.iter().map(|group| group.first).find(|&place| self.tasks[place as usize].id == id)
    }
}
