//! What has changed in a cluster since it was told, as JSON.

use super::{ClusterState, StateError, json::RawJob};
use serde::Deserialize;

/// Changes of a [`ClusterState`]: what is left out stays as it is. `docs/preemption.md` has the words to each field.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    time_ms: Option<f64>,
    gone: Vec<u32>,
    jobs: Vec<JobChange>,
    arrived: Vec<RawJob>,
    down: Vec<u32>,
    up: Vec<u32>,
    transfers: Option<u32>,
    ask: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobChange {
    id: u32,
    now: Option<Now>,
    done: Option<f64>,
    began_ms: Option<f64>,
    epoch_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Now {
    Computing,
    Saving,
    Waiting,
}

impl ClusterState {
    /// Takes in what has changed: the time, jobs that have gone, what others do and how far they are, nodes that are down or up again,
    /// jobs that have arrived. With `ask` questions are opened; without it and without other changes, those that are open go on.
    ///
    /// # Errors
    ///
    /// What [`ClusterState::add_job`] and its kin refuse. The state is then of no use any more.
    pub fn change(&mut self, change: Change) -> Result<(), StateError> {
        if let Some(time_ms) = change.time_ms {
            self.set_time(time_ms)?;
        }
        change.gone.into_iter().try_for_each(|job| self.remove_job(job))?;
        for job in change.jobs {
            match job.now {
                Some(Now::Computing) => {
                    let index = self.jobs.known(job.id)?;
                    self.set_computing(job.id, job.done.unwrap_or(self.jobs[index].done))?;
                }
                Some(Now::Saving) => self.set_saving(job.id)?,
                Some(Now::Waiting) => self.set_waiting(job.id)?,
                None => {}
            }
            if job.done.is_some() || job.began_ms.is_some() {
                let index = self.jobs.known(job.id)?;
                let (done, began_ms) = (self.jobs[index].done, self.jobs[index].began_ms);
                self.set_done(job.id, job.done.unwrap_or(done), job.began_ms.unwrap_or(began_ms))?;
            }
            if let Some(epoch_ms) = job.epoch_ms {
                self.set_epoch(job.id, epoch_ms)?;
            }
        }
        for (nodes, up) in [(change.down, false), (change.up, true)] {
            nodes.into_iter().try_for_each(|node| self.set_up(node, up))?;
        }
        for job in &change.arrived {
            self.close();
            self.read_job(job)?;
        }
        if !change.arrived.is_empty() {
            self.set_time(self.time_ms)?;
            self.check_times()?;
        }
        if let Some(transfers) = change.transfers {
            self.close();
            self.transfers = transfers;
        }
        if change.ask {
            self.ask(self.time_ms)?;
        }
        Ok(())
    }

    /// Says that a node has failed, whose jobs then wait, or is up again. Closes open questions.
    ///
    /// # Errors
    ///
    /// There is no such node.
    pub fn set_up(&mut self, node: u32, up: bool) -> Result<(), StateError> {
        let Some(&is_up) = self.node_up.get(node as usize) else {
            let field = if up { "up" } else { "down" };
            return Err(StateError::new(field, format!("node {node}: there are nodes 0..{}", self.cluster.nodes)));
        };
        self.close();
        match (is_up, up) {
            (true, false) => self.fail(node, &mut Vec::new()),
            (false, true) => self.repair(node),
            _ => {}
        }
        Ok(())
    }
}
