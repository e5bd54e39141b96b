//! When jobs arrive: Poisson or in bursts.

use super::{
    Cluster, EDGE_CASES, EdgeCase, JobArrival, JobTemplate,
    edge::{BURST, CASES, MANY_STAGES},
};
use sched_distill_core::{
    rng::Stream,
    spec::{Args, SpecError},
    workload::Work,
};
use std::sync::Arc;

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
    /// What is done to arrivals, cluster and jobs on top of the above. Default: nothing.
    pub edge: Option<EdgeCase>,
}

/// Memory per job and stage, bytes, as measured, and per stage of a job that is the same as others.
const JOB_BYTES: f64 = 1000.0;
const STAGE_BYTES: f64 = 2200.0;
const SHARED_STAGE_BYTES: f64 = 300.0;

impl Default for Arrivals {
    fn default() -> Self {
        let cluster = Cluster::new(10, 2000.0);
        Self { cluster, jobs: 50, rate: 4e-5, bursty: false, warmup_ms: 1000.0, edge: None }
    }
}

impl Arrivals {
    /// Reads `executors`, `jobs`, `rate`, `arrivals`, `delay`, `warmup` and `edge` from a spec.
    pub fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let default = Self::default();
        let names: Vec<&str> = std::iter::once("none").chain(EDGE_CASES.iter().map(|(name, _)| *name)).collect();
        let edge = args.word("edge", &names)?;
        let edge = EDGE_CASES.iter().zip(CASES).find(|((name, _), _)| *name == edge).map(|(_, case)| case);
        let bursty = args.word("arrivals", &["poisson", "bursty"])? == "bursty";
        if bursty && edge == Some(EdgeCase::Bursts) {
            return Err(args.conflict(
                "arrivals",
                "bursty",
                "`poisson` with edge=bursts, which has arrivals of its own",
            ));
        }
        Ok(Self {
            cluster: Cluster::new(
                args.count("executors", default.cluster.num_executors, 1..=100_000)?,
                args.number("delay", default.cluster.moving_delay_ms, 0.0..=1e9)?,
            ),
            jobs: args.count("jobs", default.jobs, 1..=1_000_000)?,
            rate: args.number("rate", default.rate, 1e-12..=1e3)?,
            bursty,
            warmup_ms: args.number("warmup", default.warmup_ms, 0.0..=1e9)?,
            edge,
        })
    }

    /// The cluster that the jobs meet.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        let num_executors = match self.edge {
            Some(EdgeCase::HalfExecutors) => self.cluster.num_executors.div_ceil(2),
            _ => self.cluster.num_executors,
        };
        Cluster { num_executors, ..self.cluster }
    }

    /// Arrival times of an episode, ms, ascending; the first job arrives at 0.
    ///
    /// Bursty: a tenth of the gaps are pauses that take nine tenths of the time, so that jobs come in bursts of ten on
    /// average, at the same mean rate.
    #[must_use]
    pub fn times(&self, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, "arrivals");
        let mean = match self.edge {
            Some(EdgeCase::DoubleRate) => 0.5 / self.rate,
            _ => 1.0 / self.rate,
        };
        let mut time = 0.0;
        (0..self.jobs)
            .map(|job| {
                if job > 0 {
                    let factor = match self.bursty {
                        false if self.edge == Some(EdgeCase::Bursts) && job % BURST > 0 => 0.0,
                        false if self.edge == Some(EdgeCase::Bursts) => f64::from(BURST),
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

    /// What an episode comes to if jobs have so many tasks and stages in the mean; `shared` says that jobs share what they are made of.
    pub(super) fn work(&self, tasks: f64, stages: f64, shared: bool) -> Work {
        let jobs = f64::from(self.jobs);
        // What edge cases put together is some more, and their own.
        let (tasks, stages, shared) = match self.edge {
            None | Some(EdgeCase::Bursts | EdgeCase::DoubleRate | EdgeCase::HalfExecutors) => (tasks, stages, shared),
            Some(EdgeCase::Giant) => (2.0 * tasks, stages, false),
            Some(_) => (tasks.max(MANY_STAGES as f64), stages.max(1.25 * MANY_STAGES as f64), false),
        };
        let stage_bytes = if shared { SHARED_STAGE_BYTES } else { STAGE_BYTES };
        Work {
            jobs,
            events: super::events(jobs, jobs * tasks),
            bytes: jobs * (JOB_BYTES + stages * stage_bytes),
            last_ms: jobs / self.rate,
        }
    }

    /// An episode's jobs with their arrivals: those of the generator, or what the edge case makes of jobs that `draw` takes
    /// from it.
    pub(super) fn jobs(
        &self,
        seed: u64,
        draw: impl Fn(&mut Stream) -> Arc<JobTemplate>,
        plain: impl FnOnce() -> Vec<Arc<JobTemplate>>,
    ) -> Vec<JobArrival> {
        let templates = self.edge.and_then(|edge| edge.templates(seed, self.jobs, draw)).unwrap_or_else(plain);
        let times = self.times(seed);
        times.into_iter().zip(templates).map(|(arrival_ms, template)| JobArrival { arrival_ms, template }).collect()
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
