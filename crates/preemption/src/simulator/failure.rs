//! Nodes that fail and come back.

use super::{Simulator, What};
use sched_distill_core::rng::{hash, unit};

/// What draws of failures are keyed by, besides the episode.
const LUCK: u64 = 0x4641_494c;

impl Simulator {
    /// Schedules when each node fails first, where nodes fail.
    pub(super) fn schedule_failures(&mut self) {
        self.failure_luck = hash(&[self.seed, LUCK]);
        (0..self.state.cluster.nodes).for_each(|node| self.schedule_failure(node));
    }

    fn schedule_failure(&mut self, node: u32) {
        let Some(mtbf_ms) = self.state.cluster.mtbf_ms else { return };
        let times = &mut self.failures_of[node as usize];
        let draw = unit(hash(&[self.failure_luck, node.into(), *times, 0]));
        *times += 1;
        self.node_events.schedule(node, self.state.time_ms - (1.0 - draw).ln() * mtbf_ms);
    }

    /// Nodes fail and come back at a moment.
    pub(super) fn node_events(&mut self, time_ms: f64) {
        while self.node_events.next_time().is_some_and(|next| next <= time_ms) {
            let Some((_, node)) = self.node_events.pop() else { return };
            self.events += 1;
            if self.state.node_up[node as usize] {
                self.fail(node);
                self.node_events.schedule(node, time_ms + self.state.cluster.repair_ms);
            } else {
                self.state.repair(node);
                self.schedule_failure(node);
            }
        }
    }

    fn fail(&mut self, node: u32) {
        let mut hit = std::mem::take(&mut self.hit);
        // What goes on at the time must be known to be given up.
        for place in 0..self.state.busy.len() {
            let job = self.state.busy[place];
            if self.state.jobs[job as usize].nodes.iter().any(|(on, _)| *on == node) {
                self.interrupt(job as usize);
            }
        }
        self.state.fail(node, &mut hit);
        for &job in &hit {
            self.record(job, What::Failed);
        }
        self.hit = hit;
    }
}
