//! A decision tree as flat arrays.

use super::ScoreCandidates;
use serde::{Deserialize, Serialize};

/// Child index that marks a leaf.
pub const LEAF: u32 = u32::MAX;

/// A regression tree in pre-order: node 0 is the root, and both children come after their parent.
///
/// An inner node sends a row left if `x[feature] <= threshold`, compared in f32. All arrays have one entry per node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Always `"<="`: stated in the file so that nobody has to guess.
    pub operator: String,
    /// Column tested at the node; 0 at leaves.
    pub feature: Vec<u32>,
    /// Threshold; 0 at leaves.
    pub threshold: Vec<f32>,
    /// Left child, [`LEAF`] at leaves.
    pub left: Vec<u32>,
    /// Right child, [`LEAF`] at leaves.
    pub right: Vec<u32>,
    /// Where a missing value goes (traces hold none; other runtimes may).
    pub default_left: Vec<bool>,
    /// Weighted mean of the target at the node.
    pub value: Vec<f64>,
    /// Weighted variance of the target at the node.
    pub impurity: Vec<f64>,
    /// Training rows that reached the node.
    pub n_samples: Vec<u32>,
    /// Their summed weight.
    pub weight: Vec<f64>,
}

impl Tree {
    /// A tree of one leaf.
    #[must_use]
    pub fn leaf(value: f64, impurity: f64, n_samples: u32, weight: f64) -> Self {
        Self {
            operator: "<=".to_owned(),
            feature: vec![0],
            threshold: vec![0.0],
            left: vec![LEAF],
            right: vec![LEAF],
            default_left: vec![true],
            value: vec![value],
            impurity: vec![impurity],
            n_samples: vec![n_samples],
            weight: vec![weight],
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.feature.len()
    }

    /// Whether a node is a leaf.
    #[must_use]
    pub fn is_leaf(&self, node: usize) -> bool {
        self.left[node] == LEAF
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.left.iter().filter(|&&l| l == LEAF).count()
    }

    /// Number of tests on the longest way to a leaf.
    #[must_use]
    pub fn depth(&self) -> usize {
        let mut depth = vec![0; self.nodes()];
        for node in 0..self.nodes() {
            if !self.is_leaf(node) {
                depth[self.left[node] as usize] = depth[node] + 1;
                depth[self.right[node] as usize] = depth[node] + 1;
            }
        }
        depth.into_iter().max().unwrap_or(0)
    }

    /// The leaf that a row of features reaches.
    #[must_use]
    pub fn apply(&self, x: &[f32]) -> usize {
        let mut node = 0;
        while self.left[node] != LEAF {
            let goes_left = match x[self.feature[node] as usize] {
                v if v.is_nan() => self.default_left[node],
                v => v <= self.threshold[node],
            };
            node = if goes_left { self.left[node] } else { self.right[node] } as usize;
        }
        node
    }

    /// The value of a row of features.
    #[must_use]
    pub fn predict(&self, x: &[f32]) -> f64 {
        self.value[self.apply(x)]
    }

    /// Checks a tree that comes from a file: what is wrong, in words.
    pub(super) fn check(&self, width: usize) -> Result<(), String> {
        let n = self.nodes();
        if n == 0 {
            return Err("has no nodes".to_owned());
        }
        if self.operator != "<=" {
            return Err(format!("operator is `{}`, expected `<=`", self.operator));
        }
        let lengths = [
            ("threshold", self.threshold.len()),
            ("left", self.left.len()),
            ("right", self.right.len()),
            ("default_left", self.default_left.len()),
            ("value", self.value.len()),
            ("impurity", self.impurity.len()),
            ("n_samples", self.n_samples.len()),
            ("weight", self.weight.len()),
        ];
        if let Some((name, found)) = lengths.iter().find(|(_, len)| *len != n) {
            return Err(format!("`{name}` has {found} entries, expected {n} as in `feature`"));
        }
        let mut seen = vec![0; n];
        for node in 0..n {
            let (left, right) = (self.left[node], self.right[node]);
            if (left == LEAF) != (right == LEAF) {
                return Err(format!("node {node} has only one child"));
            }
            if !self.value[node].is_finite() || !self.threshold[node].is_finite() {
                return Err(format!("node {node} holds a number that is not finite"));
            }
            if left == LEAF {
                continue;
            }
            if self.feature[node] as usize >= width {
                return Err(format!("node {node} tests feature {}, but there are {width}", self.feature[node]));
            }
            for child in [left, right] {
                if child as usize <= node || child as usize >= n {
                    return Err(format!("node {node} has child {child}; children are in {}..{n}", node + 1));
                }
                seen[child as usize] += 1;
            }
        }
        match (1..n).find(|&node| seen[node] != 1) {
            Some(node) => Err(format!("node {node} has {} parents, expected 1", seen[node])),
            None => Ok(()),
        }
    }
}

impl ScoreCandidates for Tree {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        for (row, score) in x.chunks_exact(width).zip(scores) {
            *score = self.predict(row);
        }
    }

    fn size(&self) -> usize {
        self.leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stump() -> Tree {
        Tree {
            feature: vec![1, 0, 0],
            threshold: vec![0.5, 0.0, 0.0],
            left: vec![1, LEAF, LEAF],
            right: vec![2, LEAF, LEAF],
            default_left: vec![false; 3],
            value: vec![0.0, -1.0, 2.0],
            impurity: vec![0.0; 3],
            n_samples: vec![2, 1, 1],
            weight: vec![2.0, 1.0, 1.0],
            ..Tree::leaf(0.0, 0.0, 0, 0.0)
        }
    }

    #[test]
    fn rows_on_the_threshold_go_left_and_missing_ones_by_default() {
        let tree = stump();
        assert_eq!(tree.predict(&[9.0, 0.5]), -1.0);
        assert_eq!(tree.predict(&[9.0, 0.500_001]), 2.0);
        assert_eq!(tree.predict(&[9.0, f32::NAN]), 2.0);
        assert_eq!((tree.leaves(), tree.depth()), (2, 1));
    }

    #[test]
    fn broken_trees_are_refused() {
        assert_eq!(stump().check(2), Ok(()));
        assert!(stump().check(1).unwrap_err().contains("tests feature 1"));
        let broken = |change: &dyn Fn(&mut Tree)| {
            let mut tree = stump();
            change(&mut tree);
            tree.check(2).unwrap_err()
        };
        assert!(broken(&|t| t.left[0] = 0).contains("children are in 1..3"));
        assert!(broken(&|t| t.right[0] = 1).contains("parents"));
        assert!(broken(&|t| t.right[1] = 2).contains("only one child"));
        assert!(broken(&|t| t.value[2] = f64::NAN).contains("not finite"));
        assert!(broken(&|t| t.weight.clear()).contains("`weight` has 0 entries"));
        assert!(broken(&|t| t.operator = "<".to_owned()).contains("operator"));
    }
}
