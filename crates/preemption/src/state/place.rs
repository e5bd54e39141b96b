//! On which nodes jobs are placed.

use super::{ClusterState, Stage, insert};
use crate::Placement;
use std::cmp::Reverse;

impl ClusterState {
    /// A job gets GPUs when the questions of the moment are over.
    pub(super) fn serve(&mut self, index: usize) {
        self.enter(index, Stage::Served, false);
        self.free -= self.jobs[index].gpus;
        self.served.push(self.jobs[index].id);
    }

    /// Places the jobs that were served, in order.
    pub(super) fn begin_served(&mut self) {
        for place in 0..self.served.len() {
            let id = self.served[place];
            let Some(index) = self.index(id) else { continue };
            self.place(index);
            self.enter(index, Stage::Loading, false);
            self.jobs[index].starts += 1;
            insert(&mut self.busy, id);
            self.begun.push(id);
        }
        self.served.clear();
    }

    fn place(&mut self, index: usize) {
        let (id, mut left) = (self.jobs[index].id, self.jobs[index].gpus);
        let mut nodes = std::mem::take(&mut self.jobs[index].nodes);
        let packed = self.cluster.placement == Placement::Packed;
        let holds = |node: u32| packed && self.caches.holds(node, id);
        let all = || (0..).zip(&self.node_free).map(|(node, free)| (node, *free));
        let one = all().filter(|(_, free)| packed && *free >= left);
        if let Some((node, _)) = one.min_by_key(|&(node, free)| (!holds(node), free)) {
            nodes.push((node, left));
            left = 0;
        }
        while left > 0 {
            // Of equals the last is taken, which is the one of the lowest number.
            let others = all().filter(|(node, _)| nodes.iter().all(|(taken, _)| taken != node));
            let Some((node, free)) = others.max_by_key(|&(node, free)| (free, holds(node), Reverse(node))) else { break };
            debug_assert!(free > 0, "job {id} was served though it does not fit");
            nodes.push((node, left.min(free)));
            left -= left.min(free);
        }
        nodes.sort_unstable();
        nodes.iter().for_each(|&(node, gpus)| self.node_free[node as usize] -= gpus);
        self.jobs[index].nodes = nodes;
    }

    /// Gives a job's GPUs back.
    pub(super) fn give_back(&mut self, index: usize) {
        for &(node, gpus) in &self.jobs[index].nodes {
            self.node_free[node as usize] += gpus;
            self.free += gpus;
        }
        self.jobs[index].nodes.clear();
    }
}
