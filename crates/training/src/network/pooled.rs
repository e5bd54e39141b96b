//! The pooled form: every job through the same layers, then summed up.

use sched_distill_core::network::dense::{Identity, Kernel, Layer, Relu};
use std::ops::Range;

/// What the sum over jobs is multiplied by.
pub const POOL: f32 = 0.125;

/// One of the two networks.
#[derive(Clone, Debug)]
pub(super) struct Pooled {
    /// Inputs per job.
    pub(super) inputs: usize,
    /// Scores per job.
    pub(super) scores: usize,
    pub(super) job: Layer,
    pub(super) cluster: Layer,
    pub(super) together: Layer,
    pub(super) score: Layer,
    pub(super) close: Layer,
}

/// Buffers of a network's forward pass. What depends on one job alone is kept for the next question, which mostly differs from
/// the last one in a single job.
#[derive(Clone, Debug, Default)]
pub(super) struct PooledPass {
    /// Inputs that the first two buffers are of, shape `(columns, inputs)`.
    x: Vec<f32>,
    /// `e`, shape `(columns, hidden)`.
    jobs: Vec<f32>,
    /// The part of `together` that a job has by itself.
    own: Vec<f32>,
    pooled: Vec<f32>,
    cluster: Vec<f32>,
    shared: Vec<f32>,
    together: Vec<f32>,
    padded: Vec<f32>,
}

impl PooledPass {
    /// Writes the scores of all columns, and that of closing last; `x` has shape `(columns, inputs)`.
    pub(super) fn run(&mut self, network: &Pooled, kernel: Kernel, x: &[f32], out: &mut Vec<f32>) {
        let (inputs, hidden) = (network.inputs, network.job.width());
        let columns = x.len() / inputs;
        let known = self.x.len() / inputs;
        self.jobs.resize(columns * hidden, 0.0);
        self.own.resize(columns * hidden, 0.0);
        for k in 0..columns {
            let x_k = row(k, inputs);
            if k >= known || self.x[x_k.clone()] != x[x_k.clone()] {
                let (job, own) = (&mut self.jobs[row(k, hidden)], &mut self.own[row(k, hidden)]);
                kernel.run::<Relu>(network.job.whole(), &x[x_k], job);
                kernel.run::<Identity>(network.together.part(0..hidden, network.together.bias()), job, own);
            }
        }
        self.x.clear();
        self.x.extend_from_slice(x);
        self.pooled.clear();
        self.pooled.resize(hidden, 0.0);
        for job in self.jobs.chunks_exact(hidden) {
            self.pooled.iter_mut().zip(job).for_each(|(sum, e)| *sum += e);
        }
        self.pooled.iter_mut().for_each(|sum| *sum *= POOL);
        self.cluster.resize(hidden, 0.0);
        kernel.run::<Relu>(network.cluster.whole(), &self.pooled, &mut self.cluster);
        // The bias has been added to each job's own part.
        self.padded.clear();
        self.padded.resize(hidden, 0.0);
        self.shared.resize(hidden, 0.0);
        let part = network.together.part(hidden..2 * hidden, &self.padded);
        kernel.run::<Identity>(part, &self.cluster, &mut self.shared);
        self.together.clear();
        for own in self.own.chunks_exact(hidden) {
            self.together.extend(own.iter().zip(&self.shared).map(|(a, b)| (a + b).max(0.0)));
        }
        let width = network.score.width();
        self.padded.resize(columns * width, 0.0);
        kernel.run::<Identity>(network.score.whole(), &self.together, &mut self.padded[..columns * width]);
        out.clear();
        for scores in self.padded[..columns * width].chunks_exact(width) {
            out.extend_from_slice(&scores[..network.scores]);
        }
        self.padded.resize(network.close.width(), 0.0);
        kernel.run::<Identity>(network.close.whole(), &self.cluster, &mut self.padded[..network.close.width()]);
        out.push(self.padded[0]);
    }
}

/// Places of row `k` of a matrix with rows of that length.
fn row(k: usize, length: usize) -> Range<usize> {
    k * length..(k + 1) * length
}
