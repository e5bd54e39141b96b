//! The event queue: events leave in time order, and events of one instant in the order in which they were pushed.

use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next job of the list arrives.
    JobArrival,
    /// The executor's task ends.
    TaskFinished(u32),
    /// The executor reaches the stage it was sent to.
    ExecutorArrived(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    time_ms: f64,
    sequence: u64,
    event: Event,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Reversed: the standard heap gives the largest first.
        other.time_ms.total_cmp(&self.time_ms).then(other.sequence.cmp(&self.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Events of executors; job arrivals wait in the sorted job list and are merged in [`EventQueue::pop`], so that the heap
/// never holds more than one event per executor.
#[derive(Clone, Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl EventQueue {
    pub(super) fn push(&mut self, time_ms: f64, event: Event) {
        self.sequence += 1;
        self.heap.push(Entry { time_ms, sequence: self.sequence, event });
    }

    /// The next event and its time, given when the next job arrives. At one instant arrivals come first, as if all of them
    /// had been pushed at the beginning.
    pub(super) fn pop(&mut self, next_arrival_ms: Option<f64>) -> Option<(f64, Event)> {
        match (self.heap.peek(), next_arrival_ms) {
            (Some(top), Some(arrival)) if arrival > top.time_ms => {}
            (_, Some(arrival)) => return Some((arrival, Event::JobArrival)),
            _ => {}
        }
        self.heap.pop().map(|e| (e.time_ms, e.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_first_in_first_out_and_arrivals_first() {
        let mut queue = EventQueue::default();
        queue.push(2.0, Event::TaskFinished(1));
        queue.push(1.0, Event::TaskFinished(2));
        queue.push(2.0, Event::ExecutorArrived(3));
        assert_eq!(queue.pop(Some(2.0)), Some((1.0, Event::TaskFinished(2))));
        assert_eq!(queue.pop(Some(2.0)), Some((2.0, Event::JobArrival)));
        assert_eq!(queue.pop(Some(9.0)), Some((2.0, Event::TaskFinished(1))));
        assert_eq!(queue.pop(Some(9.0)), Some((2.0, Event::ExecutorArrived(3))));
        assert_eq!(queue.pop(None), None);
    }
}
