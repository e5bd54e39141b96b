//! Turn a black-box deep-RL cluster scheduler into rules that a person can read, check, edit and deploy.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "toolkit")]
pub mod distiller;
#[cfg(feature = "toolkit")]
pub mod evaluator;
#[cfg(feature = "toolkit")]
pub mod explainer;
pub mod feature;
pub mod level;
pub mod model;
pub mod policy;
#[cfg(feature = "toolkit")]
pub mod recorder;
#[cfg(feature = "report")]
pub mod reporter;
pub mod rng;
pub mod scenario;
pub mod simulator;
pub mod spec;
#[cfg(feature = "toolkit")]
pub mod trace;
pub mod workload;
