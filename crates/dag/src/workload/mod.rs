//! Spark-like jobs: their stage graphs, arrival times and task durations.
//!
//! Where the jobs come from (a generator, TPC-H profiles, a file) is the business of the modules below.

mod alibaba;
mod arrivals;
mod battery;
mod builtin;
mod dag_shapes;
mod drawn;
mod duration;
mod edge;
mod file;
mod history;
mod job;
mod json;
mod recorded;
mod shapes;
mod spark;
mod tpch;
mod traces;
mod values;
mod wfcommons;

pub use arrivals::Arrivals;
pub(crate) use battery::{BATTERY, battery};
pub use builtin::Builtin;
pub use drawn::Drawn;
pub use duration::{Draw, DurationTable, Luck, Wave, Waves};
pub use edge::{EDGE_CASES, EdgeCase};
pub use file::write;
pub use job::{JobArrival, JobTemplate, Origin, StageTemplate};
pub use recorded::{Recorded, Runs};
pub(crate) use shapes::shapes;
pub use tpch::{SIZES, TpchProfiles};

use crate::{Dag, intake::Intake};
use sched_distill_core::{
    simulation::{Workload, WorkloadDef},
    spec::Spec,
    workload::WorkloadError,
};
use serde::{Deserialize, Serialize};

/// Spark-like jobs, and their cluster.
pub type DagWorkload = Workload<Dag>;

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
    /// When it offers executors that have work.
    #[serde(default, skip_serializing_if = "Offers::is_stage")]
    pub offers: Offers,
    /// From when the last parent of a stage is completed until the stage is submitted, which can start no earlier, ms, where executors are offered after
    /// each task: Apache Spark's adaptive execution plans a stage when those before it have ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub submit_ms: f64,
}

// serde hands fields over by reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}

/// When the executors of a cluster are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offers {
    /// When their stage has no more tasks to launch, to any stage whose parents want no more, as Decima and its simulators have it.
    #[default]
    Stage,
    /// After each task, to stages that can start alone, as Apache Spark offers its slots; idle executors as well, whatever happens.
    Task,
}

impl Offers {
    fn is_stage(&self) -> bool {
        *self == Self::Stage
    }
}

impl Cluster {
    /// A cluster that believes what users declare, and offers executors by stages.
    #[must_use]
    pub fn new(num_executors: u32, moving_delay_ms: f64) -> Self {
        Self { num_executors, moving_delay_ms, intake: Intake::default(), offers: Offers::default(), submit_ms: 0.0 }
    }

    /// How much later than its last parent is completed a stage can start, ms: [`Self::submit_ms`] where executors are offered after each task, else 0.
    pub(crate) fn submission_ms(&self) -> f64 {
        if self.offers == Offers::Task { self.submit_ms } else { 0.0 }
    }
}

/// What jobs with so many tasks come to: a task ends, and for each an executor may have to come.
pub(crate) fn events(jobs: f64, tasks: f64) -> f64 {
    jobs + 2.0 * tasks
}

/// All workloads there are.
pub(crate) const WORKLOADS: &[WorkloadDef<Dag>] = &[
    WorkloadDef::new(
        "builtin[,executors=10][,jobs=50][,rate=4e-5][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "generated Spark-like jobs: 2-18 stages, heavy-tailed tasks and durations, several graph shapes",
        builtin::open,
    ),
    WorkloadDef::new(
        "tpch:FILE[,executors=10][,jobs=50][,rate=4e-5][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "TPC-H queries with measured task durations, from tpch_profiles.json.gz",
        tpch::open,
    ),
    WorkloadDef::new(
        "spark:PATH[,executors=N][,delay=0][,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "what Spark ran, from its event logs: a file, a rolling log or a folder of logs (docs/histories.md)",
        spark::open,
    )
    .that_reads(sched_distill_histories::spark::is_log),
    WorkloadDef::new(
        "alibaba:FILE[,executors=N][,delay=0][,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "jobs of the Alibaba cluster trace of 2018, from its batch_task.csv",
        alibaba::open,
    )
    .that_reads(alibaba::reads),
    WorkloadDef::new(
        "wfcommons:PATH[,executors=10][,jobs=50][,rate=N][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "workflows that ran somewhere, as WfCommons has them: a file or a folder of files, drawn at random",
        wfcommons::open,
    )
    .that_reads(wfcommons::reads),
    WorkloadDef::new(
        "shapes:FILE[,executors=10][,jobs=50][,rate=N][,arrivals=poisson|bursty][,delay=2000][,warmup=1000][,edge=NAME][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "DAGs without arrivals from a JSON file, drawn at random (docs/workload-format.md)",
        dag_shapes::open,
    )
    .that_reads(dag_shapes::reads),
    WorkloadDef::new(
        "json:FILE[,executors=N][,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1][,durations=history|median][,parts=merged][,offers=task[,submit=MS]]",
        "a fixed list of jobs from a JSON file (docs/workload-format.md)",
        json::open,
    ),
];

/// What makes an episode less.
const LESS: &str = "ask for fewer `jobs`, or a higher `rate`";

/// Jobs of a window of a history where its spec names no length.
const WINDOW_JOBS: u32 = 50;

/// What makes an episode of a history less.
const HISTORY_LESS: &str = "shorter episodes come from `split=time` and a `window`";

/// Opens the workload that a spec names: [`Workload::open`].
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    Workload::open(spec)
}
