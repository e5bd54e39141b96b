//! What schedulers did in an engine that people run, beside what the simulator says of the same queries.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was measured in an engine, in `live.json` of a run directory (`spark/experiment.py` writes it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// [`Live::FORMAT`].
    pub format_version: u32,
    /// SHA-256 of the student that scheduled.
    pub student: String,
    /// The engine and its version: `Apache Spark 3.5.9`.
    pub engine: String,
    /// Where it ran: `2 cores, x86_64`.
    pub machine: String,
    /// What ran: `TPC-H queries`.
    pub work: String,
    /// Loads, the one that matters most first.
    pub cells: Vec<LiveCell>,
}

/// Schedulers at a load, all of them under the same arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveCell {
    /// What it is called.
    pub name: String,
    /// Tasks that may run at once.
    pub slots: u32,
    /// Share of the time of slots that is asked for.
    pub load: f64,
    /// How many times the time of a core that they take tasks last longer than that.
    pub dilated: f64,
    /// Who scheduled; the first is what others are compared with.
    pub policies: Vec<LivePolicy>,
}

/// A scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LivePolicy {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: LiveKind,
    /// Its runs: run by run the same seeds for all.
    pub runs: Vec<LiveRun>,
}

/// What a scheduler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    /// What the engine comes with.
    Shipped,
    /// A rule without a student.
    Rule,
    /// A network.
    Network,
    /// Another student.
    Student,
    /// The student of the run.
    Own,
}

/// A run: queries as they came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveRun {
    /// Of its arrivals.
    pub seed: u64,
    /// In order of arrival: what the query is called, and how long it took, ms.
    pub queries: Vec<(String, f64)>,
    /// How long each of them takes in the simulator, ms; `None` if that knows no such scheduler.
    pub simulated_ms: Option<Vec<f64>>,
    /// What the plugin counted: `decisions`, `fallbacks`, `late` and so on.
    pub counts: BTreeMap<String, u64>,
}

impl Live {
    /// The file in a run directory.
    pub const FILE: &'static str = "live.json";
    /// What makes it.
    pub const MADE_BY: &'static str = "spark/experiment.py";
    /// The version of its format.
    pub const FORMAT: u32 = 1;
}

impl LiveCell {
    /// The student of the run, if it took part.
    #[must_use]
    pub fn own(&self) -> Option<&LivePolicy> {
        self.policies.iter().find(|policy| policy.kind == LiveKind::Own)
    }
}

impl LivePolicy {
    /// What the plugin counted over all runs; `None` if it was not there.
    #[must_use]
    pub fn counted(&self, what: &str) -> Option<u64> {
        self.runs.iter().map(|run| run.counts.get(what).copied()).sum()
    }
}

impl LiveRun {
    /// Mean completion time, ms.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.queries.iter().map(|(_, ms)| ms).sum::<f64>() / self.queries.len() as f64
    }

    /// The same in the simulator.
    #[must_use]
    pub fn simulated_mean_ms(&self) -> Option<f64> {
        self.simulated_ms.as_ref().map(|all| all.iter().sum::<f64>() / all.len() as f64)
    }
}
