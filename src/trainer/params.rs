//! What a training may be told.

use serde::{Deserialize, Serialize};

/// How gradients are made from rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Several passes over the rollouts with a clipped ratio of probabilities (J. Schulman et al., *Proximal Policy
    /// Optimization Algorithms*, 2017).
    Ppo,
    /// One step of the plain policy gradient with the input-dependent baseline, as Decima was trained.
    Reinforce,
}

/// Which future costs a decision answers for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// Costs count `exp(-rate · seconds)`.
    Discounted {
        /// Discount per second.
        rate: f64,
        /// Decay of the trace per second: surprises later than about its inverse are left to the value estimate. 0 for none.
        trace: f64,
    },
    /// Costs count less the mean cost per second of the rollouts (average-reward returns).
    Average {
        /// As above.
        trace: f64,
    },
}

/// Which of the two modes a checkpoint is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// The mean of both (of the logarithms).
    Both,
    /// The most probable decision.
    Greedy,
    /// Decisions drawn by their probabilities.
    Sampled,
}

/// A value that moves linearly from the first iteration of reinforcement learning on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    /// Value of the first iteration.
    pub from: f64,
    /// Value at the end, kept from there on.
    pub to: f64,
}

impl Ramp {
    /// The value after a share of the way.
    pub(super) fn at(self, share: f64) -> f64 {
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }
}

/// All numbers of a training. Same numbers, seed, workload and files: same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainParams {
    /// How gradients are made.
    pub algorithm: Algorithm,
    /// Iterations of reinforcement learning.
    pub iterations: u32,
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
    /// Iterations that the two ramps take.
    pub anneal: u32,
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
    /// Iterations of imitation before reinforcement learning; 0 without a teacher.
    pub imitation: u32,
    /// Step of Adam in imitation.
    pub imitation_rate: f64,
    /// Iterations between two validations.
    pub validate_every: u32,
    /// Episodes of a validation.
    pub validation: u32,
    /// Which mode decides what is best.
    pub judge: Judge,
    /// Validations without a new best after which training ends; 0 for never.
    pub patience: u32,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for TrainParams {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Ppo,
            iterations: 1000,
            sequences: 4,
            rollouts: 4,
            returns: Returns::Discounted { rate: 0.001, trace: 0.005 },
            learning_rate: Ramp { from: 1e-3, to: 1e-4 },
            entropy: Ramp { from: 0.01, to: 0.0 },
            anneal: 1000,
            epochs: 3,
            minibatches: 4,
            clip: 0.2,
            max_kl: 0.03,
            max_gradient: 0.5,
            imitation: 0,
            imitation_rate: 3e-3,
            validate_every: 10,
            validation: 50,
            judge: Judge::Both,
            patience: 0,
            seed: 0,
        }
    }
}

/// A number that no training can use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} must be {allowed}, got {found}")]
pub struct ParamError {
    /// The parameter.
    pub name: &'static str,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl TrainParams {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        let positive = |name, n: u32| match n {
            0 => Err(ParamError { name, found: "0".to_owned(), allowed: "at least 1" }),
            _ => Ok(()),
        };
        let number = |name, v: f64, least: f64, allowed| match v.is_finite() && v >= least {
            true => Ok(()),
            false => Err(ParamError { name, found: v.to_string(), allowed }),
        };
        for (name, n) in [
            ("iterations", self.iterations),
            ("sequences", self.sequences),
            ("anneal", self.anneal),
            ("epochs", self.epochs),
            ("minibatches", self.minibatches),
            ("validate-every", self.validate_every),
            ("validation", self.validation),
        ] {
            positive(name, n)?;
        }
        if self.rollouts < 2 {
            let found = self.rollouts.to_string();
            return Err(ParamError {
                name: "rollouts",
                found,
                allowed: "at least 2, as they are each other's baseline",
            });
        }
        let not_negative = "a finite number of at least 0";
        let (rate, trace) = match self.returns {
            Returns::Discounted { rate, trace } => (rate, trace),
            Returns::Average { trace } => (0.0, trace),
        };
        for (name, v) in [
            ("discount", rate),
            ("trace-decay", trace),
            ("learning-rate", self.learning_rate.from),
            ("learning-rate", self.learning_rate.to),
            ("entropy", self.entropy.from),
            ("entropy", self.entropy.to),
            ("warm-start-rate", self.imitation_rate),
        ] {
            number(name, v, 0.0, not_negative)?;
        }
        for (name, v) in [("clip", self.clip), ("max-kl", self.max_kl), ("max-gradient", self.max_gradient)] {
            number(name, v, f64::MIN_POSITIVE, "a finite number above 0")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(TrainParams::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut TrainParams)| {
            let mut params = TrainParams::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.rollouts = 1), "rollouts must be at least 2, as they are each other's baseline, got 1");
        assert_eq!(error(&|p| p.epochs = 0), "epochs must be at least 1, got 0");
        assert_eq!(error(&|p| p.clip = f64::NAN), "clip must be a finite number above 0, got NaN");
        assert_eq!(error(&|p| p.entropy.to = -1.0), "entropy must be a finite number of at least 0, got -1");
    }

    #[test]
    fn ramps_are_linear_and_end() {
        let ramp = Ramp { from: 1.0, to: 0.0 };
        assert_eq!([-1.0, 0.0, 0.25, 1.0, 3.0].map(|s| ramp.at(s)), [1.0, 1.0, 0.75, 0.0, 0.0]);
    }
}
