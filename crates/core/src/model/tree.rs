//! A decision tree as flat arrays.

use super::ScoreCandidates;
use crate::level::first_max;
use serde::{Deserialize, Serialize};

/// Child index that marks a leaf.
pub const LEAF: u32 = u32::MAX;

/// A tree in pre-order: node 0 is the root, and both children come after their parent.
///
/// An inner node sends a row left if `x[feature] <= threshold`, compared in f32. All arrays have one entry per node, but for
/// `value`, which has `outputs` of them.
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
    /// Where a missing value (NaN) goes.
    pub default_left: Vec<bool>,
    /// Numbers per node in `value`: 1 for a score, else one per class or target. Left out of files where it is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub outputs: usize,
    /// What the node predicts, shape `(nodes, outputs)`, row-major: the weighted mean (or median) of the target, or the
    /// weighted shares of the classes.
    pub value: Vec<f64>,
    /// What the tree was grown to lower: the weighted variance (or absolute deviation) of the target, averaged over
    /// outputs, or the classes' Gini index or entropy.
    pub impurity: Vec<f64>,
    /// Training rows that reached the node.
    pub n_samples: Vec<u32>,
    /// Their summed weight.
    pub weight: Vec<f64>,
    /// Linear functions that take the place of the leaves' values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear: Option<LinearLeaves>,
}

/// A linear function at each leaf: prediction = `intercept[node]` + Σ coefficient · feature, for trees of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearLeaves {
    /// One per node; 0 at inner nodes.
    pub intercept: Vec<f64>,
    /// Where each node's terms begin in the lists below, and the end: `nodes + 1` entries.
    pub start: Vec<u32>,
    /// Columns, ascending within a node.
    pub feature: Vec<u32>,
    /// Their coefficients, in target per unit of the feature.
    pub coefficient: Vec<f64>,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(outputs: &usize) -> bool {
    *outputs == 1
}

impl Tree {
    /// A tree of one leaf with one output.
    #[must_use]
    pub fn leaf(value: f64, impurity: f64, n_samples: u32, weight: f64) -> Self {
        let mut tree = Self::empty(1);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.value.push(value);
        tree.impurity.push(impurity);
        tree.n_samples.push(n_samples);
        tree.weight.push(weight);
        tree
    }

    /// A tree of two leaves: the first value where the feature is at most `threshold`, the second elsewhere.
    #[must_use]
    pub fn stump(feature: u32, threshold: f32, values: [f64; 2]) -> Self {
        let mut tree = Self::empty(1);
        tree.push_test(feature, threshold, [1, 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.value = vec![0.5 * (values[0] + values[1]), values[0], values[1]];
        (tree.impurity, tree.n_samples, tree.weight) = (vec![0.0; 3], vec![0; 3], vec![0.0; 3]);
        tree
    }

    /// A tree without nodes, to be filled: a node is an entry in each list, `outputs` of them in `value`.
    #[must_use]
    pub fn empty(outputs: usize) -> Self {
        Self {
            operator: "<=".to_owned(),
            feature: Vec::new(),
            threshold: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
            default_left: Vec::new(),
            outputs,
            value: Vec::new(),
            impurity: Vec::new(),
            n_samples: Vec::new(),
            weight: Vec::new(),
            linear: None,
        }
    }

    /// Appends a node's test.
    pub fn push_test(&mut self, feature: u32, threshold: f32, [left, right]: [u32; 2], default_left: bool) {
        self.feature.push(feature);
        self.threshold.push(threshold);
        self.left.push(left);
        self.right.push(right);
        self.default_left.push(default_left);
    }

    /// The tree in which the nodes that are `cut` (one flag per node) are leaves, in pre-order. Linear functions of leaves are
    /// dropped, because a node that becomes a leaf has none.
    ///
    /// # Panics
    ///
    /// If there are fewer flags than nodes.
    #[must_use]
    pub fn without_below(&self, cut: &[bool]) -> Self {
        let mut tree = Self::empty(self.outputs);
        // Node, and whose right child it is.
        let mut stack = vec![(0, None)];
        while let Some((node, right_of)) = stack.pop() {
            let at = tree.nodes() as u32;
            if let Some(parent) = right_of {
                let parent: usize = parent;
                tree.right[parent] = at;
            }
            if self.is_leaf(node) || cut[node] {
                tree.push_test(0, 0.0, [LEAF; 2], true);
            } else {
                let test = (self.feature[node], self.threshold[node], self.default_left[node]);
                tree.push_test(test.0, test.1, [at + 1, LEAF], test.2);
                stack.push((self.right[node] as usize, Some(at as usize)));
                stack.push((self.left[node] as usize, None));
            }
            tree.value.extend_from_slice(self.node_value(node));
            tree.impurity.push(self.impurity[node]);
            tree.n_samples.push(self.n_samples[node]);
            tree.weight.push(self.weight[node]);
        }
        tree
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

    /// Columns that it tests or has coefficients for, in no order and with repetitions.
    pub(super) fn columns(&self) -> impl Iterator<Item = u32> {
        let tested = (0..self.nodes()).filter(|&node| !self.is_leaf(node)).map(|node| self.feature[node]);
        tested.chain(self.linear.iter().flat_map(|l| l.feature.iter().copied()))
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
        self.leaf_by(|column| x[column])
    }

    /// The leaf that is reached if a column's value is worked out when a test asks for it.
    #[inline]
    pub(super) fn leaf_by(&self, value: impl Fn(usize) -> f32) -> usize {
        let mut node = 0;
        while self.left[node] != LEAF {
            node = self.child(node, &value);
        }
        node
    }

    /// The child of an inner node that a row of features goes to.
    #[inline]
    pub fn child(&self, node: usize, value: impl Fn(usize) -> f32) -> usize {
        let goes_left = match value(self.feature[node] as usize) {
            v if v.is_nan() => self.default_left[node],
            v => v <= self.threshold[node],
        };
        (if goes_left { self.left[node] } else { self.right[node] }) as usize
    }

    /// The nodes that a row of features passes, root and leaf included.
    pub fn decision_path<'a>(&'a self, x: &'a [f32]) -> impl Iterator<Item = usize> + 'a {
        std::iter::successors(Some(0), |&node| (!self.is_leaf(node)).then(|| self.child(node, |column| x[column])))
    }

    /// What a node predicts: one number per output.
    #[must_use]
    pub fn node_value(&self, node: usize) -> &[f64] {
        &self.value[node * self.outputs..][..self.outputs]
    }

    /// The first output for a row of features: the score of a tree with one output.
    #[must_use]
    pub fn predict(&self, x: &[f32]) -> f64 {
        let leaf = self.apply(x);
        match &self.linear {
            None => self.value[leaf * self.outputs],
            Some(linear) => linear.predict(leaf, x),
        }
    }

    /// All outputs for a row of features; of a classifier, the classes' shares. Linear leaves have no part in it.
    #[must_use]
    pub fn predict_outputs(&self, x: &[f32]) -> &[f64] {
        self.node_value(self.apply(x))
    }

    /// The most probable class for a row of features, the first of equals.
    #[must_use]
    pub fn predict_class(&self, x: &[f32]) -> usize {
        first_max(self.predict_outputs(x).iter().copied())
    }

    /// Checks a tree that comes from a file: what is wrong, in words.
    pub fn check(&self, width: usize) -> Result<(), String> {
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
            ("impurity", self.impurity.len()),
            ("n_samples", self.n_samples.len()),
            ("weight", self.weight.len()),
        ];
        if let Some((name, found)) = lengths.iter().find(|(_, len)| *len != n) {
            return Err(format!("`{name}` has {found} entries, expected {n} as in `feature`"));
        }
        if self.outputs == 0 || n.checked_mul(self.outputs) != Some(self.value.len()) {
            return Err(format!("`value` has {} entries, expected {n} × {} outputs", self.value.len(), self.outputs));
        }
        if let Some(linear) = &self.linear {
            linear.check(n, width, self.outputs)?;
        }
        let mut seen = vec![0; n];
        for node in 0..n {
            let (left, right) = (self.left[node], self.right[node]);
            if (left == LEAF) != (right == LEAF) {
                return Err(format!("node {node} has only one child"));
            }
            let values = self.node_value(node).iter().all(|v| v.is_finite());
            if !values || !self.threshold[node].is_finite() {
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

impl LinearLeaves {
    /// The columns and coefficients of a leaf.
    pub fn terms(&self, leaf: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[leaf] as usize..self.start[leaf + 1] as usize;
        let columns = self.feature[range.clone()].iter().map(|&f| f as usize);
        columns.zip(self.coefficient[range].iter().copied())
    }

    pub(super) fn predict(&self, leaf: usize, x: &[f32]) -> f64 {
        self.intercept[leaf] + self.terms(leaf).map(|(f, c)| c * f64::from(x[f])).sum::<f64>()
    }

    fn check(&self, nodes: usize, width: usize, outputs: usize) -> Result<(), String> {
        let Self { intercept, start, feature, coefficient } = self;
        if outputs != 1 {
            return Err(format!("linear leaves need one output, found {outputs}"));
        }
        let lengths = [("intercept", intercept.len(), nodes), ("start", start.len(), nodes + 1)];
        let lengths = lengths.into_iter().chain([("coefficient", coefficient.len(), feature.len())]);
        for (name, found, expected) in lengths {
            if found != expected {
                return Err(format!("`linear.{name}` has {found} entries, expected {expected}"));
            }
        }
        if start[0] != 0 || !start.is_sorted() || start[nodes] as usize != feature.len() {
            return Err(format!("`linear.start` must rise from 0 to {}, the number of terms", feature.len()));
        }
        if let Some(f) = feature.iter().find(|&&f| f as usize >= width) {
            return Err(format!("a linear leaf uses feature {f}, but there are {width}"));
        }
        match intercept.iter().chain(coefficient).all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err("`linear` holds a number that is not finite".to_owned()),
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
        let Some(linear) = &self.linear else { return self.leaves() };
        let leaves = (0..self.nodes()).filter(|&node| self.is_leaf(node));
        leaves.map(|leaf| linear.terms(leaf).filter(|(_, c)| *c != 0.0).count().max(1)).sum()
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
