//! What happened, for schedule pictures and tests.

use super::state::Simulator;
use sched_distill_core::simulation::TaskRun;

/// What happened to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was placed and loads.
    Begins,
    /// It computes.
    Computes,
    /// It writes its checkpoint.
    Saves,
    /// It was saved and waits again.
    Suspended,
    /// One of its nodes failed, and it waits again.
    Failed,
    /// It is complete.
    Ends,
}

/// A change in a job's life.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, ms.
    pub time_ms: f64,
    /// The job.
    pub job: u32,
    /// What happened.
    pub what: What,
    /// Its nodes and GPUs on each, if it begins.
    pub nodes: Vec<(u32, u32)>,
}

impl Simulator {
    /// Keeps the runs of the rest of the episode for [`Simulator::task_runs`].
    pub fn record_timeline(&mut self) {
        let cluster = &self.state.cluster;
        let lanes = vec![None; cluster.gpus() as usize];
        self.timeline.get_or_insert_with(|| Timeline { node_gpus: cluster.node_gpus, lanes, runs: Vec::new() });
    }

    /// Runs in order of their start, a lane per GPU (GPUs of a node × node + GPU); part 0 is computing, 1 loading and saving. Empty
    /// unless [`Simulator::record_timeline`] was called.
    #[must_use]
    pub fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], |t| &t.runs)
    }

    /// Keeps the changes of the rest of the episode for [`Simulator::changes`].
    pub fn record_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// What happened to jobs, in order, if [`Simulator::record_changes`] was called.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }

    pub(super) fn record(&mut self, job: u32, what: What) {
        let (time_ms, nodes) = (self.state.time_ms, &self.state.jobs[job as usize].nodes);
        if let Some(changes) = &mut self.changes {
            let nodes = if what == What::Begins { nodes.clone() } else { Vec::new() };
            changes.push(Change { time_ms, job, what, nodes });
        }
        if let Some(timeline) = &mut self.timeline {
            match what {
                What::Begins => timeline.begin(job, nodes, time_ms),
                What::Computes => timeline.turn(job, 0, time_ms),
                What::Saves => timeline.turn(job, 1, time_ms),
                What::Suspended | What::Failed | What::Ends => timeline.end(job, time_ms),
            }
        }
    }
}

/// Runs, and what is on each GPU now.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    node_gpus: u32,
    /// By lane: the job on it and the place of its run.
    lanes: Vec<Option<(u32, usize)>>,
    runs: Vec<TaskRun>,
}

impl Timeline {
    /// Puts a job on the first free GPUs of its nodes.
    fn begin(&mut self, job: u32, nodes: &[(u32, u32)], time_ms: f64) {
        for &(node, gpus) in nodes {
            let first = (node * self.node_gpus) as usize;
            let free = (first..first + self.node_gpus as usize).filter(|&lane| self.lanes[lane].is_none());
            for lane in free.take(gpus as usize).collect::<Vec<_>>() {
                self.put(lane, job, 1, time_ms);
            }
        }
    }

    fn put(&mut self, lane: usize, job: u32, part: u32, time_ms: f64) {
        self.lanes[lane] = Some((job, self.runs.len()));
        self.runs.push(TaskRun { lane: lane as u32, job, part, start_ms: time_ms, end_ms: f64::INFINITY });
    }

    /// A job goes on with another part.
    fn turn(&mut self, job: u32, part: u32, time_ms: f64) {
        for lane in 0..self.lanes.len() {
            if let Some((_, run)) = self.lanes[lane].take_if(|(on, _)| *on == job) {
                self.runs[run].end_ms = time_ms;
                self.put(lane, job, part, time_ms);
            }
        }
    }

    /// Takes a job off its GPUs.
    fn end(&mut self, job: u32, time_ms: f64) {
        for lane in &mut self.lanes {
            if let Some((_, run)) = lane.take_if(|(on, _)| *on == job) {
                self.runs[run].end_ms = time_ms;
            }
        }
    }
}
