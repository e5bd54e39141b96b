//! Deep-learning training jobs with workers and parameter servers, after DL2 (Peng et al., arXiv 1909.06040).
//!
//! Time goes in slots. A job wants a number of epochs; how many it does in a slot depends on its type and on how many
//! workers and parameter servers it has in that slot ([`Speed`](crate::cluster::Speed)). Nodes are alike and offer slots of CPU and GPU.
//!
//! ```
//! use sched_distill_core::spec::Spec;
//! use sched_distill_training::workload::TrainingWorkload;
//! let workload = TrainingWorkload::open(&"builtin,nodes=12,jobs=10".parse::<Spec>()?)?;
//! assert_eq!(workload.cluster().nodes, 12);
//! assert_eq!(workload.jobs(7).len(), 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod battery;
mod builtin;
mod json;
mod trace;

pub use arrivals::SlotArrivals;
pub(crate) use battery::BATTERY;
pub use builtin::Generator;
pub use trace::ArrivalTrace;

use crate::cluster::TrainingCluster;
use sched_distill_core::{
    spec::Spec,
    workload::{Work, WorkloadError, WorkloadInfo},
};
use std::{path::PathBuf, sync::Arc};

/// All workloads of training jobs there are.
pub const TRAINING_WORKLOADS: [WorkloadInfo; 2] = [
    WorkloadInfo {
        name: "builtin",
        edge_cases: false,
        usage: "builtin[,nodes=48][,jobs=60][,rate=3][,slot=1200][,max=16][,epochs=E][,types=8][,arrivals=uniform|poisson|bursty|FILE.csv][,speed=formula|analytic|FILE.json][,dips=0][,length-spread=0|1][,epoch-error=0][,speed-error=0]",
        meaning: "generated jobs of the eight DL2 types on a cluster of workers and parameter servers",
    },
    WorkloadInfo {
        name: "json",
        edge_cases: false,
        usage: "json:FILE",
        meaning: "a fixed list of jobs and their cluster from a JSON file (docs/training-workload-format.md)",
    },
];

/// A training job. Its number is its place in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingJob {
    /// Place of its type in [`TrainingCluster::types`].
    pub kind: u8,
    /// Slot at whose start it arrives.
    pub arrival_slot: u32,
    /// Epochs that it will take as far as schedulers know; positive.
    pub epochs: f64,
    /// Epochs that it will really take; positive.
    pub real_epochs: f64,
}

/// Memory per job, bytes, as measured.
const JOB_BYTES: f64 = 5000.0;

impl TrainingCluster {
    /// Slots that a job takes alone at its best, at least the one in which it ends.
    pub(crate) fn slots(&self, job: &TrainingJob) -> f64 {
        (job.real_epochs / self.speed.best(job.kind)).max(1.0)
    }

    /// Slots that jobs need: those until the last arrives, and what each takes.
    pub(crate) fn events(&self, jobs: &[TrainingJob]) -> f64 {
        let last = jobs.last().map_or(0, |job| job.arrival_slot);
        f64::from(last) + jobs.iter().map(|job| self.slots(job)).sum::<f64>()
    }
}

/// A source of episodes: the cluster, and the jobs by seed.
#[derive(Clone, Debug)]
pub struct TrainingWorkload {
    cluster: Arc<TrainingCluster>,
    source: Source,
    files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum Source {
    Generated(Generator),
    Fixed(Vec<TrainingJob>),
}

impl TrainingWorkload {
    /// Opens the workload that a spec names, one of [`TRAINING_WORKLOADS`].
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    pub fn open(spec: &Spec) -> Result<Self, WorkloadError> {
        match spec.name.as_str() {
            "builtin" => builtin::open(spec),
            "json" => json::open(spec),
            _ => Err(spec.unknown_name("workload", "workloads", &["builtin", "json"]).into()),
        }
    }

    /// The cluster; the same in every episode.
    #[must_use]
    pub fn cluster(&self) -> &Arc<TrainingCluster> {
        &self.cluster
    }

    /// What an episode comes to, about, before it is made.
    #[must_use]
    pub fn work(&self) -> Work {
        match &self.source {
            Source::Generated(generator) => generator.work(&self.cluster),
            Source::Fixed(jobs) => {
                let last = jobs.last().map_or(0, |job| job.arrival_slot);
                Work {
                    jobs: jobs.len() as f64,
                    events: self.cluster.events(jobs),
                    bytes: JOB_BYTES * jobs.len() as f64,
                    last_ms: f64::from(last) * self.cluster.slot_ms(),
                }
            }
        }
    }

    /// The jobs of the episode with this seed, in order of arrival.
    #[must_use]
    pub fn jobs(&self, seed: u64) -> Vec<TrainingJob> {
        match &self.source {
            Source::Generated(generator) => generator.jobs(&self.cluster.types, seed),
            Source::Fixed(jobs) => jobs.clone(),
        }
    }

    /// Files that define the workload, so that a trace can record their hashes.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}
