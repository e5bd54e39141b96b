//! How long an episode may go on.

/// An episode may have so many times the events that its jobs need, and so many events in any case.
const TIMES: f64 = 100.0;
const ANYWAY: f64 = 1e4;

/// After how many events an episode has stalled: a hundred times what its jobs need, and ten thousand. Whoever decides may be
/// wasteful, but not for ever: without progress there is no end.
///
/// Time needs no bound of its own, as simulators let no more of it pass from one event to the next than one part of a job takes.
///
/// ```
/// use sched_distill_core::simulation::Bound;
/// let bound = Bound::of(300.0);
/// assert!(!bound.is_passed(40_000) && bound.is_passed(40_001));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound(u64);

impl Bound {
    /// The bound of an episode whose jobs need so many events.
    #[must_use]
    pub fn of(needed: f64) -> Self {
        // What is too large for the type is its largest number.
        Self((TIMES * needed + ANYWAY) as u64)
    }

    /// Whether so many events are too many.
    #[inline]
    #[must_use]
    pub fn is_passed(self, events: u64) -> bool {
        events > self.0
    }
}
