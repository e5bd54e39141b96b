//! The cluster state as JSON.

use super::{ClusterState, Decision, Placement, StateError, Task, View};
use crate::cluster::{JobType, Speed, TrainingCluster, check_sizes, job_types, own_types};
use sched_distill_core::state::{is_true, yes};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// Most speeds of a cluster, by type and counts: those of the eight types at the largest maxima.
const MOST_SPEEDS: usize = 8 * 258 * 258;

/// What a file or a message holds; `docs/cluster-state.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    cluster: RawCluster,
    slot: u32,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    open: bool,
    jobs: Vec<RawJob>,
    #[serde(default)]
    jobs_gone: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Placement>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCluster {
    nodes: u32,
    node_slots: [u32; 2],
    slot_s: f64,
    max_workers: u32,
    max_servers: u32,
    #[serde(default)]
    speed: RawSpeed,
    types: Option<Vec<JobType>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawSpeed {
    #[default]
    Formula,
    Analytic,
    /// Epochs per slot by type, parameter servers and workers, each from 1.
    Table(Vec<Vec<Vec<f64>>>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    id: u32,
    #[serde(rename = "type")]
    job_type: String,
    arrival_slot: u32,
    epochs: f64,
    #[serde(default)]
    progress: f64,
}

impl RawCluster {
    fn new(cluster: &TrainingCluster) -> Self {
        Self {
            nodes: cluster.nodes,
            node_slots: cluster.node_slots,
            slot_s: cluster.slot_s,
            max_workers: cluster.max_workers,
            max_servers: cluster.max_servers,
            speed: cluster.speed.rows().map_or(RawSpeed::Analytic, RawSpeed::Table),
            types: Some(cluster.types.to_vec()),
        }
    }

    fn read(self) -> Result<TrainingCluster, String> {
        let types = self.types.map_or_else(|| Ok(job_types()), own_types)?;
        let limits = [self.max_workers, self.max_servers];
        check_sizes(self.nodes, self.node_slots, limits, self.slot_s)?;
        let speeds = limits.iter().fold(types.len(), |n, &most| n * (most as usize + 2));
        if speeds > MOST_SPEEDS {
            return Err(format!(
                "{} types with up to {} workers and {} parameter servers have {speeds} speeds; at most {MOST_SPEEDS} are allowed",
                types.len(),
                limits[0],
                limits[1]
            ));
        }
        let speed = match &self.speed {
            RawSpeed::Formula => Speed::formula(&types, self.slot_s, limits, 0.0),
            RawSpeed::Analytic => Speed::analytic(&types, self.slot_s, limits, self.nodes),
            RawSpeed::Table(rows) => Speed::table(rows, &types, limits),
        };
        Ok(TrainingCluster {
            types,
            nodes: self.nodes,
            node_slots: self.node_slots,
            slot_s: self.slot_s,
            max_workers: self.max_workers,
            max_servers: self.max_servers,
            speed: Arc::new(speed?),
            speed_error: 0.0,
        })
    }
}

impl RawState {
    fn new(state: &ClusterState) -> Self {
        let job = |&id: &u32| {
            let job = state.jobs.index(id).map(|index| &state.jobs[index])?;
            let job_type = state.job_type(job).name.to_string();
            Some(RawJob { id, job_type, arrival_slot: job.arrival_slot, epochs: job.epochs, progress: job.progress })
        };
        let jobs: Vec<RawJob> = state.live.iter().filter_map(job).collect();
        Self {
            cluster: RawCluster::new(&state.cluster),
            slot: state.slot,
            open: state.open,
            jobs_gone: state.jobs.gone_but(jobs.len()),
            jobs,
            tasks: state.placements.clone(),
        }
    }
}

impl TryFrom<RawState> for ClusterState {
    type Error = StateError;

    fn try_from(raw: RawState) -> Result<Self, StateError> {
        let cluster = raw.cluster.read().map_err(|problem| StateError::new("cluster", problem))?;
        let mut state = Self::new(cluster)?;
        raw.jobs.iter().try_for_each(|job| state.read_job(job))?;
        state.jobs.gone = raw.jobs_gone;
        state.open_slot(raw.slot)?;
        for (place, &Placement { job, task, node }) in raw.tasks.iter().enumerate() {
            let wrong = |problem: String| StateError::new(format!("tasks[{place}]"), problem);
            if task == Task::Both {
                return Err(wrong("`task` must be `worker` or `server`, got `both`".to_owned()));
            }
            state.answer(Decision::Add { job, task, node: Some(node) }).map_err(|e| wrong(e.to_string()))?;
        }
        state.open = raw.open;
        Ok(state)
    }
}

impl ClusterState {
    pub(super) fn read_job(&mut self, job: &RawJob) -> Result<(), StateError> {
        self.add_job(job.id, &job.job_type, job.arrival_slot, job.epochs)?;
        self.set_progress(job.id, job.progress)
    }
}

impl View<'_> {
    /// The same question in a state of its own, for instance to keep it, to write it down or to try an answer.
    #[must_use]
    pub fn to_state(&self) -> ClusterState {
        ClusterState::try_from(RawState::new(self.state)).expect("what lends a view keeps the rules of a state")
    }
}

impl Serialize for ClusterState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::new(self).serialize(serializer)
    }
}
