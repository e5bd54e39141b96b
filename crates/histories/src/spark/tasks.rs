//! How are millions of ends of tasks kept in little memory?
//!
//! As they come, ends of tasks are in the order of their finish. They are kept in the order of their launch, which is what waves are found
//! by: so many at a time are sorted, and each is then written as what differs from the one before it, which is little. Who goes through
//! all of them merges these lists.

use super::log::{Locality, Task, TaskEnd};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    fmt,
};

/// Ends of tasks that are sorted together; before they are packed they take 1 MB.
const TOGETHER: usize = 1 << 14;

/// Ends of tasks in the order of their launches: by [`Task::launch_ms`], then [`Task::id`], then as they were collected. Some 14 bytes are
/// kept of each.
///
/// ```
/// # use sched_distill_histories::spark::{Locality, Task, TaskEnd, Tasks};
/// # let task = |id, launch_ms, finish_ms| Task {
/// #     id, launch_ms, finish_ms, run_time_ms: 0, stage: 0, stage_attempt: 0, index: 0, attempt: 0, executor: 0,
/// #     end: TaskEnd::Succeeded, locality: Locality::Any, is_repeated: false, is_speculative: false, is_shuffle_map: false,
/// # };
/// let tasks: Tasks = [task(1, 20, 30), task(0, 10, 40)].into_iter().collect();
/// assert_eq!(tasks.len(), 2);
/// assert_eq!(tasks.iter().map(|task| task.launch_ms).collect::<Vec<_>>(), [10, 20]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    lists: Vec<List<Box<[u8]>>>,
    len: usize,
}

/// Tasks by launch, each as what differs from the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct List<B> {
    bytes: B,
    len: usize,
}

impl Tasks {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Task> + '_ {
        merged(self.lists.iter().map(|list| List { bytes: &*list.bytes, len: list.len }))
    }

    /// All of them; the memory that they take is given back on the way.
    pub(super) fn drain(self) -> impl Iterator<Item = Task> {
        merged(self.lists.into_iter())
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Task> for Tasks {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> Self {
        let mut packing = Packing::default();
        tasks.into_iter().for_each(|task| packing.push(task));
        packing.finish()
    }
}

/// Tasks while they are collected.
#[derive(Default)]
pub(super) struct Packing {
    packed: Tasks,
    /// The last ones, as they ended.
    last: Vec<Task>,
}

impl Packing {
    pub(super) fn len(&self) -> usize {
        self.packed.len + self.last.len()
    }

    pub(super) fn push(&mut self, task: Task) {
        self.last.push(task);
        if self.last.len() == TOGETHER {
            self.pack();
        }
    }

    fn pack(&mut self) {
        self.last.sort_by_key(key);
        let mut bytes = Vec::new();
        let mut before = NONE;
        for &task in &self.last {
            write(&mut bytes, &before, &task);
            before = task;
        }
        self.packed.len += self.last.len();
        self.packed.lists.push(List { bytes: bytes.into(), len: self.last.len() });
        self.last.clear();
    }

    pub(super) fn finish(mut self) -> Tasks {
        if !self.last.is_empty() {
            self.pack();
        }
        self.packed
    }
}

/// What tasks are sorted by.
fn key(task: &Task) -> (i64, i64) {
    (task.launch_ms, task.id)
}

/// The task before the first one.
const NONE: Task = Task {
    id: 0,
    launch_ms: 0,
    finish_ms: 0,
    run_time_ms: 0,
    stage: 0,
    stage_attempt: 0,
    index: 0,
    attempt: 0,
    executor: 0,
    end: TaskEnd::Succeeded,
    locality: Locality::Process,
    is_repeated: false,
    is_speculative: false,
    is_shuffle_map: false,
};

const ENDS: [TaskEnd; 4] = [TaskEnd::Succeeded, TaskEnd::Failed, TaskEnd::Killed, TaskEnd::Resubmitted];
const LOCALITIES: [Locality; 6] =
    [Locality::Process, Locality::Node, Locality::Rack, Locality::Any, Locality::NoPreference, Locality::Unknown];

fn write(bytes: &mut Vec<u8>, before: &Task, task: &Task) {
    let flags = [task.is_repeated, task.is_speculative, task.is_shuffle_map];
    let flags = flags.into_iter().fold(0, |all, flag| 2 * all + u8::from(flag));
    bytes.push((flags * LOCALITIES.len() as u8 + task.locality as u8) * ENDS.len() as u8 + task.end as u8);
    let duration_ms = task.finish_ms.wrapping_sub(task.launch_ms);
    let less = |a: u32, b: u32| i64::from(a) - i64::from(b);
    for difference in [
        task.id.wrapping_sub(before.id),
        task.launch_ms.wrapping_sub(before.launch_ms),
        duration_ms,
        duration_ms.wrapping_sub(task.run_time_ms),
        less(task.stage, before.stage),
        less(task.stage_attempt, before.stage_attempt),
        less(task.index, before.index),
        less(task.attempt, before.attempt),
        less(task.executor, before.executor),
    ] {
        // Small numbers of either sign in few bytes, the lowest bits first, 7 in each.
        let mut left = ((difference << 1) ^ (difference >> 63)) as u64;
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    }
}

/// The next task, which was written after another one.
fn read(bytes: &mut impl Iterator<Item = u8>, before: &Task) -> Option<Task> {
    let bits = usize::from(bytes.next()?);
    let (end, bits) = (bits % ENDS.len(), bits / ENDS.len());
    let (locality, flags) = (bits % LOCALITIES.len(), bits / LOCALITIES.len());
    let mut next = || {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = bytes.next()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
    };
    let id = before.id.wrapping_add(next()?);
    let launch_ms = before.launch_ms.wrapping_add(next()?);
    let duration_ms = next()?;
    let run_time_ms = duration_ms.wrapping_sub(next()?);
    let mut after = |before: u32| u32::try_from(i64::from(before) + next()?).ok();
    Some(Task {
        id,
        launch_ms,
        finish_ms: launch_ms.wrapping_add(duration_ms),
        run_time_ms,
        stage: after(before.stage)?,
        stage_attempt: after(before.stage_attempt)?,
        index: after(before.index)?,
        attempt: after(before.attempt)?,
        executor: after(before.executor)?,
        end: *ENDS.get(end)?,
        locality: *LOCALITIES.get(locality)?,
        is_repeated: flags & 4 != 0,
        is_speculative: flags & 2 != 0,
        is_shuffle_map: flags & 1 != 0,
    })
}

/// A list while it is gone through.
struct Cursor<B> {
    list: List<B>,
    at: usize,
    next: Task,
}

impl<B: AsRef<[u8]>> Cursor<B> {
    /// At the first of them; `None` of an empty list.
    fn new(list: List<B>) -> Option<Self> {
        let mut cursor = Self { list, at: 0, next: NONE };
        cursor.step().then_some(cursor)
    }

    /// Goes to the next one, if there is one.
    fn step(&mut self) -> bool {
        let Some(left) = self.list.len.checked_sub(1) else { return false };
        self.list.len = left;
        let mut bytes = self.list.bytes.as_ref().get(self.at..).unwrap_or_default().iter();
        let whole = bytes.len();
        match read(&mut bytes.by_ref().copied(), &self.next) {
            Some(task) => {
                self.at += whole - bytes.len();
                self.next = task;
                true
            }
            None => false,
        }
    }
}

/// The tasks of lists by launch; of those that are equal the first list's come first.
fn merged<B: AsRef<[u8]>>(lists: impl Iterator<Item = List<B>>) -> impl Iterator<Item = Task> {
    let mut cursors: Vec<Option<Cursor<B>>> = lists.map(Cursor::new).collect();
    let heads = cursors.iter().enumerate().filter_map(|(place, cursor)| Some((key(&cursor.as_ref()?.next), place)));
    let mut heads: BinaryHeap<Reverse<((i64, i64), usize)>> = heads.map(Reverse).collect();
    std::iter::from_fn(move || {
        let mut head = heads.peek_mut()?;
        let slot = cursors.get_mut(head.0.1)?;
        let cursor = slot.as_mut()?;
        let task = cursor.next;
        if cursor.step() {
            head.0.0 = key(&cursor.next);
        } else {
            // Gives its memory back.
            *slot = None;
            PeekMut::pop(head);
        }
        Some(task)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any number, small ones mostly.
    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![4 => -300_i64..300, 1 => any::<i64>(), 1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)]]
    }

    fn task() -> impl Strategy<Value = Task> {
        let count = || prop_oneof![4 => 0_u32..300, 1 => any::<u32>()];
        let kind = (0..ENDS.len(), 0..LOCALITIES.len(), any::<[bool; 3]>());
        let times = (number(), number(), number(), number());
        (times, [count(), count(), count(), count(), count()], kind).prop_map(|(times, counts, kind)| {
            let ((id, launch_ms, finish_ms, run_time_ms), (end, locality, flags)) = (times, kind);
            let [stage, stage_attempt, index, attempt, executor] = counts;
            let [is_repeated, is_speculative, is_shuffle_map] = flags;
            Task {
                id,
                launch_ms,
                finish_ms,
                run_time_ms,
                stage,
                stage_attempt,
                index,
                attempt,
                executor,
                end: ENDS[end],
                locality: LOCALITIES[locality],
                is_repeated,
                is_speculative,
                is_shuffle_map,
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back_by_launch(tasks in prop::collection::vec(task(), 0..60)) {
            let mut sorted = tasks.clone();
            sorted.sort_by_key(key);
            // As one list, and as lists of 7 that are merged.
            let one: Tasks = tasks.iter().copied().collect();
            let lists = tasks.chunks(7).flat_map(|some| some.iter().copied().collect::<Tasks>().lists);
            let many = Tasks { lists: lists.collect(), len: tasks.len() };
            for packed in [one, many] {
                prop_assert_eq!(packed.len(), tasks.len());
                prop_assert_eq!(packed.iter().collect::<Vec<_>>(), sorted.clone());
                prop_assert_eq!(packed.drain().collect::<Vec<_>>(), sorted.clone());
            }
        }
    }

    #[test]
    fn an_end_of_a_task_takes_few_bytes() {
        let task = |n: u32| Task {
            id: n.into(),
            launch_ms: 1_700_000_000_000 + 7 * i64::from(n),
            finish_ms: 1_700_000_000_000 + 7 * i64::from(n) + 3000,
            run_time_ms: 2950,
            stage: n / 30,
            index: n % 30,
            executor: n * 7919 % 100,
            is_shuffle_map: true,
            ..NONE
        };
        let n = 3 * TOGETHER as u32 + 5;
        let tasks: Tasks = (0..n).map(task).collect();
        let bytes: usize = tasks.lists.iter().map(|list| list.bytes.len()).sum();
        assert_eq!((tasks.len(), tasks.lists.len()), (n as usize, 4));
        assert!(bytes <= 14 * n as usize, "{bytes} bytes of {n} tasks");
    }
}
