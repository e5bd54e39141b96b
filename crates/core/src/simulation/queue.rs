//! The event queue: events leave in time order, and events of one instant in the order in which they were scheduled.

/// Bits of a key that hold the slot; the sequence number has the 44 above them, the time the upper 64.
const SLOT_BITS: u32 = 20;

/// The key of a slot without an event: later than all others.
const IDLE: u128 = u128::MAX;

/// A fixed number of slots (executors, devices), each with at most one event to come.
///
/// A tournament: slots in groups of four, the earliest of each group again in groups of four, and so on to one group at the
/// top, whose earliest is the next event. Scheduling replaces one key on each storey without a branch that depends on the
/// data. The common case, a slot whose event is followed by its next one, costs one such walk, where a heap takes a removal
/// and an insertion, both with branches that are a matter of chance.
///
/// ```
/// use sched_distill_core::simulation::EventQueue;
/// let mut queue = EventQueue::new(3);
/// queue.schedule(2, 5.0);
/// queue.schedule(0, 5.0);
/// queue.schedule(1, 1.5);
/// assert_eq!(queue.pop(), Some((1.5, 1)));
/// queue.schedule(1, 9.0);
/// assert_eq!(queue.pop(), Some((5.0, 2))); // scheduled before slot 0
/// assert_eq!(queue.pop(), Some((5.0, 0)));
/// assert_eq!(queue.pop(), Some((9.0, 1)));
/// assert_eq!(queue.pop(), None);
/// ```
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The keys of four neighbours at a time. Group 0 is the top; below entry `j` of group `g` is group `4 g + j + 1`, and
    /// that entry is the smallest key there. The groups from `leaves` on hold the slots' keys.
    groups: Vec<[u128; 4]>,
    leaves: usize,
    next: u128,
    /// The slot whose event was taken last and is still in the tree: most often its next event takes the place.
    taken: Option<u32>,
    sequence: u64,
}

impl EventQueue {
    /// A queue without events for slots `0..slots`.
    ///
    /// # Panics
    ///
    /// If there are more than 2²⁰ slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "{slots} slots, at most {} are possible", 1 << SLOT_BITS);
        let (mut leaves, mut width) = (0, 1);
        while 4 * width < slots as usize {
            leaves += width;
            width *= 4;
        }
        Self { groups: vec![[IDLE; 4]; leaves + width], leaves, next: IDLE, taken: None, sequence: 0 }
    }

    /// Schedules the event of a slot, in place of the one that it may have. `time` is not negative.
    #[inline]
    pub fn schedule(&mut self, slot: u32, time: f64) {
        debug_assert!(time >= 0.0, "{time}");
        if self.taken == Some(slot) {
            self.taken = None;
        }
        self.sequence += 1;
        // The bits of floating-point numbers that are not negative are in the order of the numbers.
        let tie = self.sequence << SLOT_BITS | u64::from(slot);
        self.set(slot, u128::from(time.to_bits()) << 64 | u128::from(tie));
    }

    /// Time of the next event.
    #[inline]
    #[must_use]
    pub fn next_time(&mut self) -> Option<f64> {
        if let Some(slot) = self.taken.take() {
            self.set(slot, IDLE);
        }
        (self.next != IDLE).then(|| f64::from_bits((self.next >> 64) as u64))
    }

    /// Takes the next event: its time and slot.
    #[inline]
    pub fn pop(&mut self) -> Option<(f64, u32)> {
        let time = self.next_time()?;
        let slot = self.next as u32 & ((1 << SLOT_BITS) - 1);
        self.taken = Some(slot);
        Some((time, slot))
    }

    fn set(&mut self, slot: u32, mut key: u128) {
        let (mut group, mut entry) = (self.leaves + slot as usize / 4, slot as usize % 4);
        loop {
            let keys = &mut self.groups[group];
            keys[entry] = key;
            key = least(least(keys[0], keys[1]), least(keys[2], keys[3]));
            if group == 0 {
                break;
            }
            (group, entry) = ((group - 1) / 4, (group - 1) % 4);
        }
        self.next = key;
    }
}

/// The smaller of two keys. Which one that is is a matter of chance, and a branch would be mispredicted half of the time.
fn least(a: u128, b: u128) -> u128 {
    std::hint::select_unpredictable(a < b, a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// Against a sorted list, with many equal times, for sizes around powers of four.
    #[test]
    fn events_leave_by_time_and_then_by_order_of_scheduling() {
        let mut stream = Stream::new(1, "queue");
        for slots in [1, 2, 4, 5, 16, 17, 50] {
            let mut queue = EventQueue::new(slots);
            let mut pending: Vec<(f64, u64, u32)> = Vec::new();
            let mut now = 0.0;
            for order in 0..2_000 {
                if stream.uniform() < 0.6 {
                    let slot = stream.below(slots as usize) as u32;
                    let time = now + stream.below(4) as f64;
                    pending.retain(|&(_, _, s)| s != slot);
                    pending.push((time, order, slot));
                    queue.schedule(slot, time);
                }
                pending.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                if stream.uniform() < 0.5 {
                    assert_eq!(queue.next_time(), pending.first().map(|event| event.0));
                }
                if stream.uniform() < 0.5 {
                    let next = (!pending.is_empty()).then(|| pending.remove(0));
                    assert_eq!(queue.pop(), next.map(|(time, _, slot)| (time, slot)));
                    now = next.map_or(now, |event| event.0);
                }
            }
        }
    }
}
