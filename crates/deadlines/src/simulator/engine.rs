//! What happens at a step, and between two moments.

use super::{Change, state::Simulator};
use crate::{
    Cluster, Deadlines,
    state::{Class, Decision, DecisionError, Stage, View},
};
use sched_distill_core::{
    rng::normal,
    simulation::{Occupancy, Outcome, Simulation, TaskRun},
};

impl Simulation for Simulator {
    type Scenario = Deadlines;
    type Error = DecisionError;

    fn view(&self) -> Option<View<'_>> {
        if self.ended { None } else { self.state.view() }
    }

    fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

    fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
        self.check(decision)?;
        self.decisions += 1;
        let now = self.state.time_ms;
        if let Decision::Resize { job, cores } = decision
            && self.state.jobs[job as usize].is_resized(cores)
        {
            self.account(job as usize);
        }
        if let Decision::Refuse { job } = decision {
            self.runs[job as usize].refused_ms = now;
        }
        let changed = self.state.apply(decision);
        if let Some(index) = changed {
            self.run(index);
        }
        self.pass();
        Ok(())
    }

    /// Events are arrivals, checks, measurements, ends, and deadlines of waiting jobs.
    fn outcome(&self) -> Option<Outcome> {
        self.ended.then(|| self.ending())
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.job.arrival_ms).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.job.iterations * run.job.law.time_ms(1)).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        self.runs.get(job as usize).map(|run| run.completed_ms).filter(|ms| !ms.is_nan())
    }

    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        self.missed(from_ms, to_ms)
    }

    fn lanes(&self) -> u32 {
        self.state.cluster.cores()
    }

    fn record_timeline(&mut self) {
        let Cluster { nodes, node_cores, .. } = *self.state.cluster;
        self.timeline.get_or_insert_with(|| Occupancy::new(nodes, node_cores));
    }

    /// A lane per core (node · cores of a node + core); part 0 is jobs whose deadline counts, 1 best effort.
    fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], Occupancy::runs)
    }
}

impl Simulator {
    /// Lets a job compute that has just been given cores: its pace, and when something will happen to it.
    fn run(&mut self, index: usize) {
        let declared = &mut self.state.jobs[index];
        let Stage::Running(mut held) = declared.stage else { return };
        let (used, done) = (declared.used(held.cores, held.elastic), declared.done);
        let run = &mut self.runs[index];
        let each_ms = run.job.law.time_ms(used);
        held.pace = 1.0 / each_ms;
        declared.stage = Stage::Running(held);
        run.window_from = done;
        let left = run.job.iterations - done;
        let window = f64::from(self.state.cluster.window);
        // A job's first measurement is asked about, if it gets so far.
        let until = if run.measurements == 0 && window < left { window } else { left };
        self.queue.schedule(index as u32, held.from_ms + until * each_ms);
        if let Some(changes) = &mut self.changes {
            changes.push(Change::Runs {
                time_ms: self.state.time_ms,
                job: index as u32,
                node: held.node,
                cores: held.cores,
                elastic: held.elastic,
            });
        }
        if let Some(timeline) = &mut self.timeline {
            let part = u32::from(self.state.jobs[index].class == Class::BestEffort);
            timeline.begin(index as u32, part, (held.node, held.cores), held.since_ms);
        }
    }

    /// Enters what a running job has held and used since it got its cores, before it gives them back.
    fn account(&mut self, index: usize) {
        let declared = &self.state.jobs[index];
        let Stage::Running(held) = declared.stage else { return };
        let time_ms = self.state.time_ms - held.since_ms;
        let run = &mut self.runs[index];
        run.allocated_ms += f64::from(held.cores) * time_ms;
        run.used_ms += f64::from(declared.used(held.cores, held.elastic)) * time_ms;
        if let Some(timeline) = &mut self.timeline {
            timeline.end(index as u32, self.state.time_ms);
        }
    }

    /// Lets time pass until a question is open or nothing is left to happen.
    pub(super) fn pass(&mut self) {
        while self.state.view().is_none() {
            while let Some((index, cores)) = self.state.next_best_effort() {
                self.state.begin(index, cores, false);
                self.run(index);
            }
            if self.bound.is_passed(self.events) || !self.next_moment() {
                self.ended = true;
                return;
            }
        }
    }

    /// Goes on to the next moment and opens its questions; `false` if there is none.
    fn next_moment(&mut self) -> bool {
        let check_ms = self.state.cluster.check_ms;
        let is_busy = !self.state.running.is_empty();
        if !is_busy {
            // Checks come at whole multiples of the time between two, as long as jobs run.
            self.next_check = 0;
        } else if self.next_check == 0 {
            self.next_check = (self.state.time_ms / check_ms).floor() as u64 + 1;
        }
        let next_check_ms = is_busy.then_some(self.next_check as f64 * check_ms);
        let arrival_ms = self.runs.get(self.state.jobs.arrived as usize).map(|run| run.job.arrival_ms);
        let own_ms = self.queue.next_time();
        let next_ms = [arrival_ms, next_check_ms, own_ms].into_iter().flatten().reduce(f64::min);
        let Some(time_ms) = self.next_deadline(next_ms) else { return false };
        // A job whose deadline counts can start on a single core.
        let is_idle = self.state.free > self.state.cluster.cores() / 2 && !self.state.waiting.is_empty();
        self.idle.pass(is_idle, self.state.time_ms, time_ms);
        self.state.time_ms = time_ms;
        while let Some(run) = self.runs.get(self.state.jobs.arrived as usize)
            && run.job.arrival_ms <= time_ms
        {
            self.state.waiting.push(self.state.jobs.arrived);
            self.state.jobs.arrived += 1;
            self.events += 1;
        }
        self.own_events(time_ms);
        let is_check = next_check_ms == Some(time_ms);
        if is_check {
            self.next_check += 1;
            self.events += 1;
            for place in 0..self.state.running.len() {
                let job = self.state.running[place];
                // The first window is measured when it is full.
                if self.runs[job as usize].measurements > 0 {
                    self.measure(job as usize);
                }
            }
            self.state.check_running();
            self.state.open_check();
        } else {
            self.measured.sort_unstable();
            self.state.open(self.measured.iter().copied());
        }
        self.measured.clear();
        true
    }

    /// The next moment, if that is another one than a deadline's until then: deadlines are moments if their jobs wait.
    fn next_deadline(&mut self, next_ms: Option<f64>) -> Option<f64> {
        while let Some(&job) = self.by_deadline.get(self.passed) {
            let deadline_ms = self.state.jobs[job as usize].deadline_ms;
            if next_ms.is_some_and(|next| next < deadline_ms) {
                break;
            }
            self.passed += 1;
            if deadline_ms > self.state.time_ms && self.state.waiting.binary_search(&job).is_ok() {
                self.events += 1;
                return Some(deadline_ms);
            }
        }
        next_ms
    }

    /// What happens to running jobs by itself at a moment: ends and first measurements.
    fn own_events(&mut self, time_ms: f64) {
        while self.queue.next_time().is_some_and(|next| next <= time_ms) {
            let Some((_, job)) = self.queue.pop() else { break };
            let index = job as usize;
            self.events += 1;
            let Stage::Running(held) = self.state.jobs[index].stage else { continue };
            let run = &self.runs[index];
            let window = f64::from(self.state.cluster.window);
            let left = run.job.iterations - self.state.jobs[index].done;
            if run.measurements == 0 && window < left {
                self.measure_window(index, window);
                self.measured.push(job);
                self.queue.schedule(
                    job,
                    held.from_ms
                        + left
                            * self.runs[index].job.law.time_ms(self.state.jobs[index].used(held.cores, held.elastic)),
                );
                continue;
            }
            self.account(index);
            self.state.end(index);
            // It may have been measured first at this moment.
            self.measured.retain(|&measured| measured != job);
            self.state.jobs[index].done = self.runs[index].job.iterations;
            self.runs[index].completed_ms = time_ms;
            if let Some(changes) = &mut self.changes {
                changes.push(Change::Ends { time_ms, job });
            }
        }
    }

    /// Measures the iterations since the last measurement, if there is a whole one.
    fn measure(&mut self, index: usize) {
        let iterations = self.state.jobs[index].done_at(self.state.time_ms) - self.runs[index].window_from;
        if iterations >= 1.0 {
            self.events += 1;
            self.measure_window(index, iterations);
        }
    }

    fn measure_window(&mut self, index: usize, iterations: f64) {
        let (declared, run) = (&mut self.state.jobs[index], &mut self.runs[index]);
        let Stage::Running(held) = declared.stage else { return };
        let used = declared.used(held.cores, held.elastic);
        let error = self.state.cluster.error(iterations);
        let luck = normal(&[self.luck, index as u64, run.measurements]);
        let mean_ms = run.job.law.time_ms(used) * run.job.bias * (error * luck).exp();
        declared.estimate.measure(used, mean_ms, error);
        run.measurements += 1;
        run.window_from += iterations;
    }
}
