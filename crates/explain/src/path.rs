//! The ways to a tree's leaves, with all tests of one feature on a way merged into one interval.

use super::error::ExplainError;
use sched_distill_core::model::{LEAF, Tree};

/// What the tests of one feature on the way to a leaf ask for, together: `lo < x <= hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) feature: u32,
    /// NaN if there is no lower bound, so that minus infinity passes.
    pub(super) lo: f32,
    pub(super) hi: f32,
    /// Whether a missing value passes every test.
    pub(super) missing: bool,
    /// Share of the weight that passes, a product over the tests.
    pub(super) share: f64,
}

impl Side {
    fn open(feature: u32) -> Self {
        Self { feature, lo: f32::NAN, hi: f32::INFINITY, missing: true, share: 1.0 }
    }

    /// Whether a value passes all tests.
    #[inline]
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a bound that is NaN holds nothing back")]
    pub(super) fn holds(&self, value: f32) -> bool {
        (!(value <= self.lo) & (value <= self.hi)) | (value.is_nan() & self.missing)
    }
}

/// The ways to all leaves of a tree, leaves from left to right.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// Node numbers of the leaves.
    pub(super) leaf: Vec<u32>,
    start: Vec<usize>,
    sides: Vec<Side>,
}

/// One entry per edge of a tree, in the order of a walk that goes left first and comes to a leaf before it turns back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) parent: u32,
    pub(super) child: u32,
    pub(super) goes_left: bool,
    /// Tests on the way to the parent.
    pub(super) depth: u32,
    /// Place of the tested feature among the distinct ones on the way, in order of appearance.
    pub(super) place: u32,
}

/// Checks that a tree can be explained by its leaves on rows of `width` columns.
pub(super) fn check(tree: &Tree, width: usize) -> Result<(), ExplainError> {
    if tree.linear.is_some() {
        return Err(ExplainError::LinearLeaves);
    }
    let expected = "a finite number, at least 0";
    if let Some(index) = tree.weight.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(ExplainError::BadNumber { name: "tree.weight", index, value: tree.weight[index], expected });
    }
    check_columns(tree, width)
}

/// Checks that rows have every column that the tree tests.
pub(super) fn check_columns(tree: &Tree, width: usize) -> Result<(), ExplainError> {
    let inner = (0..tree.nodes()).filter(|&node| !tree.is_leaf(node));
    match inner.map(|node| (node, tree.feature[node] as usize)).find(|&(_, feature)| feature >= width) {
        Some((node, feature)) => Err(ExplainError::FeatureOutOfRange { node, feature, width }),
        None => Ok(()),
    }
}

/// The edges of a tree, children of a node left first.
pub(super) fn edges(tree: &Tree) -> Vec<Edge> {
    let mut edges = Vec::with_capacity(tree.nodes().saturating_sub(1));
    // Distinct features on the way to the node at hand, and how many there are at each node still to visit.
    let mut order: Vec<u32> = Vec::new();
    let mut todo: Vec<(Edge, usize)> = Vec::new();
    let push = |todo: &mut Vec<(Edge, usize)>, order: &[u32], parent: u32, depth: u32| {
        let feature = tree.feature[parent as usize];
        let place = order.iter().position(|&f| f == feature).unwrap_or(order.len()) as u32;
        for (child, goes_left) in [(tree.right[parent as usize], false), (tree.left[parent as usize], true)] {
            todo.push((Edge { parent, child, goes_left, depth, place }, order.len()));
        }
    };
    if tree.left[0] != LEAF {
        push(&mut todo, &order, 0, 0);
    }
    while let Some((edge, known)) = todo.pop() {
        edges.push(edge);
        order.truncate(known);
        if edge.place as usize == known {
            order.push(tree.feature[edge.parent as usize]);
        }
        if tree.left[edge.child as usize] != LEAF {
            push(&mut todo, &order, edge.child, edge.depth + 1);
        }
    }
    edges
}

/// Share of a node's weight that goes to its left child; a node without weight is halved.
pub(super) fn left_share(tree: &Tree, node: usize) -> f64 {
    let [left, right] = [tree.left[node], tree.right[node]].map(|child| tree.weight[child as usize]);
    if left + right > 0.0 { left / (left + right) } else { 0.5 }
}

impl Paths {
    /// The ways to all leaves; `edges` are the tree's.
    pub(super) fn new(tree: &Tree, edges: &[Edge]) -> Self {
        let mut paths = Self { leaf: Vec::new(), start: vec![0], sides: Vec::new() };
        if edges.is_empty() {
            paths.leaf.push(0);
            paths.start.push(0);
        }
        // The way so far: what each edge changed, to be undone on the way back.
        let mut now: Vec<Side> = Vec::new();
        let mut undo: Vec<Option<Side>> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for edge in edges {
            while undo.len() > edge.depth as usize {
                let place = places.pop().unwrap_or(0);
                match undo.pop().flatten() {
                    Some(before) => now[place] = before,
                    None => now.truncate(place),
                }
            }
            let (node, place) = (edge.parent as usize, edge.place as usize);
            places.push(place);
            undo.push(now.get(place).copied());
            if place == now.len() {
                now.push(Side::open(tree.feature[node]));
            }
            let (side, threshold) = (&mut now[place], tree.threshold[node]);
            let left = left_share(tree, node);
            if edge.goes_left {
                side.hi = side.hi.min(threshold);
                side.share *= left;
            } else {
                // The larger one, and not NaN if the other is.
                side.lo = side.lo.max(threshold);
                side.share *= 1.0 - left;
            }
            side.missing &= tree.default_left[node] == edge.goes_left;
            if tree.is_leaf(edge.child as usize) {
                paths.leaf.push(edge.child);
                paths.sides.extend_from_slice(&now);
                paths.start.push(paths.sides.len());
            }
        }
        paths
    }

    /// Number of leaves.
    pub(super) fn len(&self) -> usize {
        self.leaf.len()
    }

    /// What the way to leaf number `leaf` (from the left) asks for, features in order of appearance.
    pub(super) fn sides(&self, leaf: usize) -> &[Side] {
        &self.sides[self.start[leaf]..self.start[leaf + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x0 <= 5`, and below it `x1 <= 1` on the left and `x0 <= 9` on the right.
    fn tree() -> Tree {
        Tree {
            feature: vec![0, 1, 0, 0, 0, 0, 0],
            threshold: vec![5.0, 1.0, 0.0, 0.0, 9.0, 0.0, 0.0],
            left: vec![1, 2, LEAF, LEAF, 5, LEAF, LEAF],
            right: vec![4, 3, LEAF, LEAF, 6, LEAF, LEAF],
            default_left: vec![false, true, false, false, false, false, false],
            value: vec![0.0, 0.0, 1.0, 2.0, 0.0, 3.0, 4.0],
            impurity: vec![0.0; 7],
            n_samples: vec![8, 4, 1, 3, 4, 1, 3],
            weight: vec![8.0, 4.0, 1.0, 3.0, 4.0, 1.0, 3.0],
            ..Tree::leaf(0.0, 0.0, 0, 0.0)
        }
    }

    #[test]
    fn tests_of_one_feature_become_one_interval() {
        let tree = tree();
        let paths = Paths::new(&tree, &edges(&tree));
        assert_eq!(paths.leaf, [2, 3, 5, 6]);
        let [side] = paths.sides(2) else { panic!("one feature on the way to the third leaf") };
        assert_eq!((side.lo, side.hi, side.missing, side.share), (5.0, 9.0, false, 0.125));
        assert_eq!(paths.sides(1).len(), 2);
        assert!(paths.sides(3)[0].missing && paths.sides(3)[0].hi.is_infinite());
    }

    #[test]
    fn a_row_is_held_by_the_leaf_that_it_reaches_alone() {
        let tree = tree();
        let paths = Paths::new(&tree, &edges(&tree));
        let values = [f32::NAN, f32::NEG_INFINITY, 1.0, 5.0, 5.000_001, 9.0, f32::INFINITY];
        for row in values.iter().flat_map(|&a| values.map(|b| [a, b])) {
            let holding: Vec<u32> = (0..4)
                .filter(|&leaf| paths.sides(leaf).iter().all(|s| s.holds(row[s.feature as usize])))
                .map(|leaf| paths.leaf[leaf])
                .collect();
            assert_eq!(holding, [tree.apply(&row) as u32], "{row:?}");
        }
    }
}
