//! What an episode leaves behind.

use super::state::{JobRun, Simulator};
use sched_distill_core::simulation::{JobEnd, Outcome, Stall};

impl JobRun {
    /// Whether it was complete by the deadline that its user really has.
    fn is_on_time(&self) -> bool {
        // Not so while it is not complete.
        self.completed_ms <= self.job.deadline_ms
    }
}

impl Simulator {
    /// The outcome of an episode that has ended.
    pub(super) fn ending(&self) -> Outcome {
        let end = |run: &JobRun| match (run.completed_ms, run.refused_ms) {
            (ms, _) if !ms.is_nan() => JobEnd::Completed(ms),
            (_, ms) if !ms.is_nan() => JobEnd::Rejected(ms),
            _ => JobEnd::Unfinished,
        };
        let jobs: Vec<JobEnd> = self.runs.iter().map(end).collect();
        let ended = !jobs.contains(&JobEnd::Unfinished) && !jobs.is_empty();
        let (count, all) = (jobs.len() as f64, &self.runs);
        let on_time = all.iter().filter(|run| run.is_on_time()).count() as f64;
        let refused = all.iter().filter(|run| !run.refused_ms.is_nan()).count() as f64;
        let late_ms: f64 = all.iter().map(|run| (run.completed_ms - run.job.deadline_ms).max(0.0)).sum();
        let sum = |of: fn(&JobRun) -> f64| all.iter().map(of).sum::<f64>();
        let (allocated_ms, used_ms) = (sum(|run| run.allocated_ms), sum(|run| run.used_ms));
        let last_ms = all.iter().map(|run| run.completed_ms).fold(0.0, f64::max);
        let figure = |value: f64| (ended && value.is_finite()).then_some(value);
        Outcome {
            figures: vec![
                ("on_time", figure(on_time / count)),
                ("tardiness_ms", figure(if refused < count { late_ms / (count - refused) } else { 0.0 })),
                ("cores_used", figure(if allocated_ms > 0.0 { used_ms / allocated_ms } else { 1.0 })),
                ("core_time_ms", figure(allocated_ms / on_time)),
                ("refused", figure(refused / count)),
            ],
            stall: Stall::of(&jobs, self.bound.is_passed(self.events)),
            longest_idle_ms: Some(self.idle.longest_ms()),
            jobs,
            final_time_ms: self.state.time_ms.max(last_ms),
            total_reward: -self.missed(0.0, f64::INFINITY),
            events: self.events,
            decisions: self.decisions,
        }
    }

    /// Jobs whose deadline lies after the first moment and not after the second, and that are not complete by it. What lies after
    /// the clock is taken to find unfinished jobs unfinished.
    pub(super) fn missed(&self, from_ms: f64, to_ms: f64) -> f64 {
        let missed = |run: &&JobRun| run.job.deadline_ms > from_ms && run.job.deadline_ms <= to_ms && !run.is_on_time();
        self.runs.iter().filter(missed).count() as f64
    }
}
