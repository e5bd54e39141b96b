//! Trees grown by linfa-trees, for comparison only.
//!
//! Version 0.8.1 knows classification alone, misses splits on tied features and depends on hash order, so its trees are
//! neither as good as ours nor reproducible. Its splits are taken over; leaf values are recomputed from the rows.

use super::{FitError, FitParams, target::Rows};
use linfa::{Dataset, traits::Fit};
use linfa_trees::{DecisionTree, TreeNode};
use ndarray::{Array1, Array2};
use sched_distill_core::model::{LEAF, Tree};

/// Rows beyond this number are thinned out evenly: linfa-trees scans all rows at every node.
const MOST_ROWS: usize = 50_000;

/// A classification tree "is this the candidate to take" (target above one half), as one of ours.
pub(super) fn fit_linfa_tree(data: &Rows, width: usize, params: &FitParams, level: &str) -> Result<Tree, FitError> {
    let &FitParams { max_leaf_nodes, min_samples_leaf, .. } = params;
    let n = data.y.len();
    let rows: Vec<usize> = (0..n).step_by(n.div_ceil(MOST_ROWS).max(1)).collect();
    let x = Array2::from_shape_fn((rows.len(), width), |(i, j)| data.x[rows[i] * width + j]);
    let y: Array1<usize> = rows.iter().map(|&r| usize::from(data.y[r] > 0.5)).collect();
    // Its stopping rules are in units of weight: with mean weight 1 they mean rows.
    let mean = rows.iter().map(|&r| data.weight[r]).sum::<f64>() / rows.len() as f64;
    let weights: Array1<f32> = rows.iter().map(|&r| (data.weight[r] / mean) as f32).collect();
    // It has no limit on leaves, only on depth: the largest depth whose full tree has no more leaves.
    let depth = max_leaf_nodes.ilog2() as usize;
    let fitted = DecisionTree::params()
        .max_depth(Some(depth))
        .min_weight_split(2.0 * min_samples_leaf as f32)
        .min_weight_leaf(min_samples_leaf as f32)
        .fit(&Dataset::new(x, y).with_weights(weights))
        .map_err(|e: linfa::Error| FitError::Library {
            level: level.to_owned(),
            what: "linfa-trees",
            reason: e.to_string(),
        })?;
    let mut tree = Tree::empty(1);
    convert(fitted.root_node(), &mut tree);
    let mut sums = vec![[0.0f64; 4]; tree.nodes()];
    for (row, (&y, &w)) in data.x.chunks_exact(width).zip(data.y.iter().zip(&data.weight)) {
        for node in tree.decision_path(row) {
            let [rows, weight, sum, square] = &mut sums[node];
            (*rows, *weight, *sum, *square) = (*rows + 1.0, *weight + w, *sum + w * y, *square + w * y * y);
        }
    }
    for (node, [rows, w, sum, square]) in sums.into_iter().enumerate() {
        tree.n_samples[node] = rows as u32;
        let mean = sum / w.max(f64::MIN_POSITIVE);
        tree.value[node] = mean;
        tree.weight[node] = w;
        tree.impurity[node] = (square / w.max(f64::MIN_POSITIVE) - mean * mean).max(0.0);
    }
    Ok(tree)
}

/// Appends a node and what is below it, in pre-order; returns its index.
fn convert(node: &TreeNode<f32, usize>, tree: &mut Tree) -> u32 {
    let at = tree.nodes();
    let (feature, value, _) = node.split();
    // linfa sends `x < value` left when it predicts; ours sends `x <= threshold`.
    tree.push_test(feature as u32, value.next_down(), [LEAF; 2], true);
    tree.value.push(0.0);
    tree.impurity.push(0.0);
    tree.n_samples.push(0);
    tree.weight.push(0.0);
    let children = node.children();
    match (children.first(), children.get(1)) {
        (Some(Some(left)), Some(Some(right))) if !node.is_leaf() => {
            tree.left[at] = convert(left, tree);
            tree.right[at] = convert(right, tree);
        }
        _ => (tree.feature[at], tree.threshold[at]) = (0, 0.0),
    }
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linfa_tree_becomes_one_of_ours() {
        let x: Vec<f32> = (0..200u16).flat_map(|i| [f32::from(i), f32::from(i % 7)]).collect();
        let y: Vec<f64> = (0..200).map(|i| f64::from(u8::from(i >= 120))).collect();
        let weight = vec![1.0; 200];
        let rows = Rows { x: x.into(), y, weight, bounds: Vec::new() };
        let params = FitParams { max_leaf_nodes: 4, min_samples_leaf: 1, ..FitParams::default() };
        let tree = fit_linfa_tree(&rows, 2, &params, "job").unwrap();
        assert_eq!((tree.predict(&[119.0, 0.0]), tree.predict(&[121.0, 0.0])), (0.0, 1.0));
        assert_eq!(tree.n_samples[0], 200);
    }
}
