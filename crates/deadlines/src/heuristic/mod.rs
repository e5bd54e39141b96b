//! Heuristics for jobs with deadlines: queues that give what users request, the paper's policy, and Kubernetes' two autoscalers.
//!
//! A heuristic answers one question at a time. All start jobs in some order and pass over those that do not fit (backfill).
//!
//! ```
//! use sched_distill_deadlines::{heuristic::Queue, simulator::Simulator, workload::DeadlineWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = DeadlineWorkload::open(&"builtin,jobs=10".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
//! while let Some(seen) = sim.view() {
//!     let decision = Queue::Fifo.decide(&seen);
//!     sim.step(decision)?;
//! }
//! assert!(sim.outcome().is_some_and(|outcome| !outcome.stalled()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod hpa;
mod qos;
mod queue;
mod vpa;

pub use hpa::Hpa;
pub(crate) use qos::size;
pub use qos::{Order, Qos, RESERVE};
pub use queue::{EdfTest, Queue};
pub use vpa::Vpa;

use crate::state::{Decision, View};

/// Keeps a running job as it is.
fn keep(seen: &View<'_>, job: u32) -> Decision {
    Decision::Resize { job, cores: seen.job(job).cores() }
}

/// The waiting job with the least key, the first to arrive among equals; jobs without a key are passed over.
pub(crate) fn least(seen: &View<'_>, key: impl Fn(u32) -> Option<f64>) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for &job in seen.waiting() {
        if let Some(key) = key(job)
            && best.is_none_or(|(least, _)| key < least)
        {
            best = Some((key, job));
        }
    }
    best.map(|(_, job)| job)
}

/// Gives a job's deadline up: by a refusal if one wants to and may, otherwise by the best-effort class.
fn give_up(seen: &View<'_>, job: u32, refuse: bool) -> Decision {
    if refuse && seen.cluster().may_refuse { Decision::Refuse { job } } else { Decision::BestEffort { job } }
}
