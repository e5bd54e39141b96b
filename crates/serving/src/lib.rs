//! Inference requests in batches on accelerators that several applications share, after "DyBatch" (Zhang et al., CCGrid 2020): the
//! scenario [`Serving`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`Law`] says how long batches take,
//! [`feature`] how a question looks in numbers, [`heuristic`] and [`policies`] who decides. Who has a server of her own keeps a
//! [`ServerState`], which lends views. `docs/serving.md` states all rules.
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for neural schedulers.

mod catalogue;
pub mod feature;
pub mod heuristic;
mod law;
pub mod policies;
mod scenario;
mod server;
#[cfg(feature = "simulate")]
mod simulated;
#[cfg(feature = "simulate")]
pub mod simulator;
mod state;
#[cfg(feature = "simulate")]
pub mod workload;

pub use law::{Batch, Law, Table, TableError};
pub use scenario::{Kind, Serving, kind};
pub use server::{Application, Server};
pub use state::{
    BatchView, Change, Decision, DecisionError, Extension, GroupView, NewTask, Question, QueueView, RunningView,
    ServerState, StateError, TaskView, View,
};
