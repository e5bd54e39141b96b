//! A network for any scenario: it scores candidates by the features that the scenario declares anyway.
//!
//! Every level has a head of its own, the same for all candidates, so that neither their order nor their number matters
//! (M. Zaheer et al., *Deep Sets*, NeurIPS 2017):
//!
//! ```text
//! z = (s(x) − mean) / scale      s(x) = sign(x) ln(1 + |x|), z kept within ±8
//! h = embed(z, c)                per candidate; c: what was taken at the level above
//! g = mean of h                  over the candidates of the choice
//! score = score(h, g)            a softmax over the candidates makes probabilities
//! c' = (h of the candidate that is taken, g)
//! ```
//!
//! [`ScorerWeights`] is a checkpoint, [`Scorer`] evaluates it, [`ScorerPolicy`] schedules with it in any scenario. The
//! file (safetensors) names the scenario, its feature set with its hash, means and scales. It also holds the weights of
//! the network that values states in training (`value.*`), of which a scheduler makes no use.

mod evaluate;
mod policy;
mod weights;

#[cfg(test)]
mod tests;

pub use evaluate::Scorer;
pub use policy::{SCORER, ScorerPolicy, open_scorer, open_scorer_or, scorer_or};
pub use weights::{ScorerShape, ScorerWeights, squash};
