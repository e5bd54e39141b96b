//! Trees of scikit-learn, written as JSON by the scripts, as trees of this crate.

use sched_distill::model::{LEAF, Tree};
use serde::Deserialize;

/// The arrays of scikit-learn's `tree_`, under their own names where these are clear.
#[derive(Default, Deserialize)]
pub(crate) struct ForeignTree {
    feature: Vec<i64>,
    threshold: Vec<f64>,
    left: Vec<i64>,
    right: Vec<i64>,
    missing_go_to_left: Vec<bool>,
    outputs: usize,
    value: Vec<f64>,
    impurity: Vec<f64>,
    n_node_samples: Vec<u32>,
    weighted_n_node_samples: Vec<f64>,
}

/// The largest f32 that is not above a number: `x <= t` then says the same of every f32 `x`.
fn round_down(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) > threshold { nearest.next_down() } else { nearest }
}

impl From<ForeignTree> for Tree {
    fn from(tree: ForeignTree) -> Self {
        let child = |c: &i64| u32::try_from(*c).unwrap_or(LEAF);
        let inner = |node: usize| tree.left[node] >= 0;
        let nodes = 0..tree.feature.len();
        Self {
            feature: tree.feature.iter().map(|&f| u32::try_from(f).unwrap_or(0)).collect(),
            threshold: nodes.map(|n| if inner(n) { round_down(tree.threshold[n]) } else { 0.0 }).collect(),
            left: tree.left.iter().map(child).collect(),
            right: tree.right.iter().map(child).collect(),
            default_left: tree.missing_go_to_left,
            outputs: tree.outputs,
            value: tree.value,
            impurity: tree.impurity,
            n_samples: tree.n_node_samples,
            weight: tree.weighted_n_node_samples,
            ..Self::leaf(0.0, 0.0, 0, 0.0)
        }
    }
}
