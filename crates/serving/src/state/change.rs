//! What has changed on a server since it was told, as JSON.

use super::{NewTask, ServerState, StateError, json::RawTask};
use serde::Deserialize;

/// Changes of a [`ServerState`]: what is left out stays as it is. `docs/serving.md` has the words to each field.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    time_ms: Option<f64>,
    done: Vec<u32>,
    gone: Vec<u32>,
    arrived: Vec<RawTask>,
    ask: bool,
}

impl ServerState {
    /// Takes in what has changed: the time, accelerators whose batch has ended, waiting tasks that have gone, tasks that have arrived.
    /// With `ask` questions are opened; without it and without other changes, those that are open go on.
    ///
    /// # Errors
    ///
    /// What [`ServerState::add_task`] and its kin refuse. The state is then of no use any more.
    pub fn change(&mut self, change: Change) -> Result<(), StateError> {
        if let Some(time_ms) = change.time_ms {
            self.set_time(time_ms)?;
        }
        change.done.into_iter().try_for_each(|accelerator| self.set_done(accelerator))?;
        change.gone.into_iter().try_for_each(|task| self.remove_task(task))?;
        for task in &change.arrived {
            let &RawTask { id, application, size, arrival_ms, .. } = task;
            self.add_task(NewTask { id, application, size, arrival_ms })?;
        }
        if !change.arrived.is_empty() {
            self.set_time(self.time_ms)?;
        }
        if change.ask {
            self.ask(self.time_ms)?;
        }
        Ok(())
    }
}
