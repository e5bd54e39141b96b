//! What an episode leaves behind.

use super::state::Simulator;
use sched_distill_core::simulation::{JobEnd, Outcome, Stall, percentile};

impl Simulator {
    /// The outcome of an episode that has ended.
    pub(super) fn ending(&self) -> Outcome {
        let jobs: Vec<JobEnd> = self.runs.iter().map(|run| run.end).collect();
        let ended = !jobs.contains(&JobEnd::Unfinished);
        let (mut slowdown, mut in_time, mut soon) = (0.0, 0u32, 0u32);
        let mut latencies = Vec::with_capacity(self.done.len());
        for &place in &self.done {
            let (run, task) = (&self.runs[place as usize], &self.state.tasks[place as usize]);
            let completed_ms = run.end.completion_ms().unwrap_or(f64::NAN);
            let latency_ms = completed_ms - task.arrival_ms;
            slowdown += latency_ms / run.solo_ms;
            in_time += u32::from(completed_ms <= self.horizon_ms);
            soon += u32::from(latency_ms <= self.state.server.applications[task.application as usize].objective_ms);
            latencies.push(latency_ms);
        }
        latencies.sort_unstable_by(f64::total_cmp);
        let all = jobs.len() as f64;
        let refused = jobs.iter().filter(|end| matches!(end, JobEnd::Rejected(_))).count() as f64;
        let figure = |value: f64| (ended && value.is_finite()).then_some(value);
        Outcome {
            figures: vec![
                ("slowdown", figure(slowdown / self.done.len() as f64)),
                ("p95_ms", figure(percentile(&latencies, 95))),
                ("p99_ms", figure(percentile(&latencies, 99))),
                ("throughput", figure(1e3 * f64::from(in_time) / self.horizon_ms)),
                ("fairness", figure(if all > 0.0 { self.fairness() } else { f64::NAN })),
                ("waste", figure(1.0 - self.units[0] / self.units[1])),
                ("in_time", figure(f64::from(soon) / all)),
                ("refused", figure(refused / all)),
            ],
            stall: Stall::of(&jobs, self.bound.is_passed(self.events)),
            longest_idle_ms: Some(self.idle.longest_ms()),
            jobs,
            final_time_ms: self.state.time_ms,
            total_reward: -self.cost_of(0.0, self.state.time_ms),
            events: self.events,
            decisions: self.decisions,
        }
    }

    /// Jain's index of the accelerator time that applications with tasks had up to the horizon, each by its weight: 1 if all had the
    /// same, 1 ÷ their number if one had all.
    fn fairness(&self) -> f64 {
        let mut asked = vec![false; self.busy_ms.len()];
        self.state.tasks.iter().for_each(|task| asked[task.application as usize] = true);
        let of = self.busy_ms.iter().zip(&self.state.server.applications).zip(asked).filter(|(_, asked)| *asked);
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for ((busy_ms, application), _) in of {
            let share = busy_ms / application.weight;
            (count, sum, squares) = (count + 1.0, sum + share, squares + share * share);
        }
        if squares > 0.0 { sum * sum / (count * squares) } else { 1.0 }
    }

    /// What tasks cost between two moments: for each, how much of that time it was there, in times that it takes alone, and with a tail
    /// the older the more.
    pub(super) fn cost_of(&self, from_ms: f64, to_ms: f64) -> f64 {
        let one = |place: u32, end_ms: f64| {
            let arrival_ms = self.state.tasks[place as usize].arrival_ms;
            let (from_ms, to_ms) = (arrival_ms.max(from_ms), end_ms.min(to_ms));
            let there_ms = (to_ms - from_ms).max(0.0);
            // Of 1 + age / tail, the integral.
            let older = 0.5 * (from_ms + to_ms - 2.0 * arrival_ms) / self.tail_ms;
            there_ms * (1.0 + older) / self.runs[place as usize].solo_ms
        };
        let end_ms = |place: u32| self.runs[place as usize].end.completion_ms().unwrap_or(f64::INFINITY);
        let first = self.done.partition_point(|&place| end_ms(place) <= from_ms);
        let gone: f64 = self.done[first..].iter().map(|&place| one(place, end_ms(place))).sum();
        let state = &self.state;
        let waiting = (0..state.queues.len() as u32).flat_map(|application| state.in_queue(application));
        let forming: &[u32] = if state.is_forming { &state.forming.places } else { &[] };
        let running = state.running.iter().filter(|running| running.busy).flat_map(|running| &running.tasks);
        let there = waiting.chain(forming.iter().copied()).chain(running.copied());
        gone + there.map(|place| one(place, f64::INFINITY)).sum::<f64>()
    }
}
