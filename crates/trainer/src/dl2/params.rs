//! What a training of DL2 may be told.

use crate::schedule::{ParamError, Ramp, Schedule};
use serde::{Deserialize, Serialize};

/// What a slot is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reward {
    /// Less the time that jobs lose: what they spend in the slot, less what the epochs that they do would take at their best speed.
    /// Its sum over a trace is the sum of completion times, but for a number that no scheduler can change.
    Time,
    /// Shares of their epochs that jobs do in the slot, as DL2 has it.
    Progress,
}

/// All numbers of a training. Same numbers, seed, workload and files: same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dl2Params {
    /// How long, and how it is looked at.
    pub schedule: Schedule,
    /// Traces per iteration; each is new.
    pub traces: u32,
    /// What a slot is worth.
    pub reward: Reward,
    /// By what the worth of the next slot is multiplied; 0 for none but the slot at hand, as in DL2.
    pub discount: f64,
    /// Decay, per decision, of the blame for later surprises (λ of generalised advantage estimation).
    pub trace_decay: f64,
    /// Step of Adam.
    pub learning_rate: Ramp,
    /// Step of Adam in imitation.
    pub imitation_rate: f64,
    /// Weight of the policy's entropy, nats.
    pub entropy: Ramp,
    /// Share of slots in which job-aware exploration may overrule the policy.
    pub exploration: Ramp,
    /// Decisions per step.
    pub batch: u32,
    /// How often a decision is drawn from the memory, on average.
    pub reuse: f64,
    /// Exponent of priorities in the memory; 0 draws all decisions alike.
    pub priority: f64,
    /// Exponent of the weights that make up for priorities; 1 makes up for them fully.
    pub correction: Ramp,
    /// How far the ratio of probabilities may go from 1.
    pub clip: f64,
    /// Longest gradient, of each of the two networks.
    pub max_gradient: f64,
}

impl Default for Dl2Params {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            traces: 8,
            reward: Reward::Time,
            discount: 0.9,
            trace_decay: 0.97,
            learning_rate: Ramp { from: 1e-3, to: 1e-4 },
            imitation_rate: 3e-3,
            entropy: Ramp { from: 0.01, to: 0.001 },
            exploration: Ramp { from: 0.1, to: 0.0 },
            batch: 2048,
            reuse: 3.0,
            priority: 0.5,
            correction: Ramp { from: 0.4, to: 1.0 },
            clip: 0.2,
            max_gradient: 0.5,
        }
    }
}

impl Dl2Params {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        self.schedule.check()?;
        for (name, n) in [("traces", self.traces), ("batch", self.batch)] {
            ParamError::positive(name, n)?;
        }
        for (name, v) in [
            ("learning-rate", self.learning_rate.from),
            ("learning-rate", self.learning_rate.to),
            ("entropy", self.entropy.from),
            ("entropy", self.entropy.to),
            ("warm-start-rate", self.imitation_rate),
            ("priority", self.priority),
        ] {
            ParamError::not_negative(name, v)?;
        }
        for (name, v) in [("reuse", self.reuse), ("clip", self.clip), ("max-gradient", self.max_gradient)] {
            ParamError::above_zero(name, v)?;
        }
        for (name, v) in [
            ("discount", self.discount),
            ("trace-decay", self.trace_decay),
            ("exploration", self.exploration.from),
            ("exploration", self.exploration.to),
            ("correction", self.correction.from),
            ("correction", self.correction.to),
        ] {
            ParamError::share(name, v)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(Dl2Params::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut Dl2Params)| {
            let mut params = Dl2Params::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.batch = 0), "batch must be at least 1, got 0");
        assert_eq!(error(&|p| p.discount = 1.5), "discount must be within 0 to 1, got 1.5");
        assert_eq!(error(&|p| p.reuse = 0.0), "reuse must be a finite number above 0, got 0");
        assert_eq!(error(&|p| p.exploration.to = f64::NAN), "exploration must be within 0 to 1, got NaN");
    }
}
