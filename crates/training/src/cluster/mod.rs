//! The cluster that training jobs share: its nodes, the types of job, and how fast jobs train.

mod analytic;
mod check;
#[cfg(feature = "simulate")]
mod grid;
mod job_type;
mod speed;

pub use analytic::{AnalyticFacts, NodeShare};
#[cfg(feature = "simulate")]
pub use grid::SpeedGrid;
pub use job_type::{JOB_TYPES, JobType, job_types};
pub use speed::{Speed, SpeedFormula, SpeedLaw};

pub(crate) use check::{check_sizes, own_types};

use std::sync::Arc;

/// Identical nodes, the limits of a job on them, and how fast jobs train.
#[derive(Clone, Debug)]
pub struct TrainingCluster {
    /// The job types, at most 255.
    pub types: Arc<[JobType]>,
    /// Number of nodes, at least 1.
    pub nodes: u32,
    /// Slots of CPU and GPU of a node. Both 8 in DL2.
    pub node_slots: [u32; 2],
    /// Length of a scheduling slot, s.
    pub slot_s: f64,
    /// Most workers of a job in a slot.
    pub max_workers: u32,
    /// Most parameter servers of a job in a slot.
    pub max_servers: u32,
    /// Epochs per slot; made for these types, slot length and limits.
    pub speed: Arc<Speed>,
    /// How much the speed of a job in a slot may differ from what schedulers see: it is multiplied by `1 + u` with `u`
    /// uniform in ± this, below 1.
    pub speed_error: f64,
}

impl TrainingCluster {
    /// Slots of CPU and GPU of all nodes.
    #[must_use]
    pub fn capacity(&self) -> [u32; 2] {
        self.node_slots.map(|slots| slots * self.nodes)
    }

    /// Length of a scheduling slot, ms.
    #[must_use]
    pub fn slot_ms(&self) -> f64 {
        self.slot_s * 1000.0
    }

    /// Tasks that a node has room for at most: its CPU slots over the smallest request.
    #[must_use]
    pub fn places(&self) -> u32 {
        let smallest = self.types.iter().flat_map(|t| [t.worker[0], t.server[0]]).min().unwrap_or(1);
        self.node_slots[0] / smallest.max(1)
    }

    /// What is wrong with the types and the limits on these nodes, if anything.
    pub(crate) fn check_requests(&self) -> Result<(), String> {
        for job_type in self.types.iter() {
            let (name, bundle, node) = (&job_type.name, job_type.bundle(), self.node_slots);
            for (what, request) in [("worker", job_type.worker), ("server", job_type.server)] {
                if request[0] == 0 {
                    return Err(format!("type `{name}`: a {what} must ask for at least 1 CPU slot, got {request:?}"));
                }
            }
            if bundle[0] > node[0] || bundle[1] > node[1] {
                return Err(format!(
                    "type `{name}`: a worker and a parameter server ask for {bundle:?} slots of CPU and GPU together; a node has {node:?}"
                ));
            }
        }
        Ok(())
    }
}
