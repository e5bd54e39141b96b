//! Different models for different states of the cluster.

use super::{Model, ScoreCandidates, Tree};
use serde::{Deserialize, Serialize};

/// A shallow tree that chooses which model scores a choice.
///
/// The tree tests features that are the same for all candidates of a choice, such as the number of jobs in the system;
/// it is asked about the first candidate. A leaf's value is the place of a model in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// One output; values of leaves are whole numbers below the number of models.
    pub tree: Tree,
    /// Models to choose from; none of them a regime.
    pub models: Vec<Model>,
}

impl Regime {
    /// `below` where a feature is at most `threshold`, `above` elsewhere.
    #[must_use]
    pub fn split(feature: u32, threshold: f32, below: Model, above: Model) -> Self {
        Self { tree: Tree::stump(feature, threshold, [0.0, 1.0]), models: vec![below, above] }
    }

    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        self.tree.check(width)?;
        if self.tree.outputs != 1 || self.tree.linear.is_some() {
            return Err("the tree of a regime has one output and no linear leaves".to_owned());
        }
        let n = self.models.len();
        if n == 0 {
            return Err("a regime has no models".to_owned());
        }
        for leaf in (0..self.tree.nodes()).filter(|&node| self.tree.is_leaf(node)) {
            let value = self.tree.value[leaf];
            if !(value >= 0.0 && value.fract() == 0.0 && value < n as f64) {
                return Err(format!("leaf {leaf} of a regime names model {value}, there are models 0 to {}", n - 1));
            }
        }
        for (i, model) in self.models.iter().enumerate() {
            if matches!(model, Model::Regime(_)) {
                return Err(format!("model {i} of a regime is a regime itself"));
            }
            model.check(width).map_err(|problem| format!("model {i} of a regime: {problem}"))?;
        }
        Ok(())
    }
}

impl ScoreCandidates for Regime {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        if let Some(first) = x.get(..width) {
            self.models[self.tree.predict(first) as usize].score_choice(x, width, scores);
        }
    }

    fn size(&self) -> usize {
        self.tree.leaves() + self.models.iter().map(ScoreCandidates::size).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Additive;

    fn by(column: usize) -> Model {
        let mut coefficient = vec![0.0; 3];
        coefficient[column] = 1.0;
        Model::Additive(Additive::linear(&coefficient, &[1.0; 3]))
    }

    #[test]
    fn the_state_decides_which_model_scores() {
        let regime = Regime::split(0, 5.0, by(1), by(2));
        assert_eq!((regime.check(3), regime.size()), (Ok(()), 4));
        let mut scores = [0.0; 2];
        regime.score_choice(&[5.0, 1.0, 2.0, 5.0, 3.0, 4.0], 3, &mut scores);
        assert_eq!(scores, [1.0, 3.0]);
        regime.score_choice(&[6.0, 1.0, 2.0, 6.0, 3.0, 4.0], 3, &mut scores);
        assert_eq!(scores, [2.0, 4.0]);
    }

    #[test]
    fn broken_regimes_are_refused() {
        let good = Regime::split(0, 5.0, by(1), by(2));
        let mut beyond = good.clone();
        beyond.tree.value[2] = 2.0;
        let mut nested = good.clone();
        nested.models[0] = Model::Regime(good.clone());
        for (regime, width, expected) in [
            (beyond, 3, "names model 2, there are models 0 to 1"),
            (nested, 3, "model 0 of a regime is a regime itself"),
            (good, 2, "model 1 of a regime: term 0 uses feature 2, but there are 2"),
        ] {
            let problem = regime.check(width).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
