//! The `preemption` simulator: gangs of GPUs that load, compute, save and wait, and a storage that they share.
//!
//! `docs/preemption.md` states every rule. The words:
//!
//! * A **moment** is a time at which something happens: jobs arrive, load, end or have been saved, nodes fail or come back, or a check
//!   comes round. Questions are asked at moments only.
//! * A job that is **condemned** is suspended at the end of its epoch, in favour of one that has a **claim**.
//!
//! ```
//! use sched_distill_preemption::{Decision, Question, simulator::Simulator, workload::PreemptionWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = PreemptionWorkload::open(&"builtin,jobs=8".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(7), 7);
//! while let Some(seen) = sim.view() {
//!     let decision = match (seen.question(), seen.candidates().next()) {
//!         (Question::Serve, Some(job)) if seen.job(job).gpus() <= seen.free() => Decision::Serve { job },
//!         _ => Decision::Wait,
//!     };
//!     sim.step(decision)?;
//! }
//! assert!(!sim.outcome().expect("the episode has ended").stalled());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod failure;
mod outcome;
mod record;
mod state;
mod storage;
#[cfg(test)]
mod tests;

pub use record::{Change, What};
pub use state::Simulator;
