//! The weights of the Decima network, laid out for the kernel.
//!
//! The kernel computes outputs in groups of 16, so all widths are filled up to that with neurons that give 0 and that nothing
//! listens to. At the usual widths there are none.

use super::checkpoint::{DecimaCheckpoint, Linear};
use sched_distill_core::network::{
    NeuralError, Tensors,
    dense::{Activation, Identity, Kernel, Layer, Leaky, Part, Tanh, score},
};
use std::ops::Range;

/// Features of a node.
pub const FEATURES: usize = 5;
/// Features of a job: the first of its nodes' features.
pub(super) const JOB_FEATURES: usize = 3;
/// Length of every embedding of the public checkpoint.
pub const WIDTH: usize = 16;
/// Places of the embeddings of a node, a job and the cluster in the public checkpoint.
pub(super) const USUAL: [usize; 3] = [WIDTH; 3];
/// Hidden neurons of the two heads.
const HIDDEN: usize = 64;

/// The perceptrons by name, with the lengths of input, first and second hidden layer, and output in the public checkpoint.
pub(super) const BLOCKS: [(&str, [usize; 4]); 7] = [
    ("encoder.node_encoder.mlp_prep", [FEATURES, 32, 16, WIDTH]),
    ("encoder.node_encoder.mlp_msg", [WIDTH, 32, 16, WIDTH]),
    ("encoder.node_encoder.mlp_update", [WIDTH, 32, 16, WIDTH]),
    ("encoder.dag_encoder.mlp", [FEATURES + WIDTH, 32, 16, WIDTH]),
    ("encoder.global_encoder.mlp", [WIDTH, 32, 16, WIDTH]),
    ("stage_policy_network.mlp_score", [FEATURES + 3 * WIDTH, HIDDEN, HIDDEN, 1]),
    ("exec_policy_network.mlp_score", [JOB_FEATURES + 2 * WIDTH + 1, HIDDEN, HIDDEN, 1]),
];

/// The weights of a Decima network. They do not depend on the size of the cluster.
///
/// Source: H. Mao et al., *Learning Scheduling Algorithms for Data Processing Clusters*, SIGCOMM 2019, in the shape that
/// the project spark-sched-sim trains (20,802 parameters), or in any other widths and depths.
#[derive(Clone, Debug)]
pub struct DecimaWeights {
    /// Places of the embeddings of a node, a job and the cluster.
    pub(super) widths: [usize; 3],
    pub(super) prep: Mlp,
    pub(super) msg: Mlp,
    pub(super) update: Mlp,
    pub(super) dag: Mlp,
    pub(super) global: Mlp,
    pub(super) stage: Head,
    pub(super) amount: Head,
}

impl DecimaWeights {
    /// Takes the network from a checkpoint's tensors; what may be in it says [`DecimaCheckpoint::read`].
    ///
    /// # Errors
    ///
    /// Those of [`DecimaCheckpoint::read`].
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        Ok(Self::new(&DecimaCheckpoint::read(tensors, origin)?))
    }

    /// The weights of a checkpoint.
    #[must_use]
    pub fn new(checkpoint: &DecimaCheckpoint) -> Self {
        let width = |block: usize| checkpoint.blocks[block].last().map_or(0, Linear::outputs);
        let [node, job, cluster] = [width(0), width(3), width(4)];
        // Normalisations leave weights of which many cancel out.
        let precise = checkpoint.folded > 0;
        let mlp = |block: usize, inputs: &[Group]| Mlp(laid_out(&checkpoint.blocks[block], inputs, precise));
        let head = |block: usize, inputs: &[Group]| Head::new(&checkpoint.blocks[block], inputs, precise);
        let (features, of_job, amount) = ((FEATURES, 0), (JOB_FEATURES, 0), (1, 0));
        let [h, dag, glob] = [node, job, cluster].map(filled);
        Self {
            widths: [node, job, cluster].map(|width| width.next_multiple_of(GROUP)),
            prep: mlp(0, &[features]),
            msg: mlp(1, &[h]),
            update: mlp(2, &[h]),
            dag: mlp(3, &[features, h]),
            global: mlp(4, &[dag]),
            stage: head(5, &[features, h, dag, glob]),
            amount: head(6, &[of_job, dag, glob, amount]),
        }
    }
}

/// So many inputs of a layer, and so many places after them that hold nothing.
type Group = (usize, usize);

/// What outputs are filled up to.
pub(super) const GROUP: usize = 16;

/// The outputs of another layer.
fn filled(width: usize) -> Group {
    (width, width.next_multiple_of(GROUP) - width)
}

/// Layers, the first one's inputs as given, those of the others as the outputs before them are.
fn laid_out(layers: &[Linear], inputs: &[Group], precise: bool) -> Vec<Layer> {
    let layers = layers.iter().enumerate();
    let layer = |(i, layer): (usize, &Linear)| {
        let before = [filled(layer.inputs)];
        let groups = if i == 0 { inputs } else { &before };
        let layer = Layer::new(&spread(&layer.weight, layer.inputs, groups), &layer.bias);
        if precise { layer.precise() } else { layer }
    };
    layers.map(layer).collect()
}

/// Rows whose numbers are taken in groups, each followed by so many zeros.
fn spread(weight: &[f32], inputs: usize, groups: &[Group]) -> Vec<f32> {
    let mut spread = Vec::new();
    for mut row in weight.chunks_exact(inputs) {
        for &(taken, zeros) in groups {
            let (group, rest) = row.split_at(taken);
            spread.extend_from_slice(group);
            spread.resize(spread.len() + zeros, 0.0);
            row = rest;
        }
    }
    spread
}

/// Names and shapes of the public checkpoint's tensors, perceptron by perceptron: weight and bias of each layer.
pub fn shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = Vec::new();
    for (block, sizes) in BLOCKS {
        for (number, pair) in [0, 2, 4].into_iter().zip(sizes.windows(2)) {
            shapes.push((format!("{block}.{number}.weight"), vec![pair[1], pair[0]]));
            shapes.push((format!("{block}.{number}.bias"), vec![pair[1]]));
        }
    }
    shapes
}

/// Layers, LeakyReLU after all but the last.
#[derive(Clone, Debug)]
pub(super) struct Mlp(Vec<Layer>);

/// Hidden tanh layers and one number out.
#[derive(Clone, Debug)]
pub(super) struct Head {
    hidden: Vec<Layer>,
    weight: Vec<[f32; 8]>,
    bias: f32,
}

/// Outputs of hidden layers, kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch([Vec<f32>; 2]);

impl Mlp {
    /// Computes one embedding per row of inputs.
    pub(super) fn run(&self, kernel: Kernel, x: &[f32], scratch: &mut Scratch, y: &mut [f32]) {
        let (last, hidden) = self.0.split_last().expect("a perceptron has a layer");
        let rows = y.len() / last.width();
        let x = match hidden {
            [] => x,
            [first, rest @ ..] => through::<Leaky>(kernel, (first.whole(), first.width()), rest, rows, x, scratch),
        };
        kernel.run::<Identity>(last.whole(), x, y);
    }
}

impl Head {
    fn new(layers: &[Linear], inputs: &[Group], precise: bool) -> Self {
        let (last, hidden) = layers.split_last().expect("a head has two layers");
        let weight = spread(&last.weight, last.inputs, &[filled(last.inputs)]);
        let bias = last.bias[0];
        Self { hidden: laid_out(hidden, inputs, precise), weight: weight.as_chunks().0.to_vec(), bias }
    }

    /// The first layer.
    pub(super) fn first(&self) -> &Layer {
        &self.hidden[0]
    }

    /// Computes one score per row; `x` holds some `inputs` of the first layer and `base`, which has as many places as that is wide,
    /// the share of the others.
    pub(super) fn run(
        &self,
        kernel: Kernel,
        inputs: Range<usize>,
        base: &[f32],
        x: &[f32],
        scratch: &mut Scratch,
        y: &mut [f32],
    ) {
        let (first, rest) = self.hidden.split_first().expect("a head has a hidden layer");
        let hidden = through::<Tanh>(kernel, (first.part(inputs, base), first.width()), rest, y.len(), x, scratch);
        score(&self.weight, self.bias, hidden, y);
    }
}

/// What comes out of hidden layers: the first one, which may be given some of its inputs only, and the rest.
fn through<'a, A: Activation>(
    kernel: Kernel,
    (first, width): (Part<'_>, usize),
    rest: &[Layer],
    rows: usize,
    x: &[f32],
    scratch: &'a mut Scratch,
) -> &'a [f32] {
    // The buffers change places within a call, not from one to the next: the wider one of the first layer is then always the same.
    let [mut last, mut next] = scratch.0.each_mut();
    let mut len = rows * width;
    kernel.run::<A>(first, x, room(last, len));
    for layer in rest {
        kernel.run::<A>(layer.whole(), &last[..len], room(next, rows * layer.width()));
        len = rows * layer.width();
        std::mem::swap(&mut last, &mut next);
    }
    &last[..len]
}

/// The first `len` places of a buffer, which only ever grows.
pub(super) fn room(buffer: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use sched_distill_core::{network::Tensor, rng::Stream};
    use std::collections::BTreeMap;

    /// A network with random weights of the usual size, biases included.
    pub(in crate::network) fn random(seed: u64) -> Tensors {
        Tensors::new(random_entries(seed), BTreeMap::new())
    }

    fn random_entries(seed: u64) -> BTreeMap<String, Tensor> {
        let mut stream = Stream::new(seed, "weights");
        let entries = shapes().into_iter().map(|(name, shape)| {
            let scale = 1.0 / (*shape.last().expect("no scalar among them") as f64).sqrt();
            let data = (0..shape.iter().product::<usize>()).map(|_| (scale * stream.normal()) as f32).collect();
            (name, Tensor { shape, data })
        });
        entries.collect()
    }

    #[test]
    fn the_network_has_42_tensors_and_20802_parameters() {
        assert_eq!(shapes().len(), 42);
        assert_eq!(shapes().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum::<usize>(), 20_802);
    }
}
