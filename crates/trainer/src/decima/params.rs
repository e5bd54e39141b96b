//! What a training of Decima may be told.

use crate::{
    PolicyGradient, Steps,
    schedule::{ParamError, Schedule},
};
use serde::Serialize;

/// All numbers of a training. Same numbers, seed, workload and files: same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DecimaParams {
    /// How long, and how it is looked at.
    pub schedule: Schedule,
    /// How far weights are moved at once.
    #[serde(flatten)]
    pub steps: Steps,
    /// How gradients are made. Time is counted in seconds.
    #[serde(flatten)]
    pub gradient: PolicyGradient,
    /// Share of the jobs that users describe so that the network serves them sooner; in `0..=1`. What is true of them is not
    /// changed, and a teacher sees it.
    pub adversarial: f64,
}

impl DecimaParams {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        self.schedule.check()?;
        self.steps.check()?;
        self.gradient.check()?;
        ParamError::share("adversarial", self.adversarial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(DecimaParams::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut DecimaParams)| {
            let mut params = DecimaParams::default();
            change(&mut params);
            params.check().err().map(|e| e.name)
        };
        assert_eq!(error(&|p| p.schedule.validation = 0), Some("validation"));
        assert_eq!(error(&|p| p.steps.clip = 0.0), Some("clip"));
        assert_eq!(error(&|p| p.gradient.rollouts = 1), Some("rollouts"));
        assert_eq!(error(&|p| p.adversarial = 1.5), Some("adversarial"));
    }

    /// A training goes on if its plan is the same JSON as when it began.
    #[test]
    fn plans_are_what_they_were() {
        let plan = json!({
            "schedule": {
                "imitation": 0, "iterations": 1000, "anneal": 1000, "validate_every": 10, "validation": 50,
                "judge": "both", "patience": 0, "seed": 0
            },
            "algorithm": "ppo", "sequences": 4, "rollouts": 4,
            "returns": {"discounted": {"rate": 0.001, "trace": 0.005}},
            "learning_rate": {"from": 0.001, "to": 0.0001}, "entropy": {"from": 0.01, "to": 0.0}, "epochs": 3,
            "minibatches": 4, "clip": 0.2, "max_kl": 0.03, "max_gradient": 0.5, "imitation_rate": 0.003,
            "adversarial": 0.0
        });
        assert_eq!(json!(DecimaParams::default()), plan);
    }
}
