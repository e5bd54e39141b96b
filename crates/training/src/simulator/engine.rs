//! What happens at a step, and between two slots.

use super::{record::SlotRecord, state::Simulator};
use crate::state::{Decision, DecisionError, View};
use sched_distill_core::rng::{hash, unit};

/// Slots without progress after which an episode has stalled.
const PATIENCE: u32 = 1000;

impl Simulator {
    /// Answers the open question.
    ///
    /// # Errors
    ///
    /// An illegal decision; the state is then unchanged.
    pub fn step(&mut self, decision: Decision) -> Result<(), DecisionError> {
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

    /// Checks a decision without carrying it out.
    ///
    /// # Errors
    ///
    /// What [`Simulator::step`] would refuse.
    pub fn check(&self, decision: Decision) -> Result<(), DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)
    }

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
