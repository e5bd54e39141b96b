//! Which node holds whose data.

use super::{ClusterState, Job};

/// What nodes hold: jobs and GB, the least recently used first.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    nodes: Vec<Vec<(u32, f64)>>,
}

impl Caches {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes: vec![Vec::new(); nodes] }
    }

    /// Whether a node holds a job's data.
    pub(super) fn holds(&self, node: u32, job: u32) -> bool {
        self.nodes[node as usize].iter().any(|(other, _)| *other == job)
    }

    /// Jobs whose data a node holds, the least recently used first.
    pub(super) fn of(&self, node: usize) -> impl Iterator<Item = u32> {
        self.nodes[node].iter().map(|(job, _)| *job)
    }
}

impl ClusterState {
    /// Every node of a job holds its data from now on, as those used last, as far as there is room.
    pub(crate) fn hold_data(&mut self, index: usize) {
        for place in 0..self.jobs[index].nodes.len() {
            let (node, _) = self.jobs[index].nodes[place];
            self.hold(node, index);
        }
    }

    /// A node holds a job's data.
    pub(super) fn hold(&mut self, node: u32, index: usize) {
        let Job { id, data_gb, .. } = self.jobs[index];
        let held = &mut self.caches.nodes[node as usize];
        match held.iter().position(|(other, _)| *other == id) {
            Some(place) => held[place..].rotate_left(1),
            None => {
                held.push((id, data_gb));
                self.jobs[index].cached_on += 1;
            }
        }
        while self.caches.nodes[node as usize].iter().map(|(_, gb)| gb).sum::<f64>() > self.cluster.cache_gb {
            let (oldest, _) = self.caches.nodes[node as usize].remove(0);
            self.uncache(oldest);
        }
    }

    fn uncache(&mut self, job: u32) {
        if let Some(index) = self.jobs.index(job) {
            self.jobs[index].cached_on -= 1;
        }
    }

    /// No node holds a job's data any more.
    pub(super) fn forget_data(&mut self, index: usize) {
        let Job { id, cached_on, .. } = self.jobs[index];
        if cached_on > 0 {
            self.caches.nodes.iter_mut().for_each(|held| held.retain(|(other, _)| *other != id));
            self.jobs[index].cached_on = 0;
        }
    }

    /// A node holds nothing any more.
    pub(super) fn forget_node(&mut self, node: u32) {
        while let Some((job, _)) = self.caches.nodes[node as usize].pop() {
            self.uncache(job);
        }
    }

    /// Data that a job has to load where it is, GB.
    #[cfg(feature = "simulate")]
    pub(crate) fn to_load_gb(&self, index: usize) -> f64 {
        let job = &self.jobs[index];
        if self.cluster.free {
            return 0.0;
        }
        let missing = job.nodes.iter().filter(|(node, _)| !self.caches.holds(*node, job.id)).count();
        let checkpoint_gb = if job.done >= 1.0 { job.checkpoint_gb } else { 0.0 };
        checkpoint_gb + job.data_gb * missing as f64 / job.nodes.len().max(1) as f64
    }
}
