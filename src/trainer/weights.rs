//! The network's numbers in one row: what the optimiser moves and a checkpoint holds.

use crate::{
    policy::neural::{DecimaWeights, NeuralError, Tensor, Tensors, shapes},
    rng::Stream,
};
use std::{collections::BTreeMap, sync::Arc};

/// All weights of a Decima network, shape `(20802,)`: tensor after tensor in the order of the network's description,
/// each row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(pub(super) Vec<f32>);

impl Weights {
    /// Untrained weights: uniform within 1/√inputs, as PyTorch begins, biases zero, and the scores' last layers ten times
    /// smaller, so that all candidates begin about equal.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "initial weights");
        let mut weights = Vec::new();
        for (name, shape) in shapes() {
            let scale = match shape[..] {
                [_, inputs] => 1.0 / (inputs as f64).sqrt(),
                _ => 0.0,
            };
            let scale = if name.contains("mlp_score.4") { 0.1 * scale } else { scale };
            weights.extend((0..shape.iter().product()).map(|_| stream.uniform_in(-scale, scale) as f32));
        }
        Self(weights)
    }

    /// The weights of a checkpoint; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// A checkpoint of another network, see [`DecimaWeights::from_tensors`].
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        DecimaWeights::from_tensors(tensors, origin)?;
        let shapes = shapes();
        let data = shapes.iter().filter_map(|(name, _)| tensors.get(name)).flat_map(|t| &t.data);
        Ok(Self(data.copied().collect()))
    }

    /// The same as named tensors.
    #[must_use]
    pub fn to_tensors(&self) -> Tensors {
        let mut rest = &self.0[..];
        let mut entries = BTreeMap::new();
        for (name, shape) in shapes() {
            let (data, after) = rest.split_at(shape.iter().product());
            rest = after;
            entries.insert(name, Tensor { shape, data: data.to_vec() });
        }
        Tensors::new(entries)
    }

    /// The network that schedules with them.
    ///
    /// # Errors
    ///
    /// [`NeuralError::NotFinite`] if training has gone astray.
    pub fn network(&self) -> Result<Arc<DecimaWeights>, NeuralError> {
        Ok(Arc::new(DecimaWeights::from_tensors(&self.to_tensors(), "in training")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_survive_the_way_through_a_checkpoint() -> Result<(), NeuralError> {
        let weights = Weights::random(3);
        assert_eq!(weights.0.len(), 20_802);
        let file = weights.to_tensors().to_safetensors(None)?;
        let back = Weights::from_tensors(&Tensors::from_bytes(&file, "file")?, "file")?;
        assert_eq!(weights, back);
        assert_eq!(weights.to_tensors().to_safetensors(None)?, file);
        assert_ne!(weights, Weights::random(4));
        Ok(())
    }
}
