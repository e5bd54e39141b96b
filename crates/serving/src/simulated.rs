//! The `serving` scenario as one that can be run.

use crate::{
    Decision, Probabilities, ServerState, Serving, View,
    edit::{self, SizeEdit},
    feature::Extractor,
    simulator::Simulator,
    state::Question,
    workload::{self, Service, ServingTask, ServingWorkload},
};
use sched_distill_core::simulation::{EditBudget, EditError, EditInfo, Editable, Simulated, WorkloadDef};

impl Simulated for Serving {
    type Cluster = Service;
    type Job = ServingTask;
    type Simulator = Simulator;

    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    fn start(workload: &ServingWorkload, tasks: Vec<ServingTask>, _: u64) -> Simulator {
        let Service { server, horizon_ms, tail_ms, .. } = workload.cluster();
        Simulator::new(server.clone(), tasks, *horizon_ms).with_tail(*tail_ms)
    }
}

/// Makes an edit of a declared size, or takes it back.
fn declare(size: &mut u32, edit: &SizeEdit, back: bool) -> Result<(), EditError> {
    let (old, new) = if back { (edit.size(), edit.was) } else { (edit.was, edit.size()) };
    if *size != old {
        return Err(EditError(format!("the task declares a size of {size}, not {old}")));
    }
    *size = new;
    Ok(())
}

fn with(tasks: &[ServingTask], task: u32, edit: &SizeEdit, back: bool) -> Result<Vec<ServingTask>, EditError> {
    let mut tasks = tasks.to_vec();
    let found = tasks.get_mut(task as usize).ok_or_else(|| EditError(format!("there is no task {task}")))?;
    declare(&mut found.declared_size, edit, back)?;
    Ok(tasks)
}

impl Editable for Serving {
    type Edit = SizeEdit;
    const EDITS: &'static [EditInfo] = edit::EDITS;
    /// Its candidates are tasks.
    const JOB_LEVEL: usize = 1;

    fn edits(tasks: &[ServingTask], task: u32, budget: &EditBudget) -> Vec<SizeEdit> {
        tasks.get(task as usize).map_or(Vec::new(), |task| edit::edits(task.declared_size, budget))
    }

    fn edited(tasks: &[ServingTask], task: u32, edit: &SizeEdit) -> Result<Vec<ServingTask>, EditError> {
        with(tasks, task, edit, false)
    }

    fn undone(tasks: &[ServingTask], task: u32, edit: &SizeEdit) -> Result<Vec<ServingTask>, EditError> {
        with(tasks, task, edit, true)
    }

    fn edited_state(state: &ServerState, task: u32, edits: &[SizeEdit]) -> Result<ServerState, EditError> {
        let mut state = state.clone();
        let place = state.waiting_place(task).ok_or_else(|| EditError(format!("task {task} does not wait")))?;
        let most = state.server.applications[state.tasks[place as usize].application as usize].most_size();
        let size = state.tasks[place as usize].size;
        // A state has what memory holds of larger ones.
        let mut declared =
            edits.first().map_or(size, |first| if first.was.min(most) == size { first.was } else { size });
        edits.iter().try_for_each(|edit| declare(&mut declared, edit, false))?;
        state.set_size(place, declared.min(most));
        Ok(state)
    }

    fn described(episode: &Simulator, tasks: &[ServingTask], task: u32) -> Simulator {
        episode.described(tasks, task)
    }

    fn is_candidate(seen: &View<'_>, task: u32) -> bool {
        seen.question() != Question::Serve && seen.groups().any(|group| group.task == task)
    }

    fn given(decision: Decision, task: u32) -> u32 {
        u32::from(decision.task() == Some(task))
    }

    fn candidate_job(_: &Extractor, _: &View<'_>, _: usize) -> Option<u32> {
        // Those of the first level are applications.
        None
    }

    fn log_probabilities(seen: &View<'_>, probabilities: &Probabilities, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            Question::Serve => probabilities.serve.iter().for_each(|&log_prob| each(None, log_prob)),
            Question::Form(_) => {
                let tasks = seen.groups().map(|group| Some(group.task)).chain([None]);
                tasks.zip(&probabilities.add).for_each(|(task, &log_prob)| each(task, log_prob));
            }
        }
    }
}
