//! What happens at a step, and between two slots.

use super::{
    record::SlotRecord,
    state::{Decision, NONE, Placement, SimError, Simulator, Task},
};
use crate::workload::NodeShare;
use sched_distill_core::rng::{hash, unit};

/// Slots without progress after which an episode has stalled.
const PATIENCE: u32 = 1000;

impl Simulator {
    /// Answers the open question.
    ///
    /// # Errors
    ///
    /// An illegal decision; the state is then unchanged.
    pub fn step(&mut self, decision: Decision) -> Result<(), SimError> {
        self.validate(decision)?;
        self.decisions += 1;
        match decision {
            Decision::Close => self.close_slot(),
            Decision::Add { job, task, node } => self.place(job, task, node.unwrap_or(self.nodes.head())),
        }
        Ok(())
    }

    /// Checks a decision without carrying it out.
    ///
    /// # Errors
    ///
    /// What [`Simulator::step`] would refuse.
    pub fn validate(&self, decision: Decision) -> Result<(), SimError> {
        if self.ended {
            return Err(SimError::Ended);
        }
        let Decision::Add { job, task, node } = decision else { return Ok(()) };
        let (slot, nodes) = (self.slot, self.nodes.len());
        if job >= self.arrived || !self.states[job as usize].completion.is_nan() {
            let allowed: Vec<String> = self.live.iter().take(8).map(ToString::to_string).collect();
            let more = if self.live.len() > 8 { ", ..." } else { "" };
            return Err(SimError::NotLive { slot, job, allowed: format!("{}{more}", allowed.join(", ")) });
        }
        if !self.can_take(job, task) {
            let state = &self.states[job as usize];
            return Err(SimError::AtMaximum {
                slot,
                job,
                task,
                workers: state.workers,
                servers: state.servers,
                max_workers: self.cluster.max_workers,
                max_servers: self.cluster.max_servers,
            });
        }
        let node = node.unwrap_or(self.nodes.head());
        if node >= nodes {
            return Err(SimError::NoNode { slot, job, task, node, nodes });
        }
        let (free, asked) = (self.node_free(node), task.request(self.job_type(job)));
        if asked[0] > free[0] || asked[1] > free[1] {
            return Err(SimError::NoRoom { slot, job, task, node, free, asked });
        }
        Ok(())
    }

    fn place(&mut self, job: u32, task: Task, node: u32) {
        let ([workers, servers], asked) = (task.counts(), task.request(self.job_type(job)));
        self.nodes.take(node, asked);
        self.used = [self.used[0] + asked[0], self.used[1] + asked[1]];
        let capacity = self.capacity;
        let state = &mut self.states[job as usize];
        state.workers += workers;
        state.servers += servers;
        state.used = [state.used[0] + asked[0], state.used[1] + asked[1]];
        // Nodes without GPUs have none to share.
        let share = |resource: usize| f64::from(state.used[resource]) / f64::from(capacity[resource].max(1));
        state.dominant_share = share(0).max(share(1));
        let tasks = [(workers, Task::Worker), (servers, Task::Server)];
        self.placements.extend(tasks.iter().filter(|t| t.0 > 0).map(|&(_, task)| Placement { job, task, node }));
        if self.cluster.speed.by_placement() {
            self.add_share(job, NodeShare { node, workers, servers });
        }
    }

    /// Adds tasks to the job's entry of their node, or makes one in front of the others.
    fn add_share(&mut self, job: u32, new: NodeShare) {
        let first = self.states[job as usize].first_share;
        let mut at = first;
        while let Some((share, next)) = self.shares.get_mut(at as usize) {
            if share.node == new.node {
                share.workers += new.workers;
                share.servers += new.servers;
                return;
            }
            at = *next;
        }
        self.states[job as usize].first_share = self.shares.len() as u32;
        self.shares.push((new, first));
    }

    /// Lets the slot pass: progress, completions and reward, then release of everything, and the next slot's arrivals.
    fn close_slot(&mut self) {
        let mut record = self.records.is_some().then(|| SlotRecord::before(self));
        let (mut reward, mut progressed) = (0.0, false);
        for place in 0..self.live.len() {
            let job = self.live[place];
            let speed = self.speed_with(job, [0; 2]);
            if speed <= 0.0 {
                continue;
            }
            progressed = true;
            let wanted = &self.jobs[job as usize];
            let (possible, left) = (speed * self.luck(job), wanted.real_epochs - self.states[job as usize].progress);
            let state = &mut self.states[job as usize];
            if possible >= left {
                state.completion = f64::from(self.slot) + left / possible;
                state.progress = wanted.real_epochs;
            } else {
                state.progress += possible;
            }
            reward += possible.min(left) / wanted.epochs;
        }
        let share = f64::from(self.used[0] + self.used[1]) / f64::from(self.capacity[0] + self.capacity[1]);
        self.busy += share;
        self.last_reward = reward;
        self.total_reward += reward;
        if let (Some(records), Some(mut record)) = (&mut self.records, record.take()) {
            record.finish(&self.states, reward);
            records.push(record);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.push(self.slot, &self.placements, &self.states);
        }
        self.release();
        let states = &self.states;
        self.live.retain(|&job| states[job as usize].completion.is_nan());
        self.slot += 1;
        let to_come = (self.arrived as usize) < self.jobs.len();
        self.stalled = if progressed || to_come { 0 } else { self.stalled + 1 };
        if self.stalled >= PATIENCE {
            self.ended = true;
        } else {
            self.open_slot();
        }
    }

    /// What the speed of a job in this slot is multiplied by: a pure function of seed, job and slot.
    fn luck(&self, job: u32) -> f64 {
        match self.cluster.speed_error {
            0.0 => 1.0,
            error => 1.0 + error * (2.0 * unit(hash(&[self.luck, u64::from(job), u64::from(self.slot)])) - 1.0),
        }
    }

    fn release(&mut self) {
        self.nodes.clear();
        self.used = [0; 2];
        self.placements.clear();
        self.shares.clear();
        for &job in &self.live {
            let state = &mut self.states[job as usize];
            (state.workers, state.servers, state.used) = (0, 0, [0; 2]);
            (state.dominant_share, state.first_share) = (0.0, NONE);
        }
    }

    /// Lets jobs arrive; passes slots without live jobs; ends the episode if no job is left.
    pub(super) fn open_slot(&mut self) {
        loop {
            while let Some(job) = self.jobs.get(self.arrived as usize)
                && job.arrival_slot <= self.slot
            {
                self.live.push(self.arrived);
                self.arrived += 1;
            }
            if !self.live.is_empty() {
                return;
            }
            match self.jobs.get(self.arrived as usize) {
                Some(next) => self.slot = next.arrival_slot,
                None => {
                    self.ended = true;
                    return;
                }
            }
        }
    }
}
