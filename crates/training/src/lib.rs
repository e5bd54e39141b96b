//! Deep-learning training jobs with workers and parameter servers, after DL2 (Peng et al., arXiv 1909.06040): the scenario
//! [`Training`].
//!
//! [`workload`] says what arrives, [`simulator`] what happens, [`feature`] how a question looks in numbers, [`heuristic`] and
//! [`policies`] who decides. Features of the crate: `network` for the DL2 network.

mod catalogue;
pub mod feature;
pub mod heuristic;
#[cfg(feature = "network")]
pub mod network;
pub mod policies;
mod scenario;
pub mod simulator;
pub mod workload;

pub use scenario::{Kind, Probabilities, Training, certain, kind};
