//! The `deadlines` scenario as one that can be run.

use crate::{
    Cluster, ClusterState, Deadlines, Decision, View,
    feature::{Extractor, How},
    replay,
    simulator::Simulator,
    state::Question,
    workload::{self, DeadlineJob, DeadlineWorkload},
};
use sched_distill_core::{
    scenario::Said,
    simulation::{
        Declared, DeclaredEdit, Declares, Edit as _, EditError, Editable, Number, Replay, Simulated, WorkloadDef,
        WriteJobs,
    },
};
use std::sync::Arc;

impl Simulated for Deadlines {
    type Cluster = Arc<Cluster>;
    type Job = DeadlineJob;
    type Simulator = Simulator;

    const SIZE: Option<(&'static str, &'static str)> = Some(("core time on one core", "ms"));
    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    const WRITE_JOBS: Option<WriteJobs<Self>> = Some(workload::write);

    fn replay(jobs: &[DeadlineJob]) -> Option<Replay<Self>> {
        replay::replay(jobs)
    }

    fn start(workload: &DeadlineWorkload, jobs: Vec<DeadlineJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }
}

/// What users declare; jobs really take what they take.
impl Declares for Deadlines {
    const NUMBERS: &'static [Declared<Self>] = &[
        Declared {
            name: "deadline",
            meaning: "a job declares more or less time until its deadline than its user has",
            noun: "the time until its deadline",
            told: "{}",
            is_whole: false,
            of: |job| Number::Real(&mut job.declared_deadline_ms, job.arrival_ms),
        },
        Declared {
            name: "iterations",
            meaning: "a job declares that it takes more or fewer iterations than it does",
            noun: "its iterations",
            told: "{}",
            is_whole: false,
            of: |job| Number::Real(&mut job.declared_iterations, 0.0),
        },
    ];
}

impl Editable for Deadlines {
    type Edit = DeclaredEdit<Self>;
    const JOB_LEVEL: usize = 0;

    fn edited_state(state: &ClusterState, job: u32, edits: &[DeclaredEdit<Self>]) -> Result<ClusterState, EditError> {
        let mut state = state.clone();
        let found = state.jobs.iter_mut().find(|j| j.id == job);
        let found = found.ok_or_else(|| EditError(format!("job {job} is not there")))?;
        for edit in edits {
            edit.make(match edit.sort() {
                "deadline" => Number::Real(&mut found.deadline_ms, found.arrival_ms),
                _ => Number::Real(&mut found.iterations, 0.0),
            })?;
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

    fn log_probabilities(seen: &View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64)) {
        match seen.question() {
            // That a job's deadline is given up gives it nothing.
            Question::Start => {
                let gives = |how: How| matches!(how, How::Elastic | How::AsSubmitted);
                let ways = seen.waiting().iter().flat_map(|&job| How::ALL.map(|how| gives(how).then_some(job)));
                ways.chain([None]).zip(&said.joint).for_each(|(job, &log_prob)| each(job, log_prob));
            }
            Question::Running(job) => each(Some(job), 0.0),
        }
    }
}
