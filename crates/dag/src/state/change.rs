//! What has changed in a cluster since it was told, as JSON.

use super::{ClusterState, Source, StageRef, StageTasks, StateError, build::time, json::RawJob};
use crate::graph::GraphBudget;
use serde::Deserialize;

/// Changes of a [`ClusterState`]: what is left out stays as it is. `docs/cluster-state.md` has the words to each field.
///
/// ```
/// use sched_distill_dag::{Change, ClusterState};
///
/// let mut state: ClusterState = serde_json::from_str(
///     r#"{"num_executors": 10, "jobs": [{"id": 7, "arrival_ms": 0, "stages": [{"tasks": 8, "rough_ms": 1500}]}]}"#,
/// )?;
/// let change: Change = serde_json::from_str(
///     r#"{"time_ms": 900, "offered": 6, "jobs": [{"id": 7, "stages": [{"stage": 0, "running": 3, "recent_ms": 1320}]}]}"#,
/// )?;
/// state.change(change)?;
/// assert_eq!(state.view().ok_or("a question")?.committable(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    time_ms: Option<f64>,
    source: Source,
    offered: u32,
    again: bool,
    gone: Vec<u32>,
    jobs: Vec<JobChange>,
    arrived: Vec<RawJob>,
    moving_elsewhere: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobChange {
    id: u32,
    supply: Option<u32>,
    attached: Option<u32>,
    #[serde(default)]
    stages: Vec<StageChange>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StageChange {
    stage: u32,
    completed: Option<u32>,
    running: Option<u32>,
    moving: Option<u32>,
    promised: Option<u32>,
    recent_ms: Option<f64>,
    chosen: Option<bool>,
}

impl ClusterState {
    /// Takes in what has changed, in this order: the clock, jobs that have gone, figures of jobs and stages, jobs that have arrived,
    /// executors on offer. With these a round begins.
    ///
    /// # Errors
    ///
    /// What [`ClusterState::set_time`] and its kin refuse. The state is then of no use any more.
    pub fn change(&mut self, change: Change) -> Result<(), StateError> {
        self.set_time(time(|| "time_ms".to_owned(), change.time_ms.unwrap_or(self.time_ms))?)?;
        change.gone.into_iter().try_for_each(|job| self.remove_job(job))?;
        if change.offered > 0 {
            self.stages.iter_mut().for_each(|stage| stage.selected = false);
        }
        for job in change.jobs {
            for stage in job.stages {
                self.change_stage(job.id, &stage)?;
            }
            if job.supply.is_some() || job.attached.is_some() {
                let found = &self.jobs[self.jobs.known(job.id)?];
                let (supply, attached) = (u32::try_from(found.supply).unwrap_or(0), found.attached);
                self.set_executors(job.id, job.supply.unwrap_or(supply), job.attached.unwrap_or(attached))?;
            }
        }
        self.read_jobs(&change.arrived, &mut GraphBudget::of_text())?;
        self.moving_elsewhere = change.moving_elsewhere.unwrap_or(self.moving_elsewhere);
        match change.offered {
            0 => Ok(()),
            offered => self.open(change.source, offered, change.again),
        }
    }

    fn change_stage(&mut self, job: u32, change: &StageChange) -> Result<(), StateError> {
        let stage = StageRef { job, stage: change.stage };
        let index = self.stage_index(stage)?;
        let s = &self.stages[index];
        let tasks = StageTasks {
            completed: change.completed.unwrap_or(s.completed),
            running: change.running.unwrap_or(s.executing),
            moving: change.moving.unwrap_or(s.moving),
            promised: change.promised.unwrap_or(s.committed),
            recent_ms: Some(change.recent_ms.unwrap_or(s.recent_ms)),
        };
        self.set_stage(stage, tasks)?;
        if let Some(chosen) = change.chosen {
            self.stages[index].selected = chosen;
        }
        Ok(())
    }
}
