//! scikit-learn's trees as ours.

use sched_distill::model::{LEAF, Tree};
use serde::Deserialize;

/// The arrays of `tree_`; children are −1 at leaves.
#[derive(Deserialize)]
pub(crate) struct ReferenceTree {
    feature: Vec<i64>,
    threshold: Vec<f64>,
    left: Vec<i64>,
    right: Vec<i64>,
    default_left: Vec<u8>,
    impurity: Vec<f64>,
    n_samples: Vec<u32>,
    weight: Vec<f64>,
    /// By node and output; may be left out.
    value: Vec<Vec<f64>>,
}

/// The largest f32 that is not above a threshold in f64: comparisons of f32 values with both agree.
pub(crate) fn round_down(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) > threshold { nearest.next_down() } else { nearest }
}

impl ReferenceTree {
    pub(crate) fn tree(&self) -> Tree {
        let child = |c: i64| u32::try_from(c).unwrap_or(LEAF);
        let leaf = |node: usize| self.left[node] < 0;
        let nodes = 0..self.feature.len();
        Tree {
            feature: self.feature.iter().map(|&f| u32::try_from(f).unwrap_or(0)).collect(),
            threshold: nodes.clone().map(|n| if leaf(n) { 0.0 } else { round_down(self.threshold[n]) }).collect(),
            left: self.left.iter().map(|&c| child(c)).collect(),
            right: self.right.iter().map(|&c| child(c)).collect(),
            default_left: self.default_left.iter().map(|&d| d != 0).collect(),
            outputs: self.value.first().map_or(1, Vec::len),
            value: self.value.concat(),
            impurity: self.impurity.clone(),
            n_samples: self.n_samples.clone(),
            weight: self.weight.clone(),
            ..Tree::leaf(0.0, 0.0, 0, 0.0)
        }
    }
}
