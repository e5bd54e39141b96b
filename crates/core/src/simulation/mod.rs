//! Scenarios that can be run, and their simulators. Each stops at a question, lends a view of it, and takes a decision;
//! [`Simulation`] is what they have in common.

mod bound;
mod declared;
mod edit;
mod history;
mod idle;
mod logs_table;
mod outcome;
mod queue;
mod timeline;
mod workload;

pub use crate::figure::Stall;
pub use bound::Bound;
pub use declared::{Declared, DeclaredEdit, Declares, Number};
pub use edit::{Edit, EditBudget, EditError, EditInfo, Editable, small_steps};
pub use history::{Costs, Dated, History, LogDef, Replay, WriteLog};
pub use idle::IdleSpells;
pub use outcome::{JobEnd, Outcome, percentile};
pub use queue::EventQueue;
pub use timeline::{Occupancy, TaskRun, Timeline};
pub use workload::{Fixed, NamedWorkload, OpenWorkload, Source, Workload, WorkloadDef, open_named};

use crate::{scenario::Scenario, spec::Spec, workload::WorkloadError};
use std::{
    error::Error,
    fmt::Debug,
    io::{self, Write},
};

/// A kind of cluster that can be run: where its jobs come from, and what becomes of them.
pub trait Simulated: Scenario {
    /// What episodes run on; what is large is shared.
    type Cluster: Clone + Debug + Send + Sync;
    /// A job, before anything has happened to it.
    type Job: Clone + Debug + PartialEq + Send + Sync;
    /// A running episode.
    type Simulator: Simulation<Scenario = Self>;

    /// All workloads, the one that is meant where none is named first.
    const WORKLOADS: &'static [WorkloadDef<Self>];
    /// Values of `edge=NAME` of those workloads that take it, with their meanings.
    const EDGE_CASES: &'static [(&'static str, &'static str)] = &[];
    /// Workloads on which policies are checked: what each is called, and its spec.
    const BATTERY: &'static [(&'static str, &'static str)] = &[];

    /// By what jobs are small or large, whoever schedules them, and its unit: a noun phrase, e.g. `work` in `ms`. `None` if nothing is
    /// said of that.
    const SIZE: Option<(&'static str, &'static str)> = None;

    /// How an episode is written as the log that a cluster of this kind leaves; `None` if there is no such log.
    const LOG: Option<LogDef<Self>> = None;

    /// How jobs are written as a workload file of this scenario, which is read as `json:FILE`; `None` if they are not. It fails on jobs of
    /// which such a file cannot say all.
    const WRITE_JOBS: Option<WriteJobs<Self>> = None;

    /// The schedule that is recorded of these jobs; `None` if none is, which is the default.
    fn replay(_jobs: &[Self::Job]) -> Option<Replay<Self>> {
        None
    }

    /// What is to be said of jobs beside their number, their size and when they arrive, each in a few words with what it is of: `stages`,
    /// `median 4, at most 26`. The default is nothing.
    fn shapes(_jobs: &[Self::Job]) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Opens the workload that a spec names: [`Workload::open`].
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    fn open_workload(spec: &Spec) -> Result<Workload<Self>, WorkloadError> {
        Workload::open(spec)
    }

    /// The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet. The default are those of
    /// [`Simulated::BATTERY`]; where there are none, the first workload without parameters.
    ///
    /// # Errors
    ///
    /// None in practice: what they are is fixed.
    fn battery() -> Result<Vec<NamedWorkload<Self>>, WorkloadError> {
        let first = Self::WORKLOADS.first().map(|def| (def.info.name, def.info.name));
        open_named(if Self::BATTERY.is_empty() { first.as_slice() } else { Self::BATTERY })
    }

    /// An episode before its first question: these jobs on the workload's cluster, with the luck of this seed.
    fn start(workload: &Workload<Self>, jobs: Vec<Self::Job>, seed: u64) -> Self::Simulator;

    /// Mean completion time of an episode's jobs if each had the cluster to itself, at its best, from its arrival on,
    /// ms. `None` if the scenario does not know.
    fn floor_ms(_workload: &Workload<Self>, _jobs: &[Self::Job]) -> Option<f64> {
        None
    }
}

/// Writes jobs and their cluster as a workload file.
pub type WriteJobs<S> = fn(&<S as Simulated>::Cluster, &[<S as Simulated>::Job], &mut dyn Write) -> io::Result<()>;

/// A running episode.
pub trait Simulation: Clone + Send + Sync {
    /// What is scheduled.
    type Scenario: Scenario;
    /// An illegal decision. It leaves the state as it was, so that another decision may follow.
    type Error: Error + Send + Sync + 'static;

    /// The open question; `None` once the episode has ended.
    fn view(&self) -> Option<<Self::Scenario as Scenario>::View<'_>>;

    /// Checks a decision without carrying it out.
    ///
    /// # Errors
    ///
    /// What [`Simulation::step`] would refuse.
    fn check(&self, decision: <Self::Scenario as Scenario>::Decision) -> Result<(), Self::Error>;

    /// Answers the open question: carries out a decision and lets time pass until the next question.
    ///
    /// # Errors
    ///
    /// An illegal decision; the state is then unchanged.
    fn step(&mut self, decision: <Self::Scenario as Scenario>::Decision) -> Result<(), Self::Error>;

    /// The outcome, once the episode has ended ([`Simulation::view`] gives `None`).
    fn outcome(&self) -> Option<Outcome>;

    /// Arrival time by job, ms.
    fn arrivals_ms(&self) -> Vec<f64>;

    /// Size by job, as [`Simulated::SIZE`] has it; the default knows none.
    fn sizes(&self) -> Vec<f64> {
        Vec::new()
    }

    /// When a job was completed, ms; `None` as long as it is not.
    fn completed_ms(&self, job: u32) -> Option<f64>;

    /// What the time between two moments costs; minus that is its reward. Costs add up: from the beginning to the end
    /// of an episode to the objective times the number of jobs (minus that, where more is better), up to what no policy
    /// changes. What lies after the clock is taken to find everything as it is now. With the mean completion time as
    /// objective the cost is job-time, ms: for each job, how much of the time the job was in the system.
    fn cost(&self, from_ms: f64, to_ms: f64) -> f64;

    /// Number of lanes on which tasks run side by side; the default is one.
    fn lanes(&self) -> u32 {
        1
    }

    /// Keeps the task runs of the rest of the episode; the default keeps none.
    fn record_timeline(&mut self) {}

    /// Task runs in order of their start, if [`Simulation::record_timeline`] was called; the default is none, and
    /// schedules are not drawn.
    fn task_runs(&self) -> &[TaskRun] {
        &[]
    }
}
