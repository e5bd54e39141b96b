//! Training jobs on GPUs that can be suspended and resumed at a price, after "PickyMan" (Chen et al., IPCCC 2022): the scenario
//! [`Preemption`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`Model`] and [`counter`] predict run
//! times, [`feature`] says how a question looks in numbers, [`heuristic`] and [`policies`] who decides. Who has a cluster of her own
//! keeps a [`ClusterState`], which lends views. `docs/preemption.md` states all rules.
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for neural schedulers.

mod catalogue;
mod cluster;
pub mod counter;
mod database;
pub mod feature;
pub mod heuristic;
mod history;
pub mod policies;
#[cfg(feature = "simulate")]
mod replay;
mod scenario;
#[cfg(feature = "simulate")]
mod simulated;
#[cfg(feature = "simulate")]
pub mod simulator;
mod state;
#[cfg(feature = "simulate")]
pub mod workload;

pub use cluster::{Cluster, Model, Placement};
pub use database::{EpochLaw, Profile};
pub use history::{EarlierJob, History};
pub use scenario::{Kind, Preemption, kind};
pub use state::{Change, ClusterState, Decision, DecisionError, JobView, NewJob, Question, StateError, View};
