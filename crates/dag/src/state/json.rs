//! The cluster state as JSON.

use super::{ClusterState, Job, Source, StageRef, StageTasks, StateError, View, build::time};
use crate::graph::{JobGraph, StageSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// What a file or a message holds; `docs/cluster-state.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    #[serde(default)]
    time_ms: f64,
    num_executors: u32,
    #[serde(default)]
    source: RawSource,
    #[serde(default)]
    offered: u32,
    jobs: Vec<RawJob>,
    #[serde(default, skip_serializing_if = "is_default")]
    jobs_gone: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone_arrivals_ms: Vec<f64>,
    #[serde(default, skip_serializing_if = "is_default")]
    moving_elsewhere: u32,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawSource {
    #[default]
    Common,
    Job(u32),
    Stage([u32; 2]),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
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

#[derive(Serialize, Deserialize)]
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl From<&ClusterState> for RawState {
    fn from(state: &ClusterState) -> Self {
        let arrived = &state.jobs[..state.arrived as usize];
        // Of a completed job only the arrival counts, unless the executors on offer are its own.
        let (kept, gone): (Vec<&Job>, Vec<&Job>) =
            arrived.iter().partition(|job| job.incomplete > 0 || state.source.job() == Some(job.id));
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
            source: match state.source {
                Source::Common => RawSource::Common,
                Source::Job(job) => RawSource::Job(job),
                Source::Stage(StageRef { job, stage }) => RawSource::Stage([job, stage]),
            },
            offered: if state.schedulable.is_empty() { 0 } else { state.committable },
            jobs,
            jobs_gone: state.gone + gone.len() as u32,
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
        for job in &raw.jobs {
            state.read_job(job)?;
        }
        for &arrival_ms in &raw.gone_arrivals_ms {
            time(|| "gone_arrivals_ms".to_owned(), arrival_ms)?;
        }
        if (raw.jobs_gone as usize) < raw.gone_arrivals_ms.len() {
            let problem = format!("{} jobs, but {} arrivals of such", raw.jobs_gone, raw.gone_arrivals_ms.len());
            return Err(StateError::new("jobs_gone", problem));
        }
        (state.gone, state.gone_arrivals_ms) = (raw.jobs_gone, raw.gone_arrivals_ms);
        state.moving_elsewhere = raw.moving_elsewhere;
        if raw.offered > 0 {
            let source = match raw.source {
                RawSource::Common => Source::Common,
                RawSource::Job(job) => Source::Job(job),
                RawSource::Stage([job, stage]) => Source::Stage(StageRef { job, stage }),
            };
            state.open(source, raw.offered)?;
        }
        Ok(state)
    }
}

impl ClusterState {
    fn read_job(&mut self, job: &RawJob) -> Result<(), StateError> {
        let specs = job.stages.iter().map(|s| StageSpec { num_tasks: s.tasks, rough_ms: s.rough_ms });
        let edges: Vec<[u32; 2]> = (0u32..)
            .zip(&job.stages)
            .flat_map(|(child, stage)| stage.parents.iter().map(move |&parent| [parent, child]))
            .collect();
        let graph =
            JobGraph::new(job.name.as_str(), specs.collect(), &edges).map_err(|e| StateError::graph(job.id, e))?;
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
        ClusterState::try_from(RawState::from(self.state)).expect("what lends a view keeps the rules of a state")
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::from(self.state).serialize(serializer)
    }
}

impl Serialize for ClusterState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ClusterState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawState::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}
