//! What happened slot by slot, for schedule pictures and tests.

use super::state::{JobRun, Simulator};
use crate::{
    cluster::TrainingCluster,
    state::{Job, Placement, Task},
};
use sched_distill_core::simulation::TaskRun;

/// What a live job had and did in a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobSlot {
    /// The job.
    pub job: u32,
    /// Its workers.
    pub workers: u32,
    /// Its parameter servers.
    pub servers: u32,
    /// Epochs done by the end of the slot.
    pub progress: f64,
}

/// What happened in a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotRecord {
    /// The slot.
    pub slot: u32,
    /// The live jobs in order of arrival, those without tasks included.
    pub jobs: Vec<JobSlot>,
    /// Tasks in the order in which they were placed.
    pub tasks: Vec<Placement>,
    /// Over the jobs, the sum of epochs done in the slot by epochs believed.
    pub reward: f64,
    /// Share of the cluster's CPU and GPU slots in use.
    pub utilisation: [f64; 2],
}

impl SlotRecord {
    /// The record of a slot about to pass.
    pub(super) fn before(sim: &Simulator) -> Self {
        let job = |&job: &u32| {
            let &Job { workers, servers, progress, .. } = &sim.state.jobs[job as usize];
            JobSlot { job, workers, servers, progress }
        };
        let share =
            |resource: usize| f64::from(sim.state.used[resource]) / f64::from(sim.state.capacity[resource].max(1));
        Self {
            slot: sim.state.slot,
            jobs: sim.state.live.iter().map(job).collect(),
            tasks: sim.state.placements.clone(),
            reward: 0.0,
            utilisation: [share(0), share(1)],
        }
    }

    /// Enters what the slot brought.
    pub(super) fn finish(&mut self, jobs: &[Job], reward: f64) {
        self.reward = reward;
        for job in &mut self.jobs {
            job.progress = jobs[job.job as usize].progress;
        }
    }
}

impl Simulator {
    /// Keeps the records of the rest of the episode for [`Simulator::slot_records`].
    pub fn record_slots(&mut self) {
        self.records.get_or_insert_default();
    }

    /// Records of the slots that have passed with live jobs, if [`Simulator::record_slots`] was called.
    #[must_use]
    pub fn slot_records(&self) -> &[SlotRecord] {
        self.records.as_deref().unwrap_or_default()
    }
}

/// Task runs, and per lane the one that the next slot may prolong.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    places: u32,
    slot_ms: f64,
    runs: Vec<TaskRun>,
    /// By lane: the slot of its last task and the place of its run.
    last: Vec<Option<(u32, usize)>>,
    /// Tasks to place, for a moment.
    order: Vec<(u32, u32, u32)>,
}

impl Timeline {
    pub(super) fn new(cluster: &TrainingCluster) -> Self {
        let (places, slot_ms) = (cluster.places(), cluster.slot_ms());
        let last = vec![None; (places * cluster.nodes) as usize];
        Self { places, slot_ms, runs: Vec::new(), last, order: Vec::new() }
    }

    pub(super) fn runs(&self) -> &[TaskRun] {
        &self.runs
    }

    /// Takes in the tasks of a slot that has passed. On a node, tasks keep the places that the same part of their job had in the
    /// slot before, as far as they can.
    pub(super) fn push(&mut self, slot: u32, placements: &[Placement], runs: &[JobRun]) {
        let start_ms = f64::from(slot) * self.slot_ms;
        let part = |task: Task| u32::from(task == Task::Server);
        self.order.clear();
        self.order.extend(placements.iter().map(|p| (p.node, p.job, part(p.task))));
        self.order.sort_unstable();
        let end_ms = |job: u32| match runs[job as usize].completion {
            completion if completion.is_nan() => start_ms + self.slot_ms,
            completion => completion * self.slot_ms,
        };
        for tasks in self.order.chunk_by_mut(|a, b| a.0 == b.0) {
            let lanes = tasks[0].0 * self.places..(tasks[0].0 + 1) * self.places;
            // Those that go on at their place first.
            let mut new = 0;
            for at in 0..tasks.len() {
                let (_, job, part) = tasks[at];
                let goes_on = lanes.clone().find_map(|lane| {
                    let (last, run) = self.last[lane as usize]?;
                    (last + 1 == slot && (self.runs[run].job, self.runs[run].part) == (job, part))
                        .then_some((lane, run))
                });
                match goes_on {
                    Some((lane, run)) => {
                        self.runs[run].end_ms = end_ms(job);
                        self.last[lane as usize] = Some((slot, run));
                    }
                    None => {
                        tasks.swap(new, at);
                        new += 1;
                    }
                }
            }
            let mut free = lanes.filter(|&lane| self.last[lane as usize].is_none_or(|(last, _)| last != slot));
            let mut taken = Vec::with_capacity(new);
            for &(_, job, part) in &tasks[..new] {
                // A node never holds more tasks than places, as each takes at least the smallest request.
                let Some(lane) = free.next() else { break };
                taken.push((lane, self.runs.len()));
                self.runs.push(TaskRun { lane, job, part, start_ms, end_ms: end_ms(job) });
            }
            drop(free);
            for (lane, run) in taken {
                self.last[lane as usize] = Some((slot, run));
            }
        }
    }
}
