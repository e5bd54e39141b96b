//! The `dag` simulator: jobs of stages on executors, as in Spark and Decima.
//!
//! It follows the rules of the public simulator *spark-sched-sim* event for event, its oddities included, and is checked
//! against traces recorded there; but executors that idle beside work for five minutes, more than half of all, are offered again. The
//! words:
//!
//! * A **pool** holds executors: the *common* pool (owned by nobody), a *job* pool per job (idle executors that the job
//!   keeps), a *stage* pool per stage (executors at work there, or just released). A moving executor is in no pool.
//! * A **commitment** promises executors of one pool to a stage or to the common pool. Busy executors carry theirs until
//!   their task ends.
//! * The **source** is the pool whose executors are on offer. `committable` is how many of them are not yet promised.
//! * A **round** is a series of questions about one source at one instant; between rounds time passes.
//!
//! ```
//! use sched_distill_dag::{Decision, simulator::Simulator};
//! use sched_distill_core::{simulation::Simulation as _, spec::Spec};
//! let workload = sched_distill_dag::workload::open(&"builtin,jobs=3".parse::<Spec>()?)?;
//! let mut sim = Simulator::new(*workload.cluster(), workload.jobs(7), 7);
//! while let Some(view) = sim.view() {
//!     let (stage, executors) = (view.schedulable()[0], view.committable());
//!     sim.step(Decision::Assign { stage, executors })?;
//! }
//! let outcome = sim.outcome().expect("the episode has ended");
//! assert!(outcome.figure("mean_jct_ms").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod describe;
mod engine;
mod executors;
mod outcome;
mod pools;
mod state;

pub use outcome::StageRecord;
pub use state::{Simulator, StepResult};
