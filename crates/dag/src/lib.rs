//! Spark-like jobs of stages on executors, as in Decima (Mao et al., SIGCOMM 2019): the scenario [`Dag`].
//!
//! A [`View`] is what a scheduler may know at a question, and a [`Decision`] what it may answer; [`feature`] says how a question
//! looks in numbers, [`policies`] who decides. Who has a cluster of her own keeps a [`ClusterState`], which lends views.
//!
//! ```
//! use sched_distill_dag::{ClusterState, Decision, JobGraph, Source, StageRef, StageSpec, policies};
//!
//! let mut cluster = ClusterState::new(10)?;
//! let [scan, sum] = [(8, 1500.0), (1, 400.0)].map(|(num_tasks, rough_ms)| StageSpec { num_tasks, rough_ms });
//! cluster.add_job(0, 0.0, JobGraph::new("scan and sum", vec![scan, sum], &[[0, 1]])?)?;
//! let view = cluster.offer(Source::Common, 6)?.expect("the scan wants executors");
//! let decision = policies::open(&"fair".parse()?)?.decide(&view, &mut Default::default())?;
//! assert_eq!(decision, Decision::Assign { stage: StageRef { job: 0, stage: 0 }, executors: 6 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features of the crate: `simulate` for [`workload`], which says what arrives, and [`simulator`], which says what happens;
//! `network` for the Decima network.

mod catalogue;
mod choose;
mod contract;
#[cfg(feature = "simulate")]
pub mod edit;
#[cfg(feature = "simulate")]
mod event_log;
pub mod feature;
mod graph;
mod heuristic;
#[cfg(feature = "simulate")]
mod intake;
#[cfg(feature = "network")]
pub mod network;
pub mod policies;
#[cfg(feature = "simulate")]
mod replay;
mod scenario;
#[cfg(feature = "simulate")]
mod simulated;
#[cfg(feature = "simulate")]
pub mod simulator;
mod state;
#[cfg(feature = "simulate")]
pub mod workload;

pub use contract::DagTables;
pub use graph::{JobError, JobGraph, StageSpec};
#[cfg(feature = "simulate")]
pub use intake::Intake;
pub use scenario::{Dag, Kind, kind};
pub use state::{
    Change, ClusterState, Decision, DecisionError, JobView, Source, StageRef, StageTasks, StageView, Stamp, StateError,
    View,
};
