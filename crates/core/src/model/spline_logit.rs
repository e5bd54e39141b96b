//! A sum of terms with kinks and steps, estimated as a choice model.

use super::ScoreCandidates;
use crate::level::LevelSpec;
use serde::{Deserialize, Serialize};

/// Score = Σ coefficient · product of a term's factors; softmax of the scores gives probabilities.
///
/// A conditional logit (McFadden 1974) whose columns are those of multivariate adaptive regression splines (Friedman 1991):
/// a feature as it is, its logarithm, whether it lies above a threshold or by how much, and products of two of these. A
/// term counts once in the model's size, as a leaf of a tree does whatever the length of its path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplineLogit {
    /// What is added up, in the order in which it was found to matter.
    pub terms: Vec<SplineTerm>,
}

/// One summand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplineTerm {
    /// In score per unit of the product.
    pub coefficient: f64,
    /// One or two factors.
    pub factors: Vec<Factor>,
    /// Standard deviation of the product around the choice's mean in the training data; coefficient × deviation tells how
    /// much the term moves scores.
    pub sd: f64,
    /// Standard error of the coefficient, robust to any dependence within an episode; the search for terms is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
}

/// A function of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Column of the feature.
    pub feature: u32,
    /// What is made of it.
    pub shape: Shape,
    /// Where it steps or bends, in units of the feature; of `above` and `excess` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f32>,
}

/// The shape of a [`Factor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// x
    Linear,
    /// ln(1 + x), 0 for negative x
    Log,
    /// 1 if x > threshold, else 0
    Above,
    /// x − threshold if that is positive, else 0
    Excess,
}

impl Factor {
    /// The factor's value for a value of its feature.
    #[must_use]
    pub fn of(&self, x: f32) -> f64 {
        let threshold = self.threshold.unwrap_or(0.0);
        match self.shape {
            Shape::Linear => f64::from(x),
            Shape::Log => f64::from(x).max(0.0).ln_1p(),
            Shape::Above => f64::from(u8::from(x > threshold)),
            Shape::Excess => (f64::from(x) - f64::from(threshold)).max(0.0),
        }
    }

    /// In words: `remaining_work`, `ln(1 + remaining_work)`, `[remaining_work > 5]`, `(remaining_work - 5)+`.
    #[must_use]
    pub fn words(&self, level: &LevelSpec) -> String {
        let name = &level.features[self.feature as usize].name;
        let threshold = self.threshold.unwrap_or(0.0);
        match self.shape {
            Shape::Linear => name.clone(),
            Shape::Log => format!("ln(1 + {name})"),
            Shape::Above => format!("[{name} > {threshold}]"),
            Shape::Excess if threshold < 0.0 => format!("({name} + {})+", -threshold),
            Shape::Excess => format!("({name} - {threshold})+"),
        }
    }
}

impl SplineTerm {
    /// The product of the factors for a row of features.
    #[must_use]
    pub fn of(&self, row: &[f32]) -> f64 {
        self.factors.iter().map(|f| f.of(row[f.feature as usize])).product()
    }

    /// In words: the factors with ` * ` between them.
    #[must_use]
    pub fn words(&self, level: &LevelSpec) -> String {
        self.factors.iter().map(|f| f.words(level)).collect::<Vec<_>>().join(" * ")
    }
}

impl SplineLogit {
    /// The score of one row of features. Allocates nothing.
    #[must_use]
    pub fn score(&self, row: &[f32]) -> f64 {
        self.terms.iter().map(|t| t.coefficient * t.of(row)).sum()
    }

    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        for (i, term) in self.terms.iter().enumerate() {
            let numbers = [("coefficient", Some(term.coefficient)), ("sd", Some(term.sd))];
            let numbers = numbers.into_iter().chain([("standard_error", term.standard_error)]);
            if let Some((name, _)) = numbers.into_iter().find(|(_, v)| v.is_some_and(|v| !v.is_finite())) {
                return Err(format!("`{name}` of term {i} is not finite"));
            }
            if !(1..=2).contains(&term.factors.len()) {
                return Err(format!("term {i} has {} factors, expected 1 or 2", term.factors.len()));
            }
            for factor in &term.factors {
                if factor.feature as usize >= width {
                    return Err(format!("term {i} uses feature {}, but there are {width}", factor.feature));
                }
                let needed = matches!(factor.shape, Shape::Above | Shape::Excess);
                match factor.threshold {
                    None if needed => return Err(format!("a factor of term {i} lacks its `threshold`")),
                    Some(_) if !needed => return Err(format!("a factor of term {i} has a `threshold` without use")),
                    Some(t) if !t.is_finite() => return Err(format!("a `threshold` of term {i} is not finite")),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl ScoreCandidates for SplineLogit {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        for (row, score) in x.chunks_exact(width).zip(scores) {
            *score = self.score(row);
        }
    }

    fn size(&self) -> usize {
        self.terms.iter().filter(|t| t.coefficient != 0.0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Model, testing::feature_set};

    fn factor(feature: u32, shape: Shape, threshold: Option<f32>) -> Factor {
        Factor { feature, shape, threshold }
    }

    /// 2 ln(1 + a) − 3 [a > 1] · (b − 0.5)+ + 0.25 b
    fn spline() -> SplineLogit {
        let term = |coefficient, factors: &[Factor]| SplineTerm {
            coefficient,
            factors: factors.to_vec(),
            sd: 1.0,
            standard_error: None,
        };
        SplineLogit {
            terms: vec![
                term(2.0, &[factor(0, Shape::Log, None)]),
                term(-3.0, &[factor(0, Shape::Above, Some(1.0)), factor(1, Shape::Excess, Some(0.5))]),
                term(0.25, &[factor(1, Shape::Linear, None)]),
            ],
        }
    }

    #[test]
    fn terms_add_up_with_thresholds_on_the_lower_side() {
        let mut scores = [0.0; 4];
        spline().score_choice(&[1.0, 4.0, 2.0, 4.0, 2.0, 0.5, -1.0, 0.0], 2, &mut scores);
        let expected =
            [2.0 * 1f64.ln_1p() + 1.0, 2.0 * 2f64.ln_1p() - 3.0 * 3.5 + 1.0, 2.0 * 2f64.ln_1p() + 0.125, 0.0];
        assert_eq!(scores, expected);
        assert_eq!(spline().size(), 3);
    }

    #[test]
    fn it_survives_the_file_and_reads_as_a_formula() -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(&Model::SplineLogit(spline()))?;
        let first =
            r#"{"type":"spline_logit","terms":[{"coefficient":2.0,"factors":[{"feature":0,"shape":"log"}],"sd":1.0}"#;
        assert!(text.starts_with(first), "{text}");
        assert_eq!(serde_json::from_str::<Model>(&text)?, Model::SplineLogit(spline()));
        let level = &feature_set().levels[0];
        let words: Vec<String> = spline().terms.iter().map(|t| t.words(level)).collect();
        assert_eq!(words, ["ln(1 + is_none)", "[is_none > 1] * (is_source - 0.5)+", "is_source"]);
        Ok(())
    }

    #[test]
    fn broken_splines_are_refused() {
        assert_eq!(spline().check(2), Ok(()));
        assert!(spline().check(1).unwrap_err().contains("uses feature 1, but there are 1"));
        let broken = |change: &dyn Fn(&mut SplineTerm)| {
            let mut spline = spline();
            change(&mut spline.terms[1]);
            spline.check(2).unwrap_err()
        };
        assert!(broken(&|t| t.coefficient = f64::NAN).contains("`coefficient` of term 1 is not finite"));
        assert!(broken(&|t| t.factors.clear()).contains("has 0 factors"));
        assert!(broken(&|t| t.factors[0].threshold = None).contains("lacks its `threshold`"));
        assert!(broken(&|t| t.factors[0].shape = Shape::Log).contains("without use"));
    }
}
