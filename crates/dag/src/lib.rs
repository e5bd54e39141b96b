//! Spark-like jobs of stages on executors, as in Decima (Mao et al., SIGCOMM 2019): the scenario [`Dag`].
//!
//! [`workload`] says what arrives, [`simulator`] what happens, [`feature`] how a question looks in numbers, [`policies`] who
//! decides. Features of the crate: `network` for the Decima network.

mod catalogue;
pub mod feature;
mod heuristic;
#[cfg(feature = "network")]
pub mod network;
pub mod policies;
mod scenario;
pub mod simulator;
pub mod workload;

pub use scenario::{Dag, Kind, Probabilities, kind};
