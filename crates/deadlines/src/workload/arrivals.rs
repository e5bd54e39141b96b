//! When jobs arrive.

use sched_distill_core::workload::Table;
use sched_distill_core::{rng::Stream, workload::WorkloadError};
use std::{path::Path, sync::Arc};

/// The arrival process of generated jobs. It begins at time 0 and stops at the total of jobs.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// So many jobs within a minute, every so often.
    Bursts {
        /// Jobs of a burst. Default 30.
        size: u32,
        /// Time from one burst to the next, ms. Default two hours.
        gap_ms: f64,
    },
    /// At random times, with this mean time between two, ms.
    Poisson(f64),
    /// At random times whose density follows a recorded series, with this mean time between two over the whole series, ms. It begins
    /// at a place that the seed draws, and after its end again.
    Recorded(f64, Arc<Intensity>),
}

/// Time within which a burst arrives, ms.
const BURST_MS: f64 = 6e4;

impl Arrivals {
    /// When the last of so many jobs arrives, about, ms.
    pub(super) fn last_ms(&self, jobs: u32) -> f64 {
        match self {
            Self::Bursts { size, gap_ms } => f64::from(jobs.saturating_sub(1) / size) * gap_ms + BURST_MS,
            Self::Poisson(mean_ms) | Self::Recorded(mean_ms, _) => f64::from(jobs) * mean_ms,
        }
    }

    /// Arrival times of `jobs` jobs, ascending, ms.
    #[must_use]
    pub fn times_ms(&self, jobs: u32, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, "deadline arrivals");
        let mut times: Vec<f64> = match self {
            Self::Bursts { size, gap_ms } => {
                (0..jobs).map(|job| f64::from(job / size) * gap_ms + BURST_MS * stream.uniform()).collect()
            }
            Self::Poisson(mean_ms) => {
                let mut time = 0.0;
                let mut next = || {
                    time += stream.exponential(*mean_ms);
                    time
                };
                (0..jobs).map(|_| next()).collect()
            }
            Self::Recorded(mean_ms, series) => series.times_ms(*mean_ms, jobs, &mut stream),
        };
        times.sort_unstable_by(f64::total_cmp);
        times
    }
}

/// How busy a cluster was, step by step: what arrivals are scaled by.
#[derive(Clone, Debug, PartialEq)]
pub struct Intensity {
    /// By step, mean 1.
    weights: Vec<f64>,
}

/// Length of a step, ms: ten minutes.
const STEP_MS: f64 = 6e5;

impl Intensity {
    /// Reads a CSV file with the columns `running_gpu_jobs` and `pending_gpu_jobs`, a row per ten minutes. Only its shape counts.
    ///
    /// # Errors
    ///
    /// An unreadable file, missing columns, no rows, or cells that are no numbers at least 0, all with line and column; a series of
    /// zeros.
    pub fn load(path: &Path) -> Result<Self, WorkloadError> {
        let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
        let table = Table::load(path)?;
        let columns = ["running_gpu_jobs", "pending_gpu_jobs"].map(|name| table.numbers(name, 0.0..=1e9));
        let [running, pending] = columns;
        let all: Vec<f64> =
            running.map_err(format)?.into_iter().zip(pending.map_err(format)?).map(|(a, b)| a + b).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        if mean <= 0.0 {
            return Err(format("no row has a job; arrivals need a series that is not all 0".to_owned()));
        }
        Ok(Self { weights: all.into_iter().map(|x| x / mean).collect() })
    }

    fn times_ms(&self, mean_ms: f64, jobs: u32, stream: &mut Stream) -> Vec<f64> {
        let first = stream.below(self.weights.len());
        let (mut step, mut into) = (0_usize, 0.0);
        // The mean weight is 1: a turn of the series takes as long as it is.
        let turn_ms = STEP_MS * self.weights.len() as f64;
        let mut next = || {
            // Time runs as fast as the step is busy.
            let mut left = stream.exponential(mean_ms);
            let turns = (left / turn_ms).floor();
            step += turns as usize * self.weights.len();
            left -= turns * turn_ms;
            loop {
                let weight = self.weights[(first + step) % self.weights.len()];
                let rest = (STEP_MS - into) * weight;
                if left < rest {
                    into += left / weight;
                    return step as f64 * STEP_MS + into;
                }
                left -= rest;
                (step, into) = (step + 1, 0.0);
            }
        };
        (0..jobs).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_their_rate() {
        let series = Arc::new(Intensity { weights: vec![0.0, 3.0, 0.5, 0.5] });
        for arrivals in [Arrivals::Poisson(1e4), Arrivals::Recorded(1e4, series)] {
            let times = arrivals.times_ms(20_000, 5);
            assert!(times.is_sorted());
            let mean = times.last().unwrap() / 2e4;
            assert!((mean / 1e4 - 1.0).abs() < 0.05, "{mean}");
        }
        let bursts = Arrivals::Bursts { size: 3, gap_ms: 1e6 }.times_ms(7, 5);
        assert!(bursts[2] < BURST_MS && (1e6..1e6 + BURST_MS).contains(&bursts[3]) && bursts[6] >= 2e6);
    }

    #[test]
    fn busy_times_bring_more() {
        let series = Intensity { weights: vec![0.0, 3.0, 0.5, 0.5] };
        let times = series.times_ms(1e4, 20_000, &mut Stream::new(3, "test"));
        let first =
            (0..4).find(|first| times.iter().all(|ms| series.weights[(first + (ms / STEP_MS) as usize) % 4] > 0.0));
        assert!(first.is_some(), "no job arrives where the series is 0");
    }
}
