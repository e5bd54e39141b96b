//! What arrives: inference tasks of several applications.
//!
//! ```
//! use sched_distill_core::spec::Spec;
//! use sched_distill_serving::workload::ServingWorkload;
//! let workload = ServingWorkload::open(&"builtin,load=0.5,seconds=2".parse::<Spec>()?)?;
//! let service = workload.cluster();
//! assert_eq!((service.server.applications.len(), service.horizon_ms), (5, 2000.0));
//! assert!(workload.jobs(7).iter().all(|task| task.arrival_ms <= 2000.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod azure;
mod battery;
mod builtin;
mod cost;
mod edge;
mod json;
mod mooncake;
mod requests;
mod shapes;
mod times;

pub(crate) use battery::BATTERY;
pub use builtin::{Generator, Model};
pub use edge::{EDGE_CASES, EdgeCase};
pub use json::write;
pub use requests::Requests;
pub(crate) use shapes::shapes;

use crate::{Server, Serving};
use sched_distill_core::{
    simulation::{Workload, WorkloadDef},
    workload::Work,
};
use std::{path::PathBuf, sync::Arc};

/// Inference tasks, and the server that is to answer them.
pub type ServingWorkload = Workload<Serving>;

/// All workloads of inference tasks there are.
pub(crate) const WORKLOADS: &[WorkloadDef<Serving>] = &[
    WorkloadDef::new(
        "builtin[,load=0.9][,seconds=2][,applications=5][,accelerators=1][,spread=0.6][,mix=rate|work][,law=padded|dynamic][,shapes=1/2/4/8/16][,memory=UNITS][,queue=10000][,timeout=5][,objective=20][,half-life=500][,tail=MS][,understated=0][,edge=NAME]",
        "generated tasks of text, tree and image models, at a steady rate",
        builtin::open,
    ),
    WorkloadDef::new(
        "models:FILE.json[,load=0.9][,seconds=2][,applications=N][,accelerators=1][,spread=0.6][,mix=rate|work][,shapes=1/2/4/8/16][,memory=UNITS][,queue=10000][,timeout=5][,objective=20][,half-life=500][,tail=MS][,understated=0][,edge=NAME]",
        "the same of models whose times were measured by `distill profile-model`",
        builtin::open_models,
    ),
    WorkloadDef::new(
        "azure:FILE.csv[,load=0.9][,seconds=60][,applications=3][,accelerators=1][,alpha=20][,beta=0.05][,decode=20][,unit=64][,times=FILE.csv][,model=NAME][,hardware=NAME][,parallel=N][,shapes=1/2/4/8/16][,queue=10000][,timeout=50][,objective=20][,half-life=5000][,tail=MS][,understated=0][,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "recorded requests to a language model (columns arrival_s, context_tokens, generated_tokens), faster than they came",
        azure::open,
    )
    .that_reads(azure::reads),
    WorkloadDef::new(
        "mooncake:FILE[,load=0.9][,seconds=60][,applications=3][,accelerators=1][,alpha=20][,beta=0.05][,decode=20][,unit=64][,times=FILE.csv][,model=NAME][,hardware=NAME][,parallel=N][,shapes=1/2/4/8/16][,queue=10000][,timeout=50][,objective=20][,half-life=5000][,tail=MS][,understated=0][,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "the same of JSON lines with timestamp, input_length, output_length, as the Mooncake project has them",
        mooncake::open,
    )
    .that_reads(sched_distill_histories::requests::is_log),
    WorkloadDef::new(
        "json:FILE[,split=time|interleaved][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]",
        "a fixed list of tasks and their server from a JSON file (docs/serving.md)",
        json::open,
    ),
];

/// An inference task. Its number is its place in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingTask {
    /// Place of its application.
    pub application: u32,
    /// When it arrives, ms.
    pub arrival_ms: f64,
    /// Its size: tokens, nodes of a tree, 1 for images.
    pub size: u32,
    /// The size that its user declares.
    pub declared_size: u32,
}

/// Memory per task, bytes, as measured.
const TASK_BYTES: f64 = 150.0;

/// Events that so many tasks need: each arrives, waits for a timeout, and ends with its batch.
pub(crate) fn events(tasks: f64) -> f64 {
    3.0 * tasks
}

/// What the tasks of a workload come to.
fn work(tasks: f64, service: &Service) -> Work {
    Work { jobs: tasks, events: events(tasks), bytes: TASK_BYTES * tasks, last_ms: service.horizon_ms }
}

/// What makes an episode less.
const LESS: &str = "ask for fewer `seconds`, or less `load`";

/// A server, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Service {
    /// The server.
    pub server: Arc<Server>,
    /// Until when tasks arrive, ms.
    pub horizon_ms: f64,
    /// The age at which a task costs twice as much per ms as at first; infinite if ages do not matter.
    pub tail_ms: f64,
    /// By application, where there is one: the ONNX file of the model that its tasks are asked of, and the largest size of tasks.
    pub models: Vec<Option<(PathBuf, u32)>>,
}
