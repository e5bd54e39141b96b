//! Heuristics for jobs that can be preempted: queues that never do, orders that do so blind to its price, and PickyMan.
//!
//! A heuristic answers one question at a time.
//!
//! ```
//! use sched_distill_preemption::{heuristic::Order, simulator::Simulator, workload::PreemptionWorkload};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = PreemptionWorkload::open(&"builtin,jobs=10".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
//! while let Some(seen) = sim.view() {
//!     let decision = Order::Srtf.decide(&seen);
//!     sim.step(decision)?;
//! }
//! assert!(sim.outcome().is_some_and(|outcome| !outcome.stalled()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod order;
mod pickyman;
mod queue;
mod tiresias;

pub use order::{LAS_LIMIT, Order};
pub use pickyman::PickyMan;
pub(crate) use pickyman::{Division, claims_ready_ms, is_last, load_ms};
pub use queue::Queue;
pub use tiresias::{Rule, Tiresias};

use crate::state::View;

/// Waiting jobs without a claim that were not passed over at this moment, ascending.
pub(crate) fn waiting<'a>(seen: &View<'a>) -> impl Iterator<Item = u32> + use<'a> {
    let seen = *seen;
    seen.waiting().iter().copied().filter(move |&job| !seen.is_passed(job))
}

/// The job with the least key, the first among equals; jobs without a key are passed over.
pub(crate) fn least(jobs: impl Iterator<Item = u32>, mut key: impl FnMut(u32) -> Option<f64>) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for job in jobs {
        if let Some(key) = key(job)
            && best.is_none_or(|(least, _)| key < least)
        {
            best = Some((key, job));
        }
    }
    best.map(|(_, job)| job)
}
