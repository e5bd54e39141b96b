//! What an episode leaves behind.

use super::state::{JobRun, Simulator};
use crate::{
    Dag,
    state::{Decision, DecisionError, Job, StageRef, View},
};
use sched_distill_core::simulation::{JobEnd, Outcome, Simulation, Stall, TaskRun, Timeline};

/// What happened to one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRecord {
    /// Which stage.
    pub stage: StageRef,
    /// When its first task was launched, ms; NaN if never.
    pub first_launch_ms: f64,
    /// When its last task ended, ms; NaN if never.
    pub completion_ms: f64,
    /// Launches by wave: fresh, first, rest.
    pub launches: [u32; 3],
}

impl Simulator {
    /// The outcome of an episode that has ended.
    fn ending(&self) -> Outcome {
        let end = |run: &JobRun| match run.completion_ms {
            ms if ms.is_nan() => JobEnd::Unfinished,
            ms => JobEnd::Completed(ms),
        };
        let jobs: Vec<JobEnd> = self.job_runs.iter().map(end).collect();
        let first = self.state.jobs.first().map_or(0.0, |j| j.arrival_ms);
        let completions: Option<Vec<f64>> = jobs.iter().map(|end| end.completion_ms()).collect();
        let last = completions.as_ref().map_or(self.state.time_ms, |all| all.iter().copied().fold(first, f64::max));
        let makespan_ms = last - first;
        let end_ms = |run: &JobRun| if run.completion_ms.is_nan() { last } else { run.completion_ms };
        let job_time: f64 = self.jobs().map(|(job, run)| (end_ms(run) - job.arrival_ms).max(0.0)).sum();
        let span = makespan_ms.max(f64::MIN_POSITIVE);
        Outcome {
            figures: vec![
                ("mean_jct_ms", completions.filter(|all| !all.is_empty()).map(|all| job_time / all.len() as f64)),
                ("makespan_ms", Some(makespan_ms)),
                ("utilisation", Some(self.busy_ms / (f64::from(self.cluster.num_executors) * span))),
                ("jobs_in_system", Some(job_time / span)),
            ],
            stall: Stall::of(&jobs, self.bound.is_passed(self.events)),
            longest_idle_ms: Some(self.idle.longest_ms()),
            jobs,
            final_time_ms: self.state.time_ms,
            total_reward: self.total_reward,
            events: self.events,
            decisions: self.decisions,
        }
    }

    /// What happened to each stage, by job and stage.
    #[must_use]
    pub fn stage_records(&self) -> Vec<StageRecord> {
        let record = |job: u32, stage: u32| {
            let index = (self.state.jobs[job as usize].first_stage + stage) as usize;
            let (s, run) = (&self.state.stages[index], &self.stage_runs[index]);
            let [fresh, first] = run.launches;
            StageRecord {
                stage: StageRef { job, stage },
                first_launch_ms: run.first_launch_ms,
                completion_ms: run.completion_ms,
                launches: [fresh, first, s.num_tasks - s.remaining - fresh - first],
            }
        };
        (0..self.state.jobs.len() as u32)
            .flat_map(|job| (0..self.state.jobs[job as usize].num_stages).map(move |stage| (job, stage)))
            .map(|(job, stage)| record(job, stage))
            .collect()
    }

    /// What schedulers see of each job, and what happens to it beyond that.
    fn jobs(&self) -> impl Iterator<Item = (&Job, &JobRun)> {
        self.state.jobs.iter().zip(&self.job_runs)
    }
}

impl Simulator {
    /// Keeps every task of the rest of the episode, each as a run of its own.
    pub fn record_tasks(&mut self) {
        self.timeline = Some(Timeline::apart());
    }
}

impl Simulation for Simulator {
    type Scenario = Dag;
    type Error = DecisionError;

    fn view(&self) -> Option<View<'_>> {
        self.state.view()
    }

    fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

    fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
        self.step(decision).map(|_| ())
    }

    fn outcome(&self) -> Option<Outcome> {
        self.view().is_none().then(|| self.ending())
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.state.jobs.iter().map(|j| j.arrival_ms).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        self.state.jobs.iter().map(|job| job.graph.work_ms()).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        self.job_runs.get(job as usize).map(|run| run.completion_ms).filter(|ms| !ms.is_nan())
    }

    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        // `min` takes the other number where a job has no completion time yet.
        self.jobs().map(|(job, run)| (run.completion_ms.min(to_ms) - job.arrival_ms.max(from_ms)).max(0.0)).sum()
    }

    fn lanes(&self) -> u32 {
        self.cluster.num_executors
    }

    fn record_timeline(&mut self) {
        self.timeline.get_or_insert_default();
    }

    fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], Timeline::runs)
    }
}
