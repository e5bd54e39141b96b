//! The weights of a DL2 network, checked and laid out for the kernel.

use super::{
    flat::{Flat, FlatPass},
    pooled::{Pooled, PooledPass},
};
use crate::heuristic::window::ROWS;
use sched_distill_core::network::{
    NeuralError, Tensors,
    dense::{Kernel, Layer},
};
use serde::{Deserialize, Serialize};

/// Numbers of a job besides its type.
const NUMBERS: usize = ROWS - 1;
/// What a job's slots since arrival, remaining share, dominant share, workers and servers are multiplied by.
const SCALES: [f32; NUMBERS] = [0.1, 1.0, 10.0, 1.0 / 16.0, 1.0 / 16.0];
/// What the type is multiplied by where it is a number.
const TYPE_SCALE: f32 = 1.0 / 8.0;
/// The two networks by name, with the number of scores per job.
const NETWORKS: [(&str, usize); 2] = [("policy", 3), ("value", 1)];
/// Name of the text in a checkpoint's header that tells the window.
pub const WINDOW: &str = "window";

/// How a network joins the jobs that it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dl2Form {
    /// Every job goes through the same layers and the results are summed up, so that neither the order of the columns nor their
    /// number matters:
    ///
    /// ```text
    /// e[k] = relu(job · x[k])                       one job; its type is one of `types` flags
    /// c    = relu(cluster · Σ e[k] / 8)             all jobs
    /// h[k] = relu(together · (e[k], c))             the job among the others
    /// scores of column k = score · h[k]             worker, server, both; the value network adds its one score up over jobs
    /// score of closing   = close · c
    /// ```
    Pooled {
        /// Types of job that it tells apart.
        types: usize,
    },
    /// All columns in one row `x`, column after column, as published; each column has to be learned by itself. Fixed scales take
    /// the place of batch normalisation.
    ///
    /// ```text
    /// scores = score · relu(second · relu(first · x))      all actions, or the one value; the type is a number
    /// ```
    Flat,
}

/// The form and size of a network.
///
/// Source: Y. Peng et al., *DL2: A Deep Learning-driven Scheduler for Deep Learning Clusters*, arXiv 1909.06040, for what goes in
/// and comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dl2Shape {
    /// How it joins jobs.
    pub form: Dl2Form,
    /// Columns of the window.
    pub window: usize,
    /// Neurons of each layer; a multiple of 16.
    pub hidden: usize,
}

impl Dl2Shape {
    /// Columns of the window where nobody names a number, as in the small and the middle setting of the DL2 simulator.
    pub const WINDOW: usize = 20;

    /// Inputs per job.
    #[must_use]
    pub fn inputs(self) -> usize {
        match self.form {
            Dl2Form::Pooled { types } => types + NUMBERS,
            Dl2Form::Flat => ROWS,
        }
    }

    /// Appends the inputs of one column of the window.
    pub fn write_inputs(self, column: &[f32; ROWS], out: &mut Vec<f32>) {
        match self.form {
            Dl2Form::Pooled { types } => {
                let first = out.len();
                out.resize(first + types, 0.0);
                // Types count from 1 in the window.
                out[first + column[0] as usize - 1] = 1.0;
            }
            Dl2Form::Flat => out.push(column[0] * TYPE_SCALE),
        }
        out.extend(column[1..].iter().zip(SCALES).map(|(value, scale)| value * scale));
    }

    /// Names and shapes of the tensors, network by network and layer by layer, weight and bias.
    pub fn tensors(self) -> Vec<(String, Vec<usize>)> {
        let mut shapes = Vec::new();
        for (network, scores) in NETWORKS {
            for (layer, outputs, inputs) in self.layers(network, scores) {
                shapes.push((format!("{network}.{layer}.weight"), vec![outputs, inputs]));
                shapes.push((format!("{network}.{layer}.bias"), vec![outputs]));
            }
        }
        shapes
    }

    /// Name, outputs and inputs of each layer.
    fn layers(self, network: &str, scores: usize) -> Vec<(&'static str, usize, usize)> {
        let (inputs, hidden) = (self.inputs(), self.hidden);
        match self.form {
            Dl2Form::Pooled { .. } => vec![
                ("job", hidden, inputs),
                ("cluster", hidden, hidden),
                ("together", hidden, 2 * hidden),
                ("score", scores, hidden),
                ("close", 1, hidden),
            ],
            Dl2Form::Flat => vec![
                ("first", hidden, self.window * inputs),
                ("second", hidden, hidden),
                ("score", flat_scores(network) * self.window + 1, hidden),
            ],
        }
    }

    /// The form and size that a checkpoint's first layer and its text tell.
    fn of(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        let names = ["policy.job.weight", "policy.first.weight"];
        let (first, found) = names.iter().find_map(|name| Some((*name, tensors.get(name)?))).ok_or_else(|| {
            let usual = Self { form: Dl2Form::Pooled { types: 8 }, window: Self::WINDOW, hidden: 64 };
            NeuralError::Missing {
                origin: origin.to_owned(),
                tensor: names[0].to_owned(),
                expected: usual.tensors()[0].1.clone(),
            }
        })?;
        let pooled = first == names[0];
        let fail = |reason: String| Err(NeuralError::Format { origin: origin.to_owned(), reason });
        let window = match tensors.text(WINDOW).map(|text| (text, text.parse())) {
            None => Self::WINDOW,
            Some((_, Ok(window @ 1..=10_000))) => window,
            Some((text, _)) => return fail(format!("its header tells a window of `{text}`; allowed are 1 to 10000")),
        };
        match found.shape[..] {
            [hidden, inputs] if hidden > 0 && hidden % 16 == 0 && hidden <= 4096 => {
                if pooled && inputs > NUMBERS {
                    return Ok(Self { form: Dl2Form::Pooled { types: inputs - NUMBERS }, window, hidden });
                }
                if !pooled && inputs > 0 && inputs % ROWS == 0 {
                    return Ok(Self { form: Dl2Form::Flat, window: inputs / ROWS, hidden });
                }
            }
            _ => {}
        }
        let inputs = if pooled { format!("types + {NUMBERS}") } else { format!("{ROWS} times the window") };
        fail(format!(
            "tensor `{first}` has shape {:?}; allowed is [neurons, {inputs}] with 16, 32, 48, ... 4096 neurons",
            found.shape
        ))
    }
}

/// Scores per column of a flat network; a state has one value.
fn flat_scores(network: &str) -> usize {
    if network == NETWORKS[0].0 { 3 } else { 0 }
}

/// The weights of a DL2 network: one that scores actions, and one of the same form that values states.
#[derive(Clone, Debug)]
pub struct Dl2Weights {
    shape: Dl2Shape,
    pub(super) policy: Network,
    pub(super) value: Network,
}

impl Dl2Weights {
    /// Checks a checkpoint's tensors; form and size follow from the first layer, the window of the pooled form from a text
    /// `window` in the file's header, else it is [`Dl2Shape::WINDOW`]. `origin` names the checkpoint in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Missing`], [`NeuralError::Format`], [`NeuralError::Shape`], [`NeuralError::NotFinite`] or
    /// [`NeuralError::Extra`], naming the first offending tensor.
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        let shape = Dl2Shape::of(tensors, origin)?;
        tensors.expect(&shape.tensors(), origin)?;
        let data = |name: String| tensors.get(&name).map_or(&[][..], |tensor| &tensor.data);
        let [policy, value] = NETWORKS.map(|(network, scores)| {
            let layer = |name: &str| {
                let data = |what: &str| data(format!("{network}.{name}.{what}"));
                Layer::new(data("weight"), data("bias"))
            };
            match shape.form {
                Dl2Form::Pooled { .. } => Network::Pooled(Pooled {
                    inputs: shape.inputs(),
                    scores,
                    job: layer("job"),
                    cluster: layer("cluster"),
                    together: layer("together"),
                    score: layer("score"),
                    close: layer("close"),
                }),
                Dl2Form::Flat => Network::Flat(Flat {
                    window: shape.window,
                    scores: flat_scores(network),
                    first: layer("first"),
                    second: layer("second"),
                    score: layer("score"),
                }),
            }
        });
        Ok(Self { shape, policy, value })
    }

    /// Form and size.
    #[must_use]
    pub fn shape(&self) -> Dl2Shape {
        self.shape
    }

    /// The same weights behind another window.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Format`] if the network is flat, so that its window is what it is.
    pub fn with_window(mut self, window: usize, origin: &str) -> Result<Self, NeuralError> {
        if self.shape.form == Dl2Form::Flat && window != self.shape.window {
            let own = self.shape.window;
            let reason = format!("a flat network with a window of {own} jobs, not {window}; leave `window` out");
            return Err(NeuralError::Format { origin: origin.to_owned(), reason });
        }
        self.shape.window = window;
        Ok(self)
    }
}

/// One of the two networks.
#[derive(Clone, Debug)]
pub(super) enum Network {
    Pooled(Pooled),
    Flat(Flat),
}

/// Buffers of a network's forward pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
    pooled: PooledPass,
    flat: FlatPass,
}

impl Pass {
    /// Writes the scores of all columns, and that of closing last; or what the value adds up from. `x` has shape
    /// `(columns, inputs)`, empty columns left out.
    pub(super) fn run(&mut self, network: &Network, kernel: Kernel, x: &[f32], out: &mut Vec<f32>) {
        match network {
            Network::Pooled(network) => self.pooled.run(network, kernel, x, out),
            Network::Flat(network) => self.flat.run(network, kernel, x, out),
        }
    }
}
