//! Models of choice among candidate sets of any size.
//!
//! A choice *c* has the weight `w`, its candidates the teacher's probabilities `p₁ … pₙ`. Every model gives the choice the same
//! total weight `w`:
//!
//! * **Conditional logit** ([`Objective::Listwise`]; McFadden, *Conditional logit analysis of qualitative choice behavior*,
//!   1974; the first stage of a Plackett–Luce ranking): with scores `s = β·x` and `q = softmax(s)`, it minimises
//!   `Σ w Σᵢ −pᵢ ln qᵢ`.
//! * **Pairwise logit** ([`Objective::Pairwise`]; Bradley and Terry, *Rank analysis of incomplete block designs*, 1952): of
//!   every two candidates *i* wins with the chance `1 / (1 + exp(sⱼ − sᵢ))`; the target is `pᵢ / (pᵢ + pⱼ)` and the weight of
//!   the pair `w (pᵢ + pⱼ) / (n − 1)`, which adds up to `w` over the choice's pairs. Without an intercept a pair says the
//!   same in both orders, so that one is enough.
//! * **Pairwise tree**: a regression tree on the pairs in both orders, with the same targets and half the weight for each
//!   order; a candidate's score is the sum of its chances against all others ([`sched_distill_core::model::Pairwise`]).
//! * **Regressions per candidate** on one of [`super::Target`]; each candidate has the weight `w / n`.
//!
//! Where the teacher is deterministic, the executed candidate has probability 1. What is the same for all candidates of a
//! choice cannot enter a score that is compared within the choice; it can as a factor of an interaction.

mod data;
mod design;
mod library;
mod linfa;
mod logit;
mod objective;
mod pairs;
mod params;

pub use data::ChoiceData;
pub use linfa::{ChoiceTarget, LogitScorer};
pub use logit::fit_logit;
pub use params::{Constant, LogitError, LogitParams, Objective, ValidLogitParams};

pub(super) use data::Choices;
pub(super) use library::fit_linfa_logistic;
pub(super) use logit::{Effort, fit_from};
pub(super) use pairs::{MOST_PAIRS, pairs};

#[cfg(test)]
mod tests;
