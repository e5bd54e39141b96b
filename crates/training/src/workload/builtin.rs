//! Generated training jobs: types, lengths and arrivals drawn anew in every episode.

use super::{
    EDGE_CASES, EdgeCase, JOB_BYTES, SlotArrivals, TrainingJob, TrainingWorkload, arrivals::most_per_slot, edge,
    trace::ArrivalTrace,
};
use crate::{
    Training,
    cluster::{JOB_TYPES, Speed, SpeedGrid, SpeedLaw, TrainingCluster, job_types},
};
use sched_distill_core::{
    rng::{EpisodeId, Stream},
    simulation::Source,
    spec::{Args, Spec},
    workload::{Work, WorkloadError, edge_case},
};
use std::{path::PathBuf, sync::Arc};

/// How jobs are generated, after section 5 of DL2 (Peng et al., arXiv 1909.06040) and its simulator.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Jobs per episode. Default 60.
    pub jobs: u32,
    /// Arrivals per slot. Default 3.
    pub rate: f64,
    /// In which slots jobs arrive. Default: uniform.
    pub arrivals: SlotArrivals,
    /// Types that jobs have, the first so many of the cluster, drawn uniformly. Default 8.
    pub types: u32,
    /// Epochs of the longest type: a job believes in `share · epochs`, rounded down, at least 1. Default: 100 with the formula,
    /// 3000 with a grid, 200 by placement.
    pub epochs: f64,
    /// Whether lengths are multiplied by 0.90, 0.91, ..., 1.09, drawn uniformly. Default: no.
    pub length_spread: bool,
    /// How far the real epochs may be from the believed ones: they are multiplied by `1 + u` with `u` uniform in ± this.
    /// Default 0.
    pub epoch_error: f64,
    /// What strains the scheduler, if anything.
    pub edge: Option<EdgeCase>,
}

impl Source<Training> for Generator {
    fn work(&self, cluster: &Arc<TrainingCluster>) -> Work {
        let kinds = 0..self.types as u8;
        let slots = kinds.map(|kind| {
            let epochs = (cluster.types[kind as usize].epoch_share * self.epochs).floor().max(1.0);
            cluster.slots(&TrainingJob { kind, arrival_slot: 0, epochs, real_epochs: epochs, recorded: None })
        });
        let jobs = f64::from(self.jobs);
        let last = match &self.arrivals {
            SlotArrivals::Trace(trace) => trace.span(most_per_slot(self.rate), self.jobs) as f64,
            _ => jobs / self.rate,
        };
        Work {
            jobs,
            events: last + jobs * slots.sum::<f64>() / f64::from(self.types),
            bytes: JOB_BYTES * jobs,
            last_ms: last * cluster.slot_ms(),
        }
    }

    fn jobs(&self, cluster: &Arc<TrainingCluster>, EpisodeId { seed, .. }: EpisodeId) -> Vec<TrainingJob> {
        let mut kinds = Stream::new(seed, "training types");
        let mut lengths = Stream::new(seed, "training lengths");
        let mut errors = Stream::new(seed, "training epochs");
        let epoch_error = self.edge.map_or(self.epoch_error, |edge| edge.epoch_error(self.epoch_error));
        let job = |slot| {
            let kind = kinds.below(self.types as usize);
            let mut epochs = (cluster.types[kind].epoch_share * self.epochs).floor().max(1.0);
            if self.length_spread {
                epochs *= (90 + lengths.below(20)) as f64 / 100.0;
            }
            let real_epochs = epochs * (1.0 + errors.uniform_in(-epoch_error, epoch_error));
            let arrival_slot = self.edge.map_or(slot, |edge| edge.arrival_slot(slot));
            TrainingJob { kind: kind as u8, arrival_slot, epochs, real_epochs, recorded: None }
        };
        self.arrivals.slots(self.rate, self.jobs, seed).into_iter().map(job).collect()
    }
}

/// Opens `builtin`.
pub(super) fn open(spec: &Spec) -> Result<TrainingWorkload, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let mut files = Vec::new();
    let edge = edge_case(&mut args, EDGE_CASES, &edge::CASES)?;
    let nodes = args.count("nodes", 48, 1..=10_000)?;
    let nodes = edge.map_or(nodes, |edge| edge.nodes(nodes));
    let speed_error = args.number("speed-error", 0.0, 0.0..=0.9)?;
    let jobs = args.count("jobs", 60, 1..=1_000_000)?;
    let rate = args.number("rate", 3.0, 0.01..=1000.0)?;
    let slot_s = args.number("slot", 1200.0, 1e-3..=1e7)?;
    let max = args.count("max", 16, 1..=256)?;
    let types = args.count("types", JOB_TYPES.len() as u32, 1..=JOB_TYPES.len() as u32)?;
    let arrivals = arrivals(&mut args, slot_s, &mut files)?;
    let speed = speed(&mut args, slot_s, max, nodes, edge, &mut files)?;
    let epochs = match speed.law() {
        SpeedLaw::Formula => 100.0,
        SpeedLaw::Grid => 3000.0,
        SpeedLaw::Analytic => 200.0,
    };
    let generator = Generator {
        jobs,
        rate,
        arrivals,
        types,
        epochs: args.number("epochs", epochs, 1.0..=1e9)?,
        length_spread: args.word("length-spread", &["0", "1"])? == "1",
        epoch_error: args.number("epoch-error", 0.0, 0.0..=0.9)?,
        edge,
    };
    let speed_error = edge.map_or(speed_error, |edge| edge.speed_error(speed_error, speed.by_placement()));
    let cluster = TrainingCluster {
        types: job_types(),
        nodes,
        node_slots: [8, 8],
        slot_s,
        max_workers: max,
        max_servers: max,
        speed: Arc::new(speed),
        speed_error,
    };
    args.finish()?;
    TrainingWorkload::new(Arc::new(cluster), generator, files)
        .checked(spec, "ask for fewer `jobs`, fewer `epochs`, longer slots (`slot`), or a higher `rate`")
}

fn arrivals(args: &mut Args<'_>, slot_s: f64, files: &mut Vec<PathBuf>) -> Result<SlotArrivals, WorkloadError> {
    Ok(match args.text("arrivals").as_deref() {
        None | Some("uniform") => SlotArrivals::Uniform,
        Some("poisson") => SlotArrivals::Poisson,
        Some("bursty") => SlotArrivals::Bursty,
        Some(file) if file.ends_with(".csv") => {
            files.push(file.into());
            SlotArrivals::Trace(Arc::new(ArrivalTrace::load(file.as_ref(), slot_s)?))
        }
        Some(other) => {
            return Err(args.conflict("arrivals", other, "one of uniform, poisson, bursty, or a FILE.csv").into());
        }
    })
}

/// Reads `speed` and `dips`.
pub(super) fn speed(
    args: &mut Args<'_>,
    slot_s: f64,
    max: u32,
    nodes: u32,
    edge: Option<EdgeCase>,
    files: &mut Vec<PathBuf>,
) -> Result<Speed, WorkloadError> {
    let limits = [max; 2];
    let (law, dips) = (args.text("speed"), args.number("dips", 0.0, 0.0..=0.9)?);
    if dips > 0.0 && law.as_deref() == Some("analytic") {
        return Err(args.conflict("dips", &dips.to_string(), "left out where speeds depend on placement").into());
    }
    let dips = edge.map_or(dips, |edge| edge.dips(dips));
    let found = match law.as_deref() {
        None | Some("formula") => Speed::formula(&JOB_TYPES, slot_s, limits, dips),
        Some("analytic") => Speed::analytic(&JOB_TYPES, slot_s, limits, nodes),
        Some(file) if file.ends_with(".json") => {
            files.push(file.into());
            return Speed::grid(&SpeedGrid::load(file.as_ref())?, &JOB_TYPES, slot_s, limits, dips)
                .map_err(|problem| WorkloadError::Format { path: file.into(), problem });
        }
        Some(other) => return Err(args.conflict("speed", other, "one of formula, analytic, or a FILE.json").into()),
    };
    // The types of the table have all facts.
    found.map_err(|problem| args.conflict("speed", "the table of types", &problem).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<TrainingWorkload, String> {
        TrainingWorkload::open(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_follow_the_small_preset() {
        let workload = open("builtin").unwrap();
        let (cluster, jobs) = (workload.cluster(), workload.jobs(3));
        assert_eq!((cluster.nodes, cluster.slot_s, cluster.max_workers), (48, 1200.0, 16));
        assert_eq!((jobs.len(), jobs[59].arrival_slot), (60, 19));
        for job in &jobs {
            assert_eq!(job.epochs, (JOB_TYPES[job.kind as usize].epoch_share * 100.0).floor());
            assert_eq!(job.epochs, job.real_epochs);
        }
        assert_eq!(jobs, workload.jobs(3));
        assert_ne!(jobs, workload.jobs(4));
    }

    #[test]
    fn errors_of_the_estimate_and_the_spread_stay_within_bounds() {
        let exact = open("builtin,jobs=500,types=4,length-spread=1").unwrap().jobs(1);
        let jobs = open("builtin,jobs=500,types=4,length-spread=1,epoch-error=0.2").unwrap().jobs(1);
        let error = |job: &TrainingJob| job.real_epochs / job.epochs - 1.0;
        assert!(jobs.iter().all(|j| j.kind < 4 && error(j).abs() <= 0.2));
        assert!(jobs.iter().any(|j| error(j) > 0.15) && jobs.iter().any(|j| error(j) < -0.15));
        // The error changes nothing else.
        assert!(exact.iter().zip(&jobs).all(|(a, b)| (a.kind, a.epochs) == (b.kind, b.epochs)));
        let spread = |j: &TrainingJob| j.epochs / (JOB_TYPES[j.kind as usize].epoch_share * 100.0).floor();
        assert!(jobs.iter().map(spread).all(|s| (0.9 - 1e-12..=1.09 + 1e-12).contains(&s)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("builtin:x", "takes no file"),
            ("builtin,nodes=0", "nodes must be a whole number in 1..=10000"),
            ("builtin,types=9", "types must be"),
            ("builtin,arrivals=never", "arrivals must be one of uniform, poisson, bursty, or a FILE.csv"),
            ("builtin,speed=fast", "speed must be one of formula, analytic, or a FILE.json"),
            ("builtin,dips=1", "dips must be a number in 0..=0.9"),
            ("builtin,speed=analytic,dips=0.1", "dips must be left out where speeds depend on placement"),
            ("builtin,speed-error=1", "speed-error must be a number in 0..=0.9"),
            ("builtin,length-spread=2", "one of 0, 1"),
            ("builtin,edge=none", "edge must be one of bursts, half-nodes, uneven-speeds, misjudged-epochs"),
            ("builtin,colour=1", "unknown parameter `colour`"),
            ("builtin,arrivals=absent.csv", "absent.csv: cannot read"),
            ("other", "unknown workload `other`"),
        ] {
            let message = open(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
