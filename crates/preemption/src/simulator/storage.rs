//! The storage that all transfers share in equal parts.

use crate::Cluster;
use sched_distill_core::simulation::EventQueue;

/// Transfers under way. All run at the same rate, so that what each has got since a common beginning is one number: a transfer ends
/// when that number has grown by its size, whatever happens to the rate in between.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// By job: what the number is when its transfer ends; infinite without one.
    ends: EventQueue,
    /// GB that each transfer has got, and when that was so.
    got_gb: f64,
    at_ms: f64,
    count: u32,
}

impl Storage {
    pub(super) fn new(jobs: u32) -> Self {
        Self { ends: EventQueue::new(jobs), got_gb: 0.0, at_ms: 0.0, count: 0 }
    }

    /// Transfers under way.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    fn next_end(&mut self) -> Option<f64> {
        self.ends.next_time().filter(|gb| gb.is_finite())
    }

    /// When the next transfer ends, ms.
    pub(super) fn next_ms(&mut self, cluster: &Cluster) -> Option<f64> {
        let end = self.next_end()?;
        Some(self.at_ms + (end - self.got_gb).max(0.0) / cluster.rate(self.count))
    }

    /// Goes on to a time that is not after the end of the next transfer.
    pub(super) fn pass(&mut self, time_ms: f64, cluster: &Cluster) {
        if self.count > 0 {
            match (self.next_ms(cluster), self.next_end()) {
                // What was due at this time is complete, whatever rounding says.
                (Some(next_ms), Some(end)) if next_ms <= time_ms => self.got_gb = end,
                _ => self.got_gb += cluster.rate(self.count) * (time_ms - self.at_ms),
            }
        }
        self.at_ms = time_ms;
    }

    /// Begins a job's transfer.
    pub(super) fn begin(&mut self, job: u32, gb: f64) {
        if self.count == 0 {
            self.got_gb = 0.0;
        }
        self.ends.schedule(job, self.got_gb + gb);
        self.count += 1;
    }

    /// The job whose transfer is complete, if there is one.
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.next_end()? > self.got_gb {
            return None;
        }
        let (_, job) = self.ends.pop()?;
        self.count -= 1;
        Some(job)
    }

    /// A job's transfer is given up.
    pub(super) fn cancel(&mut self, job: u32) {
        self.ends.schedule(job, f64::INFINITY);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_share_the_storage() {
        let cluster = Cluster { storage_gbps: 2.0, link_gbps: 1.0, ..Cluster::default() };
        let mut storage = Storage::new(4);
        // Two at the full speed of their links; a third slows all of them down.
        storage.begin(0, 3.0);
        storage.begin(1, 6.0);
        storage.pass(1000.0, &cluster);
        storage.begin(2, 1.0);
        // A third of 2 GB/s each: the third needs 1.5 s.
        assert!((storage.next_ms(&cluster).unwrap() - 2500.0).abs() < 1e-9);
        storage.pass(2500.0, &cluster);
        assert_eq!((storage.pop(), storage.pop(), storage.count()), (Some(2), None, 2));
        assert!((storage.next_ms(&cluster).unwrap() - 3500.0).abs() < 1e-9);
        storage.pass(3000.0, &cluster);
        storage.cancel(0);
        // The other one has got 2.5 GB.
        assert!((storage.next_ms(&cluster).unwrap() - 6500.0).abs() < 1e-9);
        storage.pass(6500.0, &cluster);
        assert_eq!((storage.pop(), storage.next_ms(&cluster)), (Some(1), None));
    }
}
