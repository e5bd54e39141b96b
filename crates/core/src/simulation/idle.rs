//! For how long a cluster idles beside work.

/// The longest time in which more than half of a cluster idles although work waits that could start on it.
///
/// Work conservation is what operators expect of a scheduler; where a policy may wait on purpose, this says how long it did.
///
/// ```
/// use sched_distill_core::simulation::IdleSpells;
/// let mut spells = IdleSpells::default();
/// // Idle from 10 to 30 ms, at work, and idle for 5 ms again.
/// for (is_idle, from_ms, to_ms) in [(true, 10.0, 20.0), (true, 20.0, 30.0), (false, 30.0, 40.0), (true, 40.0, 45.0)] {
///     spells.pass(is_idle, from_ms, to_ms);
/// }
/// assert_eq!(spells.longest_ms(), 20.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleSpells {
    /// From when to when the last spell lasted, ms.
    last: (f64, f64),
    longest_ms: f64,
}

impl IdleSpells {
    /// Time passes: between these two moments, ms, the cluster idles beside work or does not. A spell that ends and one that begins at
    /// the same moment are one.
    pub fn pass(&mut self, is_idle: bool, from_ms: f64, to_ms: f64) {
        if is_idle {
            let since_ms = self.since_ms(from_ms);
            self.last = (since_ms, to_ms);
            self.longest_ms = self.longest_ms.max(to_ms - since_ms);
        }
    }

    /// When the spell began that lasts to this moment, ms: the moment itself if there is none.
    #[must_use]
    pub fn since_ms(&self, now_ms: f64) -> f64 {
        if self.last.1 == now_ms { self.last.0 } else { now_ms }
    }

    /// The longest spell so far, ms; 0 if there was none.
    #[must_use]
    pub fn longest_ms(&self) -> f64 {
        self.longest_ms
    }
}
