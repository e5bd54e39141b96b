//! What a distilled scheduler needs to decide, whatever the cluster: levels and features, models and guards, the student, and the
//! contracts of scenarios, simulators and policies.
//!
//! The words: a *level* is one question that a decision answers (which job? which stage? how many executors?); a *choice* is
//! one level of one decision, a set of *candidates* with features and the teacher's probabilities; a *student* has one model
//! per level that scores candidates. A [`scenario::Scenario`] is a kind of cluster; each has a crate of its own.
//! `docs/glossary.md` has all words.
//!
//! Features of the crate: `simulate` for files of workloads, `network` for weights from files and dense layers.

pub mod contract;
pub mod elementary;
pub mod feature;
pub mod figure;
pub mod file;
pub mod file_kind;
pub mod level;
pub mod model;
mod nearest;
#[cfg(feature = "network")]
pub mod network;
pub mod policy;
pub mod rng;
pub mod scenario;
pub mod simulation;
pub mod spec;
pub mod state;
#[cfg(test)]
mod testing;
pub mod text;
pub mod workload;
