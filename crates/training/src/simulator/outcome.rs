//! What an episode leaves behind.

use super::{
    observation::Observation,
    state::{Decision, JobState, SimError, Simulator},
};
use crate::workload::TrainingJob;
use sched_distill_core::simulation::{Outcome, Simulation, TaskRun};

impl Simulator {
    /// The outcome, once the episode has ended ([`Simulator::observation`] gives `None`).
    ///
    /// Events are slots from slot 0 on; utilisation is the mean over slots from the first arrival on of the share of all slots
    /// of CPU and GPU in use.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.ended {
            return None;
        }
        let slot_ms = self.cluster.slot_ms();
        let completion_ms: Vec<f64> = self.states.iter().map(|s| s.completion * slot_ms).collect();
        let unfinished = completion_ms.iter().filter(|c| c.is_nan()).count();
        let first_slot = self.jobs.first().map_or(0, |j| j.arrival_slot);
        let (first, end) = (f64::from(first_slot) * slot_ms, f64::from(self.slot) * slot_ms);
        let last = if unfinished == 0 { completion_ms.iter().copied().fold(first, f64::max) } else { end };
        let makespan_ms = last - first;
        let job_time = self.job_time_ms(first, last);
        let slots = f64::from(self.slot.saturating_sub(first_slot).max(1));
        Some(Outcome {
            completed: unfinished == 0,
            unfinished,
            mean_jct_ms: (unfinished == 0 && !self.jobs.is_empty()).then(|| job_time / self.jobs.len() as f64),
            completion_ms,
            makespan_ms,
            final_time_ms: end,
            total_reward: self.total_reward,
            events: u64::from(self.slot),
            decisions: self.decisions,
            utilisation: self.busy / slots,
            jobs_in_system: job_time / makespan_ms.max(f64::MIN_POSITIVE),
        })
    }
}

impl Simulation for Simulator {
    type Observation<'a> = Observation<'a>;
    type Decision = Decision;
    type Error = SimError;

    fn observation(&self) -> Option<Observation<'_>> {
        self.view()
    }

    fn check(&self, decision: Decision) -> Result<(), SimError> {
        self.validate(decision)
    }

    fn step(&mut self, decision: Decision) -> Result<(), SimError> {
        self.step(decision)
    }

    fn outcome(&self) -> Option<Outcome> {
        self.outcome()
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.jobs.iter().map(|j| f64::from(j.arrival_slot) * self.cluster.slot_ms()).collect()
    }

    fn job_time_ms(&self, from_ms: f64, to_ms: f64) -> f64 {
        let slot_ms = self.cluster.slot_ms();
        let time = |(job, state): (&TrainingJob, &JobState)| {
            let arrival_ms = f64::from(job.arrival_slot) * slot_ms;
            // `min` takes the other number where a job has no completion time yet.
            ((state.completion * slot_ms).min(to_ms) - arrival_ms.max(from_ms)).max(0.0)
        };
        self.jobs.iter().zip(&self.states).map(time).sum()
    }

    fn lanes(&self) -> u32 {
        self.cluster.places() * self.cluster.nodes
    }

    fn record_timeline(&mut self) {
        self.record_timeline();
    }

    fn task_runs(&self) -> &[TaskRun] {
        self.task_runs()
    }
}
