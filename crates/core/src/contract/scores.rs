//! What a network answers, and whether that is an answer to the question.

use super::{Contract, Inputs, Output, Size, Tables, Tabular};

/// Scores with the shapes in which they came.
#[derive(Clone, Debug)]
pub struct Scores {
    contract: &'static Contract,
    outputs: Vec<Tensor>,
}

/// The scores of an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// Row-major. NaN where the network has nothing to say.
    pub values: Vec<f32>,
    /// The shape in which they came; whether it is right is checked afterwards.
    pub shape: Vec<usize>,
}

/// Why scores are none for the question.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// An output has another shape than the question asks for.
    #[error("{output} of shape {found}; it must be {allowed}")]
    Shape {
        /// Which output.
        output: &'static str,
        /// Its shape.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A score that is needed is no number.
    #[error("{place} is {value}; {needed} must be finite")]
    NotFinite {
        /// Which score.
        place: String,
        /// What stands there.
        value: f32,
        /// Which scores are needed.
        needed: &'static str,
    },
}

impl Scores {
    /// Buffers for answers to questions of a contract.
    #[must_use]
    pub fn new(contract: &'static Contract) -> Self {
        Self { contract, outputs: vec![Tensor::default(); contract.outputs.len()] }
    }

    /// Whose answers these are.
    #[must_use]
    pub fn contract(&self) -> &'static Contract {
        self.contract
    }

    /// Forgets everything but the buffers.
    pub fn clear(&mut self) {
        for output in &mut self.outputs {
            output.values.clear();
            output.shape.clear();
        }
    }

    /// All outputs, in the order of the contract.
    #[must_use]
    pub fn outputs(&self) -> &[Tensor] {
        &self.outputs
    }

    /// The same to be written to.
    pub fn outputs_mut(&mut self) -> &mut [Tensor] {
        &mut self.outputs
    }

    /// An output to be written to.
    ///
    /// # Panics
    ///
    /// If the contract has none of that name.
    pub fn output(&mut self, name: &str) -> &mut Tensor {
        let place = self.contract.output(name);
        &mut self.outputs[place.unwrap_or_else(|| panic!("the contract has no output `{name}`"))]
    }

    /// Whether these are scores for that question, which `tables` has read.
    ///
    /// # Errors
    ///
    /// Another shape, or a score that is needed and not finite.
    pub fn check<S: Tabular>(&self, tables: &S::Tables, inputs: &Inputs) -> Result<(), ScoreError> {
        for (output, tensor) in self.contract.outputs.iter().zip(&self.outputs) {
            if !fits(output, tensor, inputs) {
                return Err(ScoreError::Shape {
                    output: output.name,
                    found: tuple(tensor.shape.iter().map(ToString::to_string)),
                    allowed: allowed(output, inputs),
                });
            }
        }
        let mut bad = None;
        tables.needed(inputs, self, |output, places| {
            if bad.is_none() {
                let looked_at = &self.outputs[output].values[places.clone()];
                bad = looked_at.iter().position(|score| !score.is_finite()).map(|at| (output, places.start + at));
            }
        });
        match bad {
            None => Ok(()),
            Some((output, at)) => Err(self.not_finite(output, at)),
        }
    }

    fn not_finite(&self, output: usize, at: usize) -> ScoreError {
        let (name, tensor) = (self.contract.outputs[output].name, &self.outputs[output]);
        let place = match tensor.shape[..] {
            [_, width] => format!("{name}[{}, {}]", at / width, at % width),
            _ => format!("{name}[{at}]"),
        };
        ScoreError::NotFinite { place, value: tensor.values[at], needed: self.contract.needed }
    }
}

/// Whether scores have a shape that the question allows.
fn fits(output: &Output, tensor: &Tensor, inputs: &Inputs) -> bool {
    let size_fits = |(&size, &found): (&Size, &usize)| match size {
        Size::Between { least, most, .. } => (inputs.sizes()[least]..=inputs.sizes()[most]).contains(&found),
        other => found == exact(other, inputs),
    };
    tensor.shape.len() == output.shape.len()
        && output.shape.iter().zip(&tensor.shape).all(size_fits)
        && tensor.shape.iter().product::<usize>() == tensor.values.len()
}

fn exact(size: Size, inputs: &Inputs) -> usize {
    match size {
        Size::Fixed(size) => size,
        Size::Of(place) => inputs.sizes()[place],
        Size::OneMoreThan(place) => inputs.sizes()[place] + 1,
        Size::Columns | Size::Between { .. } => unreachable!("an output has no columns, and what is open is not exact"),
    }
}

/// `(3, K): a row per job, ...; K from 4 (executors on offer) to 10 (size of the cluster)`
fn allowed(output: &Output, inputs: &Inputs) -> String {
    let size = |&size: &Size| match size {
        Size::Between { name, .. } => name.to_owned(),
        other => exact(other, inputs).to_string(),
    };
    let mut text = format!("{}: {}", tuple(output.shape.iter().map(size)), output.layout);
    for size in output.shape {
        let Size::Between { name, least, most } = *size else { continue };
        let [least, most] = [least, most].map(|place| {
            let (number, meaning) = (inputs.sizes()[place], inputs.contract().sizes[place].meaning);
            (number, format!("{number} ({meaning})"))
        });
        text += &match least.0 == most.0 {
            true => format!("; {name} = {}", least.1),
            false => format!("; {name} from {} to {}", least.1, most.1),
        };
    }
    text
}

/// `(3, 5)`
fn tuple(sizes: impl Iterator<Item = String>) -> String {
    format!("({})", sizes.collect::<Vec<_>>().join(", "))
}
