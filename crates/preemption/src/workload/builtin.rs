//! Generated jobs: models, GPUs, durations and arrivals drawn anew in every episode.

use super::{
    EDGE_CASES, EdgeCase, JOB_BYTES, JOB_EVENTS, MODELS, PreemptionJob, PreemptionWorkload, edge,
    models::{self, BATCHES},
};
use crate::{
    Cluster, EarlierJob, History, Placement, Preemption,
    cluster::MOST_NODE_GPUS,
    counter::{SAMPLES, Traffic, period_ms},
};
use sched_distill_core::{
    rng::{EpisodeId, Stream, hash},
    simulation::Source,
    spec::{Args, Spec},
    workload::{Work, WorkloadError, edge_case},
};
use std::sync::Arc;

/// How jobs are generated; `docs/preemption.md` has the source of every number.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Jobs per episode. Default 150.
    pub jobs: u32,
    /// Mean time between two arrivals, ms; 0 if all arrive at once. Default: a load of 1.1.
    pub gap_ms: f64,
    /// Median of the time that a job runs, ms, and its spread, the standard deviation of the logarithm. Default: 1500 s, 1.4.
    pub duration: [f64; 2],
    /// What schedulers and users get wrong.
    pub errors: Errors,
    /// What strains the scheduler, if anything.
    pub edge: Option<EdgeCase>,
}

/// What schedulers and users get wrong.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// How far off predictions may be for good: those of each job are multiplied by `1 + u` with `u` uniform in ± this. Default 0.
    pub prediction: f64,
    /// Share of users who declare half of their epochs. Default 0.
    pub understated: f64,
}

/// GPUs that jobs run on, and how many in a hundred jobs do.
const SIZES: [(u32, u32); 5] = [(1, 50), (2, 20), (4, 15), (8, 10), (16, 5)];

/// How far jobs of a model spread around its law, as the standard deviation of a logarithm.
const SPREAD: f64 = 0.03;

/// Epochs that jobs aim at, and the time that an epoch then takes, ms.
const EPOCHS: [f64; 2] = [5.0, 100.0];
const EPOCH_MS: [f64; 2] = [3e4, 1.8e6];

/// A short epoch, ms.
const SHORT_MS: f64 = 2e4;

/// Data, GB, and checkpoints, GB.
const DATA_GB: [f64; 2] = [1.0, 100.0];
const CHECKPOINT_GB: [f64; 2] = [5.0, 25.0];

/// Earlier jobs that are known.
const EARLIER_JOBS: usize = 64;

/// Time of a job drawn with this median and spread, ms.
fn drawn_ms([median_ms, spread]: [f64; 2], stream: &mut Stream) -> f64 {
    median_ms * (spread * stream.normal()).exp()
}

/// GPUs of a job.
fn drawn_gpus(cluster: &Cluster, stream: &mut Stream) -> u32 {
    let mut left = stream.below(100) as u32;
    let size = SIZES.iter().find(|(_, jobs)| {
        let is_it = left < *jobs;
        left = left.saturating_sub(*jobs);
        is_it
    });
    size.map_or(1, |(gpus, _)| *gpus).min(cluster.gpus())
}

impl Errors {
    /// The same where this strains the scheduler.
    fn with(self, edge: Option<EdgeCase>) -> Self {
        if edge == Some(EdgeCase::Understated) { Self { understated: 0.5, ..self } } else { self }
    }

    /// A job that runs for about so long on so many GPUs, in whole epochs.
    pub(super) fn job(&self, cluster: &Cluster, gpus: u32, run_ms: f64, stream: &mut Stream) -> PreemptionJob {
        let model = stream.below(MODELS.len());
        let facts = &MODELS[model];
        let batch = BATCHES[stream.below(BATCHES.len())];
        let wanted = EPOCHS[0] * (EPOCHS[1] / EPOCHS[0]).powf(stream.uniform());
        let typical_ms = (run_ms / wanted).clamp(EPOCH_MS[0], EPOCH_MS[1]).min(run_ms.max(1e3));
        let samples = facts.samples(gpus, batch, typical_ms);
        let epoch_ms = facts.law.time_ms(gpus, batch, samples) * (SPREAD * stream.normal()).exp();
        let epochs = (run_ms / epoch_ms).round().max(1.0);
        let bias = 1.0 + stream.uniform_in(-self.prediction, self.prediction);
        let half = stream.uniform() < self.understated;
        let traffic =
            Traffic { epoch_ms, burst: stream.uniform_in(0.1, 0.4), missing: stream.uniform_in(0.1, 1.0), noise: 0.1 };
        let expected_ms = cluster.models[model].law().time_ms(gpus, batch, samples);
        let interval_ms = expected_ms / SAMPLES as f64;
        let count = (f64::from(cluster.observe) * epoch_ms / interval_ms) as usize;
        let seen = traffic.samples(count.min(100 * SAMPLES), interval_ms, stream);
        PreemptionJob {
            model: model as u16,
            arrival_ms: 0.0,
            gpus,
            samples,
            batch,
            epochs,
            declared_epochs: if half { (epochs / 2.0).ceil() } else { epochs },
            epoch_ms,
            counter_ms: period_ms(&seen, interval_ms, expected_ms),
            bias,
            data_gb: (1e-3 * samples * facts.sample_mb).clamp(DATA_GB[0], DATA_GB[1]),
            checkpoint_gb: stream.uniform_in(CHECKPOINT_GB[0], CHECKPOINT_GB[1]),
            recorded: None,
        }
    }
}

/// What so many jobs come to that compute for so long in the mean, ms, and arrive within `last_ms`.
pub(super) fn work(cluster: &Cluster, jobs: f64, mean_ms: f64, last_ms: f64) -> Work {
    let start_ms = MODELS.iter().map(|model| model.start_ms.iter().sum::<f64>()).fold(0.0, f64::max);
    let transfers_ms = (DATA_GB[1] + CHECKPOINT_GB[1]) / cluster.rate(1);
    // What is shorter than an epoch takes one.
    let busy_ms = jobs * (start_ms + transfers_ms + (SHORT_MS + mean_ms) * (1.0 + cluster.spread_slowdown));
    Work {
        jobs,
        events: JOB_EVENTS * jobs + cluster.events_in(busy_ms, last_ms + busy_ms),
        bytes: JOB_BYTES * jobs,
        last_ms,
    }
}

/// What makes an episode less.
pub(super) const LESS: &str =
    "ask for fewer `jobs`, shorter ones, fewer checks (`check`), fewer failures (`mtbf`), or a higher `load`";

impl Source<Preemption> for Generator {
    fn work(&self, cluster: &Arc<Cluster>) -> Work {
        let [median_ms, spread] = self.duration;
        let jobs = f64::from(self.jobs);
        // Edge cases have some longer ones.
        let longer = if self.edge == Some(EdgeCase::Giants) { 2.0 } else { 1.0 };
        work(cluster, jobs, longer * median_ms * (spread * spread / 2.0).exp(), jobs * self.gap_ms)
    }

    fn jobs(&self, cluster: &Arc<Cluster>, EpisodeId { seed, .. }: EpisodeId) -> Vec<PreemptionJob> {
        let gap_ms = if self.edge == Some(EdgeCase::Burst) { 0.0 } else { self.gap_ms };
        let errors = self.errors.with(self.edge);
        let mut arrivals = Stream::new(seed, "arrivals on GPUs");
        let mut now_ms = 0.0;
        let mut one = |place: u32| {
            // What is drawn of a job belongs to it: another one that takes more draws changes nothing.
            let mut stream = Stream::new(hash(&[seed, place.into()]), "job on GPUs");
            let mut gpus = drawn_gpus(cluster, &mut stream);
            let mut run_ms = drawn_ms(self.duration, &mut stream);
            if let Some(edge) = self.edge {
                edge.change(place, cluster, &mut gpus, &mut run_ms);
            }
            let job = errors.job(cluster, gpus, run_ms, &mut stream);
            now_ms += if place > 0 { arrivals.exponential(gap_ms) } else { 0.0 };
            PreemptionJob { arrival_ms: now_ms, ..job }
        };
        (0..self.jobs).map(&mut one).collect()
    }
}

/// Earlier jobs of a cluster: durations as they are drawn.
pub(super) fn earlier(cluster: &Cluster, mut drawn: impl FnMut(&mut Stream) -> (u32, f64)) -> History {
    let mut stream = Stream::new(0, "earlier jobs on GPUs");
    let errors = Errors { prediction: 0.0, understated: 0.0 };
    let mut one = |_| {
        let (gpus, run_ms) = drawn(&mut stream);
        let job = errors.job(cluster, gpus, run_ms, &mut stream);
        let law = cluster.models[job.model as usize].law();
        let epoch_ms = law.time_ms(job.gpus, job.batch, job.samples);
        EarlierJob { gpus: job.gpus, epochs: job.epochs, epoch_ms, ran_ms: job.epochs * job.epoch_ms }
    };
    History::new((0..EARLIER_JOBS).map(&mut one).collect())
}

/// What the generator and recorded jobs have in common, with a default for the GPUs of a node; earlier jobs are still to be drawn.
pub(super) fn cluster(args: &mut Args<'_>, node_gpus: u32) -> Result<(Cluster, Errors), WorkloadError> {
    let errors = Errors {
        prediction: args.number("prediction-error", 0.0, 0.0..=0.9)?,
        understated: args.number("understated", 0.0, 0.0..=1.0)?,
    };
    let usual = Cluster::default();
    let cluster = Cluster {
        nodes: args.count("nodes", usual.nodes, 1..=1000)?,
        node_gpus: args.count("node-gpus", node_gpus, 1..=MOST_NODE_GPUS)?,
        storage_gbps: args.number("storage", usual.storage_gbps, 1e-3..=1e6)?,
        link_gbps: args.number("link", usual.link_gbps, 1e-3..=1e6)?,
        cache_gb: args.number("cache", usual.cache_gb, 0.0..=1e9)?,
        spread_slowdown: args.number("spread-slowdown", usual.spread_slowdown, 0.0..=10.0)?,
        check_ms: 1e3 * args.number("check", usual.check_ms / 1e3, 1.0..=1e7)?,
        placement: match args.word("placement", &["packed", "most-free"])? {
            "most-free" => Placement::MostFree,
            _ => Placement::Packed,
        },
        free: args.word("free", &["0", "1"])? == "1",
        repair_ms: 1e3 * args.number("repair", usual.repair_ms / 1e3, 1.0..=1e8)?,
        models: models::known(SPREAD),
        ..usual
    };
    // With more than one node down in the mean, wide jobs may never begin.
    let least_h = (100.0 * f64::from(cluster.nodes) * cluster.repair_ms / 3.6e6).ceil() / 100.0;
    let mtbf_ms = args.optional_number("mtbf", least_h..=1e9)?.map(|hours| 3.6e6 * hours);
    let cluster = Cluster { mtbf_ms, ..cluster };
    Ok((cluster, errors))
}

/// Opens `builtin`.
pub(super) fn open(spec: &Spec) -> Result<PreemptionWorkload, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let (mut cluster, errors) = cluster(&mut args, Cluster::default().node_gpus)?;
    let jobs = args.count("jobs", 150, 1..=1_000_000)?;
    let duration = [1e3 * args.number("duration", 1500.0, 1.0..=1e7)?, args.number("duration-spread", 1.4, 0.0..=3.0)?];
    let batch = args.word("arrivals", &["poisson", "batch"])? == "batch";
    let load = args.optional_number("load", 0.01..=1000.0)?;
    if let Some(load) = load.filter(|_| batch) {
        return Err(args.conflict("load", &load.to_string(), "left out with arrivals=batch").into());
    }
    let edge = edge_case(&mut args, EDGE_CASES, &edge::CASES)?;
    args.finish()?;
    let (most, [median_ms, spread]) = (cluster.gpus(), duration);
    let mean_gpus = SIZES.iter().map(|&(gpus, share)| f64::from(gpus.min(most) * share)).sum::<f64>() / 100.0;
    // Load 1 is as much GPU time as all GPUs have.
    let mean_ms = mean_gpus * median_ms * (spread * spread / 2.0).exp() / f64::from(most);
    let gap_ms = if batch { 0.0 } else { mean_ms / load.unwrap_or(1.1) };
    cluster.earlier = earlier(&cluster, |stream| (drawn_gpus(&cluster, stream), drawn_ms(duration, stream)));
    let generator = Generator { jobs, gap_ms, duration, errors, edge };
    PreemptionWorkload::new(Arc::new(cluster), generator, Vec::new()).checked(spec, LESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<PreemptionWorkload, String> {
        PreemptionWorkload::open(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn jobs_are_as_the_sources_say() {
        let workload = open("builtin,jobs=20000").unwrap();
        let jobs = workload.jobs(3);
        assert_eq!(jobs, workload.jobs(3));
        let mut runs: Vec<f64> = jobs.iter().map(|j| j.epochs * j.epoch_ms).collect();
        let gpu_ms: f64 = jobs.iter().zip(&runs).map(|(j, ms)| f64::from(j.gpus) * ms).sum();
        let load = gpu_ms / 32.0 / jobs.last().unwrap().arrival_ms;
        assert!((load / 1.1 - 1.0).abs() < 0.1, "{load}");
        runs.sort_by(f64::total_cmp);
        assert!((runs[10_000] / 1.5e6 - 1.0).abs() < 0.05, "median {}", runs[10_000]);
        assert!(jobs.iter().all(|j| j.epoch_ms < 2.2e6 && j.epochs >= 1.0 && j.gpus <= 16));
        let wide = jobs.iter().filter(|j| j.gpus == 16).count();
        assert!((850..1150).contains(&wide), "{wide}");
    }

    /// Of jobs of at least four epochs, before they have begun and after their counter has told.
    #[test]
    fn most_run_times_are_predicted_within_a_tenth() {
        let workload = open("builtin,jobs=4000").unwrap();
        let jobs: Vec<_> = workload.jobs(11).into_iter().filter(|job| job.epochs >= 4.0).collect();
        let error = |job: &PreemptionJob, observed: bool| {
            let profiles_ms =
                workload.cluster().models[job.model as usize].law().time_ms(job.gpus, job.batch, job.samples);
            let told = job.counter_ms.filter(|_| observed);
            told.map_or(profiles_ms, |ms| crate::database::combined(profiles_ms, ms)) / job.epoch_ms - 1.0
        };
        for (observed, least) in [(false, 0.8), (true, 0.9)] {
            let near = jobs.iter().filter(|job| error(job, observed).abs() < 0.1).count();
            let share = near as f64 / jobs.len() as f64;
            println!("observed {observed}: {share:.3} of {} within 10 %", jobs.len());
            assert!(share >= least, "observed {observed}: {share}");
        }
        let told = jobs.iter().filter(|job| job.counter_ms.is_some()).count();
        assert!(10 * told >= 9 * jobs.len(), "{told} of {}", jobs.len());
    }

    #[test]
    fn errors_change_what_is_declared_and_predicted_alone() {
        let jobs = |text: &str| open(text).unwrap().jobs(1);
        let (exact, off) = (jobs("builtin,jobs=500"), jobs("builtin,jobs=500,prediction-error=0.2,understated=0.3"));
        for (a, b) in exact.iter().zip(&off) {
            assert_eq!(*a, PreemptionJob { bias: 1.0, declared_epochs: b.epochs, ..*b });
            assert!((b.bias - 1.0).abs() <= 0.2);
        }
        let halved = off.iter().filter(|j| j.epochs > 1.0 && j.declared_epochs < j.epochs).count();
        assert!((100..180).contains(&halved), "{halved}");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("builtin:x", "takes no file"),
            ("builtin,nodes=0", "nodes must be a whole number in 1..=1000"),
            ("builtin,arrivals=never", "arrivals must be one of poisson, batch"),
            ("builtin,arrivals=batch,load=2", "load must be left out with arrivals=batch, got `2`"),
            ("builtin,edge=x", "edge must be one of"),
            ("builtin,node=4", "unknown parameter `node`"),
        ] {
            let message = open(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
