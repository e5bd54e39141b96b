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
            let Some(index) = self.jobs.index(id) else { continue };
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
        match self.one_node(id, gpus) {
            Some(node) => nodes.push((node, gpus)),
            None => self.many_nodes(id, gpus, &mut nodes),
        }
        nodes.iter().for_each(|&(node, gpus)| self.node_free[node as usize] -= gpus);
        self.jobs[index].nodes = nodes;
    }

    /// The node on which a job would be placed now, if that is one.
    pub(super) fn one_node(&self, id: u32, gpus: u32) -> Option<u32> {
        let fits = (0..).zip(&self.node_free).filter(|(_, free)| **free >= gpus);
        match self.cluster.placement {
            Placement::Packed => fits.min_by_key(|&(node, free)| (!self.caches.holds(node, id), *free)),
            Placement::MostFree => fits.max_by_key(|&(node, free)| (*free, Reverse(node))),
        }
        .map(|(node, _)| node)
    }

    /// Share of the data of a job that is placed now that it has to load: all or nothing on one node; on several as many as of the nodes
    /// with free GPUs do not hold them.
    pub(super) fn missing_share(&self, id: u32, gpus: u32) -> f64 {
        if let Some(node) = self.one_node(id, gpus) {
            return f64::from(u8::from(!self.caches.holds(node, id)));
        }
        let (mut nodes, mut missing) = (0u32, 0u32);
        for (node, _) in (0..).zip(&self.node_free).filter(|(_, free)| **free > 0) {
            nodes += 1;
            missing += u32::from(!self.caches.holds(node, id));
        }
        f64::from(missing) / f64::from(nodes.max(1))
    }

    /// Several nodes for a job, ascending, and GPUs of each.
    fn many_nodes(&mut self, id: u32, gpus: u32, nodes: &mut Vec<(u32, u32)>) {
        let packed = self.cluster.placement == Placement::Packed;
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let free = (0..).zip(&self.node_free).filter(|(_, free)| **free > 0);
        order.extend(free.map(|(node, &free)| (Reverse(free), !(packed && self.caches.holds(node, id)), node)));
        order.sort_unstable();
        let mut left = gpus;
        for &(Reverse(free), _, node) in &order {
            if left == 0 {
                break;
            }
            nodes.push((node, left.min(free)));
            left -= left.min(free);
        }
        debug_assert_eq!(left, 0, "job {id} was served though it does not fit");
        nodes.sort_unstable();
        self.order = order;
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
