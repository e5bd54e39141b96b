//! The `dag` scenario as one that can be run.

use crate::{
    ClusterState, Dag, Decision, View,
    edit::{self, JobEdit},
    event_log,
    feature::Extractor,
    replay,
    simulator::Simulator,
    workload::{self, Cluster, DagWorkload, JobArrival, JobTemplate},
};
use sched_distill_core::{
    rng::Stream,
    scenario::Said,
    simulation::{
        Edit, EditBudget, EditError, EditInfo, Editable, LogDef, NamedWorkload, Replay, Simulated, WorkloadDef,
        WriteJobs, small_steps,
    },
    workload::WorkloadError,
};
use std::sync::Arc;

impl Simulated for Dag {
    type Cluster = Cluster;
    type Job = JobArrival;
    type Simulator = Simulator;

    const SIZE: Option<(&'static str, &'static str)> = Some(("work", "ms"));
    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    const LOG: Option<LogDef<Self>> = Some(LogDef { what: "Spark event log", write: event_log::write });
    const WRITE_JOBS: Option<WriteJobs<Self>> = Some(workload::write);

    fn replay(jobs: &[JobArrival]) -> Option<Replay<Self>> {
        replay::replay(jobs)
    }

    fn shapes(jobs: &[JobArrival]) -> Vec<(&'static str, String)> {
        workload::shapes(jobs)
    }

    fn battery() -> Result<Vec<NamedWorkload<Self>>, WorkloadError> {
        workload::battery()
    }

    fn start(workload: &DagWorkload, jobs: Vec<JobArrival>, seed: u64) -> Simulator {
        Simulator::new(*workload.cluster(), jobs, seed)
    }
}

/// The jobs with another description of one of them.
fn with(jobs: &[JobArrival], job: u32, template: JobTemplate) -> Vec<JobArrival> {
    let mut jobs = jobs.to_vec();
    jobs[job as usize].template = Arc::new(template);
    jobs
}

fn template(jobs: &[JobArrival], job: u32) -> Result<&JobTemplate, EditError> {
    jobs.get(job as usize).map(|j| &*j.template).ok_or_else(|| EditError(format!("there is no job {job}")))
}

impl Edit for JobEdit {
    type Scenario = Dag;

    fn sorts() -> Vec<EditInfo> {
        edit::EDITS.to_vec()
    }

    fn all(jobs: &[JobArrival], job: u32, budget: &EditBudget) -> Vec<Self> {
        template(jobs, job).map_or(Vec::new(), |template| edit::edits(template.graph(), budget))
    }

    fn edited(&self, jobs: &[JobArrival], job: u32) -> Result<Vec<JobArrival>, EditError> {
        let template = template(jobs, job)?;
        let (graph, parts) = self.describe(template.graph())?;
        let edited = template.in_parts(graph, &parts).map_err(|e| EditError(e.to_string()))?;
        Ok(with(jobs, job, edited))
    }

    fn undone(&self, jobs: &[JobArrival], job: u32) -> Result<Vec<JobArrival>, EditError> {
        let template = template(jobs, job)?;
        let graph = self.undo(template.graph())?;
        let mut origins = template.origins().to_vec();
        if let Self::Split { stage, .. } = self {
            origins.remove(*stage as usize + 1);
        }
        let undone = template.described(graph, origins).map_err(|e| EditError(e.to_string()))?;
        Ok(with(jobs, job, undone))
    }

    fn sort(&self) -> &'static str {
        match self {
            Self::Duration { .. } => "duration",
            Self::Split { .. } => "split",
            Self::Edge { implied: false, .. } => "edge",
            Self::Edge { implied: true, .. } => "edge-implied",
        }
    }

    fn cost(&self) -> f64 {
        match self {
            Self::Duration { factor, .. } => (factor - 1.0).abs(),
            Self::Split { .. } | Self::Edge { .. } => 1.0,
        }
    }

    fn slope(&self) -> Option<([Self; 2], f64)> {
        let &Self::Duration { stage, was_ms, factor } = self else { return None };
        let small = |factor| Self::Duration { stage, was_ms, factor };
        let (steps, times) = small_steps(factor);
        Some((steps.map(small), times))
    }
}

impl Editable for Dag {
    type Edit = JobEdit;
    const BELIEFS: &'static [&'static str] = &["durations", "parts"];
    const JOB_LEVEL: usize = 0;

    fn critical_place(jobs: &[JobArrival], job: u32, edit: &JobEdit) -> Option<usize> {
        let path = edit::critical_path(template(jobs, job).ok()?.graph());
        path.iter().position(|&stage| stage == edit.stage())
    }

    fn edited_state(state: &ClusterState, job: u32, edits: &[JobEdit]) -> Result<ClusterState, EditError> {
        let gone = || EditError(format!("job {job} is not there"));
        let (graph, parts) =
            edit::describe_all(&state.jobs.find(job).ok_or_else(gone)?.graph, edits, !state.intake.ignores_durations)?;
        state.described(job, graph, &parts)
    }

    fn described(episode: &Simulator, jobs: &[JobArrival], job: u32) -> Simulator {
        episode.described(jobs, job)
    }

    fn is_candidate(seen: &View<'_>, job: u32) -> bool {
        seen.schedulable().iter().any(|stage| stage.job == job)
    }

    fn given(decision: Decision, job: u32) -> u32 {
        match decision {
            Decision::Assign { stage, executors } if stage.job == job => executors,
            _ => 0,
        }
    }

    /// The path with most work left may be another one, with more tasks or fewer.
    const LOOSE: &'static [(&'static str, &'static str)] = &[("critical_path_tasks", "remaining_tasks")];

    fn extremes(state: &ClusterState, job: u32, share: f64) -> Result<Option<[ClusterState; 2]>, EditError> {
        let all = |factor: f64| state.declared(job, &mut |was_ms| factor * was_ms);
        let ends = [all(1.0 - share)?, all(1.0 + share)?];
        let [least, most] = &ends;
        let counts = least.stages.iter().zip(&most.stages).any(|(a, b)| a.recent_ms != b.recent_ms);
        Ok(counts.then_some(ends))
    }

    fn somewhere(state: &ClusterState, job: u32, share: f64, stream: &mut Stream) -> Result<ClusterState, EditError> {
        state.declared(job, &mut |was_ms| {
            let factor = match stream.below(4) {
                0 => 1.0 - share,
                1 => 1.0 + share,
                2 => 1.0,
                _ => stream.uniform_in(1.0 - share, 1.0 + share),
            };
            factor * was_ms
        })
    }

    fn all_edits(state: &ClusterState, job: u32, sort: &str) -> Vec<JobEdit> {
        state.jobs.find(job).map_or(Vec::new(), |job| edit::all(&job.graph, sort))
    }

    fn candidate_job(questions: &Extractor, _: &View<'_>, candidate: usize) -> Option<u32> {
        questions.snapshot().candidate_jobs().nth(candidate)
    }

    fn log_probabilities(seen: &View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64)) {
        let stages = seen.schedulable().iter().zip(&said.joint);
        stages.for_each(|(stage, &log_prob)| each(Some(stage.job), log_prob));
    }
}
