//! What a training of Decima may be told.

use crate::{
    Algorithm, Returns,
    schedule::{ParamError, Ramp, Schedule},
};
use serde::{Deserialize, Serialize};

/// All numbers of a training. Same numbers, seed, workload and files: same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecimaParams {
    /// How long, and how it is looked at.
    pub schedule: Schedule,
    /// How gradients are made.
    pub algorithm: Algorithm,
    /// Job sequences per iteration; each is new.
    pub sequences: u32,
    /// Rollouts per job sequence; at least 2, since they are each other's baseline.
    pub rollouts: u32,
    /// Which costs count.
    pub returns: Returns,
    /// Step of Adam.
    pub learning_rate: Ramp,
    /// Weight of the entropy of stage and amount in the objective, nats.
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
    /// Share of the jobs that users describe so that the network serves them sooner; in `0..=1`. What is true of them is not
    /// changed, and a teacher sees it.
    pub adversarial: f64,
}

impl Default for DecimaParams {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            algorithm: Algorithm::Ppo,
            sequences: 4,
            rollouts: 4,
            returns: Returns::Discounted { rate: 0.001, trace: 0.005 },
            learning_rate: Ramp { from: 1e-3, to: 1e-4 },
            entropy: Ramp { from: 0.01, to: 0.0 },
            epochs: 3,
            minibatches: 4,
            clip: 0.2,
            max_kl: 0.03,
            max_gradient: 0.5,
            imitation_rate: 3e-3,
            adversarial: 0.0,
        }
    }
}

impl DecimaParams {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        self.schedule.check()?;
        for (name, n) in [("epochs", self.epochs), ("minibatches", self.minibatches)] {
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
        ParamError::share("adversarial", self.adversarial)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(DecimaParams::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut DecimaParams)| {
            let mut params = DecimaParams::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.rollouts = 1), "rollouts must be at least 2, as they are each other's baseline, got 1");
        assert_eq!(error(&|p| p.epochs = 0), "epochs must be at least 1, got 0");
        assert_eq!(error(&|p| p.clip = f64::NAN), "clip must be a finite number above 0, got NaN");
        assert_eq!(error(&|p| p.entropy.to = -1.0), "entropy must be a finite number of at least 0, got -1");
    }
}
