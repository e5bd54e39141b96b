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
mod edge;
mod json;
mod log;
mod timed;
mod trace;

pub use arrivals::SlotArrivals;
pub(crate) use battery::BATTERY;
pub use builtin::Generator;
pub use edge::{EDGE_CASES, EdgeCase};
pub use json::write;
pub use trace::ArrivalTrace;

use crate::{Training, cluster::TrainingCluster};
use sched_distill_core::{
    simulation::{Workload, WorkloadDef},
    workload::Ran,
    workloads_with_logs,
};

/// Training jobs, and their cluster.
pub type TrainingWorkload = Workload<Training>;

/// All workloads of training jobs there are.
pub(crate) const WORKLOADS: &[WorkloadDef<Training>] = workloads_with_logs! {
    first: WorkloadDef::new(
        "builtin[,nodes=48][,jobs=60][,rate=3][,slot=1200][,max=16][,epochs=E][,types=8][,arrivals=uniform|poisson|bursty|FILE.csv][,speed=formula|analytic|FILE.json][,dips=0][,length-spread=0|1][,epoch-error=0][,speed-error=0][,edge=NAME]",
        "generated jobs of the eight DL2 types on a cluster of workers and parameter servers",
        builtin::open,
    ),
    logs: log::open,
    own: "[,jobs=60]",
    more: "[,slot=1200][,max=16][,types=8][,speed=formula|FILE.json][,dips=0][,epoch-error=0][,speed-error=0]",
    philly: "jobs of Microsoft's Philly cluster, its `cluster_job_log` or a table with columns submit_s, duration_s, num_gpus, vc, cut by time, with types and epochs by a stated rule (docs/histories.md)",
    chronus: ["", "jobs of Chronus, its `trace_job_*_SLO.csv`, cut by time (docs/histories.md)"],
    last: WorkloadDef::new(
        "json:FILE[,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "a fixed list of jobs and their cluster from a JSON file (docs/training-workload-format.md)",
        json::open,
    ),
};

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
    /// What is recorded of it, if anything is.
    pub recorded: Option<Recorded>,
}

/// When a job came and ran where it was recorded. Slots are too coarse for that: a history is cut by time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// When it arrives, ms from the beginning of slot 0.
    pub arrival_ms: f64,
    /// When it ran.
    pub ran: Ran,
}

/// Jobs of a window where the spec of a history names no length.
const WINDOW_JOBS: u32 = 60;

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
