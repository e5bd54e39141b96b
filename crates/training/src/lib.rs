//! Deep-learning training jobs with workers and parameter servers, after DL2 (Peng et al., arXiv 1909.06040): the scenario
//! [`Training`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`cluster`] says what nodes and
//! types of job there are, [`feature`] how a question looks in numbers, [`heuristic`] and [`policies`] who decides. Who has a
//! cluster of her own keeps a [`ClusterState`], which lends views.
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for the DL2 network.

mod catalogue;
pub mod cluster;
mod contract;
pub mod feature;
pub mod heuristic;
#[cfg(feature = "network")]
pub mod network;
pub mod policies;
mod scenario;
#[cfg(feature = "simulate")]
mod simulated;
#[cfg(feature = "simulate")]
pub mod simulator;
mod state;
#[cfg(feature = "simulate")]
pub mod workload;

pub use contract::TrainingTables;
pub use scenario::{Kind, Training, kind};
pub use state::{Change, ClusterState, Decision, DecisionError, JobView, Placement, StateError, Task, View};
