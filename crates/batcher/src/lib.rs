//! An inference server whose batches are decided by a policy of `distill`'s scenario `serving`: a student, a network or a heuristic.
//!
//! ```text
//! clients ──HTTP──▶ http ──Event──▶ Scheduler ──Batch──▶ accelerator (a thread each, tract)
//!                     ▲               │  ▲                  │
//!                     └────answers────┘  └───────Done───────┘
//! ```
//!
//! [`Scheduler`] keeps the books in a [`ServerState`](sched_distill_serving::ServerState), as a simulator does, but by the clock; [`http`]
//! is what clients see, [`Metrics`] what those see who look after it, and [`load`] plays a workload against it. `docs/batcher.md` is for
//! people.

mod accelerator;
pub mod http;
pub mod load;
mod metrics;
mod models;
mod pages;
mod scheduler;

pub use metrics::Metrics;
pub use models::{Models, ModelsError};
pub use scheduler::{Answer, Door, NoAnswer, Scheduler, Ticket};
