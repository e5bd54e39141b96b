//! What an episode leaves behind.

use super::state::{JobRun, Simulator};
use crate::state::Stage;
use sched_distill_core::simulation::{JobEnd, Outcome, Stall, percentile};

/// How much of a time lies between two moments, ms.
fn within((from_ms, to_ms): (f64, f64), start_ms: f64, end_ms: f64) -> f64 {
    (end_ms.min(to_ms) - start_ms.max(from_ms)).max(0.0)
}

impl JobRun {
    /// Time for which it waited, once it is complete.
    fn waited_ms(&self) -> f64 {
        (self.completed_ms - self.job.arrival_ms - self.computed_ms).max(0.0)
    }
}

impl Simulator {
    /// The outcome of an episode that has ended.
    pub(super) fn ending(&self) -> Outcome {
        let end = |run: &JobRun| match run.completed_ms {
            ms if !ms.is_nan() => JobEnd::Completed(ms),
            _ => JobEnd::Unfinished,
        };
        let jobs: Vec<JobEnd> = self.runs.iter().map(end).collect();
        let ended = !jobs.contains(&JobEnd::Unfinished) && !jobs.is_empty();
        let (count, all) = (jobs.len() as f64, &self.runs);
        let mean = |of: &dyn Fn(&JobRun) -> f64| all.iter().map(of).sum::<f64>() / count;
        let mut waited: Vec<f64> = all.iter().map(JobRun::waited_ms).collect();
        waited.sort_by(f64::total_cmp);
        let first_ms = all.first().map_or(0.0, |run| run.job.arrival_ms);
        let last_ms = all.iter().map(|run| run.completed_ms).fold(0.0, f64::max);
        let suspended = self.state.jobs.iter().map(|job| f64::from(job.preemptions)).sum::<f64>();
        let figure = |value: f64| (ended && value.is_finite()).then_some(value);
        Outcome {
            figures: vec![
                ("waiting_ms", figure(mean(&JobRun::waited_ms))),
                ("jct_ms", figure(mean(&|run| run.completed_ms - run.job.arrival_ms))),
                ("makespan_ms", figure(last_ms - first_ms)),
                ("p99_waiting_ms", figure(percentile(&waited, 99))),
                ("lost_ms", figure(mean(&|run| run.lost_ms))),
                ("preemptions", figure(suspended / count)),
            ],
            stall: Stall::of(&jobs, self.bound.is_passed(self.events)),
            longest_idle_ms: Some(self.idle.longest_ms()),
            jobs,
            final_time_ms: self.state.time_ms.max(last_ms),
            total_reward: -self.waited(0.0, self.state.time_ms.max(last_ms)),
            events: self.events,
            decisions: self.decisions,
        }
    }

    /// Time for which jobs wait between two moments, added up, ms.
    pub(super) fn waited(&self, from_ms: f64, to_ms: f64) -> f64 {
        let window = (from_ms, to_ms);
        let end_ms = |run: &JobRun| if run.completed_ms.is_nan() { f64::INFINITY } else { run.completed_ms };
        let there: f64 = self.runs.iter().map(|run| within(window, run.job.arrival_ms, end_ms(run))).sum();
        let before: f64 = self.computed.iter().map(|&(start_ms, end_ms)| within(window, start_ms, end_ms)).sum();
        let busy = self.state.busy.iter().map(|&job| &self.state.jobs[job as usize]);
        let computing = busy.filter(|job| job.stage == Stage::Computing);
        let now: f64 = computing.map(|job| within(window, job.since_ms, f64::INFINITY)).sum();
        (there - before - now).max(0.0)
    }
}
