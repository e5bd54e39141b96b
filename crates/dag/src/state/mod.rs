//! The cluster as far as a scheduler may know it: the simulator keeps a state of it, anyone can make one, and both lend views.

mod build;
mod change;
#[cfg(feature = "simulate")]
mod describe;
mod json;
mod strand;
mod view;

use crate::graph::{JobGraph, StageSpec};
#[cfg(feature = "simulate")]
use crate::intake::Intake;
pub use build::StageTasks;
pub use change::Change;
pub use sched_distill_core::state::StateError;
use sched_distill_core::state::{Arrives, Jobs};
use serde::Deserialize;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
pub use view::{Decision, DecisionError, JobView, Source, StageRef, StageView, Stamp, View};

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) graph: Arc<JobGraph>,
    pub(crate) arrival_ms: f64,
    /// Index of stage 0 in [`ClusterState::stages`].
    pub(crate) first_stage: u32,
    pub(crate) num_stages: u32,
    /// The executor count that schedulers see.
    pub(crate) supply: i32,
    /// Executors attached to the job.
    pub(crate) attached: u32,
    /// Stages not completed.
    pub(crate) incomplete: u32,
    /// What changes with every launch and end of a task, see [`crate::JobView::stamp`].
    pub(crate) version: u32,
}

/// A stage fills one line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Stage {
    /// Index of its job in [`ClusterState::jobs`].
    pub(crate) job: u32,
    pub(crate) num_tasks: u32,
    /// Tasks not launched.
    pub(crate) remaining: u32,
    pub(crate) completed: u32,
    pub(crate) executing: u32,
    /// Executors on their way.
    pub(crate) moving: u32,
    /// Promised to this stage.
    pub(crate) committed: u32,
    pub(crate) unsaturated_parents: u32,
    pub(crate) incomplete_parents: u32,
    /// Whether it wants no more executors.
    pub(crate) saturated: bool,
    /// Chosen in the present round.
    pub(crate) selected: bool,
    pub(crate) recent_ms: f64,
}

/// A cluster of executors and the jobs on it, as far as a scheduler may know them.
///
/// Who runs a cluster keeps one: adds jobs as they arrive, sets the figures of stages as tasks start and end, and offers executors
/// when some are free. What the policy answers is carried out by the owner, and told to the state by [`ClusterState::answer`].
/// It is also read and written as JSON (by serde). `docs/cluster-state.md` describes both.
///
/// ```
/// use sched_distill_core::policy::Policy;
/// use sched_distill_dag::{ClusterState, Decision, JobGraph, Source, StageRef, StageSpec, StageTasks, policies};
///
/// let stages = vec![StageSpec { num_tasks: 8, rough_ms: 1500.0 }, StageSpec { num_tasks: 4, rough_ms: 400.0 }];
/// let mut state = ClusterState::new(10)?;
/// state.set_time(60_000.0)?;
/// state.add_job(7, 42_000.0, JobGraph::new("scan and sum", stages, &[[0, 1]])?)?;
/// let scan = StageRef { job: 7, stage: 0 };
/// state.set_stage(scan, StageTasks { completed: 2, running: 3, recent_ms: Some(1320.0), ..StageTasks::default() })?;
///
/// let mut policy = policies::open(&"srpt-fair".parse()?)?;
/// let mut question = state.offer(Source::Common, 6)?;
/// let mut decisions = Vec::new();
/// while let Some(view) = question {
///     let decision = policy.decide(&view, &mut Default::default())?;
///     decisions.push(decision);
///     question = state.answer(decision)?;
/// }
/// // Three tasks of the scan are left to launch; the rest waits for the sum to start.
/// let sum = StageRef { job: 7, stage: 1 };
/// assert_eq!(decisions, [(scan, 6), (sum, 3)].map(|(stage, executors)| Decision::Assign { stage, executors }));
/// assert_eq!([scan, sum].map(|stage| state.promised(stage)), [Some(3), Some(3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "json::RawState")]
pub struct ClusterState {
    pub(crate) num_executors: u32,
    pub(crate) time_ms: f64,
    /// By number.
    pub(crate) jobs: Jobs<Job>,
    pub(crate) stages: Vec<Stage>,
    /// The latest arrivals of jobs that are not kept any more.
    pub(crate) gone_arrivals_ms: Vec<f64>,
    /// Numbers of the arrived, uncompleted jobs in arrival order.
    pub(crate) active: Vec<u32>,
    /// The stages of the open question.
    pub(crate) schedulable: Vec<StageRef>,
    pub(crate) source: Source,
    /// The source's job if it is active.
    pub(crate) source_job: Option<u32>,
    /// Executors on offer.
    pub(crate) committable: u32,
    /// Whether they have idled beside work for long, and are therefore offered again.
    pub(crate) again: bool,
    /// Executors that run a task.
    pub(crate) busy: u32,
    /// Executors on their way, and how many of them to jobs that are complete or not kept.
    pub(crate) moving: u32,
    pub(crate) moving_elsewhere: u32,
    /// Versions given to jobs by hand so far.
    versions: u32,
    /// What is made of other descriptions of jobs; what is there has been taken in.
    #[cfg(feature = "simulate")]
    pub(crate) intake: Intake,
    pub(crate) identity: Identity,
}

/// Tells one state from another; a clone is another one.
#[derive(Debug)]
pub(crate) struct Identity(pub(crate) u64);

impl Identity {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Arrives for Job {
    #[inline]
    fn arrival(&self) -> (u32, f64) {
        (self.id, self.arrival_ms)
    }
}

impl Job {
    /// A job of which nothing has happened.
    pub(crate) fn new(id: u32, graph: Arc<JobGraph>, arrival_ms: f64, first_stage: u32) -> Self {
        let num_stages = graph.stages().len() as u32;
        Self {
            id,
            graph,
            arrival_ms,
            first_stage,
            num_stages,
            supply: 0,
            attached: 0,
            incomplete: num_stages,
            version: 0,
        }
    }
}

impl Stage {
    /// A stage of which no task has been launched, as if it had no parents.
    pub(crate) fn new(job: u32, spec: &StageSpec) -> Self {
        Self {
            job,
            num_tasks: spec.num_tasks,
            remaining: spec.num_tasks,
            completed: 0,
            executing: 0,
            moving: 0,
            committed: 0,
            unsaturated_parents: 0,
            incomplete_parents: 0,
            saturated: false,
            selected: false,
            recent_ms: spec.rough_ms,
        }
    }

    pub(crate) fn demand(&self) -> i64 {
        i64::from(self.remaining) - i64::from(self.moving) - i64::from(self.committed)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.completed == self.num_tasks
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.saturated && self.unsaturated_parents == 0
    }
}

impl ClusterState {
    /// A cluster at time 0 and the jobs that will arrive there.
    pub(crate) fn of(num_executors: u32, jobs: Vec<Job>, stages: Vec<Stage>) -> Self {
        Self {
            num_executors,
            time_ms: 0.0,
            jobs: jobs.into(),
            stages,
            gone_arrivals_ms: Vec::new(),
            active: Vec::new(),
            schedulable: Vec::new(),
            source: Source::Common,
            source_job: None,
            committable: 0,
            again: false,
            busy: 0,
            moving: 0,
            moving_elsewhere: 0,
            versions: 0,
            #[cfg(feature = "simulate")]
            intake: Intake::default(),
            identity: Identity::new(),
        }
    }

    /// The open question; `None` if no executors are on offer, or no stage may get them.
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        (!self.schedulable.is_empty()).then_some(View { state: self })
    }
}
