//! Spark-like jobs of stages on executors, as in Decima (Mao et al., SIGCOMM 2019): the scenario [`Dag`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`feature`] says how a question
//! looks in numbers, [`policies`] who decides. Who has a cluster of her own keeps a [`ClusterState`], which lends views.
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for the Decima network.

mod catalogue;
pub mod feature;
mod graph;
mod heuristic;
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

pub use graph::{JobError, JobGraph, StageSpec};
pub use scenario::{Dag, Kind, Probabilities, kind};
pub use state::{
    ClusterState, Decision, DecisionError, JobView, Source, StageRef, StageTasks, StageView, Stamp, StateError, View,
};
