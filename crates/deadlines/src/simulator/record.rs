//! What happened, for schedule pictures and tests.

use super::state::Simulator;
use crate::state::{Class, Held};
use sched_distill_core::simulation::TaskRun;

/// What happened to a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It began, or goes on with another number of cores.
    Runs {
        /// When, ms.
        time_ms: f64,
        /// The job.
        job: u32,
        /// Its node.
        node: u32,
        /// Cores that it holds.
        cores: u32,
        /// Whether it uses all of them.
        elastic: bool,
    },
    /// It is complete.
    Ends {
        /// When, ms.
        time_ms: f64,
        /// The job.
        job: u32,
    },
}

impl Simulator {
    /// Keeps the runs of the rest of the episode for [`Simulator::task_runs`].
    pub fn record_timeline(&mut self) {
        let cluster = &self.state.cluster;
        let lanes = vec![None; cluster.cores() as usize];
        self.timeline.get_or_insert_with(|| Timeline { node_cores: cluster.node_cores, lanes, runs: Vec::new() });
    }

    /// Runs in order of their start, a lane per core (node · cores of a node + core); part 0 is jobs whose deadline counts, 1 best
    /// effort. Empty unless [`Simulator::record_timeline`] was called.
    #[must_use]
    pub fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], |t| &t.runs)
    }

    /// Keeps the changes of the rest of the episode for [`Simulator::changes`].
    pub fn record_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Starts, resizings and ends in order, if [`Simulator::record_changes`] was called.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }
}

/// Runs, and what is on each core now.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    node_cores: u32,
    /// By lane: the job on it and the place of its run.
    lanes: Vec<Option<(u32, usize)>>,
    runs: Vec<TaskRun>,
}

impl Timeline {
    fn of_node(&self, node: u32) -> std::ops::Range<usize> {
        let first = (node * self.node_cores) as usize;
        first..first + self.node_cores as usize
    }

    /// Puts a job on the first free cores of its node.
    pub(super) fn begin(&mut self, job: u32, held: &Held, class: Class) {
        let mut left = held.cores;
        for lane in self.of_node(held.node) {
            if left > 0 && self.lanes[lane].is_none() {
                self.lanes[lane] = Some((job, self.runs.len()));
                let start_ms = held.since_ms;
                let part = u32::from(class == Class::BestEffort);
                self.runs.push(TaskRun { lane: lane as u32, job, part, start_ms, end_ms: f64::INFINITY });
                left -= 1;
            }
        }
        debug_assert_eq!(left, 0, "node {} has too few free cores", held.node);
    }

    /// Takes a job off its cores.
    pub(super) fn end(&mut self, job: u32, held: &Held, time_ms: f64) {
        for lane in self.of_node(held.node) {
            if let Some((_, run)) = self.lanes[lane].take_if(|(on, _)| *on == job) {
                self.runs[run].end_ms = time_ms;
            }
        }
    }
}
