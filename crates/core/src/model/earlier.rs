//! Models as earlier versions wrote them: three kinds of sums of terms, which are one now.
//!
//! A model that is read decides as it did. The scores of `linear` and `spline_logit` are the same to the bit, and those
//! of `choice_logit` where it has no interactions; with them the last bit may differ, since features and products were
//! added up apart. (A score of −0 has become 0, which compares the same.)

use super::{Additive, Factor, Model, Pairwise, Regime, Shape, Term, Tree};
use serde::Deserialize;

/// Any model that a student file may hold, or might.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Stored {
    Tree(Tree),
    Additive(Additive),
    Pairwise(Pairwise),
    Regime(Regime),
    Linear(Linear),
    ChoiceLogit(ChoiceLogit),
    SplineLogit(SplineLogit),
}

/// Score = intercept + Σ coefficient · feature; one entry per feature.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Linear {
    coefficient: Vec<f64>,
    intercept: f64,
    feature_sd: Vec<f64>,
}

/// Score = Σ coefficient · feature + Σ coefficient · product; one entry per feature, then one per interaction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChoiceLogit {
    coefficient: Vec<f64>,
    standard_error: Option<Vec<f64>>,
    feature_sd: Vec<f64>,
    #[serde(default)]
    interactions: Vec<[u32; 2]>,
}

/// Score = Σ coefficient · product of a term's factors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SplineLogit {
    terms: Vec<Term>,
}

impl TryFrom<Stored> for Model {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        Ok(match stored {
            Stored::Tree(m) => Self::Tree(m),
            Stored::Additive(m) => Self::Additive(m),
            Stored::Pairwise(m) => Self::Pairwise(m),
            Stored::Regime(m) => Self::Regime(m),
            Stored::Linear(Linear { coefficient, intercept, feature_sd }) => {
                let logit = ChoiceLogit { coefficient, standard_error: None, feature_sd, interactions: Vec::new() };
                Self::Additive(Additive { intercept, terms: logit.terms()? })
            }
            Stored::ChoiceLogit(m) => Self::Additive(Additive { intercept: 0.0, terms: m.terms()? }),
            Stored::SplineLogit(m) => Self::Additive(Additive { intercept: 0.0, terms: m.terms }),
        })
    }
}

impl ChoiceLogit {
    /// Features whose coefficient is 0 were not used and are no terms. Products stay, since patches may name them.
    fn terms(self) -> Result<Vec<Term>, String> {
        let n = self.coefficient.len();
        let lists = [("feature_sd", Some(&self.feature_sd)), ("standard_error", self.standard_error.as_ref())];
        for (name, list) in lists {
            if let Some(list) = list.filter(|list| list.len() != n) {
                return Err(format!("`{name}` has {} entries, but `coefficient` has {n}", list.len()));
            }
        }
        let products = self.interactions.len();
        let width =
            n.checked_sub(products).ok_or(format!("`coefficient` has {n} entries for {products} interactions"))?;
        let linear = |feature| Factor { feature, shape: Shape::Linear, threshold: None };
        let features = (0..width as u32).map(|feature| vec![linear(feature)]);
        let products = self.interactions.iter().map(|pair| pair.map(linear).to_vec());
        let term = |(i, factors)| Term {
            coefficient: self.coefficient[i],
            factors,
            sd: self.feature_sd[i],
            standard_error: self.standard_error.as_ref().map(|list| list[i]),
        };
        let all = features.chain(products).enumerate().map(term);
        Ok(all.filter(|t| t.coefficient != 0.0 || t.factors.len() > 1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Model, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn error(coefficient: f64, standard_error: f64, sd: f64) -> Term {
        Term { standard_error: Some(standard_error), ..Term::linear(0, coefficient, sd) }
    }

    #[test]
    fn lists_become_terms_and_what_was_not_used_is_none() -> Result<(), serde_json::Error> {
        let linear = read(r#"{"type":"linear","coefficient":[0.0,2.5],"intercept":1.0,"feature_sd":[1.0,3.0]}"#)?;
        assert_eq!(linear, Model::Additive(Additive { intercept: 1.0, terms: vec![Term::linear(1, 2.5, 3.0)] }));
        let logit = read(
            r#"{"type":"choice_logit","coefficient":[2.0,0.0,0.0],"standard_error":[0.1,0.0,0.2],
                "feature_sd":[1.0,0.0,3.0],"interactions":[[0,1]]}"#,
        )?;
        let [a, b] = [0, 1].map(|feature| Factor { feature, shape: Shape::Linear, threshold: None });
        let product = Term { factors: vec![a, b], ..error(0.0, 0.2, 3.0) };
        assert_eq!(logit, Model::Additive(Additive { intercept: 0.0, terms: vec![error(2.0, 0.1, 1.0), product] }));
        let spline = read(
            r#"{"type":"spline_logit","terms":[{"coefficient":2.0,"factors":[{"feature":0,"shape":"linear"}],
                "sd":1.0,"standard_error":0.5}]}"#,
        )?;
        assert_eq!(spline, Model::Additive(Additive { intercept: 0.0, terms: vec![error(2.0, 0.5, 1.0)] }));
        Ok(())
    }

    #[test]
    fn lists_that_do_not_fit_together_are_refused() {
        for (text, expected) in [
            (
                r#"{"type":"linear","coefficient":[1.0],"intercept":0.0,"feature_sd":[]}"#,
                "`feature_sd` has 0 entries, but `coefficient` has 1",
            ),
            (
                r#"{"type":"choice_logit","coefficient":[1.0],"feature_sd":[1.0],"standard_error":[]}"#,
                "`standard_error` has 0",
            ),
            (
                r#"{"type":"choice_logit","coefficient":[],"feature_sd":[],"interactions":[[0,1]]}"#,
                "0 entries for 1 interactions",
            ),
            (r#"{"type":"linear","coefficient":[],"intercept":0.0,"feature_sd":[],"colour":1}"#, "unknown field"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
