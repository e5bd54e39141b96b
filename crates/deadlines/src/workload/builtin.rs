//! Generated jobs: models, work, requests, deadlines and arrivals drawn anew in every episode.

use super::{
    Arrivals, DeadlineJob, DeadlineWorkload, EDGE_CASES, EdgeCase, Intensity, JOB_BYTES, JOB_EVENTS, MODELS, edge,
    models,
};
use crate::{Cluster, Deadlines, Law, cluster::MOST_CORES};
use sched_distill_core::{
    rng::{EpisodeId, Stream},
    simulation::Source,
    spec::{Args, Spec},
    workload::{Work, WorkloadError, edge_case},
};
use std::{path::PathBuf, sync::Arc};

/// How jobs are generated; `docs/deadlines.md` has the source of every number.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Jobs per episode. Default 60.
    pub jobs: u32,
    /// When they arrive. Default: bursts of 30 every two hours.
    pub arrivals: Arrivals,
    /// Median of a job's work on one core, ms, and its spread, the standard deviation of the logarithm. Default: 4800 s, 0.8.
    pub work: [f64; 2],
    /// What schedulers and users get wrong.
    pub errors: Errors,
    /// What strains the scheduler, if anything.
    pub edge: Option<EdgeCase>,
}

/// What schedulers and users get wrong.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// How far jobs of a model spread around its law, as the standard deviation of a logarithm. Default 0.05.
    pub spread: f64,
    /// How far off measured times may be for good: each job's are multiplied by `1 + u` with `u` uniform in ± this. Default 0.
    pub prediction: f64,
    /// Share of users who declare twice their iterations. Default 0.
    pub inflated: f64,
}

/// Mean of work of this median and spread, ms.
fn mean_work_ms([median_ms, spread]: [f64; 2]) -> f64 {
    median_ms * (spread * spread / 2.0).exp()
}

/// What users request beyond what their program uses, equally likely.
const BEYOND: [u32; 4] = [0, 1, 2, 4];

/// The time that users give a job, as a factor of its run time as submitted.
const TIGHT: std::ops::Range<f64> = 0.6..3.0;

/// What is drawn of a job besides its arrival and its work.
pub(super) struct Drawn {
    pub(super) model: u16,
    pub(super) law: Law,
    pub(super) beyond: u32,
    pub(super) tight: f64,
    pub(super) bias: f64,
    /// Times what it takes the user declares.
    pub(super) inflated: f64,
}

impl Errors {
    /// The same where this strains the scheduler.
    fn with(self, edge: Option<EdgeCase>) -> Self {
        if edge == Some(EdgeCase::Misdeclared) { Self { inflated: 0.5, ..self } } else { self }
    }

    /// Draws a job from a stream of its own.
    pub(super) fn draw(&self, stream: &mut Stream) -> Drawn {
        let model = stream.below(MODELS.len());
        Drawn {
            model: model as u16,
            law: MODELS[model].law.times((self.spread * stream.normal()).exp()),
            beyond: BEYOND[stream.below(BEYOND.len())],
            tight: stream.uniform_in(TIGHT.start, TIGHT.end),
            bias: 1.0 + stream.uniform_in(-self.prediction, self.prediction),
            inflated: if stream.uniform() < self.inflated { 2.0 } else { 1.0 },
        }
    }
}

/// What so many jobs come to that take so long on one core in the mean, ms, and arrive until `last_ms`.
pub(super) fn work(cluster: &Cluster, jobs: f64, mean_ms: f64, last_ms: f64) -> Work {
    let events = jobs * (JOB_EVENTS + cluster.events_in(cluster.restart_ms + mean_ms));
    Work { jobs, events, bytes: JOB_BYTES * jobs, last_ms }
}

/// What makes an episode less.
pub(super) const LESS: &str = "ask for fewer `jobs`, less work, fewer checks (`check`), or earlier arrivals";

impl Generator {
    fn arrivals(&self) -> Arrivals {
        self.edge.and_then(|edge| edge.arrivals(self.jobs)).unwrap_or_else(|| self.arrivals.clone())
    }
}

impl Source<Deadlines> for Generator {
    fn work(&self, cluster: &Arc<Cluster>) -> Work {
        let jobs = f64::from(self.jobs);
        // A giant has as much work as all others.
        let longer = if self.edge == Some(EdgeCase::Giant) { 2.0 } else { 1.0 };
        work(cluster, jobs, longer * mean_work_ms(self.work), self.arrivals().last_ms(self.jobs))
    }

    fn jobs(&self, cluster: &Arc<Cluster>, EpisodeId { seed, .. }: EpisodeId) -> Vec<DeadlineJob> {
        let times = self.arrivals().times_ms(self.jobs, seed);
        let mut stream = Stream::new(seed, "deadline jobs");
        let errors = self.errors.with(self.edge);
        let mut job = |arrival_ms: f64| {
            let work_ms = self.work[0] * (self.work[1] * stream.normal()).exp();
            let drawn = errors.draw(&mut stream);
            let iterations = (work_ms / drawn.law.time_ms(1)).round().max(1.0);
            let threads = MODELS[drawn.model as usize].threads;
            let run_ms = iterations * drawn.law.time_ms(threads);
            let deadline_ms = arrival_ms + drawn.tight * run_ms;
            DeadlineJob {
                model: drawn.model,
                arrival_ms,
                deadline_ms,
                declared_deadline_ms: deadline_ms,
                iterations,
                declared_iterations: iterations * drawn.inflated,
                requested: (threads + drawn.beyond).min(cluster.node_cores),
                threads,
                largest: models::LARGEST,
                law: drawn.law,
                bias: drawn.bias,
                recorded: None,
            }
        };
        let mut jobs: Vec<DeadlineJob> = times.into_iter().map(&mut job).collect();
        if let Some(edge) = self.edge {
            edge.change(&mut jobs, &mut Stream::new(seed, "deadline edge case"));
        }
        jobs
    }
}

/// What the generator and recorded jobs have in common, with defaults for the time between checks and that of a restart, s.
pub(super) fn cluster(
    args: &mut Args<'_>,
    nodes: u32,
    [check_s, restart_s]: [f64; 2],
) -> Result<(Cluster, Errors), WorkloadError> {
    let errors = Errors {
        spread: args.number("spread", 0.05, 0.0..=1.0)?,
        prediction: args.number("prediction-error", 0.0, 0.0..=0.9)?,
        inflated: args.number("inflated", 0.0, 0.0..=1.0)?,
    };
    let noise = args.number("noise", 0.05, 0.0..=1.0)?;
    let cluster = Cluster {
        nodes: args.count("nodes", nodes, 1..=10_000)?,
        node_cores: args.count("node-cores", 32, 1..=MOST_CORES)?,
        check_ms: 1e3 * args.number("check", check_s, 0.1..=1e7)?,
        restart_ms: 1e3 * args.number("restart", restart_s, 0.0..=1e7)?,
        window: 20,
        noise,
        may_refuse: args.word("refuse", &["0", "1"])? == "1",
        models: models::known(errors.spread, noise),
    };
    Ok((cluster, errors))
}

/// Opens `builtin`.
pub(super) fn open(spec: &Spec) -> Result<DeadlineWorkload, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let mut files = Vec::new();
    let (cluster, errors) = cluster(&mut args, 1, [60.0, 10.0])?;
    let jobs = args.count("jobs", 60, 1..=1_000_000)?;
    let work = [1e3 * args.number("work", 4800.0, 1.0..=1e9)?, args.number("work-spread", 0.8, 0.0..=3.0)?];
    let arrivals = arrivals(&mut args, &cluster, work, &mut files)?;
    let edge = edge_case(&mut args, EDGE_CASES, &edge::CASES)?;
    args.finish()?;
    let generator = Generator { jobs, arrivals, work, errors, edge };
    DeadlineWorkload::new(Arc::new(cluster), generator, files).checked(spec, LESS)
}

fn arrivals(
    args: &mut Args<'_>,
    cluster: &Cluster,
    work: [f64; 2],
    files: &mut Vec<PathBuf>,
) -> Result<Arrivals, WorkloadError> {
    let size = args.optional_count("burst", 1..=1_000_000)?;
    let gap_s = args.optional_number("gap", 0.0..=1e8)?;
    let load = args.optional_number("load", 0.01..=1000.0)?;
    // Load 1 is as much work as all cores can do, were it all done on one core each.
    let mean_ms = mean_work_ms(work) / f64::from(cluster.cores()) / load.unwrap_or(1.3);
    let kind = args.text("arrivals").unwrap_or_else(|| "bursts".to_owned());
    let is_bursts = kind == "bursts";
    let none = |key: &str, has_it: bool, given: Option<f64>| match given {
        Some(given) if !has_it => {
            Err(args.conflict(key, &given.to_string(), &format!("left out with arrivals={kind}")))
        }
        _ => Ok(()),
    };
    none("load", !is_bursts, load)?;
    none("burst", is_bursts, size.map(f64::from))?;
    none("gap", is_bursts, gap_s)?;
    Ok(match kind.as_str() {
        "bursts" => Arrivals::Bursts { size: size.unwrap_or(30), gap_ms: 1e3 * gap_s.unwrap_or(7200.0) },
        "poisson" => Arrivals::Poisson(mean_ms),
        file if file.ends_with(".csv") => {
            files.push(file.into());
            Arrivals::Recorded(mean_ms, Arc::new(Intensity::load(file.as_ref())?))
        }
        other => {
            return Err(args.conflict("arrivals", other, "one of bursts, poisson, or a FILE.csv").into());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<DeadlineWorkload, String> {
        DeadlineWorkload::open(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn jobs_are_as_the_sources_say() {
        let workload = open("builtin,jobs=20000,arrivals=poisson").unwrap();
        let jobs = workload.jobs(3);
        assert_eq!(jobs, workload.jobs(3));
        let mut work: Vec<f64> = jobs.iter().map(|j| j.iterations * j.law.time_ms(1)).collect();
        work.sort_by(f64::total_cmp);
        assert!((work[10_000] / 4.8e6 - 1.0).abs() < 0.03, "median {}", work[10_000]);
        let mean = work.iter().sum::<f64>() / 2e4;
        assert!((mean / mean_work_ms([4.8e6, 0.8]) - 1.0).abs() < 0.03, "mean {mean}");
        let tight = |j: &DeadlineJob| (j.deadline_ms - j.arrival_ms) / (j.iterations * j.law.time_ms(j.threads));
        assert!(jobs.iter().all(|j| (0.6 - 1e-9..3.0).contains(&tight(j))));
        let in_time = jobs.iter().filter(|j| tight(j) >= 1.0).count() as f64 / 2e4;
        assert!((in_time - 2.0 / 2.4).abs() < 0.01, "{in_time}");
        // 64 % of what is requested is used.
        let (used, asked) = jobs.iter().fold((0, 0), |(u, r), j| (u + j.threads, r + j.requested));
        let share = f64::from(used) / f64::from(asked);
        assert!((0.62..0.72).contains(&share), "{share}");
        let load = mean / 32.0 / (jobs.last().unwrap().arrival_ms / 2e4);
        assert!((load / 1.3 - 1.0).abs() < 0.05, "{load}");
    }

    #[test]
    fn errors_change_what_is_declared_and_measured_alone() {
        let jobs = |text: &str| open(text).unwrap().jobs(1);
        let (exact, off) = (jobs("builtin,jobs=500"), jobs("builtin,jobs=500,prediction-error=0.2,inflated=0.3"));
        for (a, b) in exact.iter().zip(&off) {
            assert_eq!(*a, DeadlineJob { bias: 1.0, declared_iterations: b.iterations, ..*b });
            assert!((b.bias - 1.0).abs() <= 0.2);
        }
        let doubled = off.iter().filter(|j| j.declared_iterations == 2.0 * j.iterations).count();
        assert!((120..180).contains(&doubled), "{doubled}");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("builtin:x", "takes no file"),
            ("builtin,nodes=0", "nodes must be a whole number in 1..=10000"),
            ("builtin,arrivals=never", "arrivals must be one of bursts, poisson, or a FILE.csv"),
            ("builtin,load=2", "load must be left out with arrivals=bursts, got `2`"),
            ("builtin,arrivals=poisson,gap=5", "gap must be left out with arrivals=poisson"),
            ("builtin,work=1e9,check=1", "at most 100000000 are possible: ask for fewer `jobs`, less work"),
            ("builtin,arrivals=poisson,load=0.01,work=1e7,check=1e7,jobs=1000000", "the last job arrives after about"),
            ("builtin,inflated=2", "inflated must be a number in 0..=1"),
            ("builtin,edge=none", "edge must be one of"),
            ("builtin,colour=1", "unknown parameter `colour`"),
            ("builtin,arrivals=absent.csv", "absent.csv: cannot read"),
            ("philly", "philly:FILE"),
            ("other", "unknown workload `other`"),
        ] {
            let message = open(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
