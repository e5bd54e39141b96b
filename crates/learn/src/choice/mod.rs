//! Models of choice among candidate sets of any size.
//!
//! A choice *c* has the weight `w`, its candidates the teacher's probabilities `p₁ … pₙ`. Every model gives the choice the same
//! total weight `w`:
//!
//! * **Conditional logit** (McFadden, *Conditional logit analysis of qualitative choice behavior*,
//!   1974; the first stage of a Plackett–Luce ranking): with scores `s = β·x` and `q = softmax(s)`, it minimises
//!   `Σ w Σᵢ −pᵢ ln qᵢ`.
//! * **Pairwise tree**: a regression tree on the pairs of candidates in both orders. *i* wins against *j* with the chance
//!   `pᵢ / (pᵢ + pⱼ)`; the weight of the pair is `w (pᵢ + pⱼ) / (n − 1)`, which adds up to `w` over the choice's pairs, half of
//!   it for each order. A candidate's score is the sum of its chances against all others
//!   ([`sched_distill_core::model::Pairwise`]).
//! * **Regressions per candidate** on one of [`super::Target`]; each candidate has the weight `w / n`.
//!
//! Where the teacher is deterministic, the executed candidate has probability 1. What is the same for all candidates of a
//! choice cannot enter a score that is compared within the choice; it can as a factor of an interaction.

mod data;
mod design;
mod linfa;
mod logit;
mod objective;
mod pairs;
mod params;

pub use data::ChoiceData;
pub use linfa::{ChoiceTarget, LogitScorer};
pub use logit::fit_logit;
pub use params::{Constant, LogitError, LogitParams, ValidLogitParams};

pub(super) use data::Choices;
pub(super) use design::Design;
pub(super) use logit::{Effort, Order, Problem, Slopes, Sums, fit_from, minimise};
pub(super) use pairs::{MOST_PAIRS, pairs};

#[cfg(test)]
mod tests;
