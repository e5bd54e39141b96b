//! Making a cluster state by hand.

use super::{ClusterState, Decision, DecisionError, Job, StateError, View};
use crate::cluster::{TrainingCluster, check_sizes};
use sched_distill_core::state::{arrived_by, numbers, place_of, positive};
use std::sync::Arc;

/// Most epochs that a job may want or have done.
const MOST_EPOCHS: f64 = 1e12;

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
        Ok(Self { open: false, ..Self::of(cluster, Vec::new()) })
    }

    /// Adds a job that has done nothing yet, by the name of its type. Numbers ascend in order of arrival. Closes an open slot.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the job added last, an unknown type, epochs that are no positive number up to 1e12.
    pub fn add_job(&mut self, job: u32, job_type: &str, arrival_slot: u32, epochs: f64) -> Result<(), StateError> {
        let of = |e: StateError| e.of("job", job);
        let kind = place_of("type", job_type, self.cluster.types.iter().map(|t| &*t.name)).map_err(of)?;
        positive(MOST_EPOCHS, &[("epochs", epochs)]).map_err(of)?;
        self.jobs.check_next(job, "arrival_slot", arrival_slot.into())?;
        self.close();
        // There are at most 255 types.
        self.jobs.add(Job::new(job, kind as u8, arrival_slot, epochs));
        self.live.push(job);
        Ok(())
    }

    /// Says how many epochs a job has done. Closes an open slot.
    ///
    /// # Errors
    ///
    /// An unknown job, or epochs that are no number in 0..=1e12.
    pub fn set_progress(&mut self, job: u32, epochs: f64) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        numbers(MOST_EPOCHS, &[("progress", epochs)]).map_err(|e| e.of("job", job))?;
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
        let index = self.jobs.known(job)?;
        self.close();
        self.jobs.forget(index);
        self.live.retain(|&live| live != job);
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
        arrived_by("job", self.jobs.last_arrival(), "slot", slot.into())?;
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
                let index = self.jobs.index(job).ok_or(DecisionError::Ended)?;
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
}
