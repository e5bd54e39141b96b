//! A linear score estimated as a choice model, with standard errors.

use super::{Linear, ScoreCandidates};
use serde::{Deserialize, Serialize};

/// Score = Σ coefficient · feature + Σ coefficient · product of two features; softmax of the scores gives probabilities.
///
/// The conditional logit of McFadden (1974). There is no intercept, because it would be the same for all candidates. A
/// pairwise (Bradley–Terry) logit is of the same form: its chance that candidate *a* beats *b* is
/// 1 / (1 + exp(score(b) − score(a))), and the order by round-robin wins is the order by score.
///
/// Coefficients, standard errors and deviations come in one list each: first one per feature, then one per interaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceLogit {
    /// In score per unit of the feature or product; 0 where it is not used.
    pub coefficient: Vec<f64>,
    /// Standard errors of the coefficients, robust to any dependence within an episode; 0 where the coefficient is not
    /// used. Absent if there are fewer than two episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<Vec<f64>>,
    /// Standard deviations around the choice's mean in the training data; coefficient × deviation tells how much a feature
    /// moves scores.
    pub feature_sd: Vec<f64>,
    /// Pairs of columns whose products are features too; left out of files where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<[u32; 2]>,
}

impl ChoiceLogit {
    /// The score of one row of features.
    #[must_use]
    pub fn score(&self, row: &[f32]) -> f64 {
        let (alone, products) = self.coefficient.split_at(row.len());
        let terms = row.iter().zip(alone).map(|(&x, c)| f64::from(x) * c);
        let product = |[a, b]: [u32; 2]| f64::from(row[a as usize]) * f64::from(row[b as usize]);
        let products = self.interactions.iter().zip(products).map(|(&pair, c)| product(pair) * c);
        terms.sum::<f64>() + products.sum::<f64>()
    }

    /// The same scores as a linear model; `None` if there are interactions.
    #[must_use]
    pub fn as_linear(&self) -> Option<Linear> {
        let Self { coefficient, feature_sd, .. } = self.clone();
        self.interactions.is_empty().then_some(Linear { coefficient, intercept: 0.0, feature_sd })
    }

    /// The columns of a term: one for a feature, two for an interaction.
    #[must_use]
    pub fn columns(&self, term: usize) -> Vec<usize> {
        let width = self.coefficient.len() - self.interactions.len();
        match term.checked_sub(width) {
            None => vec![term],
            Some(i) => self.interactions[i].map(|column| column as usize).to_vec(),
        }
    }

    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        let terms = width + self.interactions.len();
        let errors = self.standard_error.iter().map(|list| ("standard_error", list));
        for (name, list) in
            [("coefficient", &self.coefficient), ("feature_sd", &self.feature_sd)].into_iter().chain(errors)
        {
            if list.len() != terms {
                let (n, products) = (list.len(), self.interactions.len());
                return Err(format!(
                    "`{name}` has {n} entries, but there are {width} features and {products} interactions"
                ));
            }
            if let Some(i) = list.iter().position(|v| !v.is_finite()) {
                return Err(format!("`{name}` of term {i} is not finite"));
            }
        }
        match self.interactions.iter().flatten().find(|&&column| column as usize >= width) {
            Some(column) => Err(format!("an interaction uses feature {column}, but there are {width}")),
            None => Ok(()),
        }
    }
}

impl ScoreCandidates for ChoiceLogit {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        for (row, score) in x.chunks_exact(width).zip(scores) {
            *score = self.score(row);
        }
    }

    fn size(&self) -> usize {
        self.coefficient.iter().filter(|c| **c != 0.0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    fn logit() -> ChoiceLogit {
        ChoiceLogit {
            coefficient: vec![2.0, 0.0, -0.5],
            standard_error: Some(vec![0.1, 0.0, 0.2]),
            feature_sd: vec![1.0, 0.0, 3.0],
            interactions: vec![[0, 1]],
        }
    }

    #[test]
    fn features_and_products_add_up_to_the_score() {
        let mut scores = [0.0; 2];
        logit().score_choice(&[1.0, 4.0, 3.0, 2.0], 2, &mut scores);
        assert_eq!(scores, [2.0 - 0.5 * 4.0, 6.0 - 0.5 * 6.0]);
        assert_eq!((logit().size(), logit().columns(1), logit().columns(2)), (2, vec![1], vec![0, 1]));
    }

    #[test]
    fn it_survives_the_file_and_leaves_out_what_it_has_not() -> Result<(), serde_json::Error> {
        let plain = ChoiceLogit { standard_error: None, interactions: Vec::new(), ..logit() };
        let text = serde_json::to_string(&Model::ChoiceLogit(plain.clone()))?;
        assert_eq!(text, r#"{"type":"choice_logit","coefficient":[2.0,0.0,-0.5],"feature_sd":[1.0,0.0,3.0]}"#);
        assert_eq!(serde_json::from_str::<Model>(&text)?, Model::ChoiceLogit(plain));
        let whole = Model::ChoiceLogit(logit());
        assert_eq!(serde_json::from_str::<Model>(&serde_json::to_string(&whole)?)?, whole);
        Ok(())
    }

    #[test]
    fn broken_logits_are_refused() {
        assert_eq!(logit().check(2), Ok(()));
        assert!(logit().check(3).unwrap_err().contains("`coefficient` has 3 entries"));
        let broken = |change: &dyn Fn(&mut ChoiceLogit)| {
            let mut logit = logit();
            change(&mut logit);
            logit.check(2).unwrap_err()
        };
        assert!(broken(&|l| l.coefficient[1] = f64::NAN).contains("`coefficient` of term 1 is not finite"));
        assert!(broken(&|l| l.standard_error = Some(vec![1.0])).contains("`standard_error` has 1 entries"));
        assert!(broken(&|l| l.interactions[0] = [0, 2]).contains("uses feature 2"));
    }
}
