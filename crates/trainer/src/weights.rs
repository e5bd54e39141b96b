//! A network's numbers in one row: what the optimiser moves and a checkpoint holds.

use sched_distill_core::{
    network::{NeuralError, Tensor, Tensors},
    rng::Stream,
};
use std::{collections::BTreeMap, sync::Arc};

/// What a network's checkpoint consists of; copying it is cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Names and shapes of the tensors, in order.
    pub tensors: Arc<[(String, Vec<usize>)]>,
    /// What cannot be told from them.
    pub texts: BTreeMap<String, String>,
}

impl Layout {
    /// How many numbers there are.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.tensors.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }
}

impl From<Vec<(String, Vec<usize>)>> for Layout {
    fn from(tensors: Vec<(String, Vec<usize>)>) -> Self {
        Self { tensors: tensors.into(), texts: BTreeMap::new() }
    }
}

/// All weights of a network: tensor after tensor in the order of its layout, each row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    layout: Layout,
    pub(super) data: Vec<f32>,
}

impl Weights {
    /// Untrained weights: uniform within 1/√inputs, as PyTorch begins, biases zero. `scale` makes those of a tensor smaller.
    #[must_use]
    pub(super) fn random(layout: Layout, seed: u64, scale: impl Fn(&str) -> f64) -> Self {
        let mut stream = Stream::new(seed, "initial weights");
        let mut data = Vec::new();
        for (name, shape) in layout.tensors.iter() {
            let most = match shape[..] {
                [_, inputs] => scale(name) / (inputs as f64).sqrt(),
                _ => 0.0,
            };
            data.extend((0..shape.iter().product()).map(|_| stream.uniform_in(-most, most) as f32));
        }
        Self { layout, data }
    }

    /// The weights of a checkpoint; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// A checkpoint of another network, see [`Tensors::expect`].
    pub fn from_tensors(layout: Layout, tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        tensors.expect(&layout.tensors, origin)?;
        let data = layout.tensors.iter().filter_map(|(name, _)| tensors.get(name)).flat_map(|t| &t.data);
        Ok(Self { data: data.copied().collect(), layout })
    }

    /// The same numbers' places, with other numbers; `None` if it is not the same number of them.
    pub(super) fn with(layout: &Layout, data: Vec<f32>) -> Option<Self> {
        (data.len() == layout.numbers()).then(|| Self { layout: layout.clone(), data })
    }

    /// What its checkpoint consists of.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same as named tensors.
    #[must_use]
    pub fn to_tensors(&self) -> Tensors {
        let mut rest = &self.data[..];
        let mut entries = BTreeMap::new();
        for (name, shape) in self.layout.tensors.iter() {
            let (data, after) = rest.split_at(shape.iter().product());
            rest = after;
            entries.insert(name.clone(), Tensor { shape: shape.clone(), data: data.to_vec() });
        }
        Tensors::new(entries, self.layout.texts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_survive_the_way_through_a_checkpoint() -> Result<(), NeuralError> {
        let mut layout = Layout::from(vec![("a.weight".to_owned(), vec![3, 5]), ("a.bias".to_owned(), vec![3])]);
        layout.texts.insert("window".to_owned(), "7".to_owned());
        let weights = Weights::random(layout.clone(), 3, |_| 1.0);
        assert_eq!(weights.data.len(), 18);
        assert!(weights.data[..15].iter().all(|w| w.abs() < 0.45 && *w != 0.0));
        let file = weights.to_tensors().to_safetensors()?;
        let tensors = Tensors::from_bytes(&file, "file")?;
        assert_eq!(tensors.text("window"), Some("7"));
        assert_eq!(tensors, weights.to_tensors());
        let back = Weights::from_tensors(layout.clone(), &tensors, "file")?;
        assert_eq!(weights, back);
        assert_ne!(weights, Weights::random(layout.clone(), 4, |_| 1.0));
        assert_eq!(Weights::with(&layout, vec![0.0; 17]), None);
        Ok(())
    }
}
