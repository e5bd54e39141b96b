//! The speed that depends on where tasks are: compute time plus the slower of the ways to the parameter servers.

use serde::{Deserialize, Serialize};

/// What the placement-dependent speed needs to know of a job type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyticFacts {
    /// Time that a worker computes per step, s.
    pub compute_s: f64,
    /// Size of the model, MB.
    pub model_mb: f64,
    /// Bandwidth between nodes, MB/s.
    pub inter_mb_s: f64,
    /// Bandwidth within a node, MB/s.
    pub intra_mb_s: f64,
}

/// A job's tasks on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShare {
    /// The node.
    pub node: u32,
    /// Workers on it.
    pub workers: u32,
    /// Parameter servers on it.
    pub servers: u32,
}

impl AnalyticFacts {
    /// Steps per second, over all workers. 0 without workers or without parameter servers.
    ///
    /// The slowest worker sets the pace. Each step it exchanges a shard of `2·model/P` MB with each of the `P` parameter
    /// servers. Its link within the node is shared by the larger of the workers and servers there. Its link to other nodes
    /// is shared either on its own side, by the servers elsewhere, or on a server's side, by the workers elsewhere.
    /// `shares` are nodes with at least one task of the job, each once.
    #[must_use]
    pub fn steps_per_s(&self, shares: impl Iterator<Item = NodeShare> + Clone) -> f64 {
        let (mut workers, mut servers, mut fewest_beside_server) = (0, 0, u32::MAX);
        for share in shares.clone() {
            workers += share.workers;
            servers += share.servers;
            if share.servers > 0 {
                fewest_beside_server = fewest_beside_server.min(share.workers);
            }
        }
        if workers == 0 || servers == 0 {
            return 0.0;
        }
        let shard_mb = 2.0 * self.model_mb / f64::from(servers);
        let elsewhere = workers - fewest_beside_server;
        let far_side = if elsewhere == 0 { f64::INFINITY } else { self.inter_mb_s / f64::from(elsewhere) };
        let slowest_s = shares.filter(|share| share.workers > 0).fold(0.0, |slowest: f64, share| {
            let intra = self.intra_mb_s / f64::from(share.servers.max(share.workers));
            let inter = match servers - share.servers {
                0 => self.inter_mb_s,
                others => (self.inter_mb_s / f64::from(others)).min(far_side),
            };
            slowest.max(self.compute_s + (shard_mb / inter).max(shard_mb / intra))
        });
        f64::from(workers) / slowest_s
    }

    /// The most steps per second of `1..=bundles` workers with as many parameter servers, spread evenly over an empty
    /// cluster of `nodes` nodes, a worker beside each server.
    pub(super) fn best_steps_per_s(&self, bundles: u32, nodes: u32) -> f64 {
        let spread = |bundles: u32| {
            let (each, rest) = (bundles / nodes, bundles % nodes);
            self.steps_per_s((0..nodes.min(bundles)).map(move |node| {
                let here = each + u32::from(node < rest);
                NodeShare { node, workers: here, servers: here }
            }))
        };
        (1..=bundles).map(spread).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: AnalyticFacts = AnalyticFacts { compute_s: 0.5, model_mb: 10.0, inter_mb_s: 20.0, intra_mb_s: 40.0 };

    fn speed(shares: &[[u32; 2]]) -> f64 {
        let share = |(node, &[workers, servers]): (usize, &[u32; 2])| NodeShare { node: node as u32, workers, servers };
        FACTS.steps_per_s(shares.iter().enumerate().map(share))
    }

    #[test]
    fn speeds_follow_from_the_slowest_link() {
        assert_eq!(speed(&[[2, 0]]), 0.0);
        assert_eq!(speed(&[[0, 2]]), 0.0);
        // All on one node: 20 MB at 20 MB/s, as the reference has it even though nothing leaves the node.
        assert_eq!(speed(&[[1, 1]]), 1.0 / 1.5);
        // Two nodes alike: 10 MB per server; to the other one at 20/1, within the node at 40/1.
        assert_eq!(speed(&[[1, 1], [1, 1]]), 2.0 / 1.0);
        // Apart: both workers draw from the only server, so 20 MB at 20/2.
        assert_eq!(speed(&[[2, 0], [0, 1]]), 2.0 / 2.5);
    }

    #[test]
    fn the_best_spread_is_at_least_that_of_one_bundle() {
        assert!(FACTS.best_steps_per_s(1, 3) == speed(&[[1, 1]]));
        assert!(FACTS.best_steps_per_s(2, 3) >= speed(&[[1, 1], [1, 1]]));
    }
}
