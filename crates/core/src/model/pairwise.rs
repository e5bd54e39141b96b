//! A tree that compares two candidates; every candidate plays every other one.

use super::{ScoreCandidates, Tree};
use crate::level::{FLAG, FeatureSpec, LevelSpec, Scope};
use serde::{Deserialize, Serialize};

/// Score of a candidate = sum, over its opponents, of the chance that it wins.
///
/// The tree's columns are those of a pair: the candidate's features, then their differences to the opponent's (candidate −
/// opponent), `2 × width` in all. Its value is the chance that the candidate wins. A choice among *n* costs *n* (*n* − 1)
/// walks down the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairwise {
    /// A tree of one output over the columns of a pair.
    pub tree: Tree,
}

impl Pairwise {
    /// The chance that the candidate with the features `row` wins against `opponent`. Allocates nothing: the columns of the
    /// pair are worked out where the tree asks for them, in 32-bit floats as in training.
    #[must_use]
    pub fn beats(&self, row: &[f32], opponent: &[f32]) -> f64 {
        self.tree.value[self.tree.leaf_by(|column| pair_column(row, opponent, column))]
    }

    /// The level as the tree sees it: its features, and their differences, whose names begin with `Δ`.
    #[must_use]
    pub fn level(level: &LevelSpec) -> LevelSpec {
        let difference = |(column, f): (usize, &FeatureSpec)| FeatureSpec {
            name: format!("Δ{}", f.name),
            unit: if f.unit == FLAG { "1".to_owned() } else { f.unit.clone() },
            meaning: format!("Difference to the other candidate: {}", level.meaning(column)),
            scope: if f.scope == Scope::Share { Scope::Share } else { Scope::Absolute },
            version: f.version,
            whole: f.whole,
            control: f.control,
        };
        let differences = level.features.iter().enumerate().map(difference);
        LevelSpec { features: level.features.iter().cloned().chain(differences).collect(), ..level.clone() }
    }

    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        self.tree.check(2 * width)?;
        match (self.tree.outputs, &self.tree.linear) {
            (1, None) => Ok(()),
            (1, Some(_)) => Err("a pairwise tree has no linear leaves".to_owned()),
            (found, _) => Err(format!("a pairwise tree has one output, found {found}")),
        }
    }
}

/// A column of a pair: the first candidate's features, then the differences first − second.
#[inline]
pub fn pair_column(first: &[f32], second: &[f32], column: usize) -> f32 {
    match column.checked_sub(first.len()) {
        None => first[column],
        Some(column) => first[column] - second[column],
    }
}

impl ScoreCandidates for Pairwise {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        for (i, score) in scores.iter_mut().enumerate() {
            let row = &x[i * width..(i + 1) * width];
            let opponents = x.chunks_exact(width).enumerate().filter(|(j, _)| *j != i);
            *score = opponents.map(|(_, opponent)| self.beats(row, opponent)).sum();
        }
    }

    fn size(&self) -> usize {
        self.tree.leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{LEAF, Model},
        rng::Stream,
        testing::feature_set,
    };

    /// Δx₀ ≤ 0 ? (x₁ ≤ 0.5 ? 0.1 : 0.3) : 0.8
    fn pairwise() -> Pairwise {
        let mut tree = Tree::empty(1);
        tree.push_test(2, 0.0, [1, 4], true);
        tree.push_test(1, 0.5, [2, 3], true);
        (0..3).for_each(|_| tree.push_test(0, 0.0, [LEAF; 2], true));
        tree.value = vec![0.5, 0.2, 0.1, 0.3, 0.8];
        tree.impurity = vec![0.0; 5];
        tree.n_samples = vec![1; 5];
        tree.weight = vec![1.0; 5];
        Pairwise { tree }
    }

    #[test]
    fn round_robin_scores_are_those_of_brute_force() {
        let (model, mut s) = (pairwise(), Stream::new(3, "round robin"));
        for n in 1..9 {
            let x: Vec<f32> = (0..2 * n).map(|_| s.below(4) as f32 / 3.0).collect();
            let mut scores = vec![0.0; n];
            model.score_choice(&x, 2, &mut scores);
            for (i, score) in scores.iter().enumerate() {
                let mut wins = 0.0;
                for j in (0..n).filter(|&j| j != i) {
                    let (a, b) = (&x[2 * i..2 * i + 2], &x[2 * j..2 * j + 2]);
                    wins += model.tree.predict(&[a[0], a[1], a[0] - b[0], a[1] - b[1]]);
                }
                assert_eq!(*score, wins);
            }
        }
        let mut scores = [f64::NAN; 2];
        model.score_choice(&[1.0, 0.0, 0.0, 1.0], 2, &mut scores);
        assert_eq!(scores, [0.8, 0.3]);
    }

    #[test]
    fn it_survives_the_file() -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(&Model::Pairwise(pairwise()))?;
        assert!(text.starts_with(r#"{"type":"pairwise","tree":{"operator":"<=""#), "{text}");
        assert_eq!(serde_json::from_str::<Model>(&text)?, Model::Pairwise(pairwise()));
        Ok(())
    }

    #[test]
    fn columns_of_a_pair_have_names() {
        let level = Pairwise::level(&feature_set().levels[0]);
        let width = level.features.len() / 2;
        assert_eq!(level.features[width + 2].name, "Δremaining_work");
        assert_eq!((level.features[width + 1].unit.as_str(), level.features[1].unit.as_str()), ("1", "0/1"));
    }

    #[test]
    fn broken_ones_are_refused() {
        assert_eq!(pairwise().check(2), Ok(()));
        assert!(pairwise().check(1).unwrap_err().contains("tests feature 2, but there are 2"));
        let mut two = pairwise();
        two.tree.outputs = 2;
        two.tree.value = vec![0.0; 10];
        assert!(two.check(2).unwrap_err().contains("one output, found 2"));
    }
}
