//! What trainings may be told of how weights are moved.

use crate::{
    Algorithm, IterationRow, Phase, Returns,
    schedule::{ParamError, Ramp, Schedule},
    update::Goal,
};
use serde::Serialize;
use std::ops::Range;

/// How far weights are moved at once, whatever network they are of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steps {
    /// Step of Adam.
    pub learning_rate: Ramp,
    /// Weight of a decision's entropy in the objective, nats.
    pub entropy: Ramp,
    /// How far the ratio of probabilities may go from 1 (PPO).
    pub clip: f64,
    /// Longest gradient; of each network where there are several.
    pub max_gradient: f64,
    /// Step of Adam in imitation, `warm-start-rate` among options.
    pub imitation_rate: f64,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            learning_rate: Ramp { from: 1e-3, to: 1e-4 },
            entropy: Ramp { from: 0.01, to: 0.0 },
            clip: 0.2,
            max_gradient: 0.5,
            imitation_rate: 3e-3,
        }
    }
}

impl Steps {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        for (name, v) in [
            ("learning-rate", self.learning_rate.from),
            ("learning-rate", self.learning_rate.to),
            ("entropy", self.entropy.from),
            ("entropy", self.entropy.to),
            ("warm-start-rate", self.imitation_rate),
        ] {
            ParamError::not_negative(name, v)?;
        }
        ParamError::above_zero("clip", self.clip)?;
        ParamError::above_zero("max-gradient", self.max_gradient)
    }

    /// What an iteration moves weights for; its row is told how far.
    pub(super) fn goal(&self, algorithm: Algorithm, schedule: &Schedule, row: &mut IterationRow) -> Goal {
        if row.phase != Phase::Reinforcement {
            row.learning_rate = self.imitation_rate;
            return Goal::Imitate;
        }
        let share = schedule.share(row.iteration);
        row.entropy_weight = self.entropy.at(share);
        row.learning_rate = self.learning_rate.at(share);
        Goal::Reinforce { algorithm, clip: self.clip, entropy: row.entropy_weight }
    }
}

/// How a network learns from rollouts of which several meet the same job sequence: they are each other's baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PolicyGradient {
    /// How gradients are made.
    pub algorithm: Algorithm,
    /// Job sequences per iteration; each is new.
    pub sequences: u32,
    /// Rollouts per job sequence; at least 2.
    pub rollouts: u32,
    /// Which costs count, by the network's unit of time.
    pub returns: Returns,
    /// Passes over the rollouts (PPO).
    pub epochs: u32,
    /// Steps per pass (PPO).
    pub minibatches: u32,
    /// Passes stop once the policy has moved this far, Kullback–Leibler divergence in nats (PPO).
    pub max_kl: f64,
}

impl Default for PolicyGradient {
    /// Returns are Decima's, which counts seconds.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Ppo,
            sequences: 4,
            rollouts: 4,
            returns: Returns::Discounted { rate: 0.001, trace: 0.005 },
            epochs: 3,
            minibatches: 4,
            max_kl: 0.03,
        }
    }
}

impl PolicyGradient {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        ParamError::positive("epochs", self.epochs)?;
        ParamError::positive("minibatches", self.minibatches)?;
        ParamError::rollouts(self.sequences, self.rollouts)?;
        let (rate, trace) = self.returns.rates();
        ParamError::not_negative("discount", rate)?;
        ParamError::not_negative("trace-decay", trace)?;
        ParamError::above_zero("max-kl", self.max_kl)
    }

    /// Which rollouts of an iteration meet the same job sequence.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let each = self.rollouts as usize;
        (0..self.sequences as usize).map(|s| s * each..(s + 1) * each).collect()
    }

    /// Passes over an iteration's decisions, steps of each, and the divergence that ends them.
    pub(super) fn passes(&self, goal: Goal) -> (u32, usize, Option<f64>) {
        let minibatches = self.minibatches as usize;
        match goal {
            Goal::Imitate => (self.epochs, minibatches, None),
            Goal::Reinforce { algorithm: Algorithm::Ppo, .. } => (self.epochs, minibatches, Some(self.max_kl)),
            Goal::Reinforce { algorithm: Algorithm::Reinforce, .. } => (1, 1, Some(self.max_kl)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!((Steps::default().check(), PolicyGradient::default().check()), (Ok(()), Ok(())));
        let steps = |change: &dyn Fn(&mut Steps)| {
            let mut params = Steps::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(steps(&|p| p.clip = f64::NAN), "clip must be a finite number above 0, got NaN");
        assert_eq!(steps(&|p| p.entropy.to = -1.0), "entropy must be a finite number of at least 0, got -1");
        let error = |change: &dyn Fn(&mut PolicyGradient)| {
            let mut params = PolicyGradient::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.rollouts = 1), "rollouts must be at least 2, as they are each other's baseline, got 1");
        assert_eq!(error(&|p| p.epochs = 0), "epochs must be at least 1, got 0");
        let many = error(&|p| (p.sequences, p.rollouts) = (65_536, 65_536));
        assert_eq!(many, "sequences × rollouts must be at most 1000000, got 4294967296");
    }
}
