//! The `serving` scenario as one that can be run.

use crate::{
    Decision, ServerState, Serving, View,
    feature::Extractor,
    simulator::Simulator,
    state::Question,
    workload::{self, Service, ServingTask, ServingWorkload},
};
use sched_distill_core::{
    scenario::Said,
    simulation::{Declared, DeclaredEdit, Declares, EditError, Editable, Number, Simulated, WorkloadDef, WriteJobs},
};

impl Simulated for Serving {
    type Cluster = Service;
    type Job = ServingTask;
    type Simulator = Simulator;

    const SIZE: Option<(&'static str, &'static str)> = Some(("time in a batch of its own", "ms"));
    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    const WRITE_JOBS: Option<WriteJobs<Self>> = Some(workload::write);

    fn shapes(tasks: &[ServingTask]) -> Vec<(&'static str, String)> {
        workload::shapes(tasks)
    }

    fn start(workload: &ServingWorkload, tasks: Vec<ServingTask>, _: u64) -> Simulator {
        let Service { server, horizon_ms, tail_ms, .. } = workload.cluster();
        Simulator::new(server.clone(), tasks, *horizon_ms).with_tail(*tail_ms)
    }
}

/// What users declare; jobs really take what they take.
impl Declares for Serving {
    const NUMBERS: &'static [Declared<Self>] = &[Declared {
        name: "size",
        meaning: "a task declares that it is larger or smaller than it is",
        noun: "its size",
        told: "a size of {}",
        is_whole: true,
        of: |task| Number::Whole(&mut task.declared_size),
    }];
    const ENTITY: &'static str = "task";
}

impl Editable for Serving {
    type Edit = DeclaredEdit<Self>;
    /// Its candidates are tasks.
    const JOB_LEVEL: usize = 1;

    fn edited_state(state: &ServerState, task: u32, edits: &[DeclaredEdit<Self>]) -> Result<ServerState, EditError> {
        let mut state = state.clone();
        let place = state.waiting_place(task).ok_or_else(|| EditError(format!("task {task} does not wait")))?;
        let most = state.server.applications[state.tasks[place as usize].application as usize].most_size();
        let size = state.tasks[place as usize].size;
        // A state has what memory holds of larger ones.
        let was = edits.first().map_or(size, |first| first.was() as u32);
        let mut declared = if was.min(most) == size { was } else { size };
        edits.iter().try_for_each(|edit| edit.make(Number::Whole(&mut declared)))?;
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

    fn log_probabilities(seen: &View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            Question::Serve => said.joint.iter().for_each(|&log_prob| each(None, log_prob)),
            Question::Form(_) => {
                let tasks = seen.groups().map(|group| Some(group.task)).chain([None]);
                tasks.zip(&said.given).for_each(|(task, &log_prob)| each(task, log_prob));
            }
        }
    }
}
