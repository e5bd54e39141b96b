//! What a training of a scorer may be told.

use crate::{
    Algorithm, Returns,
    schedule::{ParamError, Ramp, Schedule},
};
use sched_distill_core::network::scorer::ScorerShape;
use serde::{Deserialize, Serialize};

/// All numbers of a training. Same numbers, seed, workloads and files: same bits. Time is counted in stays: the mean time of a job in
/// the system in the first training episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScorerParams {
    /// How long, and how it is looked at.
    pub schedule: Schedule,
    /// How large the network is.
    pub shape: ScorerShape,
    /// Episodes of each workload by which features are standardised and stays are measured.
    pub survey: u32,
    /// How gradients are made.
    pub algorithm: Algorithm,
    /// Job sequences per iteration; each is new.
    pub sequences: u32,
    /// Rollouts per job sequence; at least 2, since they are each other's baseline.
    pub rollouts: u32,
    /// Which costs count, per stay.
    pub returns: Returns,
    /// What is left of the blame for later surprises with each decision in between; in `0..=1`.
    pub blame: f64,
    /// Step of Adam.
    pub learning_rate: Ramp,
    /// Weight of the entropy of a decision in the objective, nats.
    pub entropy: Ramp,
    /// Passes over the rollouts (PPO).
    pub epochs: u32,
    /// Steps per pass (PPO).
    pub minibatches: u32,
    /// How far the ratio of probabilities may go from 1 (PPO).
    pub clip: f64,
    /// Passes stop once the policy has moved this far, Kullback–Leibler divergence in nats (PPO).
    pub max_kl: f64,
    /// Longest gradient.
    pub max_gradient: f64,
    /// Step of Adam in imitation.
    pub imitation_rate: f64,
}

impl Default for ScorerParams {
    fn default() -> Self {
        Self {
            schedule: Schedule { iterations: 200, anneal: 200, ..Schedule::default() },
            shape: ScorerShape::default(),
            survey: 8,
            algorithm: Algorithm::Ppo,
            sequences: 4,
            rollouts: 4,
            returns: Returns::Discounted { rate: 0.2, trace: 1.0 },
            blame: 1.0,
            learning_rate: Ramp { from: 3e-3, to: 1e-4 },
            entropy: Ramp { from: 0.01, to: 0.0 },
            epochs: 3,
            minibatches: 4,
            clip: 0.2,
            max_kl: 0.03,
            max_gradient: 0.5,
            imitation_rate: 3e-3,
        }
    }
}

impl ScorerParams {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        self.schedule.check()?;
        if self.shape.check().is_err() {
            return Err(ParamError {
                name: "width and depth",
                found: format!("{} and {}", self.shape.width, self.shape.depth),
                allowed: "a multiple of 16 up to 1024, and 1 to 8",
            });
        }
        for (name, n) in [("survey", self.survey), ("epochs", self.epochs), ("minibatches", self.minibatches)] {
            ParamError::positive(name, n)?;
        }
        ParamError::rollouts(self.sequences, self.rollouts)?;
        let (rate, trace) = self.returns.rates();
        for (name, v) in [
            ("discount", rate),
            ("trace-decay", trace),
            ("learning-rate", self.learning_rate.from),
            ("learning-rate", self.learning_rate.to),
            ("entropy", self.entropy.from),
            ("entropy", self.entropy.to),
            ("warm-start-rate", self.imitation_rate),
        ] {
            ParamError::not_negative(name, v)?;
        }
        for (name, v) in [("clip", self.clip), ("max-kl", self.max_kl), ("max-gradient", self.max_gradient)] {
            ParamError::above_zero(name, v)?;
        }
        ParamError::share("blame", self.blame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(ScorerParams::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut ScorerParams)| {
            let mut params = ScorerParams::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.survey = 0), "survey must be at least 1, got 0");
        assert_eq!(error(&|p| p.rollouts = 1), "rollouts must be at least 2, as they are each other's baseline, got 1");
        let many = error(&|p| (p.sequences, p.rollouts) = (65_536, 65_536));
        assert_eq!(many, "sequences × rollouts must be at most 1000000, got 4294967296");
        assert_eq!(error(&|p| p.blame = 1.5), "blame must be within 0 to 1, got 1.5");
        assert_eq!(
            error(&|p| p.shape.width = 20),
            "width and depth must be a multiple of 16 up to 1024, and 1 to 8, got 20 and 2"
        );
    }
}
