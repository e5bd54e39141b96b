//! Embeddings of jobs, from the features and edges of their stages.
//!
//! The three places where the network differs from what one would write down from the paper are kept: without any edge in
//! the observation the embedding of a stage skips a perceptron, leaves have no residual, and a step of message passing uses
//! the edges among all of its nodes (see [`super::graph`]).

use super::{
    graph::Graph,
    memo::Key,
    weights::{DecimaWeights, FEATURES, GROUP, Scratch, USUAL, room},
};
use sched_distill_core::network::dense::Kernel;

/// A batch of jobs to be embedded together, and their embeddings.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Features of the nodes, shape `(nodes, 5)`.
    x: Vec<f32>,
    /// Sorted edges (parent, child) between nodes of the batch.
    edges: Vec<[u32; 2]>,
    /// First node of each job, and at last the number of nodes.
    pub(super) ptr: Vec<u32>,
    /// Node embeddings, a row per node.
    pub(super) h: Vec<f32>,
    /// Job embeddings, a row per job.
    pub(super) dag: Vec<f32>,
    /// What each job adds to the embedding of the cluster.
    pub(super) glob: Vec<f32>,
    graph: Graph,
    h0: Vec<f32>,
    rows: Vec<f32>,
    out: Vec<f32>,
    parents: Vec<u32>,
    scratch: Scratch,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.x.clear();
        self.edges.clear();
        self.ptr.clear();
        self.ptr.push(0);
    }

    /// Adds a job.
    pub(super) fn push(&mut self, job: &Key<'_>) {
        let first = (self.x.len() / FEATURES) as u32;
        self.edges.extend(job.edges_from_zero().map(|edge| edge.map(|v| v + first)));
        self.x.extend_from_slice(job.x);
        self.ptr.push((self.x.len() / FEATURES) as u32);
    }

    /// Computes the embeddings; a node on or below a cycle is an error. `any_edge` says whether the observation has an edge,
    /// in the batch or outside it.
    pub(super) fn run(&mut self, weights: &DecimaWeights, kernel: Kernel, any_edge: bool) -> Result<(), u32> {
        self.graph.build(self.x.len() / FEATURES, &self.edges)?;
        match weights.widths {
            USUAL => self.embed(USUAL, weights, kernel, any_edge),
            widths => self.embed(widths, weights, kernel, any_edge),
        }
        Ok(())
    }

    /// Is compiled for the usual widths and for any.
    #[inline(always)]
    fn embed(&mut self, [node, job, _]: [usize; 3], weights: &DecimaWeights, kernel: Kernel, any_edge: bool) {
        self.embed_nodes(node, weights, kernel, any_edge);
        self.embed_jobs([node, job], weights, kernel);
    }

    #[inline(always)]
    fn embed_nodes(&mut self, width: usize, weights: &DecimaWeights, kernel: Kernel, any_edge: bool) {
        let (graph, scratch) = (&mut self.graph, &mut self.scratch);
        let n = self.x.len() / FEATURES;
        let h0 = room(&mut self.h0, n * width);
        weights.prep.run(kernel, &self.x, scratch, h0);
        self.h.clear();
        self.h.extend_from_slice(h0);
        if !any_edge {
            return;
        }
        let h = &mut self.h[..];
        let row = |v: u32| v as usize * width..(v as usize + 1) * width;

        let leaves = &mut self.parents;
        leaves.clear();
        leaves.extend((0..n as u32).filter(|&v| graph.children(v).is_empty()));
        self.rows.clear();
        for &v in &*leaves {
            self.rows.extend_from_slice(&h0[row(v)]);
        }
        let out = room(&mut self.out, self.rows.len());
        weights.update.run(kernel, &self.rows, scratch, out);
        for (&v, new) in leaves.iter().zip(out.chunks_exact(width)) {
            h[row(v)].copy_from_slice(new);
        }

        for k in (0..graph.steps()).rev() {
            graph.enter(k);
            self.rows.clear();
            for &c in &graph.members[graph.parents..] {
                self.rows.extend_from_slice(&h[row(c)]);
            }
            let messages = room(&mut self.out, self.rows.len());
            weights.msg.run(kernel, &self.rows, scratch, messages);

            self.parents.clear();
            self.rows.clear();
            for &u in &graph.members {
                if graph.inner_children(u).next().is_none() {
                    continue;
                }
                // Group by group, so that sums stay in registers.
                for place in (0..width).step_by(GROUP) {
                    let mut sum = [0.0; GROUP];
                    for i in graph.inner_children(u) {
                        add(&mut sum, &messages[i * width + place..], GROUP);
                    }
                    self.rows.extend_from_slice(&sum);
                }
                self.parents.push(u);
            }
            let out = room(&mut self.out, self.rows.len());
            weights.update.run(kernel, &self.rows, scratch, out);
            for (&u, new) in self.parents.iter().zip(out.chunks_exact(width)) {
                h[row(u)].copy_from_slice(&h0[row(u)]);
                add(&mut h[row(u)], new, width);
            }
        }
    }

    #[inline(always)]
    fn embed_jobs(&mut self, [node, width]: [usize; 2], weights: &DecimaWeights, kernel: Kernel) {
        let scratch = &mut self.scratch;
        self.rows.clear();
        for (x, h) in self.x.chunks_exact(FEATURES).zip(self.h.chunks_exact(node)) {
            self.rows.extend_from_slice(x);
            self.rows.extend_from_slice(h);
        }
        let out = room(&mut self.out, self.x.len() / FEATURES * width);
        weights.dag.run(kernel, &self.rows, scratch, out);
        self.dag.clear();
        self.dag.resize((self.ptr.len() - 1) * width, 0.0);
        for (job, nodes) in self.dag.chunks_exact_mut(width).zip(self.ptr.windows(2)) {
            for v in nodes[0] as usize..nodes[1] as usize {
                add(job, &out[v * width..], width);
            }
        }
        let jobs = self.ptr.len() - 1;
        let glob = room(&mut self.glob, jobs * weights.widths[2]);
        weights.global.run(kernel, &self.dag, scratch, glob);
    }
}

/// Adds the first numbers, as many as an embedding has.
#[inline(always)]
pub(super) fn add(sum: &mut [f32], values: &[f32], width: usize) {
    for (s, v) in sum[..width].iter_mut().zip(&values[..width]) {
        *s += v;
    }
}
