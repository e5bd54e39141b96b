//! The `preemption` scenario as one that can be run.

use crate::{
    Cluster, ClusterState, Decision, Preemption, View,
    feature::Extractor,
    replay,
    simulator::Simulator,
    state::Question,
    workload::{self, PreemptionJob, PreemptionWorkload},
};
use sched_distill_core::{
    scenario::Said,
    simulation::{
        Declared, DeclaredEdit, Declares, EditError, Editable, Number, Replay, Simulated, WorkloadDef, WriteJobs,
    },
};
use std::sync::Arc;

impl Simulated for Preemption {
    type Cluster = Arc<Cluster>;
    type Job = PreemptionJob;
    type Simulator = Simulator;

    const SIZE: Option<(&'static str, &'static str)> = Some(("GPU time", "ms"));
    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    const WRITE_JOBS: Option<WriteJobs<Self>> = Some(workload::write);

    fn replay(jobs: &[PreemptionJob]) -> Option<Replay<Self>> {
        replay::replay(jobs)
    }

    fn start(workload: &PreemptionWorkload, jobs: Vec<PreemptionJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }
}

/// What users declare; jobs really take what they take.
impl Declares for Preemption {
    const NUMBERS: &'static [Declared<Self>] = &[Declared {
        name: "epochs",
        meaning: "a job declares that it takes more or fewer epochs than it does",
        noun: "its epochs",
        told: "{} epochs",
        is_whole: false,
        of: |job| Number::Real(&mut job.declared_epochs, 0.0),
    }];
}

impl Editable for Preemption {
    type Edit = DeclaredEdit<Self>;
    const JOB_LEVEL: usize = 0;

    fn edited_state(state: &ClusterState, job: u32, edits: &[DeclaredEdit<Self>]) -> Result<ClusterState, EditError> {
        let mut state = state.clone();
        let found = state.jobs.iter_mut().find(|j| j.id == job);
        let found = found.ok_or_else(|| EditError(format!("job {job} is not there")))?;
        edits.iter().try_for_each(|edit| edit.make(Number::Real(&mut found.declared, 0.0)))?;
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

    fn log_probabilities(seen: &View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            Question::Serve => {
                let jobs = seen.candidates().map(Some).chain([None]);
                jobs.zip(&said.joint).for_each(|(job, &log_prob)| each(job, log_prob));
            }
            Question::Condemn(job) => each(Some(job), 0.0),
        }
    }
}
