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
        let (id, gpus) = (self.jobs[index].id, self.jobs[index].gpus);
        let mut nodes = std::mem::take(&mut self.jobs[index].nodes);
        self.each_node(id, gpus, |node, gpus| nodes.push((node, gpus)));
        nodes.sort_unstable();
        nodes.iter().for_each(|&(node, gpus)| self.node_free[node as usize] -= gpus);
        self.jobs[index].nodes = nodes;
    }

    /// Tells on which nodes a job would be placed now, and on how many GPUs of each.
    fn each_node(&self, id: u32, gpus: u32, mut take: impl FnMut(u32, u32)) {
        let packed = self.cluster.placement == Placement::Packed;
        let holds = |node: u32| packed && self.caches.holds(node, id);
        let all = || (0..).zip(&self.node_free).map(|(node, free)| (node, *free));
        let one = all().filter(|(_, free)| packed && *free >= gpus);
        if let Some((node, _)) = one.min_by_key(|&(node, free)| (!holds(node), free)) {
            return take(node, gpus);
        }
        // Node after node in order of these keys.
        let key = |(node, free): (u32, u32)| (free, holds(node), Reverse(node));
        let (mut left, mut last) = (gpus, (u32::MAX, true, Reverse(0)));
        while left > 0 {
            let next = all().map(|node| (key(node), node)).filter(|(key, _)| *key < last).max_by_key(|(key, _)| *key);
            let Some((key, (node, free))) = next.filter(|(_, (_, free))| *free > 0) else { return };
            take(node, left.min(free));
            (left, last) = (left.saturating_sub(free), key);
        }
    }

    /// Share of the nodes on which a job would be placed now that do not hold its data.
    pub(super) fn missing_share(&self, id: u32, gpus: u32) -> f64 {
        let (mut nodes, mut missing) = (0u32, 0u32);
        self.each_node(id, gpus, |node, _| {
            nodes += 1;
            missing += u32::from(!self.caches.holds(node, id));
        });
        f64::from(missing) / f64::from(nodes.max(1))
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
