//! The `serving` simulator: tasks arrive, batches are formed and run to their end.
//!
//! `docs/serving.md` states every rule. A **moment** is a time at which something happens: tasks arrive, batches end, a task has waited
//! for its timeout, or a time comes until which somebody waited. Questions are asked at moments only.
//!
//! ```
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! use sched_distill_serving::{heuristic::DyBatch, simulator::Simulator, workload::ServingWorkload};
//! let workload = ServingWorkload::open(&"builtin,seconds=1".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().server.clone(), workload.jobs(7), workload.cluster().horizon_ms);
//! while let Some(seen) = sim.view() {
//!     sim.step(DyBatch::default().decide(&seen))?;
//! }
//! assert!(!sim.outcome().expect("the episode has ended").stalled());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod outcome;
mod state;
#[cfg(test)]
mod tests;

pub use state::{BatchRun, Simulator};
