//! How long an iteration takes: the law that no scheduler knows.

use serde::{Deserialize, Serialize};

/// Time of an iteration by the cores that the program uses: `t(c) = serial + parallel / c + overhead · c`, ms. The first part is
/// what does not scale (Amdahl), the last one what coordination costs.
///
/// ```
/// use sched_distill_deadlines::Law;
/// let law = Law { serial_ms: 100.0, parallel_ms: 3900.0, overhead_ms: 0.0 };
/// assert_eq!((law.time_ms(1), law.time_ms(4)), (4000.0, 1075.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// What no core takes away, ms.
    pub serial_ms: f64,
    /// What cores share, ms.
    pub parallel_ms: f64,
    /// What every core adds, ms.
    #[serde(default)]
    pub overhead_ms: f64,
}

impl Law {
    /// Time of an iteration on so many cores, ms.
    #[must_use]
    pub fn time_ms(&self, cores: u32) -> f64 {
        let cores = f64::from(cores);
        self.serial_ms + self.parallel_ms / cores + self.overhead_ms * cores
    }

    /// The same law for a job all of whose iterations take so many times as long.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self {
            serial_ms: self.serial_ms * factor,
            parallel_ms: self.parallel_ms * factor,
            overhead_ms: self.overhead_ms * factor,
        }
    }

    /// Whether it is a law: no part negative or no number, and times that are positive.
    #[cfg(feature = "simulate")]
    pub(crate) fn check(&self) -> Result<(), String> {
        let parts = [self.serial_ms, self.parallel_ms, self.overhead_ms];
        match parts.iter().all(|part| (0.0..=1e12).contains(part)) && self.time_ms(1) > 0.0 {
            true => Ok(()),
            false => Err(format!("times of an iteration must be numbers in 0..=1e12 ms and not all 0, got {parts:?}")),
        }
    }
}
