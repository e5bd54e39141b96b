//! When jobs arrive: Poisson or in bursts.

use super::Cluster;
use crate::{
    rng::Stream,
    spec::{Args, SpecError},
};

/// Arrival process and cluster, the parameters that all generated workloads share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// The cluster. Default: 10 executors, moving delay 2000 ms.
    pub cluster: Cluster,
    /// Jobs per episode. Default 50.
    pub jobs: u32,
    /// Mean arrivals per ms. Default 4e-5.
    pub rate: f64,
    /// Whether jobs come in bursts. Default: Poisson.
    pub bursty: bool,
    /// Added to a fresh executor's first task where nothing was measured, ms. Default 1000.
    pub warmup_ms: f64,
}

impl Default for Arrivals {
    fn default() -> Self {
        let cluster = Cluster { num_executors: 10, moving_delay_ms: 2000.0 };
        Self { cluster, jobs: 50, rate: 4e-5, bursty: false, warmup_ms: 1000.0 }
    }
}

impl Arrivals {
    /// Reads `executors`, `jobs`, `rate`, `arrivals`, `delay` and `warmup` from a spec.
    pub fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let default = Self::default();
        Ok(Self {
            cluster: Cluster {
                num_executors: args.count("executors", default.cluster.num_executors, 1..=100_000)?,
                moving_delay_ms: args.number("delay", default.cluster.moving_delay_ms, 0.0..=1e9)?,
            },
            jobs: args.count("jobs", default.jobs, 1..=1_000_000)?,
            rate: args.number("rate", default.rate, 1e-12..=1e3)?,
            bursty: args.word("arrivals", &["poisson", "bursty"])? == "bursty",
            warmup_ms: args.number("warmup", default.warmup_ms, 0.0..=1e9)?,
        })
    }

    /// Arrival times of an episode, ms, ascending; the first job arrives at 0.
    ///
    /// Bursty: a tenth of the gaps are pauses that take nine tenths of the time, so that jobs come in bursts of ten on
    /// average, at the same mean rate.
    #[must_use]
    pub fn times(&self, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, "arrivals");
        let mean = 1.0 / self.rate;
        let mut time = 0.0;
        (0..self.jobs)
            .map(|job| {
                if job > 0 {
                    let factor = match self.bursty {
                        false => 1.0,
                        true if stream.uniform() < 0.1 => 9.0,
                        true => 1.0 / 9.0,
                    };
                    time += stream.exponential(mean * factor);
                }
                time
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_processes_keep_the_mean_rate_and_bursts_are_burstier() {
        let variation = |bursty: bool| {
            let times = Arrivals { jobs: 40_000, bursty, ..Arrivals::default() }.times(5);
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean / 25_000.0 - 1.0).abs() < 0.08, "mean gap {mean}");
            (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt() / mean
        };
        assert!((variation(false) - 1.0).abs() < 0.05);
        assert!(variation(true) > 2.0);
    }
}
