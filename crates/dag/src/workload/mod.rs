//! Spark-like jobs: their stage graphs, arrival times and task durations.
//!
//! A [`Workload`] turns an episode's seed into a list of jobs; where the jobs come from (a generator, TPC-H profiles, a
//! file) is the business of the modules below.

mod arrivals;
mod battery;
mod builtin;
mod duration;
mod edge;
mod history;
mod job;
mod json;
mod tpch;

pub use arrivals::Arrivals;
pub(crate) use battery::battery;
pub use builtin::Builtin;
pub use duration::{Draw, DurationTable, Luck, Wave, Waves};
pub use edge::{EDGE_CASES, EdgeCase, EdgeCaseInfo};
pub use job::{JobArrival, JobTemplate, Origin, StageTemplate};
pub use json::JsonWorkload;
pub use tpch::{SIZES, Tpch, TpchProfiles};

use crate::intake::Intake;
use history::Believed;
use sched_distill_core::{
    spec::Spec,
    workload::{Work, WorkloadError, WorkloadInfo},
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The cluster that an episode runs on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Number of executors.
    pub num_executors: u32,
    /// Time for an executor to move to another job, ms.
    pub moving_delay_ms: f64,
    /// What it makes of what users declare.
    #[serde(default, skip_serializing_if = "Intake::is_credulous")]
    pub intake: Intake,
}

impl Cluster {
    /// A cluster that believes what users declare.
    #[must_use]
    pub fn new(num_executors: u32, moving_delay_ms: f64) -> Self {
        Self { num_executors, moving_delay_ms, intake: Intake::default() }
    }
}

/// A source of episodes.
pub trait Workload: Send + Sync {
    /// The cluster; the same in every episode.
    fn cluster(&self) -> Cluster;

    /// The jobs of the episode with this seed, in order of arrival.
    fn jobs(&self, seed: u64) -> Vec<JobArrival>;

    /// What an episode comes to, about, before it is made; the default knows nothing.
    fn work(&self) -> Work {
        Work::default()
    }

    /// Files that define the workload, so that a trace can record their hashes.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// What jobs with so many tasks come to: a task ends, and for each an executor may have to come.
pub(crate) fn events(jobs: f64, tasks: f64) -> f64 {
    jobs + 2.0 * tasks
}

/// A workload whose episodes are not too much, on a cluster that believes so much of what users declare.
fn opened(spec: &Spec, inner: Box<dyn Workload>, believed: Believed) -> Result<Box<dyn Workload>, WorkloadError> {
    inner.work().check(spec, "ask for fewer `jobs`, or a higher `rate`")?;
    Ok(believed.of(inner))
}

/// All workloads there are.
pub const WORKLOADS: [WorkloadInfo; 3] = [
    WorkloadInfo {
        name: "builtin",
        edge_cases: true,
        usage: "builtin[,executors=10][,jobs=50][,rate=4e-5][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged]",
        meaning: "generated Spark-like jobs: 2-18 stages, heavy-tailed tasks and durations, several graph shapes",
    },
    WorkloadInfo {
        name: "tpch",
        edge_cases: true,
        usage: "tpch:FILE[,executors=10][,jobs=50][,rate=4e-5][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged]",
        meaning: "TPC-H queries with measured task durations, from tpch_profiles.json.gz",
    },
    WorkloadInfo {
        name: "json",
        edge_cases: false,
        usage: "json:FILE[,executors=N][,durations=history|median][,parts=merged]",
        meaning: "a fixed list of jobs from a JSON file (docs/workload-format.md)",
    },
];

/// Families of edge cases with their meanings.
pub(crate) const EDGE_CASE_NAMES: [(&str, &str); EDGE_CASES.len()] = {
    let mut names = [("", ""); EDGE_CASES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = (EDGE_CASES[i].name, EDGE_CASES[i].meaning);
        i += 1;
    }
    names
};

/// Opens the workload that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Workload>, WorkloadError> {
    let mut args = spec.args();
    Ok(match spec.name.as_str() {
        "builtin" => {
            spec.refuse_file()?;
            let (arrivals, believed) = (Arrivals::from_args(&mut args)?, Believed::from_args(&mut args)?);
            args.finish()?;
            opened(spec, Box::new(Builtin::new(arrivals)), believed)?
        }
        "tpch" => {
            let path = spec.require_file("tpch_profiles.json.gz")?;
            let (arrivals, believed) = (Arrivals::from_args(&mut args)?, Believed::from_args(&mut args)?);
            args.finish()?;
            let profiles = TpchProfiles::load(path, arrivals.warmup_ms)?;
            opened(spec, Box::new(Tpch::new(profiles, arrivals, path)), believed)?
        }
        "json" => {
            let path = spec.require_file("a workload as described in docs/workload-format.md")?;
            let executors = args.count("executors", 0, 1..=100_000)?;
            let believed = Believed::from_args(&mut args)?;
            args.finish()?;
            believed.of(Box::new(JsonWorkload::load(path, (executors > 0).then_some(executors))?))
        }
        _ => return Err(spec.unknown_name("workload", "workloads", &["builtin", "tpch", "json"]).into()),
    })
}
