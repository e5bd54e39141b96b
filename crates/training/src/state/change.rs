//! What has changed in a cluster since it was told, as JSON.

use super::{ClusterState, StateError, json::RawJob};
use serde::Deserialize;

/// Changes of a [`ClusterState`]: what is left out stays as it is. `docs/cluster-state.md` has the words to each field.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    slot: Option<u32>,
    gone: Vec<u32>,
    jobs: Vec<JobChange>,
    arrived: Vec<RawJob>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobChange {
    id: u32,
    progress: f64,
}

impl ClusterState {
    /// Takes in what has changed: jobs that have gone, progress, jobs that have arrived. With a slot, that is opened, empty; without
    /// one and without other changes, the open slot goes on.
    ///
    /// # Errors
    ///
    /// What [`ClusterState::add_job`] and its kin refuse. The state is then of no use any more.
    pub fn change(&mut self, change: Change) -> Result<(), StateError> {
        change.gone.into_iter().try_for_each(|job| self.remove_job(job))?;
        change.jobs.into_iter().try_for_each(|job| self.set_progress(job.id, job.progress))?;
        change.arrived.iter().try_for_each(|job| self.read_job(job))?;
        match change.slot {
            Some(slot) => self.open_slot(slot).map(|_| ()),
            None => Ok(()),
        }
    }
}
