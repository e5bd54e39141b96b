//! What a student takes of the probabilities of a level.

use crate::{elementary::exp, level::first_max};
use serde::{Deserialize, Serialize};

/// What a level takes of the candidates' probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The most probable candidate, the first of equals.
    #[default]
    Mode,
    /// The first candidate up to which the probabilities add up to one half: of all amounts the one that is expected to
    /// lie closest to an amount drawn with these probabilities. For levels whose candidates are 1, 2, 3, ... of something.
    Median,
}

impl Pick {
    pub(super) fn is_mode(&self) -> bool {
        *self == Self::Mode
    }

    /// Index of the candidate for scores of which at least one is finite.
    ///
    /// ```
    /// # use sched_distill_core::model::Pick;
    /// let scores = [0.0, 1.0, 0.9, 0.8];
    /// assert_eq!((Pick::Mode.of(&scores, 1.0), Pick::Median.of(&scores, 1.0)), (1, 2));
    /// ```
    #[must_use]
    pub fn of(self, scores: &[f64], temperature: f64) -> usize {
        let most = first_max(scores.iter().copied());
        if self == Self::Mode {
            return most;
        }
        let share = |s: &f64| exp((s - scores[most]) / temperature);
        let half = scores.iter().map(share).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let reaches_half = |s| {
            sum += share(s);
            sum >= half
        };
        scores.iter().position(reaches_half).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_score_is_no_number_the_median_is_the_most_probable() {
        let scores = [0.0, f64::NAN, 1.0, 1.0, 0.9];
        assert_eq!((Pick::Median.of(&scores, 1.0), Pick::Mode.of(&scores, 1.0)), (2, 2));
        let scores = [0.0, f64::INFINITY, 1.0];
        assert_eq!((Pick::Median.of(&scores, 1.0), Pick::Mode.of(&scores, 1.0)), (1, 1));
        assert_eq!(Pick::Median.of(&[f64::NAN, f64::NEG_INFINITY], 1.0), 0);
    }
}
