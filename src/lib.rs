//! sched-distill

pub mod level;
pub mod rng;
#[cfg(feature = "toolkit")]
pub mod trace;
