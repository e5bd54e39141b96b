//! The cluster state as JSON.

use super::{
    ClusterState, Decision, Job, Source, StageRef, StageTasks, StateError, View,
    build::{graph_error, time},
};
use crate::graph::{GraphBudget, JobGraph, StageSpec};
use sched_distill_core::state::is_default;
use serde::{Deserialize, Serialize, Serializer};
use std::{cell::RefCell, collections::HashMap, sync::Arc};

/// A decision as JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum RawDecision {
    Assign { job: u32, stage: u32, executors: u32 },
    Abstain {},
}

impl From<Decision> for RawDecision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Assign { stage: StageRef { job, stage }, executors } => Self::Assign { job, stage, executors },
            Decision::Abstain => Self::Abstain {},
        }
    }
}

impl From<RawDecision> for Decision {
    fn from(raw: RawDecision) -> Self {
        match raw {
            RawDecision::Assign { job, stage, executors } => Self::Assign { stage: StageRef { job, stage }, executors },
            RawDecision::Abstain {} => Self::Abstain,
        }
    }
}

/// What the graphs of all jobs may come to: pairs of stages as [`JobGraph`] keeps them, and edges walked to find them. Thousands
/// of jobs as people write them; read in a hundredth of a second.
const MOST_PAIRS: usize = 1_000_000;
const MOST_STEPS: usize = 10_000_000;

/// What a file or a message holds; `docs/cluster-state.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    #[serde(default)]
    time_ms: f64,
    num_executors: u32,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    offered: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    again: bool,
    jobs: Vec<RawJob>,
    #[serde(default, skip_serializing_if = "is_default")]
    jobs_gone: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone_arrivals_ms: Vec<f64>,
    #[serde(default, skip_serializing_if = "is_default")]
    moving_elsewhere: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    id: u32,
    #[serde(default)]
    name: String,
    arrival_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supply: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attached: Option<u32>,
    stages: Vec<RawStage>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    tasks: u32,
    rough_ms: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parents: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    completed: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    running: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    moving: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    promised: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recent_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "is_default")]
    chosen: bool,
}

impl From<&ClusterState> for RawState {
    fn from(state: &ClusterState) -> Self {
        // Of a completed job only the arrival counts, unless the executors on offer are its own.
        let (kept, gone): (Vec<&Job>, Vec<&Job>) =
            state.jobs.here().iter().partition(|job| job.incomplete > 0 || state.source.job() == Some(job.id));
        let stages = |job: &Job| {
            let specs = (0u32..).zip(job.graph.stages());
            let stages = &state.stages[job.first_stage as usize..];
            specs
                .zip(stages)
                .map(|((id, spec), s)| RawStage {
                    tasks: spec.num_tasks,
                    rough_ms: spec.rough_ms,
                    parents: job.graph.parents(id).to_vec(),
                    completed: s.completed,
                    running: s.executing,
                    moving: s.moving,
                    promised: s.committed,
                    recent_ms: (s.recent_ms.to_bits() != spec.rough_ms.to_bits()).then_some(s.recent_ms),
                    chosen: s.selected,
                })
                .collect()
        };
        let jobs: Vec<RawJob> = kept
            .iter()
            .map(|job| RawJob {
                id: job.id,
                name: job.graph.name().to_owned(),
                arrival_ms: job.arrival_ms,
                supply: Some(u32::try_from(job.supply).unwrap_or(0)),
                attached: Some(job.attached),
                stages: stages(job),
            })
            .collect();
        let moving: u32 = jobs.iter().flat_map(|job| &job.stages).map(|stage| stage.moving).sum();
        Self {
            time_ms: state.time_ms,
            num_executors: state.num_executors,
            source: state.source,
            offered: if state.schedulable.is_empty() { 0 } else { state.committable },
            again: state.again && !state.schedulable.is_empty(),
            jobs,
            jobs_gone: state.jobs.gone_but(kept.len()),
            gone_arrivals_ms: state
                .gone_arrivals_ms
                .iter()
                .copied()
                .chain(gone.iter().map(|job| job.arrival_ms))
                .collect(),
            moving_elsewhere: state.moving.saturating_sub(moving),
        }
    }
}

impl TryFrom<RawState> for ClusterState {
    type Error = StateError;

    fn try_from(raw: RawState) -> Result<Self, StateError> {
        let mut state = Self::new(raw.num_executors)?;
        state.set_time(raw.time_ms)?;
        state.read_jobs(&raw.jobs, &mut GraphBudget::of_text())?;
        let graphs = state.jobs.iter().map(|job| (job.id, Arc::clone(&job.graph)));
        GRAPHS.with_borrow_mut(|known| {
            known.clear();
            known.extend(graphs);
        });
        for &arrival_ms in &raw.gone_arrivals_ms {
            time(|| "gone_arrivals_ms".to_owned(), arrival_ms)?;
        }
        if (raw.jobs_gone as usize) < raw.gone_arrivals_ms.len() {
            let problem = format!("{} jobs, but {} arrivals of such", raw.jobs_gone, raw.gone_arrivals_ms.len());
            return Err(StateError::new("jobs_gone", problem));
        }
        (state.jobs.gone, state.gone_arrivals_ms) = (raw.jobs_gone, raw.gone_arrivals_ms);
        state.moving_elsewhere = raw.moving_elsewhere;
        if raw.offered > 0 {
            state.open(raw.source, raw.offered, raw.again)?;
        }
        Ok(state)
    }
}

/// Graphs by number of the job.
type Graphs = HashMap<u32, Arc<JobGraph>>;

thread_local! {
    /// Those of the state that was read last: who asks again and again tells the same jobs each time.
    static GRAPHS: RefCell<Graphs> = RefCell::default();
}

impl RawJob {
    /// Whether this is its graph.
    fn has(&self, graph: &JobGraph) -> bool {
        let same = |((id, raw), spec): ((u32, &RawStage), &StageSpec)| {
            raw.tasks == spec.num_tasks
                && raw.rough_ms.to_bits() == spec.rough_ms.to_bits()
                && raw.parents == graph.parents(id)
        };
        self.stages.len() == graph.stages().len()
            && (0..).zip(&self.stages).zip(graph.stages()).all(same)
            && self.name == graph.name()
    }
}

impl GraphBudget {
    /// What the graphs of one text may come to.
    pub(super) fn of_text() -> Self {
        Self { pairs: MOST_PAIRS, steps: MOST_STEPS }
    }
}

impl ClusterState {
    pub(super) fn read_jobs(&mut self, jobs: &[RawJob], budget: &mut GraphBudget) -> Result<(), StateError> {
        GRAPHS.with_borrow(|known| jobs.iter().try_for_each(|job| self.read_job(job, known, budget)))
    }

    fn read_job(&mut self, job: &RawJob, known: &Graphs, budget: &mut GraphBudget) -> Result<(), StateError> {
        let graph = match known.get(&job.id).filter(|graph| job.has(graph)) {
            Some(graph) => {
                budget.take_pairs(graph.num_descendants()).map_err(|e| graph_error(job.id, e))?;
                Arc::clone(graph)
            }
            None => {
                let specs = job.stages.iter().map(|s| StageSpec { num_tasks: s.tasks, rough_ms: s.rough_ms });
                let edges: Vec<[u32; 2]> = (0u32..)
                    .zip(&job.stages)
                    .flat_map(|(child, stage)| stage.parents.iter().map(move |&parent| [parent, child]))
                    .collect();
                let graph = JobGraph::within(job.name.as_str(), specs.collect(), &edges, budget);
                graph.map_err(|e| graph_error(job.id, e))?.into()
            }
        };
        self.add_job(job.id, job.arrival_ms, graph)?;
        for (stage, raw) in (0u32..).zip(&job.stages) {
            let &RawStage { completed, running, moving, promised, recent_ms, chosen, .. } = raw;
            let stage = StageRef { job: job.id, stage };
            self.set_stage(stage, StageTasks { completed, running, moving, promised, recent_ms })?;
            let index = self.stage_index(stage)?;
            self.stages[index].selected = chosen;
        }
        let Some(sums) = self.jobs.last() else { return Ok(()) };
        let (supply, attached) = (u32::try_from(sums.supply).unwrap_or(0), sums.attached);
        self.set_executors(job.id, job.supply.unwrap_or(supply), job.attached.unwrap_or(attached))
    }
}

impl View<'_> {
    /// The same question in a state of its own, for instance to keep it, to write it down or to try an answer. Features that were
    /// worked out from this view are worked out again from that.
    #[must_use]
    pub fn to_state(&self) -> ClusterState {
        let state = ClusterState::try_from(RawState::from(self.state));
        let state = state.expect("what lends a view keeps the rules of a state");
        #[cfg(feature = "simulate")]
        let state = ClusterState { intake: self.state.intake, ..state };
        state
    }
}

impl Serialize for ClusterState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::from(self).serialize(serializer)
    }
}
