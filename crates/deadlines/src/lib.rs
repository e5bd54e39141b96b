//! Elastic training jobs with deadlines on nodes of cores, after "A QoS-oriented scheduling and autoscaling framework for deep learning"
//! (Xing et al., IJCNN 2019): the scenario [`Deadlines`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`Estimate`] predicts training times,
//! [`feature`] says how a question looks in numbers, [`heuristic`] and [`policies`] who decides. Who has a cluster of her own keeps a
//! [`ClusterState`], which lends views. `docs/deadlines.md` states all rules.
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for neural schedulers.

mod catalogue;
mod cluster;
pub mod feature;
pub mod heuristic;
mod law;
pub mod policies;
mod prediction;
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

pub use cluster::{Cluster, Model};
pub use law::Law;
pub use prediction::{Estimate, Measurement};
pub use scenario::{Deadlines, Kind, kind};
pub use state::{
    Change, Class, ClusterState, Decision, DecisionError, JobView, NewJob, Question, StateError, TO_SPARE, View,
};
