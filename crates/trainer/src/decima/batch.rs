//! A batch of decisions as index lists: which rows of the network's inputs meet where.

use super::experience::Experience;
use sched_distill_dag::network::{FEATURES, Graph};
use std::{collections::HashMap, ops::Range};

/// One step of message passing: the children send, the parents take in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Messages {
    /// Nodes that send.
    pub(super) children: Vec<i64>,
    /// Nodes that receive.
    pub(super) parents: Vec<i64>,
    /// Per edge its number, the place of its child in `children` and of its parent in `parents`.
    pub(super) edge: Vec<i64>,
    pub(super) edge_child: Vec<i64>,
    pub(super) edge_parent: Vec<i64>,
}

/// Rows of a table whose lines differ in length, each with its place in the table filled up to the longest line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// Decision of each row.
    pub(super) decision: Vec<i64>,
    /// Place of each row in the table, row-major.
    pub(super) place: Vec<i64>,
    /// Length of the longest line; at least 1.
    pub(super) width: i64,
    /// Which entry of its line each decision is to learn from.
    pub(super) target: Vec<i64>,
}

/// Decisions and everything that the network needs to know of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) decisions: i64,
    /// Job states that occur.
    pub(super) jobs: i64,
    /// Features of their nodes, shape `(nodes, 5)`.
    pub(super) x: Vec<f32>,
    /// Job state of each node.
    pub(super) node_job: Vec<i64>,
    /// Nodes without children, where there is any edge in the observation.
    pub(super) leaves: Vec<i64>,
    /// Parent and child of every edge.
    pub(super) edges: Vec<[u32; 2]>,
    /// Message passing in order, from the leaves to the roots.
    pub(super) messages: Vec<Messages>,
    /// Active jobs of all decisions: the job's state, and the decision.
    pub(super) member_job: Vec<i64>,
    pub(super) member_decision: Vec<i64>,
    /// Nodes that are a candidate somewhere.
    pub(super) scored: Vec<i64>,
    /// Candidates of all decisions, as places in `scored`.
    pub(super) candidate: Vec<i64>,
    pub(super) stages: Lines,
    /// Amounts of the job of the chosen stage: of each decision the job's state and its first node, of each row the share of the
    /// cluster.
    pub(super) amount_job: Vec<i64>,
    pub(super) amount_node: Vec<i64>,
    pub(super) amount_share: Vec<f32>,
    pub(super) amounts: Lines,
    /// 1 where the decision has amounts, else 0.
    pub(super) has_amount: Vec<f32>,
    /// The log-probability when it was decided.
    pub(super) old: Vec<f32>,
    /// How much better than expected it came out.
    pub(super) advantage: Vec<f32>,
}

/// Some consecutive decisions of one rollout.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) rollout: usize,
    pub(super) steps: Range<usize>,
}

impl Batch {
    /// Gathers the decisions of some blocks; `advantages` has a list per rollout.
    pub(super) fn new(rollouts: &[Experience], advantages: &[Vec<f32>], blocks: &[Block]) -> Self {
        let mut batch = Self::default();
        let mut places: HashMap<(usize, u32), i64> = HashMap::new();
        let mut first_nodes: Vec<i64> = Vec::new();
        let mut edges: Vec<[u32; 2]> = Vec::new();
        let mut silent: Vec<bool> = Vec::new();
        let mut scored: HashMap<i64, i64> = HashMap::new();
        let longest = |count: &dyn Fn(&Experience, usize) -> usize| {
            let of_block = |b: &Block| b.steps.clone().map(|s| count(&rollouts[b.rollout], s)).max().unwrap_or(0);
            blocks.iter().map(of_block).max().unwrap_or(0).max(1) as i64
        };
        batch.stages.width = longest(&|e, s| (e.candidate_ptr[s + 1] - e.candidate_ptr[s]) as usize);
        batch.amounts.width = longest(&|e, s| e.steps[s].amounts as usize);
        for block in blocks {
            let e = &rollouts[block.rollout];
            for s in block.steps.clone() {
                let (d, step) = (batch.decisions, &e.steps[s]);
                let jobs = &e.jobs[e.job_ptr[s] as usize..e.job_ptr[s + 1] as usize];
                for &state in jobs {
                    let place = *places.entry((block.rollout, state)).or_insert_with(|| {
                        let at = state as usize;
                        let first = (batch.x.len() / FEATURES) as u32;
                        let nodes = e.node_ptr[at] as usize..e.node_ptr[at + 1] as usize;
                        batch.node_job.extend(nodes.clone().map(|_| batch.jobs));
                        silent.extend(nodes.clone().map(|_| !e.any_edge[at]));
                        batch.x.extend_from_slice(&e.x[nodes.start * FEATURES..nodes.end * FEATURES]);
                        let own = &e.edges[e.edge_ptr[at] as usize..e.edge_ptr[at + 1] as usize];
                        edges.extend(own.iter().map(|edge| edge.map(|v| v + first)));
                        first_nodes.push(i64::from(first));
                        batch.jobs += 1;
                        batch.jobs - 1
                    });
                    batch.member_job.push(place);
                    batch.member_decision.push(d);
                }
                let members = &batch.member_job[batch.member_job.len() - jobs.len()..];
                let candidates = &e.candidates[e.candidate_ptr[s] as usize..e.candidate_ptr[s + 1] as usize];
                for (slot, &[job, node]) in candidates.iter().enumerate() {
                    let node = first_nodes[members[job as usize] as usize] + i64::from(node);
                    let next = batch.scored.len() as i64;
                    let place = *scored.entry(node).or_insert(next);
                    if place == next {
                        batch.scored.push(node);
                    }
                    batch.candidate.push(place);
                    batch.stages.decision.push(d);
                    batch.stages.place.push(d * batch.stages.width + slot as i64);
                }
                batch.stages.target.push(i64::from(step.stage));
                let job = members[candidates[step.stage as usize][0] as usize];
                batch.amount_job.push(job);
                batch.amount_node.push(first_nodes[job as usize]);
                for k in 0..step.amounts {
                    batch.amounts.decision.push(d);
                    batch.amounts.place.push(d * batch.amounts.width + i64::from(k));
                    // As the forward pass in plain Rust has it: `k` of the entry that stands for `k + 1` executors.
                    batch.amount_share.push(k as f32 / e.num_executors as f32);
                }
                batch.amounts.target.push(i64::from(step.amount));
                batch.has_amount.push(if step.amounts > 0 { 1.0 } else { 0.0 });
                batch.old.push(step.log_prob);
                batch.advantage.push(advantages[block.rollout][s]);
                batch.decisions += 1;
            }
        }
        batch.edges = edges;
        batch.pass_messages(&silent);
        batch
    }

    /// Lays out the message passing; `silent` nodes belong to observations without any edge.
    fn pass_messages(&mut self, silent: &[bool]) {
        let mut graph = Graph::default();
        // The simulator's graphs have no cycle; the forward pass has refused others.
        let sound = graph.build(silent.len(), &self.edges);
        debug_assert_eq!(sound, Ok(()));
        let leaves = (0..silent.len()).filter(|&v| !silent[v] && graph.children(v as u32).is_empty());
        self.leaves = leaves.map(|v| v as i64).collect();
        for k in (0..graph.steps()).rev() {
            graph.enter(k);
            let mut step = Messages {
                children: graph.members[graph.parents..].iter().map(|&v| i64::from(v)).collect(),
                ..Messages::default()
            };
            for &u in &graph.members {
                let before = step.edge_child.len();
                for (edge, child) in graph.inner_edges(u) {
                    step.edge.push(edge as i64);
                    step.edge_child.push(child as i64);
                }
                if step.edge_child.len() > before {
                    step.edge_parent.resize(step.edge_child.len(), step.parents.len() as i64);
                    step.parents.push(i64::from(u));
                }
            }
            self.messages.push(step);
        }
    }
}
