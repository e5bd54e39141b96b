//! Heuristics for training jobs with workers and parameter servers, and DL2's view of the cluster (Peng et al., arXiv
//! 1909.06040).
//!
//! A heuristic answers one question at a time. All but [`Optimus`] add a worker and a parameter server at once, on the same
//! node. All stop at the first task that does not fit where they want it.
//!
//! ```
//! use sched_distill_training::{heuristic::Drf, simulator::Simulator, workload::TrainingWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = TrainingWorkload::open(&"builtin,jobs=10".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
//! let mut drf = Drf;
//! while let Some(seen) = sim.view() {
//!     let decision = drf.decide(&seen);
//!     sim.step(decision)?;
//! }
//! assert!(sim.outcome().is_some_and(|outcome| !outcome.stalled()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod optimus;
mod queue;
mod tetris;
pub mod window;

#[cfg(test)]
mod tests;

pub use optimus::Optimus;
pub use queue::{Drf, Fifo, Srtf, TrueSrtf};
pub use tetris::Tetris;
