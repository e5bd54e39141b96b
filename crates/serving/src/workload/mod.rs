//! What arrives: inference tasks of several applications.
//!
//! ```
//! use sched_distill_core::spec::Spec;
//! use sched_distill_serving::workload::ServingWorkload;
//! let workload = ServingWorkload::open(&"builtin,load=0.5,seconds=2".parse::<Spec>()?)?;
//! assert_eq!((workload.server().applications.len(), workload.horizon_ms()), (5, 2000.0));
//! assert!(workload.tasks(7).iter().all(|task| task.arrival_ms <= 2000.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod azure;
mod battery;
mod builtin;
mod edge;
mod json;

pub use azure::Requests;
pub(crate) use battery::BATTERY;
pub use builtin::{Generator, Model};
pub use edge::{EDGE_CASES, EdgeCase};

use crate::Server;
use sched_distill_core::{
    spec::Spec,
    workload::{Work, WorkloadError, WorkloadInfo},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// All workloads of inference tasks there are.
pub const SERVING_WORKLOADS: [WorkloadInfo; 4] = [
    WorkloadInfo {
        name: "builtin",
        edge_cases: true,
        usage: "builtin[,load=0.9][,seconds=2][,applications=5][,accelerators=1][,spread=0.6][,mix=rate|work][,law=padded|dynamic][,shapes=1/2/4/8/16][,memory=UNITS][,queue=10000][,timeout=5][,objective=20][,half-life=500][,tail=MS][,understated=0][,edge=NAME]",
        meaning: "generated tasks of text, tree and image models, at a steady rate",
    },
    WorkloadInfo {
        name: "models",
        edge_cases: true,
        usage: "models:FILE.json[,load=0.9][,seconds=2][,applications=N][,accelerators=1][,spread=0.6][,mix=rate|work][,shapes=1/2/4/8/16][,memory=UNITS][,queue=10000][,timeout=5][,objective=20][,half-life=500][,tail=MS][,understated=0][,edge=NAME]",
        meaning: "the same of models whose times were measured by `distill profile-model`",
    },
    WorkloadInfo {
        name: "azure",
        edge_cases: false,
        usage: "azure:FILE.csv[,load=0.9][,seconds=60][,applications=3][,accelerators=1][,alpha=20][,beta=0.05][,decode=20][,unit=64][,shapes=1/2/4/8/16][,queue=10000][,timeout=50][,objective=20][,half-life=5000][,tail=MS][,understated=0]",
        meaning: "recorded requests to a language model (columns arrival_s, context_tokens, generated_tokens), faster than they came",
    },
    WorkloadInfo {
        name: "json",
        edge_cases: false,
        usage: "json:FILE",
        meaning: "a fixed list of tasks and their server from a JSON file (docs/serving.md)",
    },
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

/// A source of episodes: the server, and the tasks by seed.
#[derive(Clone, Debug)]
pub struct ServingWorkload {
    server: Arc<Server>,
    horizon_ms: f64,
    tail_ms: f64,
    source: Source,
    files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum Source {
    Generated(Generator),
    Recorded(Requests),
    Fixed(Vec<ServingTask>),
}

impl ServingWorkload {
    /// Opens the workload that a spec names, one of [`SERVING_WORKLOADS`].
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    pub fn open(spec: &Spec) -> Result<Self, WorkloadError> {
        match spec.name.as_str() {
            "builtin" => builtin::open(spec)?.checked(spec),
            "models" => builtin::open_models(spec)?.checked(spec),
            "azure" => azure::open(spec)?.checked(spec),
            "json" => json::open(spec),
            _ => Err(spec.unknown_name("workload", "workloads", &["builtin", "models", "azure", "json"]).into()),
        }
    }

    /// The server; the same in every episode.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Until when tasks arrive, ms.
    #[must_use]
    pub fn horizon_ms(&self) -> f64 {
        self.horizon_ms
    }

    /// The age at which a task costs twice as much per ms as at first; infinite if ages do not matter.
    #[must_use]
    pub fn tail_ms(&self) -> f64 {
        self.tail_ms
    }

    /// What an episode comes to, about, before it is made.
    #[must_use]
    pub fn work(&self) -> Work {
        let tasks = match &self.source {
            Source::Generated(generator) => generator.count(self.horizon_ms),
            Source::Recorded(requests) => requests.count(self.horizon_ms),
            Source::Fixed(tasks) => tasks.len() as f64,
        };
        Work { jobs: tasks, events: events(tasks), bytes: TASK_BYTES * tasks, last_ms: self.horizon_ms }
    }

    /// The workload, if its episodes are not too much.
    fn checked(self, spec: &Spec) -> Result<Self, WorkloadError> {
        self.work().check(spec, "ask for fewer `seconds`, or less `load`")?;
        Ok(self)
    }

    /// The tasks of the episode with this seed, in order of arrival.
    #[must_use]
    pub fn tasks(&self, seed: u64) -> Vec<ServingTask> {
        match &self.source {
            Source::Generated(generator) => generator.tasks(&self.server, self.horizon_ms, seed),
            Source::Recorded(requests) => requests.tasks(self.horizon_ms, seed),
            Source::Fixed(tasks) => tasks.clone(),
        }
    }

    /// Whether the episode with this seed has more tasks than so many; no more than these are counted, and none is kept.
    #[must_use]
    pub fn has_more_tasks(&self, seed: u64, most: usize) -> bool {
        match &self.source {
            Source::Generated(generator) => generator.has_more_tasks(self.horizon_ms, seed, most),
            // They are in memory already.
            Source::Recorded(requests) => requests.tasks(self.horizon_ms, seed).len() > most,
            Source::Fixed(tasks) => tasks.len() > most,
        }
    }

    /// The ONNX file of the model that an application's tasks are asked of, if the workload has one, and the largest size of tasks.
    #[must_use]
    pub fn model_file(&self, application: u32) -> Option<(&Path, u32)> {
        match &self.source {
            Source::Generated(generator) => generator.model_file(application),
            _ => None,
        }
    }

    /// Files that define the workload, so that a trace can record their hashes.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}
