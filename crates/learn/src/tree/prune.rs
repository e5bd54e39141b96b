//! Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone 1984, chapter 3; the same path as scikit-learn's).

use sched_distill_core::model::{LEAF, Tree};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BinaryHeap};

/// One step of a pruning path: a node becomes a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PruningStep {
    /// The cost of a leaf from which on the step pays.
    pub alpha: f64,
    /// Node of the unpruned tree that becomes a leaf.
    pub node: usize,
    /// Leaves after the step.
    pub leaves: usize,
    /// Impurity after the step: that of the leaves, weighted by their shares of the root's weight.
    pub impurity: f64,
}

/// A finite number that is ordered.
#[derive(PartialEq, PartialOrd)]
struct Alpha(f64);

impl Eq for Alpha {}

#[expect(clippy::derive_ord_xor_partial_ord, reason = "the total order agrees with the partial one on finite numbers")]
impl Ord for Alpha {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The whole path of a tree: at each step the node whose removal costs least impurity per leaf saved, the first of equals,
/// until only the root is left. Takes O(n log n · depth).
///
/// ```
/// use sched_distill_learn::{Targets, TreeData, TreeParams, fit_tree, prune, pruning_path};
/// let data = TreeData {
///     x: &[0.0, 1.0, 2.0, 3.0],
///     width: 1,
///     targets: Targets::Values(&[0.0, 0.1, 5.0, 5.0]),
///     weight: None,
/// };
/// let tree = fit_tree(data, &TreeParams::default())?;
/// let path = pruning_path(&tree);
/// assert_eq!(path.iter().map(|step| step.leaves).collect::<Vec<_>>(), [2, 1]);
/// assert_eq!(prune(&tree, 0.1).leaves(), 2);
/// # Ok::<(), sched_distill_learn::TreeError>(())
/// ```
#[must_use]
pub fn pruning_path(tree: &Tree) -> Vec<PruningStep> {
    let n = tree.nodes();
    let inner = |node: usize| tree.left[node] != LEAF;
    let mut parent = vec![usize::MAX; n];
    // A node's own impurity, that of the leaves below it, and their number.
    let own: Vec<f64> = (0..n).map(|node| tree.weight[node] / tree.weight[0] * tree.impurity[node]).collect();
    let (mut below, mut leaves) = (own.clone(), vec![1; n]);
    for node in (0..n).rev().filter(|&node| inner(node)) {
        let children = [tree.left[node] as usize, tree.right[node] as usize];
        children.iter().for_each(|&child| parent[child] = node);
        below[node] = children.iter().map(|&child| below[child]).sum();
        leaves[node] = children.iter().map(|&child| leaves[child]).sum();
    }
    let alpha = |node: usize, below: &[f64], leaves: &[usize]| (own[node] - below[node]) / (leaves[node] - 1) as f64;
    // Entries whose number of leaves is out of date are skipped when they come up.
    let mut queue: BinaryHeap<Reverse<(Alpha, usize, usize)>> = (0..n)
        .filter(|&node| inner(node))
        .map(|node| Reverse((Alpha(alpha(node, &below, &leaves)), node, leaves[node])))
        .collect();
    let mut gone = vec![false; n];
    let mut path: Vec<PruningStep> = Vec::new();
    while let Some(Reverse((Alpha(cost), node, of_leaves))) = queue.pop() {
        if gone[node] || leaves[node] != of_leaves {
            continue;
        }
        let mut stack = vec![node];
        while let Some(at) = stack.pop() {
            gone[at] = true;
            if inner(at) {
                let children = [tree.left[at] as usize, tree.right[at] as usize];
                stack.extend(children.into_iter().filter(|&child| !gone[child]));
            }
        }
        let (saved, lost) = (leaves[node] - 1, own[node] - below[node]);
        let mut at = node;
        loop {
            leaves[at] -= saved;
            below[at] += lost;
            if at != node {
                queue.push(Reverse((Alpha(alpha(at, &below, &leaves)), at, leaves[at])));
            }
            match parent[at] {
                usize::MAX => break,
                above => at = above,
            }
        }
        path.push(PruningStep { alpha: cost, node, leaves: leaves[0], impurity: below[0] });
    }
    path
}

/// The tree after all steps of its path whose cost of a leaf is at most `alpha`. A tree that loses nodes loses the linear
/// functions of its leaves too: nodes that become leaves have none.
#[must_use]
pub fn prune(tree: &Tree, alpha: f64) -> Tree {
    let mut cut = vec![false; tree.nodes()];
    // Costs rise along the path but for rounding: what comes after the first that is too high does not count.
    for step in pruning_path(tree).iter().take_while(|step| step.alpha <= alpha) {
        cut[step.node] = true;
    }
    if cut.contains(&true) { tree.without_below(&cut) } else { tree.clone() }
}
