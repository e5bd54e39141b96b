//! Cluster simulators.
//!
//! A simulator runs until somebody has to decide, hands out an observation that borrows from its state, takes a decision,
//! checks it, and goes on. The same jobs, seed and decisions give the same run, bit for bit.

pub mod dag;
mod queue;
pub mod training;

pub use queue::EventQueue;
