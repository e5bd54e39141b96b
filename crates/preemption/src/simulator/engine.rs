//! What happens at a step, and between two moments.

use super::{
    What,
    state::{Phase, Simulator},
};
use crate::{
    Cluster, Preemption,
    state::{Decision, DecisionError, Stage, Truth, View},
    workload::PreemptionJob,
};
use sched_distill_core::{
    rng::normal,
    simulation::{Occupancy, Outcome, Simulation, TaskRun},
};

impl Simulation for Simulator {
    type Scenario = Preemption;
    type Error = DecisionError;

    fn view(&self) -> Option<View<'_>> {
        let view = if self.ended { None } else { self.state.open_question() };
        view.map(|view| View { truth: Truth { jobs: &self.truth }, ..view })
    }

    fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

    fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
        self.check(decision)?;
        self.decisions += 1;
        if let Decision::Condemn { job } = decision
            && self.state.cluster.free
        {
            self.interrupt(job as usize);
            self.runs[job as usize].is_resumed = true;
            self.record(job, What::Suspended);
        }
        self.state.apply(decision);
        self.pass();
        Ok(())
    }

    /// Events are arrivals, ends of the parts of loading, ends of computing and saving, failures and repairs, and checks.
    fn outcome(&self) -> Option<Outcome> {
        self.ended.then(|| self.ending())
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.job.arrival_ms).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        let gpu_ms = |job: &PreemptionJob| job.epochs * job.epoch_ms * f64::from(job.gpus);
        self.runs.iter().map(|run| gpu_ms(&run.job)).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        self.runs.get(job as usize).map(|run| run.completed_ms).filter(|ms| !ms.is_nan())
    }

    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        self.waited(from_ms, to_ms)
    }

    fn lanes(&self) -> u32 {
        self.state.cluster.gpus()
    }

    fn record_timeline(&mut self) {
        let Cluster { nodes, node_gpus, .. } = *self.state.cluster;
        self.timeline.get_or_insert_with(|| Occupancy::new(nodes, node_gpus));
    }

    /// A lane per GPU (GPUs of a node × node + GPU); part 0 is computing, 1 loading and saving.
    fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], Occupancy::runs)
    }
}

impl Simulator {
    /// Lets time pass until a question is open or nothing is left to happen.
    pub(super) fn pass(&mut self) {
        loop {
            self.take_note();
            if self.state.open {
                return;
            }
            if !self.next_moment() {
                self.ended = true;
                return;
            }
            self.state.open();
            self.state.close_if_done();
        }
    }

    /// Lets jobs load that were placed, and plans anew what becomes of those that were condemned or pardoned.
    fn take_note(&mut self) {
        for place in 0..self.state.touched.len() {
            let job = self.state.touched[place];
            if self.state.jobs[job as usize].stage == Stage::Computing {
                self.plan(job as usize);
            }
        }
        self.state.touched.clear();
        for place in 0..self.state.begun.len() {
            let job = self.state.begun[place];
            let (index, starts) = (job as usize, u64::from(self.state.jobs[job as usize].starts));
            let noise = self.state.cluster.start_noise;
            // Starts are counted when they have begun.
            let slow = if noise > 0.0 { (noise * normal(&[self.luck, job.into(), starts - 1])).exp() } else { 1.0 };
            self.runs[index].slow = slow;
            self.runs[index].phase = Phase::Container;
            self.record(job, What::Begins);
            let container_ms = self.typical_ms(index, |model| model.container_ms) * slow;
            self.wait_or_go_on(index, container_ms);
        }
        self.state.begun.clear();
        self.state.transfers = self.storage.count();
    }

    fn typical_ms(&self, index: usize, of: fn(&crate::Model) -> f64) -> f64 {
        of(&self.state.cluster.models[self.state.jobs[index].model as usize])
    }

    /// The present part of a job's loading takes so long.
    fn wait_or_go_on(&mut self, index: usize, ms: f64) {
        match ms > 0.0 {
            true => self.queue.schedule(index as u32, self.state.time_ms + ms),
            false => self.load_on(index),
        }
    }

    /// The present part of a job's loading is over.
    fn load_on(&mut self, index: usize) {
        match self.runs[index].phase {
            Phase::Container => {
                self.runs[index].phase = Phase::Transfer;
                match self.state.to_load_gb(index) {
                    gb if gb > 0.0 => self.storage.begin(index as u32, gb),
                    _ => self.load_on(index),
                }
            }
            Phase::Transfer => {
                self.state.hold_data(index);
                self.runs[index].phase = Phase::Warm;
                let warm_ms = self.typical_ms(index, |model| model.warm_ms) * self.runs[index].slow;
                self.wait_or_go_on(index, warm_ms);
            }
            Phase::Warm | Phase::Other => self.compute(index),
        }
    }

    /// A job has loaded and computes from now on.
    fn compute(&mut self, index: usize) {
        let (job, run, now) = (&self.state.jobs[index], &mut self.runs[index], self.state.time_ms);
        run.phase = Phase::Other;
        if run.is_resumed {
            run.lost_ms += f64::from(job.gpus) * (now - job.since_ms);
        }
        let slow = self.state.cluster.slowdown(job.gpus, job.nodes.len());
        let pace = 1.0 / (slow * run.job.epoch_ms);
        self.state.compute(index, pace);
        self.record(index as u32, What::Computes);
        self.plan(index);
    }

    /// When a job that computes stops: when it is complete, or at the end of its epoch if it is condemned.
    fn plan(&mut self, index: usize) {
        let job = &self.state.jobs[index];
        let until = self.last_epoch(index);
        self.queue.schedule(index as u32, job.since_ms + (until - job.done) / job.pace);
    }

    /// Epochs that a job that computes will have done when it stops.
    fn last_epoch(&self, index: usize) -> f64 {
        let (job, epochs) = (&self.state.jobs[index], self.runs[index].job.epochs);
        match job.condemned {
            true => (job.whole_at(self.state.time_ms) + 1.0).min(epochs),
            false => epochs,
        }
    }

    /// What a job is doing comes to an end before its time: it loses its GPUs.
    pub(super) fn interrupt(&mut self, index: usize) {
        let (job, run, now) = (&self.state.jobs[index], &mut self.runs[index], self.state.time_ms);
        let lost_ms = f64::from(job.gpus) * (now - job.since_ms);
        match job.stage {
            Stage::Computing => {
                run.computed_ms += now - job.since_ms;
                self.computed.push((job.since_ms, now));
            }
            Stage::Loading if run.is_resumed => run.lost_ms += lost_ms,
            Stage::Saving => run.lost_ms += lost_ms,
            _ => {}
        }
        match run.phase == Phase::Transfer || job.stage == Stage::Saving {
            true => self.storage.cancel(index as u32),
            false => self.queue.schedule(index as u32, f64::INFINITY),
        }
        (run.phase, run.is_resumed) = (Phase::Other, false);
    }

    /// Goes on to the next moment; `false` if there is none.
    fn next_moment(&mut self) -> bool {
        if self.complete as usize == self.runs.len() || self.bound.is_passed(self.events) {
            return false;
        }
        let state = &self.state;
        let (arrived, nothing_goes_on) = (state.jobs.arrived as usize, state.busy.is_empty());
        let arrival_ms = self.runs.get(arrived).map(|run| run.job.arrival_ms);
        let waits = !state.waiting.is_empty();
        let asks = if state.cluster.free { waits || !nothing_goes_on } else { waits && !nothing_goes_on };
        // Who decides at checks only, where preemption is free, is still asked at one.
        let was_asked = !state.cluster.free || self.was_check;
        if arrival_ms.is_none() && nothing_goes_on && was_asked && !state.node_up.contains(&false) {
            return false;
        }
        let check_ms = asks.then(|| {
            let every_ms = state.cluster.check_ms;
            let next_ms = ((state.time_ms / every_ms).floor() + 1.0) * every_ms;
            // Rounding may have it that the check that is now is yet to come.
            if next_ms > state.time_ms { next_ms } else { next_ms + every_ms }
        });
        let own_ms = self.queue.next_time().filter(|ms| ms.is_finite());
        let transfer_ms = self.storage.next_ms(&self.state.cluster);
        let node_ms = self.node_events.next_time();
        let all = [arrival_ms, own_ms, transfer_ms, node_ms, check_ms];
        let Some(time_ms) = all.into_iter().flatten().reduce(f64::min) else { return false };
        self.storage.pass(time_ms, &self.state.cluster);
        self.idle.pass(self.idles_beside_work(), self.state.time_ms, time_ms);
        self.state.time_ms = time_ms;
        while let Some(run) = self.runs.get(self.state.jobs.arrived as usize)
            && run.job.arrival_ms <= time_ms
        {
            self.state.arrive(run.job.arrival_ms);
            self.events += 1;
        }
        self.own_events(time_ms);
        self.node_events(time_ms);
        self.was_check = check_ms == Some(time_ms);
        self.events += u64::from(self.was_check);
        self.state.transfers = self.storage.count();
        true
    }

    /// Whether a waiting job fits on unreserved GPUs that are more than half of all.
    fn idles_beside_work(&self) -> bool {
        let (state, half) = (&self.state, self.state.cluster.gpus() / 2);
        // Mostly it ends here.
        if state.free <= half || state.waiting.is_empty() {
            return false;
        }
        let room = state.unreserved();
        room > half && state.waiting.iter().any(|&job| state.gpus(job) <= room)
    }

    /// What jobs do by themselves at a moment.
    fn own_events(&mut self, time_ms: f64) {
        loop {
            if self.queue.next_time().is_some_and(|next| next <= time_ms)
                && let Some((_, job)) = self.queue.pop()
            {
                self.events += 1;
                match self.state.jobs[job as usize].stage {
                    Stage::Computing => self.stop(job as usize),
                    _ => self.load_on(job as usize),
                }
            } else if let Some(job) = self.storage.pop() {
                self.events += 1;
                match self.state.jobs[job as usize].stage {
                    Stage::Saving => self.suspended(job as usize),
                    _ => self.load_on(job as usize),
                }
            } else {
                return;
            }
        }
    }

    /// A job that computes is complete, or at the end of the epoch at which it was condemned to stop.
    fn stop(&mut self, index: usize) {
        let (job, now) = (&self.state.jobs[index], self.state.time_ms);
        // Where it stops was planned with the epoch that was under way then.
        let done = (job.done + (now - job.since_ms) * job.pace).round().min(self.runs[index].job.epochs);
        self.runs[index].computed_ms += now - job.since_ms;
        self.computed.push((job.since_ms, now));
        if done >= self.runs[index].job.epochs {
            self.runs[index].completed_ms = now;
            self.complete += 1;
            self.record(index as u32, What::Ends);
            self.state.release(index, Stage::Gone, done);
            return;
        }
        self.record(index as u32, What::Saves);
        self.state.save(index, done);
        match self.state.jobs[index].checkpoint_gb {
            gb if gb > 0.0 => self.storage.begin(index as u32, gb),
            _ => self.finish_saving(index),
        }
    }

    /// A job has been saved and waits again.
    fn suspended(&mut self, index: usize) {
        let job = &self.state.jobs[index];
        self.runs[index].lost_ms += f64::from(job.gpus) * (self.state.time_ms - job.since_ms);
        self.finish_saving(index);
    }

    fn finish_saving(&mut self, index: usize) {
        self.runs[index].is_resumed = true;
        self.record(index as u32, What::Suspended);
        let done = self.state.jobs[index].done;
        self.state.release(index, Stage::Waiting, done);
    }
}
