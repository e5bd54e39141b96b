//! The weights of the Decima network, checked and laid out for the kernel.

use sched_distill_core::network::{
    NeuralError, Tensors,
    dense::{Identity, Kernel, Layer, Leaky, Tanh, score},
};
use std::ops::Range;

/// Features of a node.
pub const FEATURES: usize = 5;
/// Length of every embedding.
pub const WIDTH: usize = 16;
/// Hidden neurons of the two heads.
pub(super) const HIDDEN: usize = 64;

/// The perceptrons by name, with the lengths of input, first and second hidden layer, and output.
const BLOCKS: [(&str, [usize; 4]); 7] = [
    ("encoder.node_encoder.mlp_prep", [FEATURES, 32, 16, WIDTH]),
    ("encoder.node_encoder.mlp_msg", [WIDTH, 32, 16, WIDTH]),
    ("encoder.node_encoder.mlp_update", [WIDTH, 32, 16, WIDTH]),
    ("encoder.dag_encoder.mlp", [FEATURES + WIDTH, 32, 16, WIDTH]),
    ("encoder.global_encoder.mlp", [WIDTH, 32, 16, WIDTH]),
    ("stage_policy_network.mlp_score", [FEATURES + 3 * WIDTH, HIDDEN, HIDDEN, 1]),
    ("exec_policy_network.mlp_score", [3 + 2 * WIDTH + 1, HIDDEN, HIDDEN, 1]),
];

/// The weights of a Decima network. They do not depend on the size of the cluster.
///
/// Source: H. Mao et al., *Learning Scheduling Algorithms for Data Processing Clusters*, SIGCOMM 2019, in the shape that
/// the project spark-sched-sim trains (20,802 parameters).
#[derive(Clone, Debug)]
pub struct DecimaWeights {
    pub(super) prep: Mlp,
    pub(super) msg: Mlp,
    pub(super) update: Mlp,
    pub(super) dag: Mlp,
    pub(super) global: Mlp,
    pub(super) stage: Head,
    pub(super) amount: Head,
}

impl DecimaWeights {
    /// Checks a checkpoint's tensors: all 42 of the network, no other, each of the right shape and finite. `origin` names
    /// the checkpoint in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Missing`], [`NeuralError::Shape`], [`NeuralError::NotFinite`] or [`NeuralError::Extra`], naming the
    /// first offending tensor.
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        tensors.expect(&shapes(), origin)?;
        let data = |name: String| tensors.get(&name).map_or(&[][..], |tensor| &tensor.data);
        let layer = |block: usize, number: usize| {
            let name = format!("{}.{number}", BLOCKS[block].0);
            Layer::new(data(format!("{name}.weight")), data(format!("{name}.bias")))
        };
        let mlp = |block| Mlp([0, 2, 4].map(|number| layer(block, number)));
        let head = |block: usize| Head {
            hidden: [0, 2].map(|number| layer(block, number)),
            weight: data(format!("{}.4.weight", BLOCKS[block].0)).as_chunks().0.to_vec(),
            bias: data(format!("{}.4.bias", BLOCKS[block].0))[0],
        };
        Ok(Self {
            prep: mlp(0),
            msg: mlp(1),
            update: mlp(2),
            dag: mlp(3),
            global: mlp(4),
            stage: head(5),
            amount: head(6),
        })
    }
}

/// Names and shapes of the network's tensors, perceptron by perceptron: weight and bias of each layer.
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

/// Three layers, LeakyReLU after the first two.
#[derive(Clone, Debug)]
pub(super) struct Mlp([Layer; 3]);

/// Two hidden tanh layers and one number out.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) hidden: [Layer; 2],
    weight: Vec<[f32; 8]>,
    bias: f32,
}

/// Outputs of the two hidden layers, kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch([Vec<f32>; 2]);

impl Mlp {
    /// Computes one embedding per row of inputs.
    pub(super) fn run(&self, kernel: Kernel, x: &[f32], scratch: &mut Scratch, y: &mut [f32]) {
        let rows = y.len() / WIDTH;
        let [first, second, third] = &self.0;
        let [a, b] = &mut scratch.0;
        let (a, b) = (room(a, rows * first.width()), room(b, rows * second.width()));
        kernel.run::<Leaky>(first.whole(), x, a);
        kernel.run::<Leaky>(second.whole(), a, b);
        kernel.run::<Identity>(third.whole(), b, y);
    }
}

impl Head {
    /// Computes one score per row; `x` holds some `inputs` of the first layer and `base`, which has
    /// [`HIDDEN`] places, the share of the others.
    pub(super) fn run(
        &self,
        kernel: Kernel,
        inputs: Range<usize>,
        base: &[f32],
        x: &[f32],
        scratch: &mut Scratch,
        y: &mut [f32],
    ) {
        let [a, b] = &mut scratch.0;
        let (a, b) = (room(a, y.len() * HIDDEN), room(b, y.len() * HIDDEN));
        kernel.run::<Tanh>(self.hidden[0].part(inputs, base), x, a);
        kernel.run::<Tanh>(self.hidden[1].whole(), a, b);
        score(&self.weight, self.bias, b, y);
    }
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

    #[test]
    fn a_wrong_tensor_is_named_with_what_was_expected() -> Result<(), NeuralError> {
        let good = random(1);
        DecimaWeights::from_tensors(&good, "t.pt")?;
        let name = "encoder.dag_encoder.mlp.0.weight";
        let error = |change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
            let mut bad = random_entries(1);
            change(&mut bad);
            DecimaWeights::from_tensors(&Tensors::new(bad, BTreeMap::new()), "t.pt")
                .map(|_| ())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(&|t| drop(t.remove(name))),
            format!(
                "teacher t.pt: tensor `{name}` of shape [32, 21] is missing; is this a checkpoint of that network?"
            )
        );
        assert_eq!(
            error(&|t| t.get_mut(name).unwrap().shape = vec![21, 32]),
            format!("teacher t.pt: tensor `{name}` has shape [21, 32], expected [32, 21]")
        );
        assert_eq!(
            error(&|t| t.get_mut(name).unwrap().data[7] = f32::NAN),
            format!("teacher t.pt: tensor `{name}` holds NaN at index 7; weights must be finite")
        );
        let copy = random_entries(1)[name].clone();
        assert_eq!(
            error(&|t| drop(t.insert("critic.0.weight".to_owned(), copy.clone()))),
            "teacher t.pt: tensor `critic.0.weight` of shape [32, 21] is not part of the network, which has 42 tensors"
        );
        Ok(())
    }
}
