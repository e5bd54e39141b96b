//! What an episode leaves behind.

use super::{
    observation::Observation,
    state::{Decision, SimError, Simulator, StageRef},
};
use sched_distill_core::simulation::{Outcome, Simulation, TaskRun, Timeline};

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
    /// The outcome, once the episode has ended ([`Simulator::observation`] gives `None`).
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if self.observation().is_some() {
            return None;
        }
        let completion_ms: Vec<f64> = self.jobs.iter().map(|j| j.completion_ms).collect();
        let unfinished = completion_ms.iter().filter(|c| c.is_nan()).count();
        let first = self.jobs.first().map_or(0.0, |j| j.arrival_ms);
        let last = if unfinished == 0 { completion_ms.iter().copied().fold(first, f64::max) } else { self.time_ms };
        let makespan_ms = last - first;
        let job_time: f64 = self
            .jobs
            .iter()
            .map(|j| (if j.completion_ms.is_nan() { last } else { j.completion_ms } - j.arrival_ms).max(0.0))
            .sum();
        let span = makespan_ms.max(f64::MIN_POSITIVE);
        Some(Outcome {
            completed: unfinished == 0,
            unfinished,
            mean_jct_ms: (unfinished == 0).then(|| job_time / self.jobs.len() as f64),
            completion_ms,
            makespan_ms,
            final_time_ms: self.time_ms,
            total_reward: self.total_reward,
            events: self.events,
            decisions: self.decisions,
            utilisation: self.busy_ms / (f64::from(self.cluster.num_executors) * span),
            jobs_in_system: job_time / span,
        })
    }

    /// What happened to each stage, by job and stage.
    #[must_use]
    pub fn stage_records(&self) -> Vec<StageRecord> {
        let record = |job: u32, stage: u32| {
            let s = &self.stages[(self.jobs[job as usize].first_stage + stage) as usize];
            let [fresh, first] = s.launches;
            StageRecord {
                stage: StageRef { job, stage },
                first_launch_ms: s.first_launch_ms,
                completion_ms: s.completion_ms,
                launches: [fresh, first, s.num_tasks - s.remaining - fresh - first],
            }
        };
        (0..self.jobs.len() as u32)
            .flat_map(|job| (0..self.jobs[job as usize].num_stages).map(move |stage| (job, stage)))
            .map(|(job, stage)| record(job, stage))
            .collect()
    }
}

impl Simulation for Simulator {
    type Observation<'a> = Observation<'a>;
    type Decision = Decision;
    type Error = SimError;

    fn observation(&self) -> Option<Observation<'_>> {
        self.observation()
    }

    fn check(&self, decision: Decision) -> Result<(), SimError> {
        self.validate(decision).map(|_| ())
    }

    fn step(&mut self, decision: Decision) -> Result<(), SimError> {
        self.step(decision).map(|_| ())
    }

    fn outcome(&self) -> Option<Outcome> {
        self.outcome()
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.jobs.iter().map(|j| j.arrival_ms).collect()
    }

    fn job_time_ms(&self, from_ms: f64, to_ms: f64) -> f64 {
        // `min` takes the other number where a job has no completion time yet.
        self.jobs.iter().map(|j| (j.completion_ms.min(to_ms) - j.arrival_ms.max(from_ms)).max(0.0)).sum()
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
