//! How far is a log read that takes seconds?
//!
//! Workloads are opened by their names in many places, none of which should have to pass on who watches. There is one that reads at a time,
//! or if there are several, any of them is as good to show.

use std::sync::atomic::{AtomicU64, Ordering};

static READ: AtomicU64 = AtomicU64::new(0);
static OF: AtomicU64 = AtomicU64::new(0);

/// Notes how many bytes of a log are read, of how many. Once all are, nothing is being read.
pub fn note_reading(read: u64, of: u64) {
    let (read, of) = if read < of { (read, of) } else { (0, 0) };
    READ.store(read, Ordering::Relaxed);
    OF.store(of, Ordering::Relaxed);
}

/// Bytes that are read of the log that is being read, and how many it has; `None` if none is.
///
/// ```
/// use sched_distill_core::workload::{note_reading, reading};
/// note_reading(3, 10);
/// assert_eq!(reading(), Some((3, 10)));
/// note_reading(10, 10);
/// assert_eq!(reading(), None);
/// ```
#[must_use]
pub fn reading() -> Option<(u64, u64)> {
    let (read, of) = (READ.load(Ordering::Relaxed), OF.load(Ordering::Relaxed));
    (of > 0).then_some((read.min(of), of))
}
