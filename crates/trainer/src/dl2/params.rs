//! What a training of DL2 may be told.

use crate::{
    Steps,
    schedule::{ParamError, Ramp, Schedule},
};
use serde::Serialize;

/// What a slot is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reward {
    /// Less the time that jobs lose: what they spend in the slot, less what the epochs that they do would take at their best speed.
    /// Its sum over a trace is the sum of completion times, but for a number that no scheduler can change.
    Time,
    /// Shares of their epochs that jobs do in the slot, as DL2 has it.
    Progress,
}

/// All numbers of a training. Same numbers, seed, workload and files: same bits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// How far weights are moved at once.
    #[serde(flatten)]
    pub steps: Steps,
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
}

impl Default for Dl2Params {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            traces: 8,
            reward: Reward::Time,
            discount: 0.9,
            trace_decay: 0.97,
            steps: Steps { entropy: Ramp { from: 0.01, to: 0.001 }, ..Steps::default() },
            exploration: Ramp { from: 0.1, to: 0.0 },
            batch: 2048,
            reuse: 3.0,
            priority: 0.5,
            correction: Ramp { from: 0.4, to: 1.0 },
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
        self.steps.check()?;
        ParamError::not_negative("priority", self.priority)?;
        ParamError::above_zero("reuse", self.reuse)?;
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
    use serde_json::json;

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
        assert_eq!(error(&|p| p.steps.clip = 0.0), "clip must be a finite number above 0, got 0");
        assert_eq!(error(&|p| p.exploration.to = f64::NAN), "exploration must be within 0 to 1, got NaN");
    }

    /// A training goes on if its plan is the same JSON as when it began.
    #[test]
    fn plans_are_what_they_were() {
        let plan = json!({
            "schedule": {
                "imitation": 0, "iterations": 1000, "anneal": 1000, "validate_every": 10, "validation": 50,
                "judge": "both", "patience": 0, "seed": 0
            },
            "traces": 8, "reward": "time", "discount": 0.9, "trace_decay": 0.97,
            "learning_rate": {"from": 0.001, "to": 0.0001}, "imitation_rate": 0.003,
            "entropy": {"from": 0.01, "to": 0.001}, "exploration": {"from": 0.1, "to": 0.0},
            "batch": 2048, "reuse": 3.0, "priority": 0.5,
            "correction": {"from": 0.4, "to": 1.0}, "clip": 0.2, "max_gradient": 0.5
        });
        assert_eq!(json!(Dl2Params::default()), plan);
    }
}
