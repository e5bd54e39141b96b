//! The `preemption` scenario as one that can be run.

use crate::{
    Cluster, ClusterState, Decision, Preemption, Probabilities, View,
    edit::{self, EpochsEdit},
    feature::Extractor,
    simulator::Simulator,
    state::Question,
    workload::{self, PreemptionJob, PreemptionWorkload},
};
use sched_distill_core::simulation::{EditBudget, EditError, EditInfo, Editable, Simulated, WorkloadDef};
use std::sync::Arc;

impl Simulated for Preemption {
    type Cluster = Arc<Cluster>;
    type Job = PreemptionJob;
    type Simulator = Simulator;

    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    fn start(workload: &PreemptionWorkload, jobs: Vec<PreemptionJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }
}

/// Makes an edit of declared epochs, or takes it back.
fn declare(epochs: &mut f64, edit: &EpochsEdit, back: bool) -> Result<(), EditError> {
    let edited = edit.was * edit.factor;
    let (old, new) = if back { (edited, edit.was) } else { (edit.was, edited) };
    if (*epochs - old).abs() > 1e-9 * old.abs().max(1.0) {
        return Err(EditError(format!("the job declares {epochs} epochs, not {old}")));
    }
    *epochs = new;
    Ok(())
}

fn with(jobs: &[PreemptionJob], job: u32, edit: &EpochsEdit, back: bool) -> Result<Vec<PreemptionJob>, EditError> {
    let mut jobs = jobs.to_vec();
    let found = jobs.get_mut(job as usize).ok_or_else(|| EditError(format!("there is no job {job}")))?;
    declare(&mut found.declared_epochs, edit, back)?;
    Ok(jobs)
}

impl Editable for Preemption {
    type Edit = EpochsEdit;
    const EDITS: &'static [EditInfo] = edit::EDITS;
    const JOB_LEVEL: usize = 0;

    fn edits(jobs: &[PreemptionJob], job: u32, budget: &EditBudget) -> Vec<EpochsEdit> {
        jobs.get(job as usize).map_or(Vec::new(), |job| edit::edits(job.declared_epochs, budget))
    }

    fn edited(jobs: &[PreemptionJob], job: u32, edit: &EpochsEdit) -> Result<Vec<PreemptionJob>, EditError> {
        with(jobs, job, edit, false)
    }

    fn undone(jobs: &[PreemptionJob], job: u32, edit: &EpochsEdit) -> Result<Vec<PreemptionJob>, EditError> {
        with(jobs, job, edit, true)
    }

    fn edited_state(state: &ClusterState, job: u32, edits: &[EpochsEdit]) -> Result<ClusterState, EditError> {
        let mut state = state.clone();
        let found = state.jobs.iter_mut().find(|j| j.id == job);
        let found = found.ok_or_else(|| EditError(format!("job {job} is not there")))?;
        edits.iter().try_for_each(|edit| declare(&mut found.declared, edit, false))?;
        Ok(state)
    }

    fn described(episode: &Simulator, jobs: &[PreemptionJob], job: u32) -> Simulator {
        episode.described(jobs, job)
    }

    fn is_candidate(seen: &View<'_>, job: u32) -> bool {
        match seen.question() {
            Question::Serve => seen.is_candidate(job),
            Question::Condemn(claimant) => claimant == job,
        }
    }

    fn given(decision: Decision, job: u32) -> u32 {
        u32::from(matches!(decision, Decision::Serve { job: to } if to == job))
    }

    fn candidate_job(questions: &Extractor, _: &View<'_>, candidate: usize) -> Option<u32> {
        questions.snapshot().jobs().get(candidate).map(|candidate| candidate.job)
    }

    fn log_probabilities(seen: &View<'_>, probabilities: &Probabilities, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            Question::Serve => {
                let jobs = seen.candidates().map(Some).chain([None]);
                jobs.zip(&probabilities.serve).for_each(|(job, &log_prob)| each(job, log_prob));
            }
            Question::Condemn(job) => each(Some(job), 0.0),
        }
    }
}
