//! What happens at a step, and between two moments.

use super::state::{BatchRun, Simulator};
use crate::{Decision, DecisionError, Serving, state::View};
use sched_distill_core::simulation::{JobEnd, Outcome, Simulation, TaskRun as LaneRun, Timeline};

impl Simulation for Simulator {
    type Scenario = Serving;
    type Error = DecisionError;

    #[inline]
    fn view(&self) -> Option<View<'_>> {
        if self.ended { None } else { self.state.view() }
    }

    fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

    #[inline]
    fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
        self.check(decision)?;
        self.decisions += 1;
        self.until_ms = match decision {
            Decision::Wait { until_ms: Some(ms) } if ms > self.state.time_ms => ms,
            _ => f64::INFINITY,
        };
        self.state.apply(decision);
        if !self.state.begun.is_empty() {
            self.begin();
        }
        if self.state.view().is_none() {
            self.pass();
        }
        Ok(())
    }

    /// Events are arrivals, ends of batches, and timeouts. Without a task there is a throughput, which is 0, and no other figure.
    fn outcome(&self) -> Option<Outcome> {
        self.ended.then(|| self.ending())
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.state.tasks.iter().map(|task| task.arrival_ms).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.solo_ms).collect()
    }

    fn completed_ms(&self, task: u32) -> Option<f64> {
        self.runs.get(task as usize)?.end.completion_ms()
    }

    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        self.cost_of(from_ms, to_ms)
    }

    fn lanes(&self) -> u32 {
        self.state.server.accelerators
    }

    fn record_timeline(&mut self) {
        self.timeline.get_or_insert_default();
    }

    fn task_runs(&self) -> &[LaneRun] {
        self.timeline.as_ref().map_or(&[], Timeline::runs)
    }
}

impl Simulator {
    /// Lets time pass until a question is open or nothing is left to happen.
    pub(super) fn pass(&mut self) {
        loop {
            if self.bound.is_passed(self.events) || !self.next_moment() {
                self.ended = true;
                return;
            }
            self.state.open = true;
            if self.state.view().is_some() {
                return;
            }
        }
    }

    /// Works out how long batches that have begun really take.
    fn begin(&mut self) {
        while let Some(accelerator) = self.state.begun.pop() {
            let running = &self.state.running[accelerator as usize];
            let (application, start_ms) = (running.application, running.started_ms);
            let batch = self.real(&running.tasks);
            let of = &self.state.server.applications[application as usize];
            // Where users have declared what is so, it ends when it was predicted to.
            let end_ms = if batch == running.batch { running.ends_ms } else { start_ms + of.ms(batch) };
            self.ends_ms[accelerator as usize] = end_ms;
            self.busy_ms[application as usize] +=
                (end_ms.min(self.horizon_ms) - start_ms.min(self.horizon_ms)).max(0.0);
            self.units[0] += batch.total as f64;
            self.units[1] += of.units(batch) as f64;
            if let Some(timeline) = &mut self.timeline {
                let job = running.tasks[0];
                timeline.push(LaneRun { lane: accelerator, job, part: application, start_ms, end_ms });
            }
            if let Some(batches) = &mut self.batches {
                batches.push(BatchRun { accelerator, application, tasks: running.tasks.clone(), start_ms, end_ms });
            }
        }
    }

    /// Goes on to the next moment; `false` if there is none.
    fn next_moment(&mut self) -> bool {
        let (tasks, arrived) = (&self.state.tasks, self.arrived as usize);
        let arrival_ms = tasks.get(arrived).map_or(f64::INFINITY, |task| task.arrival_ms);
        let end_ms = self.ends_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let mut time_ms = arrival_ms.min(end_ms);
        if self.state.idle > 0 && self.state.waiting > 0 {
            // Somebody waits.
            let timeout_ms = self.state.next_timeout_ms().unwrap_or(f64::INFINITY);
            let wake_ms = self.until_ms.min(timeout_ms);
            if wake_ms < time_ms {
                time_ms = wake_ms;
                self.events += 1;
            }
        }
        if time_ms == f64::INFINITY {
            return false;
        }
        self.idle.pass(self.state.idles_beside_work(), self.state.time_ms, time_ms);
        self.state.time_ms = time_ms;
        if end_ms <= time_ms {
            for accelerator in 0..self.ends_ms.len() {
                if self.ends_ms[accelerator] <= time_ms {
                    self.ends_ms[accelerator] = f64::INFINITY;
                    self.end(accelerator);
                }
            }
        }
        while let Some(task) = self.state.tasks.get(self.arrived as usize)
            && task.arrival_ms <= time_ms
        {
            if !self.state.arrive(self.arrived) {
                self.runs[self.arrived as usize].end = JobEnd::Rejected(time_ms);
            }
            self.arrived += 1;
            self.events += 1;
        }
        true
    }

    /// The batch on an accelerator ends: its tasks are answered.
    fn end(&mut self, accelerator: usize) {
        let time_ms = self.state.time_ms;
        for &task in &self.state.running[accelerator].tasks {
            self.runs[task as usize].end = JobEnd::Completed(time_ms);
            self.done.push(task);
        }
        self.state.finish(accelerator);
        self.events += 1;
    }
}
