//! The `deadlines` simulator: elastic training jobs on nodes of cores, whose iterations take a time that schedulers can only predict.
//!
//! `docs/deadlines.md` states every rule. The words:
//!
//! * A **moment** is a time at which something happens: jobs arrive, end, have been measured first, a waiting job's deadline passes,
//!   or a check comes round. Questions are asked at moments only: about running jobs, one by one, and then which waiting job begins.
//! * A **check** comes every [`Cluster::check_ms`](crate::Cluster::check_ms) while jobs are there, and asks about all running jobs.
//! * A **measurement** is the mean time of the iterations since the one before, with an error that shrinks with their number.
//! * A **restart** is what another number of cores costs: the job holds them and stands still. What it has done stays done.
//!
//! ```
//! use sched_distill_deadlines::{Decision, Question, simulator::Simulator, workload::DeadlineWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = DeadlineWorkload::open(&"builtin,jobs=8".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(7), 7);
//! while let Some(seen) = sim.view() {
//!     let decision = match (seen.question(), seen.waiting().first()) {
//!         (Question::Running(job), _) => Decision::Resize { job, cores: seen.job(job).cores() },
//!         (_, Some(&job)) => Decision::Start { job, cores: 1, elastic: true },
//!         _ => Decision::Wait,
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

pub use record::Change;
pub use state::Simulator;
