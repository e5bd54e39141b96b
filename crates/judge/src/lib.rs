//! How good schedulers and students are, and where they fail, for any scenario: figures of fidelity and of closed loops, attacks by
//! other descriptions of jobs, searches for better students, checks of a policy's contract, and the grounds on which networks practise.
//!
//! Nothing here knows a kind of cluster; the [`evaluator`] sees levels, choices and figures only.

pub mod attack;
pub mod augment;
pub mod conformance;
pub mod evaluator;
pub mod practice;
pub mod sealed;
