//! What arrives: training jobs with deadlines, on nodes of cores.
//!
//! ```
//! use sched_distill_core::spec::Spec;
//! use sched_distill_deadlines::workload::DeadlineWorkload;
//! let workload = DeadlineWorkload::open(&"builtin,nodes=2,jobs=10".parse::<Spec>()?)?;
//! assert_eq!(workload.cluster().cores(), 64);
//! let jobs = workload.jobs(7);
//! assert!(jobs.len() == 10 && jobs.iter().all(|job| job.deadline_ms > job.arrival_ms));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod battery;
mod builtin;
mod chronus;
mod edge;
mod json;
mod log;
mod models;
mod philly;

pub use arrivals::{Arrivals, Intensity};
pub(crate) use battery::BATTERY;
pub use builtin::Generator;
pub use edge::{EDGE_CASES, EdgeCase};
pub use json::write;
pub use models::{MODELS, ModelFacts};
pub use philly::History;

use crate::{Cluster, Deadlines, Law};
use sched_distill_core::{
    simulation::{Workload, WorkloadDef},
    workload::Ran,
    workloads_with_logs,
};

/// Jobs with deadlines, and their cluster.
pub type DeadlineWorkload = Workload<Deadlines>;

/// All workloads of jobs with deadlines there are.
pub(crate) const WORKLOADS: &[WorkloadDef<Deadlines>] = workloads_with_logs! {
    first: WorkloadDef::new(
        "builtin[,nodes=1][,node-cores=32][,jobs=60][,arrivals=bursts|poisson|FILE.csv][,burst=30][,gap=7200][,load=1.3][,work=4800][,work-spread=0.8][,check=60][,restart=10][,noise=0.05][,spread=0.05][,prediction-error=0][,inflated=0][,refuse=0|1][,edge=NAME]",
        "generated training jobs of eight models whose users give deadlines, in bursts or at a steady rate",
        builtin::open,
    ),
    logs: log::open,
    own: "[,node-cores=N][,jobs=60]",
    more: "[,check=600][,restart=30][,noise=0.05][,spread=0.05][,prediction-error=0][,inflated=0][,refuse=0|1]",
    philly: "jobs of Microsoft's Philly cluster, its `cluster_job_log` or a table with columns submit_s, duration_s, num_gpus, vc (without `split`: consecutive rows, 4 nodes of 32), with deadlines by the rule of the generator",
    chronus: ["[,node-gpus=4]", "jobs of Chronus with their deadlines, its `trace_job_*_SLO.csv` beside its `model_info.json`, cut by time (docs/histories.md)"],
    last: WorkloadDef::new(
        "json:FILE[,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "a fixed list of jobs and their cluster from a JSON file (docs/deadlines.md)",
        json::open,
    ),
};

/// A training job with a deadline. Its number is its place in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeadlineJob {
    /// Place of its model in [`Cluster::models`].
    pub model: u16,
    /// When it arrives, ms.
    pub arrival_ms: f64,
    /// When its user needs it, ms.
    pub deadline_ms: f64,
    /// When its user says so.
    pub declared_deadline_ms: f64,
    /// Iterations that it takes.
    pub iterations: f64,
    /// Iterations that its user declares.
    pub declared_iterations: f64,
    /// Cores that its user requests.
    pub requested: u32,
    /// Cores that its program uses as submitted.
    pub threads: u32,
    /// Most cores that it can use.
    pub largest: u32,
    /// How long an iteration takes.
    pub law: Law,
    /// What measured times are multiplied by, besides their noise.
    pub bias: f64,
    /// When it ran where it was recorded, if it was.
    pub recorded: Option<Ran>,
}

/// Jobs of a window where the spec of a history names no length.
const WINDOW_JOBS: u32 = 60;

/// Memory per job, bytes, as measured.
const JOB_BYTES: f64 = 1000.0;

/// Events of a job besides checks: it arrives, its deadline passes, it is measured first, and ends.
const JOB_EVENTS: f64 = 4.0;

impl Cluster {
    /// Events in so much time of a job that runs: a check, and its measurement.
    fn events_in(&self, run_ms: f64) -> f64 {
        2.0 * run_ms / self.check_ms
    }

    /// Events that a job needs if it runs once, on one core or on as many as it can use, whichever takes longer.
    fn events_of(&self, job: &DeadlineJob) -> f64 {
        let each_ms = job.law.time_ms(1).max(job.law.time_ms(job.largest));
        JOB_EVENTS + self.events_in(self.restart_ms + job.iterations * each_ms)
    }

    /// Events that jobs need, one after the other.
    pub(crate) fn events(&self, jobs: &[DeadlineJob]) -> f64 {
        jobs.iter().map(|job| self.events_of(job)).sum()
    }
}
