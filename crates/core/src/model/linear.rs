//! A linear score.

use super::ScoreCandidates;
use serde::{Deserialize, Serialize};

/// Score = intercept + Σ coefficient · feature.
///
/// Only differences between the candidates of one choice matter, so the intercept is a matter of taste.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// One per feature, in score per unit of the feature; 0 where the feature is not used.
    pub coefficient: Vec<f64>,
    /// Score of an all-zero row.
    pub intercept: f64,
    /// Standard deviation of each feature around its choice's mean in the training data; coefficient × deviation tells how
    /// much a feature moves scores.
    pub feature_sd: Vec<f64>,
}

impl Linear {
    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        for (name, list) in [("coefficient", &self.coefficient), ("feature_sd", &self.feature_sd)] {
            if list.len() != width {
                return Err(format!("`{name}` has {} entries, but there are {width} features", list.len()));
            }
            if let Some(i) = list.iter().position(|v| !v.is_finite()) {
                return Err(format!("`{name}` of feature {i} is not finite"));
            }
        }
        Ok(())
    }
}

impl ScoreCandidates for Linear {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        for (row, score) in x.chunks_exact(width).zip(scores) {
            let terms = row.iter().zip(&self.coefficient).map(|(&x, c)| f64::from(x) * c);
            *score = self.intercept + terms.sum::<f64>();
        }
    }

    fn size(&self) -> usize {
        self.coefficient.iter().filter(|c| **c != 0.0).count()
    }
}
