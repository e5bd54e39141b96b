//! What neural teachers have in common: weights from PyTorch or safetensors files, and dense layers in plain Rust.
//!
//! [`Tensors`] reads a checkpoint, a scenario's network checks it against its shapes and evaluates it. No tensor library takes
//! part, nothing of a checkpoint is ever executed, and the same weights and input give the same bits on every machine.

mod archive;
pub mod dense;
mod numbers;
mod pickle;
pub mod scorer;
mod state_dict;
mod unwrap;
mod weights;

pub use weights::{Tensor, Tensors};

use crate::policy::PolicyError;
use std::path::PathBuf;

/// Why a teacher could not be loaded or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NeuralError {
    /// The file could not be read at all.
    #[error("teacher {}: cannot read the file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file is not a checkpoint that this program reads, or it is damaged.
    #[error("teacher {origin}: {reason}")]
    Format {
        /// The file.
        origin: String,
        /// What was found and what was allowed.
        reason: String,
    },

    /// A tensor of the network is not in the checkpoint.
    #[error(
        "teacher {origin}: tensor `{tensor}` of shape {expected:?} is missing; is this a checkpoint of that network?"
    )]
    Missing {
        /// The file.
        origin: String,
        /// Name of the tensor.
        tensor: String,
        /// Its shape in the network.
        expected: Vec<usize>,
    },

    /// The checkpoint holds a tensor that the network does not have.
    #[error(
        "teacher {origin}: tensor `{tensor}` of shape {found:?} is not part of the network, which has {expected} tensors"
    )]
    Extra {
        /// The file.
        origin: String,
        /// Name of the tensor.
        tensor: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// Number of tensors of the network.
        expected: usize,
    },

    /// A tensor has another shape than the network needs.
    #[error("teacher {origin}: tensor `{tensor}` has shape {found:?}, expected {expected:?}")]
    Shape {
        /// The file.
        origin: String,
        /// Name of the tensor.
        tensor: String,
        /// Its shape in the network.
        expected: Vec<usize>,
        /// Its shape in the file.
        found: Vec<usize>,
    },

    /// A weight is NaN or infinite.
    #[error("teacher {origin}: tensor `{tensor}` holds {value} at index {index}; weights must be finite")]
    NotFinite {
        /// The file.
        origin: String,
        /// Name of the tensor.
        tensor: String,
        /// Position in row-major order.
        index: usize,
        /// What stands there.
        value: f32,
    },

    /// An observation that no cluster can be in. The evaluator stays usable.
    #[error("{network} input: {reason}")]
    Input {
        /// The network.
        network: &'static str,
        /// What was found and what was allowed.
        reason: String,
    },
}

impl From<NeuralError> for PolicyError {
    fn from(error: NeuralError) -> Self {
        Self::Other(Box::new(error))
    }
}
