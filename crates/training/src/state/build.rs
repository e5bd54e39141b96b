//! Making a cluster state by hand.

use super::{ClusterState, Decision, DecisionError, Job, View};
use crate::cluster::{TrainingCluster, check_sizes};
use std::sync::Arc;

/// Epochs that a job may want or have done.
const EPOCHS: std::ops::RangeInclusive<f64> = 0.0..=1e12;

/// Why a cluster state is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct StateError {
    /// Which figure, e.g. ``job 3, `epochs` ``.
    pub field: String,
    /// What was found and what is allowed.
    pub problem: String,
}

impl StateError {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl ClusterState {
    /// An empty cluster in slot 0.
    ///
    /// # Errors
    ///
    /// No nodes or slots, a worker or a server that asks for no CPU, a pair of them that does not fit on a node.
    pub fn new(cluster: impl Into<Arc<TrainingCluster>>) -> Result<Self, StateError> {
        let cluster = cluster.into();
        let TrainingCluster { nodes, node_slots, max_workers, max_servers, slot_s, .. } = *cluster;
        check_sizes(nodes, node_slots, [max_workers, max_servers], slot_s)
            .and_then(|()| cluster.check_requests())
            .map_err(|problem| StateError::new("cluster", problem))?;
        Ok(Self::of(cluster, Vec::new()))
    }

    /// Adds a job that has done nothing yet, by the name of its type. Numbers ascend in order of arrival. Closes an open slot.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the job added last, an unknown type, epochs that are no positive number up to 1e12.
    pub fn add_job(&mut self, job: u32, job_type: &str, arrival_slot: u32, epochs: f64) -> Result<(), StateError> {
        let field = |name: &str| format!("job {job}, `{name}`");
        let Some(kind) = self.cluster.types.iter().position(|t| t.name == job_type) else {
            let known: Vec<&str> = self.cluster.types.iter().map(|t| &*t.name).collect();
            let problem = format!("unknown type `{job_type}`; there are {}", known.join(", "));
            return Err(StateError::new(field("type"), problem));
        };
        if !EPOCHS.contains(&epochs) || epochs == 0.0 {
            return Err(StateError::new(
                field("epochs"),
                format!("must be a positive number up to 1e12, got {epochs}"),
            ));
        }
        if let Some(last) = self.jobs.last() {
            if job <= last.id {
                let problem = format!("comes after job {}; numbers ascend in order of arrival", last.id);
                return Err(StateError::new(field("id"), problem));
            }
            if arrival_slot < last.arrival_slot {
                let problem = format!("{arrival_slot} is before the arrival of job {}, {}", last.id, last.arrival_slot);
                return Err(StateError::new(field("arrival_slot"), problem));
            }
        }
        self.close();
        // There are at most 255 types.
        self.jobs.push(Job::new(job, kind as u8, arrival_slot, epochs));
        self.live.push(job);
        self.arrived += 1;
        Ok(())
    }

    /// Says how many epochs a job has done. Closes an open slot.
    ///
    /// # Errors
    ///
    /// An unknown job, or epochs that are no number in 0..=1e12.
    pub fn set_progress(&mut self, job: u32, epochs: f64) -> Result<(), StateError> {
        let index = self.known(job)?;
        if !EPOCHS.contains(&epochs) {
            let problem = format!("must be a number in 0..=1e12, got {epochs}");
            return Err(StateError::new(format!("job {job}, `progress`"), problem));
        }
        self.close();
        self.jobs[index].progress = epochs;
        Ok(())
    }

    /// Forgets a job, completed or not. Closes an open slot.
    ///
    /// # Errors
    ///
    /// An unknown job.
    pub fn remove_job(&mut self, job: u32) -> Result<(), StateError> {
        let index = self.known(job)?;
        self.close();
        self.jobs.remove(index);
        self.live.retain(|&live| live != job);
        self.arrived -= 1;
        self.gone = self.gone.saturating_add(1);
        Ok(())
    }

    /// Opens a slot, without any task; the first question, or `None` if there is no job.
    ///
    /// # Errors
    ///
    /// A slot before the present one or before a job's arrival.
    pub fn open_slot(&mut self, slot: u32) -> Result<Option<View<'_>>, StateError> {
        if slot < self.slot {
            return Err(StateError::new("slot", format!("{slot} is before the present slot, {}", self.slot)));
        }
        if let Some(late) = self.jobs.last().filter(|job| job.arrival_slot > slot) {
            let problem = format!("{slot} is before the arrival of job {}, {}", late.id, late.arrival_slot);
            return Err(StateError::new("slot", problem));
        }
        self.close();
        self.slot = slot;
        self.open = true;
        Ok(self.view())
    }

    /// Places a task or closes the slot, and asks again while it is open.
    ///
    /// # Errors
    ///
    /// An illegal decision, or no open question; nothing is changed then.
    pub fn answer(&mut self, decision: Decision) -> Result<Option<View<'_>>, DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)?;
        match decision {
            Decision::Close => self.open = false,
            Decision::Add { job, task, node } => {
                let index = self.index(job).ok_or(DecisionError::Ended)?;
                self.place(index, task, node.unwrap_or(self.head()));
            }
        }
        Ok(self.view())
    }

    /// Takes all tasks away and closes the slot.
    fn close(&mut self) {
        self.release();
        self.open = false;
    }

    fn known(&self, job: u32) -> Result<usize, StateError> {
        self.index(job).ok_or_else(|| {
            let known: Vec<String> = self.jobs.iter().take(8).map(|job| job.id.to_string()).collect();
            let more = if self.jobs.len() > 8 { ", ..." } else { "" };
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") + more };
            StateError::new(format!("job {job}"), format!("is unknown; known are {known}"))
        })
    }
}
