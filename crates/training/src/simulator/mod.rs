//! The `training` simulator: deep-learning jobs with workers and parameter servers on identical nodes, as in DL2 (Peng et
//! al., arXiv 1909.06040).
//!
//! It follows the rules of the DL2 authors' simulator and is checked against runs recorded there. The words:
//!
//! * Time goes in **slots**. At the start of a slot all tasks of the slot before are released, new jobs arrive, and the
//!   scheduler places tasks, one [`crate::Decision::Add`] at a time, until it answers [`crate::Decision::Close`]. Then the slot passes.
//! * A **task** is a worker or a parameter server. A job trains only if it has at least one of each.
//! * The **head** is the node with the fewest slots of CPU and GPU in use, the one of the lowest number among equals. Tasks go
//!   there unless a decision names another node.
//! * The **dominant share** of a job is the larger of its shares of the cluster's CPU and GPU slots.
//!
//! ```
//! use sched_distill_training::{Decision, Task, simulator::Simulator, workload::TrainingWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = TrainingWorkload::open(&"builtin,jobs=5".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(7), 7);
//! while let Some(seen) = sim.view() {
//!     let idle = seen.live_jobs().iter().find(|&&job| seen.job(job).workers() == 0 && seen.fits(job, Task::Both));
//!     let decision = match idle {
//!         Some(&job) => Decision::Add { job, task: Task::Both, node: None },
//!         None => Decision::Close,
//!     };
//!     sim.step(decision)?;
//! }
//! assert!(!sim.outcome().expect("the episode has ended").stalled());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod outcome;
mod record;
mod state;
#[cfg(test)]
mod tests;

pub use record::{JobSlot, SlotRecord};
pub use state::Simulator;
