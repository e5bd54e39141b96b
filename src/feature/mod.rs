//! Interpretable features: what a candidate looks like to a person, one module per scenario.
//!
//! Each level has a table of *base* quantities; ranks and ratios within the choice are derived from them, because they
//! carry over between loads and cluster sizes and say most of what a scheduler goes by. No feature sees the future.

mod column;
pub mod dag;
pub mod training;
