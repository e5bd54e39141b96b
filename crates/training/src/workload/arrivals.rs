//! In which slots jobs arrive.

use super::trace::ArrivalTrace;
use sched_distill_core::rng::Stream;
use std::sync::Arc;

/// The arrival process of generated jobs. It begins at slot 0 and stops at the total of jobs.
#[derive(Clone, Debug, Default)]
pub enum SlotArrivals {
    /// As many jobs in every slot; of a rate that is not whole, as many as keep up with it.
    #[default]
    Uniform,
    /// A Poisson number per slot, but no more than the rate, rounded up. This makes the mean smaller than the rate, as in DL2.
    Poisson,
    /// Bursts: a fifth of the slots bring a Poisson number with four times the rate, the others with a quarter of it, so that
    /// the mean is the rate.
    Bursty,
    /// The counts per slot of a recorded trace, but no more than the rate, rounded up, from a slot that the seed draws. After
    /// its end the trace begins again.
    Trace(Arc<ArrivalTrace>),
}

impl SlotArrivals {
    /// Arrival slots of `jobs` jobs, ascending. `rate` is in jobs per slot.
    #[must_use]
    pub fn slots(&self, rate: f64, jobs: u32, seed: u64) -> Vec<u32> {
        let mut stream = Stream::new(seed, "training arrivals");
        let limit = most_per_slot(rate);
        match self {
            // Job j arrives in the first slot t with (t + 1) · rate > j.
            Self::Uniform => (0..jobs).map(|job| (f64::from(job + 1) / rate).ceil() as u32 - 1).collect(),
            Self::Poisson => fill(jobs, |_| poisson(&mut stream, rate).min(limit)),
            Self::Bursty => fill(jobs, |_| {
                let factor = if stream.uniform() < 0.2 { 4.0 } else { 0.25 };
                poisson(&mut stream, rate * factor)
            }),
            Self::Trace(trace) => trace.slots(limit, jobs, stream.below(trace.length() as usize) as u32),
        }
    }
}

/// Most arrivals of a slot where the rate bounds them.
pub(super) fn most_per_slot(rate: f64) -> u32 {
    rate.ceil().max(1.0) as u32
}

/// Arrival slots of `jobs` jobs if `count` jobs arrive in a slot.
fn fill(jobs: u32, mut count: impl FnMut(u32) -> u32) -> Vec<u32> {
    let mut slots = Vec::with_capacity(jobs as usize);
    for slot in 0.. {
        let left = jobs as usize - slots.len();
        if left == 0 {
            break;
        }
        slots.extend(std::iter::repeat_n(slot, left.min(count(slot) as usize)));
    }
    slots
}

/// A Poisson number: how many exponential gaps of mean 1 end within `mean`.
fn poisson(stream: &mut Stream, mean: f64) -> u32 {
    let mut time = stream.exponential(1.0);
    let mut count = 0;
    while time <= mean {
        count += 1;
        time += stream.exponential(1.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_arrivals_keep_up_with_the_rate() {
        assert_eq!(SlotArrivals::Uniform.slots(3.0, 7, 0), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(SlotArrivals::Uniform.slots(0.5, 3, 0), [1, 3, 5]);
        assert_eq!(SlotArrivals::Uniform.slots(1.5, 6, 0), [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn random_arrivals_have_their_means() {
        let mean = |arrivals: SlotArrivals| {
            let slots = arrivals.slots(3.0, 60_000, 5);
            assert!(slots.is_sorted());
            slots.len() as f64 / f64::from(slots[slots.len() - 1] + 1)
        };
        assert!((mean(SlotArrivals::Bursty) - 3.0).abs() < 0.1);
        // A Poisson number of mean 3 clipped at 3: 3 − 3·P(0) − 2·P(1) − P(2).
        assert!((mean(SlotArrivals::Poisson) - 2.328).abs() < 0.05);
    }
}
