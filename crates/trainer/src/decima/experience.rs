//! What a rollout leaves for the update: the network's inputs, what was decided, and what it came to cost.
//!
//! Most jobs look at one question as they did at the last one. Each state of a job is therefore kept once, and an update
//! embeds it once for all questions that share it.

use sched_distill_dag::network::{Decima, DecimaInput, FEATURES};
use sched_distill_judge::practice::Moment;
use std::collections::HashMap;

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// When, s; what came of it, and the job-time that the work at hand needs under shortest-remaining-first, s.
    pub(super) moment: Moment,
    /// Place of the stage that is to be learned from among the candidates.
    pub(super) stage: u32,
    /// Place of the amount; 0 stands for one executor.
    pub(super) amount: u32,
    /// Amounts that the stage's job could be given; 0 if the network has no say.
    pub(super) amounts: u32,
    /// The network's log-probability of both when it decided; 0 where a teacher did.
    pub(super) log_prob: f32,
}

/// The decisions of one rollout.
#[derive(Clone, Debug, Default)]
pub(super) struct Experience {
    pub(super) num_executors: u32,
    /// Features of the nodes of all job states, shape `(nodes, 5)`.
    pub(super) x: Vec<f32>,
    /// First node of each job state, and at last the number of nodes.
    pub(super) node_ptr: Vec<u32>,
    /// Edges of all job states, counted from the state's first node.
    pub(super) edges: Vec<[u32; 2]>,
    pub(super) edge_ptr: Vec<u32>,
    /// Whether any job of the observation has an edge: without one the network embeds differently.
    pub(super) any_edge: Vec<bool>,
    /// Job states by hash.
    known: HashMap<u64, u32>,
    /// States of the active jobs, decision after decision.
    pub(super) jobs: Vec<u32>,
    pub(super) job_ptr: Vec<u32>,
    /// Schedulable nodes, decision after decision: place of the job among the active ones, node within the job.
    pub(super) candidates: Vec<[u32; 2]>,
    pub(super) candidate_ptr: Vec<u32>,
    pub(super) steps: Vec<Step>,
}

impl Experience {
    pub(super) fn new(num_executors: u32) -> Self {
        Self {
            num_executors,
            node_ptr: vec![0],
            edge_ptr: vec![0],
            job_ptr: vec![0],
            candidate_ptr: vec![0],
            ..Self::default()
        }
    }

    /// Appends a decision on what the network has just seen.
    pub(super) fn push(&mut self, (input, network): (&DecimaInput, &Decima), step: Step) {
        let mut schedulable = network.schedulable().iter().peekable();
        let any_edge = !input.edges.is_empty();
        let mut edge = 0;
        for (j, nodes) in input.ptr.windows(2).enumerate() {
            let from = edge;
            while input.edges.get(edge).is_some_and(|e| e[0] < nodes[1]) {
                edge += 1;
            }
            let x = &network.x()[nodes[0] as usize * FEATURES..nodes[1] as usize * FEATURES];
            let state = self.state(x, &input.edges[from..edge], nodes[0], any_edge);
            self.jobs.push(state);
            while let Some(v) = schedulable.next_if(|&&v| v < nodes[1]) {
                self.candidates.push([j as u32, v - nodes[0]]);
            }
        }
        self.job_ptr.push(self.jobs.len() as u32);
        self.candidate_ptr.push(self.candidates.len() as u32);
        self.steps.push(step);
    }

    /// The number of a job's state, which is kept if it is new.
    fn state(&mut self, x: &[f32], edges: &[[u32; 2]], first: u32, any_edge: bool) -> u32 {
        let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
        let hash = x.iter().fold(u64::from(any_edge), |hash, v| mix(hash, u64::from(v.to_bits())));
        let own = edges.iter().map(|edge| edge.map(|v| v - first));
        let hash = own.clone().fold(hash, |hash, [a, b]| mix(hash, u64::from(a) << 32 | u64::from(b)));
        if let Some(&state) = self.known.get(&hash) {
            let s = state as usize;
            let nodes = self.node_ptr[s] as usize * FEATURES..self.node_ptr[s + 1] as usize * FEATURES;
            let known = &self.edges[self.edge_ptr[s] as usize..self.edge_ptr[s + 1] as usize];
            let same =
                |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
            if self.any_edge[s] == any_edge && same(&self.x[nodes], x) && known.iter().copied().eq(own.clone()) {
                return state;
            }
        }
        let state = self.any_edge.len() as u32;
        self.x.extend_from_slice(x);
        self.node_ptr.push((self.x.len() / FEATURES) as u32);
        self.edges.extend(own);
        self.edge_ptr.push(self.edges.len() as u32);
        self.any_edge.push(any_edge);
        self.known.insert(hash, state);
        state
    }
}
