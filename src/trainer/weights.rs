//! A network's numbers in one row: what the optimiser moves and a checkpoint holds.

use crate::{
    policy::neural::{NeuralError, Tensor, Tensors},
    rng::Stream,
};
use std::{collections::BTreeMap, sync::Arc};

/// Names and shapes of a network's tensors, in order.
pub type Layout = Arc<[(String, Vec<usize>)]>;

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
        for (name, shape) in layout.iter() {
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
        tensors.expect(&layout, origin)?;
        let data = layout.iter().filter_map(|(name, _)| tensors.get(name)).flat_map(|t| &t.data);
        Ok(Self { data: data.copied().collect(), layout })
    }

    /// The same numbers' places, with other numbers; `None` if it is not the same number of them.
    pub(super) fn with(layout: &Layout, data: Vec<f32>) -> Option<Self> {
        let len: usize = layout.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        (data.len() == len).then(|| Self { layout: Arc::clone(layout), data })
    }

    /// Names and shapes of the tensors.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same as named tensors.
    #[must_use]
    pub fn to_tensors(&self) -> Tensors {
        let mut rest = &self.data[..];
        let mut entries = BTreeMap::new();
        for (name, shape) in self.layout.iter() {
            let (data, after) = rest.split_at(shape.iter().product());
            rest = after;
            entries.insert(name.clone(), Tensor { shape: shape.clone(), data: data.to_vec() });
        }
        Tensors::new(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_survive_the_way_through_a_checkpoint() -> Result<(), NeuralError> {
        let layout: Layout = [("a.weight".to_owned(), vec![3, 5]), ("a.bias".to_owned(), vec![3])].into();
        let weights = Weights::random(Arc::clone(&layout), 3, |_| 1.0);
        assert_eq!(weights.data.len(), 18);
        assert!(weights.data[..15].iter().all(|w| w.abs() < 0.45 && *w != 0.0));
        let file = weights.to_tensors().to_safetensors(None)?;
        let back = Weights::from_tensors(Arc::clone(&layout), &Tensors::from_bytes(&file, "file")?, "file")?;
        assert_eq!(weights, back);
        assert_eq!(weights.to_tensors().to_safetensors(None)?, file);
        assert_ne!(weights, Weights::random(Arc::clone(&layout), 4, |_| 1.0));
        assert_eq!(Weights::with(&layout, vec![0.0; 17]), None);
        Ok(())
    }
}
