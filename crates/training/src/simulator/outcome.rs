//! What an episode leaves behind.

use super::state::{JobRun, Simulator};
use crate::state::Job;
use sched_distill_core::simulation::{JobEnd, Outcome, Stall};

impl Simulator {
    /// The outcome of an episode that has ended.
    pub(super) fn ending(&self) -> Outcome {
        let slot_ms = self.state.cluster.slot_ms();
        let end = |run: &JobRun| match run.completion {
            slots if slots.is_nan() => JobEnd::Unfinished,
            slots => JobEnd::Completed(slots * slot_ms),
        };
        let jobs: Vec<JobEnd> = self.runs.iter().map(end).collect();
        let first_slot = self.state.jobs.first().map_or(0, |j| j.arrival_slot);
        let (first, end) = (f64::from(first_slot) * slot_ms, f64::from(self.state.slot) * slot_ms);
        let completions: Option<Vec<f64>> = jobs.iter().map(|end| end.completion_ms()).collect();
        let last = completions.as_ref().map_or(end, |all| all.iter().copied().fold(first, f64::max));
        let makespan_ms = last - first;
        let job_time = self.job_time_ms(first, last);
        let slots = f64::from(self.state.slot.saturating_sub(first_slot).max(1));
        Outcome {
            figures: vec![
                ("mean_jct_ms", completions.filter(|all| !all.is_empty()).map(|all| job_time / all.len() as f64)),
                ("makespan_ms", Some(makespan_ms)),
                ("utilisation", Some(self.busy / slots)),
                ("jobs_in_system", Some(job_time / makespan_ms.max(f64::MIN_POSITIVE))),
            ],
            stall: Stall::of(&jobs, self.bound.is_passed(self.passed)),
            longest_idle_ms: Some(self.idle.longest_ms()),
            jobs,
            final_time_ms: end,
            total_reward: self.total_reward,
            events: u64::from(self.state.slot),
            decisions: self.decisions,
        }
    }

    /// Job-time between two moments, ms: for each job, how much of it the job was in the system. What lies after the clock is
    /// taken to find unfinished jobs unfinished.
    #[must_use]
    pub fn job_time_ms(&self, from_ms: f64, to_ms: f64) -> f64 {
        let slot_ms = self.state.cluster.slot_ms();
        let time = |(job, run): (&Job, &JobRun)| {
            let arrival_ms = f64::from(job.arrival_slot) * slot_ms;
            // `min` takes the other number where a job has no completion time yet.
            ((run.completion * slot_ms).min(to_ms) - arrival_ms.max(from_ms)).max(0.0)
        };
        self.state.jobs.iter().zip(&self.runs).map(time).sum()
    }
}
