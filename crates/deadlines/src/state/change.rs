//! What has changed in a cluster since it was told, as JSON.

use super::{
    ClusterState, Held, StateError,
    json::{RawAsk, RawJob},
};
use serde::Deserialize;

/// Changes of a [`ClusterState`]: what is left out stays as it is. `docs/deadlines.md` has the words to each field.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    time_ms: Option<f64>,
    gone: Vec<u32>,
    jobs: Vec<JobChange>,
    arrived: Vec<RawJob>,
    ask: Option<RawAsk>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobChange {
    id: u32,
    done: Option<f64>,
    measured: Option<Measured>,
    running: Option<Held>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    iterations: f64,
    mean_ms: f64,
}

impl ClusterState {
    /// Takes in what has changed: jobs that have gone, progress and measurements, jobs that have arrived, the time. With `ask`
    /// questions are opened; without it and without other changes, those that are open go on.
    ///
    /// # Errors
    ///
    /// What [`ClusterState::add_job`] and its kin refuse. The state is then of no use any more.
    pub fn change(&mut self, change: Change) -> Result<(), StateError> {
        change.gone.into_iter().try_for_each(|job| self.remove_job(job))?;
        // All that is given up first, so that cores may change hands.
        for job in change.jobs.iter().filter(|job| job.running.is_some()) {
            self.close();
            self.release(job.id)?;
        }
        for job in change.jobs {
            if let Some(done) = job.done {
                self.set_done(job.id, done)?;
            }
            if let Some(Measured { iterations, mean_ms }) = job.measured {
                self.measure(job.id, iterations, mean_ms)?;
            }
            if let Some(held) = job.running {
                self.read_held(job.id, held)?;
            }
        }
        change.arrived.iter().try_for_each(|job| self.read_job(job))?;
        if change.time_ms.is_some() || !change.arrived.is_empty() {
            self.close();
            self.set_time(change.time_ms.unwrap_or(self.time_ms))?;
        }
        let Some(ask) = &change.ask else { return Ok(()) };
        if ask.check {
            self.check_running();
        }
        self.read_ask(ask)?;
        self.begin_best_effort();
        Ok(())
    }
}
