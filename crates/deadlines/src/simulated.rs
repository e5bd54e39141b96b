//! The `deadlines` scenario as one that can be run.

use crate::{
    Cluster, ClusterState, Deadlines, Decision, Probabilities, View,
    edit::{self, DeclaredEdit},
    feature::{Extractor, How},
    simulator::Simulator,
    state::Question,
    workload::{self, DeadlineJob, DeadlineWorkload},
};
use sched_distill_core::simulation::{EditBudget, EditError, EditInfo, Editable, Simulated, WorkloadDef};
use std::sync::Arc;

impl Simulated for Deadlines {
    type Cluster = Arc<Cluster>;
    type Job = DeadlineJob;
    type Simulator = Simulator;

    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    fn start(workload: &DeadlineWorkload, jobs: Vec<DeadlineJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }
}

/// Puts another number in the place of one that is declared; `old` is what the edit takes it to be.
fn declare(number: &mut f64, old: f64, new: f64) -> Result<(), EditError> {
    // The time until a deadline is a difference, and known up to rounding only.
    if (*number - old).abs() > 1e-9 * old.abs().max(1.0) {
        return Err(EditError(format!("the job declares {number}, not {old}")));
    }
    *number = new;
    Ok(())
}

/// Makes an edit of a deadline and iterations, or takes it back.
fn change(
    arrival_ms: f64,
    deadline_ms: &mut f64,
    iterations: &mut f64,
    edit: &DeclaredEdit,
    back: bool,
) -> Result<(), EditError> {
    let turned = |was: f64, factor: f64| if back { (factor * was, was) } else { (was, factor * was) };
    match *edit {
        DeclaredEdit::Deadline { was, factor } => {
            let (old, new) = turned(was, factor);
            declare(deadline_ms, arrival_ms + old, arrival_ms + new)
        }
        DeclaredEdit::Iterations { was, factor } => {
            let (old, new) = turned(was, factor);
            declare(iterations, old, new)
        }
    }
}

fn with(jobs: &[DeadlineJob], job: u32, edit: &DeclaredEdit, back: bool) -> Result<Vec<DeadlineJob>, EditError> {
    let mut jobs = jobs.to_vec();
    let found = jobs.get_mut(job as usize).ok_or_else(|| EditError(format!("there is no job {job}")))?;
    change(found.arrival_ms, &mut found.declared_deadline_ms, &mut found.declared_iterations, edit, back)?;
    Ok(jobs)
}

impl Editable for Deadlines {
    type Edit = DeclaredEdit;
    const EDITS: &'static [EditInfo] = edit::EDITS;
    const JOB_LEVEL: usize = 0;

    fn edits(jobs: &[DeadlineJob], job: u32, budget: &EditBudget) -> Vec<DeclaredEdit> {
        let of =
            |job: &DeadlineJob| edit::edits(job.declared_deadline_ms - job.arrival_ms, job.declared_iterations, budget);
        jobs.get(job as usize).map_or(Vec::new(), of)
    }

    fn edited(jobs: &[DeadlineJob], job: u32, edit: &DeclaredEdit) -> Result<Vec<DeadlineJob>, EditError> {
        with(jobs, job, edit, false)
    }

    fn undone(jobs: &[DeadlineJob], job: u32, edit: &DeclaredEdit) -> Result<Vec<DeadlineJob>, EditError> {
        with(jobs, job, edit, true)
    }

    fn edited_state(state: &ClusterState, job: u32, edits: &[DeclaredEdit]) -> Result<ClusterState, EditError> {
        let mut state = state.clone();
        let found = state.jobs.iter_mut().find(|j| j.id == job);
        let found = found.ok_or_else(|| EditError(format!("job {job} is not there")))?;
        for edit in edits {
            change(found.arrival_ms, &mut found.deadline_ms, &mut found.iterations, edit, false)?;
        }
        Ok(state)
    }

    fn described(episode: &Simulator, jobs: &[DeadlineJob], job: u32) -> Simulator {
        episode.described(jobs, job)
    }

    fn is_candidate(seen: &View<'_>, job: u32) -> bool {
        match seen.question() {
            Question::Start => seen.waiting().binary_search(&job).is_ok(),
            Question::Running(asked) => asked == job,
        }
    }

    fn given(decision: Decision, job: u32) -> u32 {
        match decision {
            Decision::Start { job: to, cores, .. } | Decision::Resize { job: to, cores } if to == job => cores,
            _ => 0,
        }
    }

    fn candidate_job(questions: &Extractor, _: &View<'_>, candidate: usize) -> Option<u32> {
        questions.snapshot().candidates().get(candidate).map(|candidate| candidate.job)
    }

    fn log_probabilities(seen: &View<'_>, probabilities: &Probabilities, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            // That a job's deadline is given up gives it nothing.
            Question::Start => {
                let gives = |how: How| matches!(how, How::Elastic | How::AsSubmitted);
                let ways = seen.waiting().iter().flat_map(|&job| How::ALL.map(|how| gives(how).then_some(job)));
                ways.chain([None]).zip(&probabilities.begin).for_each(|(job, &log_prob)| each(job, log_prob));
            }
            Question::Running(job) => each(Some(job), 0.0),
        }
    }
}
