//! What happens at a step, and between two slots.

use super::{
    record::{SlotRecord, Timeline},
    state::{JobRun, Simulator},
};
use crate::{
    Training,
    state::{Decision, DecisionError, View},
};
use sched_distill_core::{
    rng::{hash, unit},
    simulation::{Outcome, Simulation, TaskRun},
};

/// Slots without progress after which an episode has stalled.
const PATIENCE: u32 = 1000;

impl Simulation for Simulator {
    type Scenario = Training;
    type Error = DecisionError;

    fn view(&self) -> Option<View<'_>> {
        (!self.ended).then_some(View { state: &self.state })
    }

    fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

    fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
        self.check(decision)?;
        self.decisions += 1;
        match decision {
            Decision::Close => self.close_slot(),
            // Numbers of jobs are their places.
            Decision::Add { job, task, node } => {
                self.state.place(job as usize, task, node.unwrap_or(self.state.head()));
            }
        }
        Ok(())
    }

    /// Events are slots from slot 0 on; utilisation is the mean over slots from the first arrival on of the share of all slots
    /// of CPU and GPU in use.
    fn outcome(&self) -> Option<Outcome> {
        self.ended.then(|| self.ending())
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.state.jobs.iter().map(|j| f64::from(j.arrival_slot) * self.state.cluster.slot_ms()).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        let cluster = &self.state.cluster;
        let alone = |(run, kind): (&JobRun, u8)| run.real_epochs / cluster.speed.best(kind) * cluster.slot_ms();
        self.runs.iter().zip(self.state.jobs.iter().map(|job| job.kind)).map(alone).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        let slots = self.runs.get(job as usize)?.completion;
        (!slots.is_nan()).then(|| slots * self.state.cluster.slot_ms())
    }

    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        self.job_time_ms(from_ms, to_ms)
    }

    fn lanes(&self) -> u32 {
        self.state.cluster.places() * self.state.cluster.nodes
    }

    fn record_timeline(&mut self) {
        self.timeline.get_or_insert_with(|| Timeline::new(&self.state.cluster));
    }

    /// A lane per place of a node (node · places + place, see [`crate::cluster::TrainingCluster::places`]); part 0 is workers, 1 parameter
    /// servers. Tasks of the open slot are not in it.
    fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], Timeline::runs)
    }
}

impl Simulator {
    /// Lets the slot pass: progress, completions and reward, then release of everything, and the next slot's arrivals.
    fn close_slot(&mut self) {
        let mut record = self.records.is_some().then(|| SlotRecord::before(self));
        let (mut reward, mut progressed) = (0.0, false);
        for place in 0..self.state.live.len() {
            let job = self.state.live[place] as usize;
            let (declared, run) = (&self.state.jobs[job], &self.runs[job]);
            let speed = self.state.speed_with(declared, [0; 2]);
            if speed <= 0.0 {
                continue;
            }
            progressed = true;
            let (possible, left) = (speed * self.luck(declared.id), run.real_epochs - declared.progress);
            let (declared, run) = (&mut self.state.jobs[job], &mut self.runs[job]);
            if possible >= left {
                run.completion = f64::from(self.state.slot) + left / possible;
                declared.progress = run.real_epochs;
            } else {
                declared.progress += possible;
            }
            reward += possible.min(left) / declared.epochs;
        }
        let share = f64::from(self.state.used[0] + self.state.used[1])
            / f64::from(self.state.capacity[0] + self.state.capacity[1]);
        self.busy += share;
        let slot_ms = self.state.cluster.slot_ms();
        let [start_ms, end_ms] = [self.state.slot, self.state.slot + 1].map(|slot| f64::from(slot) * slot_ms);
        self.idle.pass(share < 0.5 && View { state: &self.state }.could_start(), start_ms, end_ms);
        self.last_reward = reward;
        self.total_reward += reward;
        if let (Some(records), Some(mut record)) = (&mut self.records, record.take()) {
            record.finish(&self.state.jobs, reward);
            records.push(record);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.push(self.state.slot, &self.state.placements, &self.runs);
        }
        self.state.release();
        let runs = &self.runs;
        self.state.live.retain(|&job| runs[job as usize].completion.is_nan());
        self.state.slot += 1;
        self.passed += 1;
        let to_come = (self.state.jobs.arrived as usize) < self.runs.len();
        self.stalled = if progressed || to_come { 0 } else { self.stalled + 1 };
        if self.stalled >= PATIENCE || self.bound.is_passed(self.passed) {
            self.ended = true;
        } else {
            self.open_slot();
        }
    }

    /// What the speed of a job in this slot is multiplied by: a pure function of seed, job and slot.
    fn luck(&self, job: u32) -> f64 {
        match self.state.cluster.speed_error {
            0.0 => 1.0,
            error => 1.0 + error * (2.0 * unit(hash(&[self.luck, u64::from(job), u64::from(self.state.slot)])) - 1.0),
        }
    }

    /// Lets jobs arrive; passes slots without live jobs; ends the episode if no job is left.
    pub(super) fn open_slot(&mut self) {
        let state = &mut self.state;
        loop {
            while let Some(job) = state.jobs.get(state.jobs.arrived as usize)
                && job.arrival_slot <= state.slot
            {
                state.live.push(state.jobs.arrived);
                state.jobs.arrived += 1;
            }
            if !state.live.is_empty() {
                return;
            }
            match state.jobs.get(state.jobs.arrived as usize) {
                Some(next) => state.slot = next.arrival_slot,
                None => {
                    self.ended = true;
                    return;
                }
            }
        }
    }
}
