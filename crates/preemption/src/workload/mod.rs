//! What arrives: training jobs on GPUs.
//!
//! ```
//! use sched_distill_core::spec::Spec;
//! use sched_distill_preemption::workload::PreemptionWorkload;
//! let workload = PreemptionWorkload::open(&"builtin,nodes=2,jobs=10".parse::<Spec>()?)?;
//! assert_eq!(workload.cluster().gpus(), 8);
//! let jobs = workload.jobs(7);
//! assert!(jobs.len() == 10 && jobs.iter().all(|job| job.gpus <= 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod battery;
mod builtin;
mod edge;
mod json;
mod log;
mod models;
mod philly;

pub(crate) use battery::BATTERY;
pub use builtin::{Errors, Generator};
pub use edge::{EDGE_CASES, EdgeCase};
pub use json::write;
pub use models::{MODELS, ModelFacts};
pub use philly::Records;

use crate::{Cluster, NewJob, Preemption};
use sched_distill_core::{
    simulation::{Workload, WorkloadDef},
    workload::Ran,
    workloads_with_logs,
};

/// Jobs on GPUs, and their cluster.
pub type PreemptionWorkload = Workload<Preemption>;

/// All workloads of jobs on GPUs there are.
pub(crate) const WORKLOADS: &[WorkloadDef<Preemption>] = workloads_with_logs! {
    first: WorkloadDef::new(
        "builtin[,nodes=8][,node-gpus=4][,jobs=150][,arrivals=poisson|batch][,load=1.1][,duration=1500][,duration-spread=1.4][,check=300][,storage=5][,link=1.25][,cache=500][,spread-slowdown=0.15][,placement=packed|most-free][,free=0|1][,mtbf=HOURS][,repair=600][,prediction-error=0][,understated=0][,edge=NAME]",
        "generated training jobs of six models on 1 to 16 GPUs, at a steady rate or all at once",
        builtin::open,
    ),
    logs: log::open,
    own: "[,node-gpus=8][,jobs=150]",
    more: "[,check=300][,storage=5][,link=1.25][,cache=500][,spread-slowdown=0.15][,placement=packed|most-free][,free=0|1][,mtbf=HOURS][,repair=600][,prediction-error=0][,understated=0]",
    philly: "jobs of Microsoft's Philly cluster, its `cluster_job_log` or a table with columns submit_s, duration_s, num_gpus, vc (without `split`: consecutive rows, 8 nodes), with models, epochs and data by a stated rule",
    chronus: ["", "jobs of Chronus, its `trace_job_*_SLO.csv`, cut by time (docs/histories.md)"],
    last: WorkloadDef::new(
        "json:FILE[,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "a fixed list of jobs and their cluster from a JSON file (docs/preemption.md)",
        json::open,
    ),
};

/// A training job. Its number is its place in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreemptionJob {
    /// Place of its model in [`Cluster::models`].
    pub model: u16,
    /// When it arrives, ms.
    pub arrival_ms: f64,
    /// GPUs that it runs on.
    pub gpus: u32,
    /// Samples per epoch.
    pub samples: f64,
    /// Samples per step and GPU.
    pub batch: u32,
    /// Epochs that it takes.
    pub epochs: f64,
    /// Epochs that its user declares.
    pub declared_epochs: f64,
    /// Time of an epoch on as few nodes as it can be on, ms.
    pub epoch_ms: f64,
    /// What its counter will say of that, if anything, ms.
    pub counter_ms: Option<f64>,
    /// What predictions are multiplied by.
    pub bias: f64,
    /// Data that it loads, GB.
    pub data_gb: f64,
    /// Size of its checkpoint, GB.
    pub checkpoint_gb: f64,
    /// When it ran where it was recorded, if it was.
    pub recorded: Option<Ran>,
}

impl PreemptionJob {
    /// What its user declares, and what is known of its data.
    pub(crate) fn declared(&self) -> NewJob {
        NewJob {
            arrival_ms: self.arrival_ms,
            gpus: self.gpus,
            samples: self.samples,
            batch: self.batch,
            epochs: self.declared_epochs,
            data_gb: self.data_gb,
            checkpoint_gb: self.checkpoint_gb,
        }
    }
}

/// Jobs of a window where the spec of a history names no length.
const WINDOW_JOBS: u32 = 150;

/// Memory per job, bytes, as measured.
const JOB_BYTES: f64 = 1100.0;

/// Events of a job besides checks and failures: it arrives, its container starts, its data come, it warms up, computes, and ends.
const JOB_EVENTS: f64 = 6.0;

impl Cluster {
    /// Time that a job takes from its beginning on if it is alone, once, ms.
    fn alone_ms(&self, job: &PreemptionJob) -> f64 {
        let model = &self.models[job.model as usize];
        // Starts are spread by luck: few take longer.
        let start_ms = (model.container_ms + model.warm_ms) * (2.0 * self.start_noise).exp();
        let transfers_ms = (job.data_gb + job.checkpoint_gb) / self.rate(1);
        start_ms + transfers_ms + job.epochs * job.epoch_ms * (1.0 + self.spread_slowdown)
    }

    /// Events in so much time: checks come as long as jobs are there, and nodes may fail and come back.
    fn events_in(&self, busy_ms: f64, all_ms: f64) -> f64 {
        let failures = self.mtbf_ms.map_or(0.0, |mtbf_ms| 2.0 * f64::from(self.nodes) * all_ms / mtbf_ms);
        busy_ms / self.check_ms + failures
    }

    /// Events that jobs need, one after the other.
    pub(crate) fn events(&self, jobs: &[PreemptionJob]) -> f64 {
        let busy_ms: f64 = jobs.iter().map(|job| self.alone_ms(job)).sum();
        let last_ms = jobs.last().map_or(0.0, |job| job.arrival_ms);
        JOB_EVENTS * jobs.len() as f64 + self.events_in(busy_ms, last_ms + busy_ms)
    }
}
