//! A sum of terms: linear scores, conditional logits, scores with steps and kinks.

use super::ScoreCandidates;
use crate::{
    elementary::{ln_1p, positive},
    level::LevelSpec,
};
use serde::{Deserialize, Serialize};

/// Score = intercept + Σ coefficient · product of a term's factors.
///
/// A feature as it is, its logarithm, whether it lies above a threshold or by how much, and products of two of these:
/// the columns of multivariate adaptive regression splines (Friedman 1991). With features as they are it is a linear
/// score. It may be fitted by least squares, or as a conditional logit (McFadden 1974), and then softmax of the scores
/// gives probabilities. Only differences between the candidates of one choice matter, so the intercept is a matter of
/// taste.
///
/// A term counts once in the model's size, as a leaf of a tree does whatever the length of its path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Additive {
    /// Score of a row whose terms are all 0; left out of files where it is 0.
    #[serde(default, skip_serializing_if = "is_0")]
    pub intercept: f64,
    /// What is added up, in this order.
    pub terms: Vec<Term>,
}

/// One summand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// In score per unit of the product.
    pub coefficient: f64,
    /// One or two factors.
    pub factors: Vec<Factor>,
    /// Standard deviation of the product around the choice's mean in the training data, 0 where that is not known;
    /// coefficient × deviation tells how much the term moves scores.
    pub sd: f64,
    /// Standard error of the coefficient, robust to any dependence within an episode; a search for terms is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_0(intercept: &f64) -> bool {
    *intercept == 0.0
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
            Shape::Log => ln_1p(positive(f64::from(x))),
            Shape::Above => f64::from(u8::from(x > threshold)),
            Shape::Excess => positive(f64::from(x) - f64::from(threshold)),
        }
    }

    /// In words, the feature having some name: `remaining_work`, `ln(1 + remaining_work)`, `[remaining_work > 5]`,
    /// `(remaining_work - 5)+`.
    #[must_use]
    pub fn words(&self, name: &str) -> String {
        let threshold = self.threshold.unwrap_or(0.0);
        match self.shape {
            Shape::Linear => name.to_owned(),
            Shape::Log => format!("ln(1 + {name})"),
            Shape::Above => format!("[{name} > {threshold}]"),
            Shape::Excess if threshold < 0.0 => format!("({name} + {})+", -threshold),
            Shape::Excess => format!("({name} - {threshold})+"),
        }
    }
}

impl Term {
    /// A feature as it is, without a standard error.
    #[must_use]
    pub fn linear(feature: u32, coefficient: f64, sd: f64) -> Self {
        let factor = Factor { feature, shape: Shape::Linear, threshold: None };
        Self { coefficient, factors: vec![factor], sd, standard_error: None }
    }

    /// The product of the factors for a row of features.
    #[must_use]
    pub fn of(&self, row: &[f32]) -> f64 {
        self.factors.iter().map(|f| f.of(row[f.feature as usize])).product()
    }

    /// Whether its factors are features as they are.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.factors.iter().all(|f| f.shape == Shape::Linear)
    }

    /// The feature that it is, as it is; `None` of other terms.
    #[must_use]
    pub fn feature(&self) -> Option<u32> {
        match self.factors[..] {
            [Factor { feature, shape: Shape::Linear, .. }] => Some(feature),
            _ => None,
        }
    }

    /// In words: the factors with ` * ` between them.
    #[must_use]
    pub fn words(&self, level: &LevelSpec) -> String {
        let words = self.factors.iter().map(|f| f.words(&level.features[f.feature as usize].name));
        words.collect::<Vec<_>>().join(" * ")
    }

    /// What its coefficient is per: steps and logarithms have no unit.
    #[must_use]
    pub fn unit(&self, level: &LevelSpec) -> String {
        let with_unit = self.factors.iter().filter(|f| matches!(f.shape, Shape::Linear | Shape::Excess));
        let units: Vec<&str> = with_unit.map(|f| level.features[f.feature as usize].unit.as_str()).collect();
        if units.is_empty() { "1".to_owned() } else { units.join(" × ") }
    }
}

impl Additive {
    /// A linear score: a term for every coefficient that is not 0. Both lists have one entry per feature.
    #[must_use]
    pub fn linear(coefficient: &[f64], sd: &[f64]) -> Self {
        let all = (0..).zip(coefficient.iter().zip(sd));
        let terms = all.filter(|(_, (c, _))| **c != 0.0).map(|(feature, (&c, &sd))| Term::linear(feature, c, sd));
        Self { intercept: 0.0, terms: terms.collect() }
    }

    /// The coefficients, one per feature, if it is a linear score of features as they are.
    #[must_use]
    pub fn as_linear(&self, width: usize) -> Option<Vec<f64>> {
        let mut coefficient = vec![0.0; width];
        for term in &self.terms {
            coefficient[term.feature()? as usize] += term.coefficient;
        }
        Some(coefficient)
    }

    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        if !self.intercept.is_finite() {
            return Err("`intercept` is not finite".to_owned());
        }
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

/// Rows whose sums grow side by side, so that the next term of one need not wait for the one before: 2 are slower by a
/// third.
pub(super) const LANES: usize = 4;

/// Writes a score for each row: what `add` makes of sums of nothing (-0, to which any number may be added without
/// becoming another). Behind the last row of all, lanes are filled up with it; `add` is told how many of them count.
#[inline]
pub(super) fn side_by_side(
    x: &[f32],
    width: usize,
    scores: &mut [f64],
    add: impl Fn(&[&[f32]; LANES], usize, &mut [f64; LANES]),
) {
    for (first, places) in (0..).step_by(LANES).zip(scores.chunks_mut(LANES)) {
        let count = places.len();
        let rows = std::array::from_fn(|lane| &x[(first + lane.min(count - 1)) * width..][..width]);
        let mut sums = [-0.0; LANES];
        add(&rows, count, &mut sums);
        places.copy_from_slice(&sums[..count]);
    }
}

impl ScoreCandidates for Additive {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        side_by_side(x, width, scores, |rows, count, sums| {
            for term in &self.terms {
                let c = term.coefficient;
                match term.feature() {
                    Some(f) => sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum += c * f64::from(row[f as usize])),
                    None => sums.iter_mut().zip(&rows[..count]).for_each(|(sum, row)| *sum += c * term.of(row)),
                }
            }
            sums.iter_mut().for_each(|sum| *sum += self.intercept);
        });
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
    fn additive() -> Additive {
        let term =
            |coefficient, factors: &[Factor]| Term { factors: factors.to_vec(), ..Term::linear(0, coefficient, 1.0) };
        Additive {
            intercept: 0.0,
            terms: vec![
                term(2.0, &[factor(0, Shape::Log, None)]),
                term(-3.0, &[factor(0, Shape::Above, Some(1.0)), factor(1, Shape::Excess, Some(0.5))]),
                Term::linear(1, 0.25, 1.0),
            ],
        }
    }

    #[test]
    fn terms_add_up_with_thresholds_on_the_lower_side() {
        let mut scores = [0.0; 4];
        additive().score_choice(&[1.0, 4.0, 2.0, 4.0, 2.0, 0.5, -1.0, 0.0], 2, &mut scores);
        let expected =
            [2.0 * 1f64.ln_1p() + 1.0, 2.0 * 2f64.ln_1p() - 3.0 * 3.5 + 1.0, 2.0 * 2f64.ln_1p() + 0.125, 0.0];
        assert_eq!(scores, expected);
        assert_eq!(additive().size(), 3);
    }

    #[test]
    fn it_survives_the_file_and_reads_as_a_formula() -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(&Model::Additive(additive()))?;
        let first =
            r#"{"type":"additive","terms":[{"coefficient":2.0,"factors":[{"feature":0,"shape":"log"}],"sd":1.0}"#;
        assert!(text.starts_with(first), "{text}");
        assert_eq!(serde_json::from_str::<Model>(&text)?, Model::Additive(additive()));
        let level = &feature_set().levels[0];
        let words: Vec<String> = additive().terms.iter().map(|t| t.words(level)).collect();
        let with_intercept = Model::Additive(Additive { intercept: -0.5, ..additive() });
        let text = serde_json::to_string(&with_intercept)?;
        assert!(text.starts_with(r#"{"type":"additive","intercept":-0.5,"#), "{text}");
        assert_eq!(serde_json::from_str::<Model>(&text)?, with_intercept);
        assert_eq!(words, ["ln(1 + is_none)", "[is_none > 1] * (is_source - 0.5)+", "is_source"]);
        Ok(())
    }

    #[test]
    fn features_as_they_are_make_a_linear_score() {
        let linear = Additive::linear(&[0.0, -2.0, 0.5], &[1.0, 2.0, 3.0]);
        assert_eq!(linear.terms, [Term::linear(1, -2.0, 2.0), Term::linear(2, 0.5, 3.0)]);
        assert_eq!(linear.as_linear(3), Some(vec![0.0, -2.0, 0.5]));
        assert_eq!(additive().as_linear(2), None);
        let mut product = linear;
        product.terms[0].factors.push(factor(2, Shape::Linear, None));
        assert_eq!((product.as_linear(3), product.terms[0].is_linear()), (None, true));
    }

    #[test]
    fn a_step_has_no_unit_and_an_excess_that_of_its_feature() {
        let mut spec = feature_set().levels[0].clone();
        spec.features[2].unit = "ms".to_owned();
        let [step, excess] = [Shape::Above, Shape::Excess].map(|shape| factor(2, shape, Some(5.0)));
        let of = |factors: &[Factor]| Term { factors: factors.to_vec(), ..Term::linear(0, 1.0, 1.0) }.unit(&spec);
        assert_eq!((of(&[step]), of(&[step, excess])), ("1".to_owned(), "ms".to_owned()));
        assert_eq!(of(&[excess, excess]), "ms × ms");
    }

    #[test]
    fn broken_sums_are_refused() {
        assert_eq!(additive().check(2), Ok(()));
        assert!(additive().check(1).unwrap_err().contains("uses feature 1, but there are 1"));
        let broken = |change: &dyn Fn(&mut Term)| {
            let mut additive = additive();
            change(&mut additive.terms[1]);
            additive.check(2).unwrap_err()
        };
        assert!(broken(&|t| t.coefficient = f64::NAN).contains("`coefficient` of term 1 is not finite"));
        assert!(broken(&|t| t.factors.clear()).contains("has 0 factors"));
        assert!(broken(&|t| t.factors[0].threshold = None).contains("lacks its `threshold`"));
        assert!(broken(&|t| t.factors[0].shape = Shape::Log).contains("without use"));
    }
}
