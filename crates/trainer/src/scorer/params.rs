//! What a training of a scorer may be told.

use crate::{
    PolicyGradient, Returns, Steps,
    schedule::{ParamError, Ramp, Schedule},
};
use sched_distill_core::network::scorer::ScorerShape;
use serde::Serialize;

/// All numbers of a training. Same numbers, seed, workloads and files: same bits. Time is counted in stays: the mean time of a job in
/// the system in the first training episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScorerParams {
    /// How long, and how it is looked at.
    pub schedule: Schedule,
    /// How large the network is.
    pub shape: ScorerShape,
    /// Episodes of each workload by which features are standardised and stays are measured.
    pub survey: u32,
    /// How far weights are moved at once.
    #[serde(flatten)]
    pub steps: Steps,
    /// How gradients are made. Time is counted in stays.
    #[serde(flatten)]
    pub gradient: PolicyGradient,
    /// What is left of the blame for later surprises with each decision in between; in `0..=1`.
    pub blame: f64,
}

impl Default for ScorerParams {
    fn default() -> Self {
        Self {
            schedule: Schedule { iterations: 200, anneal: 200, ..Schedule::default() },
            shape: ScorerShape::default(),
            survey: 8,
            steps: Steps { learning_rate: Ramp { from: 3e-3, to: 1e-4 }, ..Steps::default() },
            gradient: PolicyGradient {
                returns: Returns::Discounted { rate: 0.2, trace: 1.0 },
                ..PolicyGradient::default()
            },
            blame: 1.0,
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
        ParamError::positive("survey", self.survey)?;
        self.steps.check()?;
        self.gradient.check()?;
        ParamError::share("blame", self.blame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(ScorerParams::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut ScorerParams)| {
            let mut params = ScorerParams::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|p| p.survey = 0), "survey must be at least 1, got 0");
        assert_eq!(error(&|p| p.steps.max_gradient = 0.0), "max-gradient must be a finite number above 0, got 0");
        assert_eq!(error(&|p| p.gradient.minibatches = 0), "minibatches must be at least 1, got 0");
        assert_eq!(error(&|p| p.blame = 1.5), "blame must be within 0 to 1, got 1.5");
        assert_eq!(
            error(&|p| p.shape.width = 20),
            "width and depth must be a multiple of 16 up to 1024, and 1 to 8, got 20 and 2"
        );
    }

    /// A training goes on if its plan is the same JSON as when it began.
    #[test]
    fn plans_are_what_they_were() {
        let plan = json!({
            "schedule": {
                "imitation": 0, "iterations": 200, "anneal": 200, "validate_every": 10, "validation": 50,
                "judge": "both", "patience": 0, "seed": 0
            },
            "shape": {"width": 32, "depth": 2}, "survey": 8, "algorithm": "ppo", "sequences": 4, "rollouts": 4,
            "returns": {"discounted": {"rate": 0.2, "trace": 1.0}}, "blame": 1.0,
            "learning_rate": {"from": 0.003, "to": 0.0001}, "entropy": {"from": 0.01, "to": 0.0}, "epochs": 3,
            "minibatches": 4, "clip": 0.2, "max_kl": 0.03, "max_gradient": 0.5, "imitation_rate": 0.003
        });
        assert_eq!(json!(ScorerParams::default()), plan);
    }
}
