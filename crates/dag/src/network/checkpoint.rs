//! A Decima checkpoint as somebody saved it: of any width and depth, with or without batch normalisations.
//!
//! What a file says by the names and shapes of its tensors is taken from there. What it does not say is the contract: five
//! features a node, LeakyReLU(0.2) after every layer of the encoders but the last, tanh in the heads.

use super::weights::{BLOCKS, FEATURES, JOB_FEATURES, shapes};
use sched_distill_core::network::{NeuralError, Tensor, Tensors};
use std::collections::BTreeMap;

/// Added to variances before the root is taken, as PyTorch does unless told otherwise; a file does not tell.
const EPSILON: f64 = 1e-5;

/// What to do with another network.
const OTHERS: &str = "a network of another form schedules as `script:` or `onnx:` (docs/foreign-policies.md)";

/// What stands in a normalisation; the last is a counter.
const NORM: [&str; 5] = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"];

/// A checkpoint of the Decima network, of whatever widths: checked, and without what its names were wrapped in.
///
/// ```no_run
/// use sched_distill_core::network::Tensors;
/// use sched_distill_dag::network::DecimaCheckpoint;
///
/// let checkpoint = DecimaCheckpoint::read(&Tensors::load("model.pt")?, "model.pt")?;
/// assert_eq!(checkpoint.widths().count(), 7);
/// # Ok::<(), sched_distill_core::network::NeuralError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecimaCheckpoint {
    /// Perceptrons in the order of [`BLOCKS`].
    pub(super) blocks: Vec<Vec<Linear>>,
    /// Normalisations that became part of layers.
    pub(super) folded: usize,
    notes: Vec<String>,
}

/// `y = W x + b`.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) inputs: usize,
    /// Shape `(outputs, inputs)`, row-major.
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// The modules of a perceptron by their numbers; of each the tensors by their names.
type Modules<'a> = BTreeMap<usize, BTreeMap<&'a str, &'a Tensor>>;

impl DecimaCheckpoint {
    /// Takes the network from a checkpoint's tensors: its widths, and batch normalisations, which become part of the layers before
    /// them. Names may have prefixes, see [`Tensors::unwrapped`]. `origin` names the checkpoint in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::NotFinite`], or [`NeuralError::Format`] with the first offending tensor, and what to do with a network of
    /// another form.
    pub fn read(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        let tensors = tensors.unwrapped(&BLOCKS.map(|(block, _)| block), origin)?;
        if let Some((name, index, value)) = not_finite(&tensors) {
            let (origin, tensor) = (origin.to_owned(), name.to_owned());
            return Err(NeuralError::NotFinite { origin, tensor, index, value });
        }
        let (blocks, folded) = blocks(&tensors).map_err(|reason| NeuralError::Format {
            origin: origin.to_owned(),
            reason: format!("{reason}; {OTHERS}"),
        })?;
        let mut notes = tensors.notes().to_vec();
        if folded > 0 {
            notes.push(format!(
                "{folded} batch normalisations made part of the layers before them, by their running statistics, with {EPSILON:e} \
                 added to the variance"
            ));
        }
        Ok(Self { blocks, folded, notes })
    }

    /// Whether a file has anything of such a network, by the names of its tensors.
    #[must_use]
    pub fn is_in(tensors: &Tensors) -> bool {
        tensors.iter().any(|(name, _)| BLOCKS.iter().any(|(block, _)| name.contains(block)))
    }

    /// Names and widths of the perceptrons: inputs, hidden layers, outputs.
    pub fn widths(&self) -> impl ExactSizeIterator<Item = (&'static str, Vec<usize>)> {
        BLOCKS.iter().zip(&self.blocks).map(|((name, _), layers)| {
            let inputs = layers.first().map(|layer| layer.inputs);
            (*name, inputs.into_iter().chain(layers.iter().map(Linear::outputs)).collect())
        })
    }

    /// How many numbers the layers have.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.blocks.iter().flatten().map(|layer| layer.weight.len() + layer.bias.len()).sum()
    }

    /// What was done with the file besides reading it.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The layers alone, by the names that the public checkpoint gives them.
    #[must_use]
    pub fn plain(&self) -> Tensors {
        let mut entries = BTreeMap::new();
        for ((block, _), layers) in BLOCKS.iter().zip(&self.blocks) {
            for (i, layer) in layers.iter().enumerate() {
                let mut add = |what: &str, shape: Vec<usize>, data: &[f32]| {
                    entries.insert(format!("{block}.{}.{what}", 2 * i), Tensor { shape, data: data.to_vec() });
                };
                add("weight", vec![layer.outputs(), layer.inputs], &layer.weight);
                add("bias", vec![layer.outputs()], &layer.bias);
            }
        }
        Tensors::new(entries, BTreeMap::new())
    }

    /// [`DecimaCheckpoint::plain`] of a network that has the widths of the public checkpoint, as training and gradients need it.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Format`] for other widths.
    pub fn usual(&self, origin: &str) -> Result<Tensors, NeuralError> {
        let plain = self.plain();
        let differs = |(name, shape): &(String, Vec<usize>)| plain.get(name).is_none_or(|t| t.shape != *shape);
        if plain.iter().len() == shapes().len() && !shapes().iter().any(differs) {
            return Ok(plain);
        }
        let of = |widths: Vec<usize>| widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
        let odd = self.widths().zip(&BLOCKS).find(|((_, found), (_, usual))| found != usual);
        let odd =
            odd.map(|((name, found), (_, usual))| format!("`{name}` is {}, not {}", of(found), of(usual.to_vec())));
        let reason = format!(
            "a network of other widths than the public checkpoint's ({}); it schedules, but only the usual widths are trained and \
             differentiated",
            odd.unwrap_or_default()
        );
        Err(NeuralError::Format { origin: origin.to_owned(), reason })
    }
}

/// The first number that is none, with its tensor's name and its place.
fn not_finite(tensors: &Tensors) -> Option<(&str, usize, f32)> {
    tensors.iter().find_map(|(name, tensor)| {
        let index = tensor.data.iter().position(|v| !v.is_finite())?;
        Some((name, index, tensor.data[index]))
    })
}

/// All perceptrons, and how many normalisations they had. The error says what is wrong.
fn blocks(tensors: &Tensors) -> Result<(Vec<Vec<Linear>>, usize), String> {
    let mut modules: [Modules<'_>; 7] = Default::default();
    for (name, tensor) in tensors.iter() {
        let place = BLOCKS.iter().enumerate().find_map(|(i, (block, _))| {
            let (number, what) = name.strip_prefix(block)?.strip_prefix('.')?.split_once('.')?;
            let is_number = number.len() <= 4 && number.bytes().all(|b| b.is_ascii_digit());
            let is_plain = is_number && (number == "0" || !number.starts_with('0'));
            Some((i, number.parse::<usize>().ok().filter(|_| is_plain)?, what))
        });
        let (block, number, what) = place
            .ok_or_else(|| format!("tensor `{name}` of shape {:?} is not part of Decima's network", tensor.shape))?;
        modules[block].entry(number).or_default().insert(what, tensor);
    }
    let (mut blocks, mut folded): (Vec<Vec<Linear>>, usize) = (Vec::new(), 0);
    for ((block, _), modules) in BLOCKS.iter().zip(&modules) {
        let width = |block: usize| blocks[block].last().map_or(0, Linear::outputs);
        // What goes into each perceptron, and what comes out where that is not its own choice.
        let (inputs, outputs) = match blocks.len() {
            0 => (FEATURES, None),
            1 | 2 => (width(0), Some(width(0))),
            3 => (FEATURES + width(0), None),
            4 => (width(3), None),
            5 => (FEATURES + width(0) + width(3) + width(4), Some(1)),
            _ => (JOB_FEATURES + width(3) + width(4) + 1, Some(1)),
        };
        let fewest = if blocks.len() < 5 { 1 } else { 2 };
        let (layers, norms) = perceptron(block, modules, inputs, outputs)?;
        if layers.len() < fewest {
            return Err(format!("`{block}` has {} layers, expected at least {fewest}", layers.len()));
        }
        blocks.push(layers);
        folded += norms;
    }
    Ok((blocks, folded))
}

/// The layers of one perceptron, and how many normalisations it had.
///
/// Modules are numbered: a layer, its normalisation if it has one, its activation, which has no tensors, and so on.
fn perceptron(
    block: &str,
    modules: &Modules<'_>,
    mut inputs: usize,
    outputs: Option<usize>,
) -> Result<(Vec<Linear>, usize), String> {
    let (mut layers, mut norms, mut next): (Vec<Linear>, usize, usize) = (Vec::new(), 0, 0);
    for (&number, tensors) in modules {
        let name = format!("{block}.{number}");
        match layers.last_mut() {
            Some(layer) if is_norm(tensors) && number + 1 == next => {
                layer.fold(&name, tensors)?;
                (norms, next) = (norms + 1, next + 1);
            }
            Some(_) if number + 1 == next => {
                return Err(format!(
                    "`{name}` stands between a layer and its activation, where only a batch normalisation with running statistics may"
                ));
            }
            _ if number != next => {
                return Err(format!(
                    "tensor `{block}.{next}.weight` is missing: a layer, its batch normalisation if any and its activation are \
                     numbered one after the other, and `{name}` comes next"
                ));
            }
            _ if is_norm(tensors) => {
                return Err(format!("`{name}` is a normalisation that does not follow a layer directly"));
            }
            _ => {
                let normed = modules.get(&(number + 1)).is_some_and(is_norm);
                let layer = Linear::read(&name, tensors, inputs, normed)?;
                inputs = layer.outputs();
                layers.push(layer);
                next += 2;
            }
        }
    }
    let Some(last) = layers.last() else {
        return Err(format!("tensor `{block}.0.weight` is missing; is this a checkpoint of Decima's network?"));
    };
    match outputs.filter(|&outputs| outputs != last.outputs()) {
        None => Ok((layers, norms)),
        Some(outputs) => Err(format!("`{block}` has {} outputs, expected {outputs}", last.outputs())),
    }
}

/// Whether a module is a batch normalisation with running statistics.
fn is_norm(tensors: &BTreeMap<&str, &Tensor>) -> bool {
    tensors.contains_key("running_mean") || tensors.contains_key("running_var")
}

impl Linear {
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// A layer of so many inputs. Only one that is normalised may be without a bias.
    fn read(name: &str, tensors: &BTreeMap<&str, &Tensor>, inputs: usize, normed: bool) -> Result<Self, String> {
        if let Some((what, tensor)) = tensors.iter().find(|(what, _)| !["weight", "bias"].contains(what)) {
            return Err(format!("tensor `{name}.{what}` of shape {:?} is not part of a layer", tensor.shape));
        }
        let weight = tensors.get("weight").ok_or_else(|| format!("tensor `{name}.weight` is missing"))?;
        let outputs = match weight.shape[..] {
            [outputs, found] if outputs > 0 && found == inputs => outputs,
            ref found => {
                let features = match name.strip_suffix(".0") == Some(BLOCKS[0].0) {
                    true => format!(": {FEATURES} features a node are the contract"),
                    false => String::new(),
                };
                return Err(format!(
                    "tensor `{name}.weight` has shape {found:?}, expected [outputs, {inputs}]{features}"
                ));
            }
        };
        let bias = match tensors.get("bias") {
            Some(bias) if bias.shape == [outputs] => bias.data.clone(),
            Some(bias) => return Err(format!("tensor `{name}.bias` has shape {:?}, expected [{outputs}]", bias.shape)),
            None if normed => vec![0.0; outputs],
            None => return Err(format!("tensor `{name}.bias` of shape [{outputs}] is missing")),
        };
        Ok(Self { inputs, weight: weight.data.clone(), bias })
    }

    /// Makes the normalisation that follows part of the layer: `(y − mean) / √(var + ε) · weight + bias`.
    fn fold(&mut self, name: &str, tensors: &BTreeMap<&str, &Tensor>) -> Result<(), String> {
        let outputs = self.outputs();
        if let Some((what, tensor)) = tensors.iter().find(|(what, _)| !NORM.contains(what)) {
            return Err(format!(
                "tensor `{name}.{what}` of shape {:?} is not part of a batch normalisation",
                tensor.shape
            ));
        }
        let row = |what: &str| match tensors.get(what) {
            Some(tensor) if tensor.shape == [outputs] => Ok(Some(&tensor.data)),
            Some(tensor) => Err(format!("tensor `{name}.{what}` has shape {:?}, expected [{outputs}]", tensor.shape)),
            None => Ok(None),
        };
        let missing = |what: &str| format!("tensor `{name}.{what}` of shape [{outputs}] is missing");
        let [weight, bias, mean, var] = [NORM[0], NORM[1], NORM[2], NORM[3]].map(row);
        let (mean, var) = (mean?.ok_or_else(|| missing(NORM[2]))?, var?.ok_or_else(|| missing(NORM[3]))?);
        let (weight, bias) = match (weight?, bias?) {
            (None, Some(_)) => return Err(missing(NORM[0])),
            (Some(_), None) => return Err(missing(NORM[1])),
            both => both,
        };
        if let Some(at) = var.iter().position(|&var| var < 0.0) {
            return Err(format!(
                "tensor `{name}.running_var` holds {} at index {at}; a variance is at least 0",
                var[at]
            ));
        }
        for (o, row) in self.weight.chunks_exact_mut(self.inputs).enumerate() {
            let scale = weight.map_or(1.0, |weight| f64::from(weight[o])) / (f64::from(var[o]) + EPSILON).sqrt();
            row.iter_mut().for_each(|w| *w = (f64::from(*w) * scale) as f32);
            let moved = (f64::from(self.bias[o]) - f64::from(mean[o])) * scale;
            self.bias[o] = (moved + bias.map_or(0.0, |bias| f64::from(bias[o]))) as f32;
        }
        match self.weight.iter().chain(&self.bias).all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(format!("`{name}` makes weights of the layer before it larger than a float32 can be")),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
