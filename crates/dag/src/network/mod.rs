//! The forward pass of Decima: scores of stages and of amounts of executors.
//!
//! The network embeds every stage from the stages below it, sums these up to job and cluster embeddings, and scores the
//! schedulable stages and, for the job of the chosen one, how many executors it gets.
//!
//! Results equal PyTorch's to rounding (2e-5 relative) and are the same bits on every machine. Turning scores into a
//! decision, sampling included, is left to the caller.

mod checkpoint;
mod embedding;
mod graph;
mod input;
mod memo;
#[cfg(test)]
mod plain;
mod policy;
#[cfg(test)]
mod tests;
mod weights;

pub use checkpoint::DecimaCheckpoint;
pub use graph::Graph;
pub use input::DecimaInput;
pub use policy::{BUILT_IN, DecimaPolicy};
pub use weights::{DecimaWeights, FEATURES, WIDTH, shapes};

use embedding::{Batch, add};
use memo::{Embedded, Key, Memo};
use sched_distill_core::network::{
    NeuralError,
    dense::{Identity, Kernel},
};
use std::{ops::Range, sync::Arc};
use weights::{JOB_FEATURES, Scratch, USUAL, room};

/// Evaluates the Decima network on one observation at a time; allocates nothing once its buffers have grown.
///
/// ```no_run
/// use sched_distill_dag::network::{Decima, DecimaInput, DecimaWeights};
/// use sched_distill_core::network::Tensors;
/// use std::sync::Arc;
///
/// let weights = DecimaWeights::from_tensors(&Tensors::load("model.pt")?, "model.pt")?;
/// let mut decima = Decima::new(Arc::new(weights));
/// let mut input = DecimaInput::default();
/// input.clear(); // ... and fill it from the cluster's state
/// decima.embed(&input)?;
/// let stages = decima.stage_scores().len();
/// assert_eq!(stages, decima.schedulable().len());
/// # Ok::<(), sched_distill_core::network::NeuralError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decima {
    weights: Arc<DecimaWeights>,
    kernel: Kernel,
    num_executors: u32,
    first_node: Vec<u32>,
    job_of: Vec<u32>,
    caps: Vec<u32>,
    schedulable: Vec<u32>,
    x: Vec<f32>,
    h: Vec<f32>,
    h_dag: Vec<f32>,
    h_glob: Vec<f32>,
    /// What each job adds to `h_glob`.
    glob: Vec<f32>,
    memo: Memo,
    unknown: Vec<Unknown>,
    batch: Batch,
    rows: Vec<f32>,
    /// What all candidates of a head have in common: inputs, and what the first layer makes of them.
    shared: Vec<f32>,
    base: Vec<f32>,
    out: Vec<f32>,
    scratch: Scratch,
}

/// A job that has to be embedded: its nodes and edges, and its place in the memo.
#[derive(Clone, Debug)]
struct Unknown {
    job: usize,
    nodes: Range<usize>,
    edges: Range<usize>,
    place: usize,
}

impl Decima {
    /// An evaluator of these weights that has not seen an observation yet: no jobs, no stages.
    #[must_use]
    pub fn new(weights: Arc<DecimaWeights>) -> Self {
        Self {
            h_glob: vec![0.0; weights.widths[2]],
            weights,
            kernel: Kernel::detect(),
            num_executors: 1,
            first_node: Vec::new(),
            job_of: Vec::new(),
            caps: Vec::new(),
            schedulable: Vec::new(),
            x: Vec::new(),
            h: Vec::new(),
            h_dag: Vec::new(),
            glob: Vec::new(),
            memo: Memo::default(),
            unknown: Vec::new(),
            batch: Batch::default(),
            rows: Vec::new(),
            shared: Vec::new(),
            base: Vec::new(),
            out: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Takes in an observation and computes all embeddings. An observation without jobs is fine.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Input`] if the observation contradicts itself (see [`DecimaInput::check`]), its edges are not a
    /// sorted DAG, or its numbers are so large that an embedding overflows. The evaluator then stands as after
    /// [`Decima::new`] and may be used again.
    pub fn embed(&mut self, input: &DecimaInput) -> Result<(), NeuralError> {
        let embedded = self.take_in(input);
        if embedded.is_err() {
            self.forget();
        }
        embedded
    }

    fn take_in(&mut self, input: &DecimaInput) -> Result<(), NeuralError> {
        input.check()?;
        // Embeddings are written over, and need not be zero before.
        for places in [&mut self.first_node, &mut self.job_of, &mut self.caps, &mut self.schedulable] {
            places.clear();
        }
        self.x.clear();
        self.h_glob.fill(0.0);
        self.num_executors = input.num_executors;
        input.caps(&mut self.caps);
        input.features(&self.caps, &mut self.x);
        for (j, range) in input.ptr.windows(2).enumerate() {
            self.first_node.push(range[0]);
            self.job_of.extend((range[0]..range[1]).map(|_| j as u32));
        }
        let schedulable = input.stage_mask.iter().enumerate().filter(|&(_, &on)| on);
        self.schedulable.extend(schedulable.map(|(v, _)| v as u32));
        match self.weights.widths {
            USUAL => self.embed_jobs(USUAL, input),
            widths => self.embed_jobs(widths, input),
        }?;
        if let Some(i) = self.h_dag.iter().chain(&self.h_glob).position(|v| !v.is_finite()) {
            let at = if i < self.h_dag.len() {
                format!("job {}", i / self.weights.widths[1])
            } else {
                "the cluster".to_owned()
            };
            let reason = format!("the embedding of {at} is not finite; task counts or durations are too large");
            return Err(NeuralError::Input { network: "decima", reason });
        }
        Ok(())
    }

    /// Features, shape `(nodes, 5)`, row-major.
    #[must_use]
    pub fn x(&self) -> &[f32] {
        &self.x
    }

    /// Places that the embedding of a node, a job and the cluster take; a network's own widths, filled up with zeros to a multiple of
    /// 16.
    #[must_use]
    pub fn widths(&self) -> [usize; 3] {
        self.weights.widths
    }

    /// Node embeddings, one after the other, see [`Decima::widths`].
    #[must_use]
    pub fn h_node(&self) -> &[f32] {
        &self.h
    }

    /// Job embeddings, one after the other.
    #[must_use]
    pub fn h_dag(&self) -> &[f32] {
        &self.h_dag
    }

    /// Embedding of the whole cluster.
    #[must_use]
    pub fn h_glob(&self) -> &[f32] {
        &self.h_glob
    }

    /// Largest number of executors that each job may be given, shape `(jobs,)`; 0 means none.
    #[must_use]
    pub fn caps(&self) -> &[u32] {
        &self.caps
    }

    /// The schedulable nodes, ascending.
    #[must_use]
    pub fn schedulable(&self) -> &[u32] {
        &self.schedulable
    }

    /// Scores (logits) of the schedulable nodes, in the order of [`Decima::schedulable`].
    pub fn stage_scores(&mut self) -> &[f32] {
        match self.weights.widths {
            USUAL => self.scores_of_stages(USUAL),
            widths => self.scores_of_stages(widths),
        }
        &self.out[..self.schedulable.len()]
    }

    /// Is compiled for the usual widths and for any.
    #[inline(always)]
    fn scores_of_stages(&mut self, [node, job, cluster]: [usize; 3]) {
        let head = &self.weights.stage;
        // What differs between stages; the cluster embedding comes after it.
        let own = FEATURES + node + job;
        let rows = room(&mut self.rows, self.schedulable.len() * own);
        for (row, &v) in rows.chunks_exact_mut(own).zip(&self.schedulable) {
            let (v, j) = (v as usize, self.job_of[v as usize] as usize);
            row[..FEATURES].copy_from_slice(&self.x[v * FEATURES..][..FEATURES]);
            row[FEATURES..FEATURES + node].copy_from_slice(&self.h[v * node..][..node]);
            row[FEATURES + node..].copy_from_slice(&self.h_dag[j * job..][..job]);
        }
        let first = head.first();
        let base = room(&mut self.base, first.width());
        self.kernel.run::<Identity>(first.part(own..own + cluster, first.bias()), &self.h_glob, base);
        let out = room(&mut self.out, self.schedulable.len());
        head.run(self.kernel, 0..own, base, rows, &mut self.scratch, out);
    }

    /// Scores (logits) of the executor counts of a job; entry `k < caps()[job]` stands for `k + 1` executors.
    ///
    /// # Panics
    ///
    /// If `job` is not an active job of the observation.
    pub fn amount_scores(&mut self, job: usize) -> &[f32] {
        let (head, first_node, cap) = (&self.weights.amount, self.first_node[job] as usize, self.caps[job]);
        let width = self.weights.widths[1];
        self.shared.clear();
        self.shared.extend_from_slice(&self.x[first_node * FEATURES..][..JOB_FEATURES]);
        self.shared.extend_from_slice(&self.h_dag[job * width..][..width]);
        self.shared.extend_from_slice(&self.h_glob);
        let (first, shared) = (head.first(), self.shared.len());
        let base = room(&mut self.base, first.width());
        self.kernel.run::<Identity>(first.part(0..shared, first.bias()), &self.shared, base);
        self.rows.clear();
        self.rows.extend((0..cap).map(|k| k as f32 / self.num_executors as f32));
        let out = room(&mut self.out, cap as usize);
        // The amount comes after what all amounts share.
        head.run(self.kernel, shared..shared + 1, base, &self.rows, &mut self.scratch, out);
        out
    }

    fn forget(&mut self) {
        self.first_node.clear();
        self.job_of.clear();
        self.caps.clear();
        self.schedulable.clear();
        self.x.clear();
        self.h.clear();
        self.h_dag.clear();
        self.h_glob.fill(0.0);
    }

    /// Embeds all jobs: those that the memo knows from there, the others in one batch.
    /// Is compiled for the usual widths and for any.
    #[inline(always)]
    fn embed_jobs(&mut self, [node, job_width, cluster]: [usize; 3], input: &DecimaInput) -> Result<(), NeuralError> {
        let Self { memo, batch, unknown, x, h, h_dag, glob, .. } = self;
        let jobs = input.supply.len();
        h.resize(input.remaining.len() * node, 0.0);
        h_dag.resize(jobs * job_width, 0.0);
        let glob = room(glob, jobs * cluster);
        unknown.clear();
        batch.clear();
        for (job, nodes, edges) in input.jobs() {
            let key = Key::new(input, x, &nodes, edges.clone());
            let (place, known) = memo.find(&key);
            match known {
                Some(known) => {
                    h[nodes.start * node..nodes.end * node].copy_from_slice(known.h);
                    h_dag[job * job_width..][..job_width].copy_from_slice(known.dag);
                    glob[job * cluster..][..cluster].copy_from_slice(known.glob);
                }
                None => {
                    batch.push(&key);
                    unknown.push(Unknown { job, nodes, edges, place });
                }
            }
        }
        batch.run(&self.weights, self.kernel, !input.edges.is_empty()).map_err(|node| {
            // A node of the batch; the observation counts others before it.
            let at = batch.ptr.partition_point(|&first| first <= node) - 1;
            let node = unknown[at].nodes.start + (node - batch.ptr[at]) as usize;
            NeuralError::Input {
                network: "decima",
                reason: format!("node {node} is on or below a cycle; a job's stages must form a DAG"),
            }
        })?;
        for (i, Unknown { job, nodes, edges, place }) in unknown.drain(..).enumerate() {
            let rows = batch.ptr[i] as usize * node..batch.ptr[i + 1] as usize * node;
            let new = Embedded {
                h: &batch.h[rows],
                dag: &batch.dag[i * job_width..][..job_width],
                glob: &batch.glob[i * cluster..][..cluster],
            };
            h[nodes.start * node..nodes.end * node].copy_from_slice(new.h);
            h_dag[job * job_width..][..job_width].copy_from_slice(new.dag);
            glob[job * cluster..][..cluster].copy_from_slice(new.glob);
            memo.keep(place, &Key::new(input, x, &nodes, edges), new);
        }
        for job in glob.chunks_exact(cluster) {
            add(&mut self.h_glob, job, cluster);
        }
        Ok(())
    }
}
