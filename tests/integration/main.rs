//! Integration tests: one binary, one file per behaviour.

#[cfg(feature = "cli")]
mod cli;
mod common;
mod compiled_tree;
mod decima_golden;
mod export;
mod golden_traces;
#[path = "../support/random_tree.rs"]
mod random_tree;
#[cfg(feature = "report")]
mod report;
#[cfg(feature = "toolkit")]
mod shards;
mod simulator;
mod tpch_cleaning;
#[cfg(feature = "toolkit")]
mod trace_files;
