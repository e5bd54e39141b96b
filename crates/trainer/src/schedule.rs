//! What every training may be told.

use sched_distill_judge::practice::Judge;
use serde::{Deserialize, Serialize};

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

/// How long a training goes on, and how its network is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Iterations of imitation before reinforcement learning; 0 without a teacher.
    pub imitation: u32,
    /// Iterations of reinforcement learning.
    pub iterations: u32,
    /// Iterations that ramps take.
    pub anneal: u32,
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

impl Default for Schedule {
    fn default() -> Self {
        Self {
            imitation: 0,
            iterations: 1000,
            anneal: 1000,
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

impl ParamError {
    /// Refuses a training without workloads, or with imitation of nobody.
    pub(super) fn lists(workloads: usize, lessons: bool, schedule: &Schedule) -> Result<(), Self> {
        if workloads == 0 {
            return Err(Self { name: "workloads", found: "none".to_owned(), allowed: "at least one" });
        }
        match schedule.imitation {
            n if n > 0 && !lessons => {
                Err(Self { name: "imitation", found: n.to_string(), allowed: "0 where there is no teacher" })
            }
            _ => Ok(()),
        }
    }

    /// Refuses 0.
    pub(super) fn positive(name: &'static str, n: u32) -> Result<(), Self> {
        match n {
            0 => Err(Self { name, found: "0".to_owned(), allowed: "at least 1" }),
            _ => Ok(()),
        }
    }

    /// Refuses rollouts that have no other of their job sequence to be compared with, and more than anybody waits for.
    pub(super) fn rollouts(sequences: u32, each: u32) -> Result<(), Self> {
        Self::positive("sequences", sequences)?;
        if each < 2 {
            let allowed = "at least 2, as they are each other's baseline";
            return Err(Self { name: "rollouts", found: each.to_string(), allowed });
        }
        let all = u64::from(sequences) * u64::from(each);
        match all <= 1_000_000 {
            true => Ok(()),
            false => Err(Self { name: "sequences × rollouts", found: all.to_string(), allowed: "at most 1000000" }),
        }
    }

    /// Refuses what is below `least` or not finite.
    pub(super) fn at_least(name: &'static str, v: f64, least: f64, allowed: &'static str) -> Result<(), Self> {
        match v.is_finite() && v >= least {
            true => Ok(()),
            false => Err(Self { name, found: v.to_string(), allowed }),
        }
    }

    /// Refuses negative numbers.
    pub(super) fn not_negative(name: &'static str, v: f64) -> Result<(), Self> {
        Self::at_least(name, v, 0.0, "a finite number of at least 0")
    }

    /// Refuses what is no share.
    pub(super) fn share(name: &'static str, v: f64) -> Result<(), Self> {
        match (0.0..=1.0).contains(&v) {
            true => Ok(()),
            false => Err(Self { name, found: v.to_string(), allowed: "within 0 to 1" }),
        }
    }

    /// Refuses 0 and negative numbers.
    pub(super) fn above_zero(name: &'static str, v: f64) -> Result<(), Self> {
        Self::at_least(name, v, f64::MIN_POSITIVE, "a finite number above 0")
    }
}

impl Schedule {
    /// Checks all ranges.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        ParamError::positive("anneal", self.anneal)?;
        ParamError::positive("validate-every", self.validate_every)?;
        ParamError::positive("validation", self.validation)?;
        match self.imitation + self.iterations {
            0 => Err(ParamError {
                name: "iterations",
                found: "0".to_owned(),
                allowed: "at least 1 without a warm start",
            }),
            _ => Ok(()),
        }
    }

    /// How much of the ramps' way an iteration has behind it.
    pub(super) fn share(&self, iteration: u32) -> f64 {
        f64::from((iteration - 1).saturating_sub(self.imitation)) / f64::from(self.anneal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(Schedule::default().check(), Ok(()));
        let none = Schedule { iterations: 0, ..Schedule::default() };
        let text = "iterations must be at least 1 without a warm start, got 0";
        assert_eq!(none.check().map_err(|e| e.to_string()), Err(text.to_owned()));
        assert_eq!(Schedule { imitation: 1, ..none }.check(), Ok(()));
        assert!(Schedule { validation: 0, ..Schedule::default() }.check().is_err());
    }

    #[test]
    fn ramps_are_linear_and_end() {
        let ramp = Ramp { from: 1.0, to: 0.0 };
        assert_eq!([-1.0, 0.0, 0.25, 1.0, 3.0].map(|s| ramp.at(s)), [1.0, 1.0, 0.75, 0.0, 0.0]);
        let schedule = Schedule { imitation: 5, anneal: 10, ..Schedule::default() };
        assert_eq!([1, 6, 11, 16].map(|i| schedule.share(i)), [0.0, 0.0, 0.5, 1.0]);
    }
}
