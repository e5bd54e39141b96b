//! The weights of a DL2 network, checked and laid out for the kernel.

use crate::policy::{
    neural::{
        NeuralError, Tensors,
        dense::{Identity, Kernel, Layer, Relu},
    },
    training::window::ROWS,
};
use std::ops::Range;

/// Numbers of a job besides its type.
const NUMBERS: usize = ROWS - 1;
/// What a job's slots since arrival, remaining share, dominant share, workers and servers are multiplied by.
const SCALES: [f32; NUMBERS] = [0.1, 1.0, 10.0, 1.0 / 16.0, 1.0 / 16.0];
/// What the sum over jobs is multiplied by.
pub(crate) const POOL: f32 = 0.125;
/// The two networks by name, with the number of scores per job.
pub(crate) const TRUNKS: [(&str, usize); 2] = [("policy", 3), ("value", 1)];

/// The size of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dl2Shape {
    /// Types of job that it tells apart.
    pub types: usize,
    /// Neurons of each layer; a multiple of 16.
    pub hidden: usize,
}

impl Dl2Shape {
    /// Inputs per job.
    #[must_use]
    pub fn inputs(self) -> usize {
        self.types + NUMBERS
    }

    /// Appends the inputs of one column of the window.
    pub(crate) fn write_inputs(self, column: &[f32; ROWS], out: &mut Vec<f32>) {
        let first = out.len();
        out.resize(first + self.types, 0.0);
        // Types count from 1 in the window.
        out[first + column[0] as usize - 1] = 1.0;
        out.extend(column[1..].iter().zip(SCALES).map(|(value, scale)| value * scale));
    }

    /// Names and shapes of the tensors, network by network and layer by layer.
    pub(crate) fn tensors(self) -> Vec<(String, Vec<usize>)> {
        let (inputs, hidden) = (self.inputs(), self.hidden);
        let mut shapes = Vec::new();
        for (trunk, scores) in TRUNKS {
            for (layer, [outputs, inputs]) in [
                ("job", [hidden, inputs]),
                ("cluster", [hidden, hidden]),
                ("together", [hidden, 2 * hidden]),
                ("score", [scores, hidden]),
                ("close", [1, hidden]),
            ] {
                shapes.push((format!("{trunk}.{layer}.weight"), vec![outputs, inputs]));
                shapes.push((format!("{trunk}.{layer}.bias"), vec![outputs]));
            }
        }
        shapes
    }
}

/// The weights of a DL2 network: one that scores actions, and one of the same form that values states.
///
/// Every job goes through the same layers, so neither the order of the columns nor their number matters:
///
/// ```text
/// e[k] = relu(job · x[k])                       one job
/// c    = relu(cluster · Σ e[k] / 8)             all jobs
/// h[k] = relu(together · (e[k], c))             the job among the others
/// scores of column k = score · h[k]             worker, server, both; the value network adds its one score up over jobs
/// score of closing   = close · c
/// ```
///
/// Source: Y. Peng et al., *DL2: A Deep Learning-driven Scheduler for Deep Learning Clusters*, arXiv 1909.06040, for what goes in
/// and comes out. Its network joins all columns in two dense layers and so has to learn each column by itself.
#[derive(Clone, Debug)]
pub struct Dl2Weights {
    pub(super) shape: Dl2Shape,
    pub(super) policy: Trunk,
    pub(super) value: Trunk,
}

impl Dl2Weights {
    /// Checks a checkpoint's tensors; the number of types and of neurons follows from the first layer. `origin` names the
    /// checkpoint in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Missing`], [`NeuralError::Shape`], [`NeuralError::NotFinite`] or [`NeuralError::Extra`], naming the first
    /// offending tensor.
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        let first = "policy.job.weight";
        let found = tensors.get(first).ok_or_else(|| NeuralError::Missing {
            origin: origin.to_owned(),
            tensor: first.to_owned(),
            expected: Dl2Shape { types: 8, hidden: 64 }.tensors()[0].1.clone(),
        })?;
        let shape = match found.shape[..] {
            [hidden, inputs] if hidden > 0 && hidden % 16 == 0 && hidden <= 4096 && inputs > NUMBERS => {
                Dl2Shape { types: inputs - NUMBERS, hidden }
            }
            _ => {
                let reason = format!(
                    "tensor `{first}` has shape {:?}; allowed is [neurons, types + {NUMBERS}] with 16, 32, 48, ... 4096 neurons",
                    found.shape
                );
                return Err(NeuralError::Format { origin: origin.to_owned(), reason });
            }
        };
        tensors.expect(&shape.tensors(), origin)?;
        let data = |name: String| tensors.get(&name).map_or(&[][..], |tensor| &tensor.data);
        let trunk = |trunk: &str, scores: usize| {
            let layer = |name: &str| {
                let data = |what: &str| data(format!("{trunk}.{name}.{what}"));
                Layer::new(data("weight"), data("bias"))
            };
            Trunk {
                scores,
                job: layer("job"),
                cluster: layer("cluster"),
                together: layer("together"),
                score: layer("score"),
                close: layer("close"),
            }
        };
        let [policy, value] = TRUNKS.map(|(name, scores)| trunk(name, scores));
        Ok(Self { shape, policy, value })
    }

    /// Types of job and neurons.
    #[must_use]
    pub fn shape(&self) -> Dl2Shape {
        self.shape
    }
}

/// One of the two networks.
#[derive(Clone, Debug)]
pub(super) struct Trunk {
    scores: usize,
    job: Layer,
    cluster: Layer,
    together: Layer,
    score: Layer,
    close: Layer,
}

/// Buffers of a network's forward pass. What depends on one job alone is kept for the next question, which mostly differs from
/// the last one in a single job.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
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

impl Pass {
    /// Writes the scores of all columns, and that of closing last; `x` has shape `(columns, inputs)`.
    pub(super) fn run(&mut self, trunk: &Trunk, kernel: Kernel, shape: Dl2Shape, x: &[f32], out: &mut Vec<f32>) {
        let (inputs, hidden) = (shape.inputs(), shape.hidden);
        let columns = x.len() / inputs;
        let known = self.x.len() / inputs;
        self.jobs.resize(columns * hidden, 0.0);
        self.own.resize(columns * hidden, 0.0);
        for k in 0..columns {
            let x_k = row(k, inputs);
            if k >= known || self.x[x_k.clone()] != x[x_k.clone()] {
                let (job, own) = (&mut self.jobs[row(k, hidden)], &mut self.own[row(k, hidden)]);
                kernel.run::<Relu>(trunk.job.whole(), &x[x_k], job);
                kernel.run::<Identity>(trunk.together.part(0..hidden, trunk.together.bias()), job, own);
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
        kernel.run::<Relu>(trunk.cluster.whole(), &self.pooled, &mut self.cluster);
        // The bias has been added to each job's own part.
        self.padded.clear();
        self.padded.resize(hidden, 0.0);
        self.shared.resize(hidden, 0.0);
        let part = trunk.together.part(hidden..2 * hidden, &self.padded);
        kernel.run::<Identity>(part, &self.cluster, &mut self.shared);
        self.together.clear();
        for own in self.own.chunks_exact(hidden) {
            self.together.extend(own.iter().zip(&self.shared).map(|(a, b)| (a + b).max(0.0)));
        }
        let width = trunk.score.width();
        self.padded.resize(columns * width, 0.0);
        kernel.run::<Identity>(trunk.score.whole(), &self.together, &mut self.padded[..columns * width]);
        out.clear();
        for scores in self.padded[..columns * width].chunks_exact(width) {
            out.extend_from_slice(&scores[..trunk.scores]);
        }
        self.padded.resize(trunk.close.width(), 0.0);
        kernel.run::<Identity>(trunk.close.whole(), &self.cluster, &mut self.padded[..trunk.close.width()]);
        out.push(self.padded[0]);
    }
}

/// Places of row `k` of a matrix with rows of that length.
fn row(k: usize, length: usize) -> Range<usize> {
    k * length..(k + 1) * length
}
