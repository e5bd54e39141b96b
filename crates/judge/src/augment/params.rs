//! What a search may spend and try.

use super::{AugmentError, plan};
use sched_distill_core::model::Student;
use serde::{Deserialize, Serialize};

/// What a search may spend and try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AugmentParams {
    /// Episodes to run, whatever for: training, validation, and measuring what edits do.
    pub budget: u64,
    /// Validation episodes in which a change is confirmed; up to four times as many where they leave it open.
    pub validation: u32,
    /// Most edits in all: guards, numbers that are moved, and regimes. Where it leaves room for every number, all of
    /// them are moved.
    pub max_edits: usize,
    /// Least share of the decisions of the student to begin with, on its own episodes, that stay as they were; no step
    /// may fall below it.
    pub min_agreement: f64,
    /// Most guards.
    pub max_guards: usize,
    /// Largest size of the student, see [`Student::size`]; no step may pass it.
    pub max_size: usize,
    /// Share of the budget for the direct search over numbers.
    pub polish: f64,
    /// First step of that search, in the scale of each number.
    pub step: f64,
    /// Candidates per generation of that search.
    pub population: usize,
    /// Training episodes per candidate and generation of that search.
    pub polish_episodes: u32,
    /// Seed of that search.
    pub seed: u64,
}

impl Default for AugmentParams {
    fn default() -> Self {
        Self::of_budget(40_000)
    }
}

impl AugmentParams {
    /// The defaults for a budget: the smaller it is, the fewer validation episodes a change gets.
    #[must_use]
    pub fn of_budget(budget: u64) -> Self {
        // 20 to 100, as a number of that size.
        let validation = (budget / 150).clamp(20, 100) as u32;
        Self {
            budget,
            validation,
            max_edits: 12,
            min_agreement: 0.5,
            max_guards: 6,
            max_size: 64,
            polish: 0.7,
            step: 0.1,
            population: 20,
            polish_episodes: 4,
            seed: 0,
        }
    }

    /// Checks the parameters for a student.
    ///
    /// # Errors
    ///
    /// The first bad one with its allowed range.
    pub fn check(&self, student: &Student) -> Result<(), AugmentError> {
        let bad = |name, found: String, allowed| Err(AugmentError::Param { name, found, allowed });
        match self {
            p if p.validation < 10 => bad("validation", p.validation.to_string(), "at least 10 episodes"),
            p if p.max_edits == 0 => bad("max_edits", "0".to_owned(), "at least 1"),
            p if !(0.0..=1.0).contains(&p.min_agreement) => {
                bad("min_agreement", p.min_agreement.to_string(), "in 0..=1")
            }
            p if !(4..=10_000).contains(&p.population) => bad("population", p.population.to_string(), "in 4..=10000"),
            p if p.polish_episodes == 0 => bad("polish_episodes", "0".to_owned(), "at least 1"),
            p if !(0.0..=1.0).contains(&p.polish) => bad("polish", p.polish.to_string(), "in 0..=1"),
            p if !(p.step > 0.0 && p.step <= 10.0) => bad("step", p.step.to_string(), "above 0, at most 10"),
            p if student.size() > p.max_size => {
                bad("max_size", p.max_size.to_string(), "at least the size of the student to begin with")
            }
            p if student.guards.len() > p.max_guards => {
                bad("max_guards", p.max_guards.to_string(), "at least the number of guards to begin with")
            }
            p => plan::check(p, student),
        }
    }
}
