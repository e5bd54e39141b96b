//! A weighted regression tree: exact splits, best-first growth, readable thresholds.
//!
//! Every feature's rows are sorted once; a split divides each sorted list in place, so a node costs one pass over its own
//! rows per feature. Features are searched in parallel, and the result does not depend on the number of threads: sums run
//! in sorted order within a feature, and gains within 1e-10 of the node's weighted impurity count as tied; then the
//! lowest feature wins, then the lowest threshold.

use crate::model::{LEAF, Tree};
use rayon::prelude::*;
use std::{cmp::Ordering, collections::BinaryHeap};

/// Training rows.
#[derive(Clone, Copy, Debug)]
pub struct TreeData<'a> {
    /// Features, shape `(rows, width)`, row-major, finite.
    pub x: &'a [f32],
    /// Features per row.
    pub width: usize,
    /// Target, shape `(rows,)`.
    pub y: &'a [f64],
    /// Weight, shape `(rows,)`; rows of weight 0 are counted but do not matter otherwise.
    pub weight: &'a [f64],
}

/// When to stop growing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeParams {
    /// Largest number of leaves, at least 1.
    pub max_leaf_nodes: usize,
    /// Fewest rows on either side of a split, at least 1.
    pub min_samples_leaf: usize,
    /// Least share of the root's weighted squared error that a split must take away, in `[0, 1]`.
    pub min_gain: f64,
}

/// Relative size of gains that count as equal.
const TIE: f64 = 1e-10;

/// A row in a feature's sorted list: the feature's value as an ordered integer above, the row number below.
type Entry = u64;

fn entry(value: f32, row: usize) -> Entry {
    // −0 equals 0; then flip so that the order of the bits is the order of the numbers.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (u64::from(ordered) << 32) | row as u64
}

fn value_of(entry: Entry) -> f32 {
    let ordered = (entry >> 32) as u32;
    f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
}

fn row_of(entry: Entry) -> usize {
    (entry & 0xFFFF_FFFF) as usize
}

/// A node that could be split.
struct Open {
    node: usize,
    start: usize,
    end: usize,
    gain: f64,
    feature: usize,
    threshold: f32,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.node.cmp(&self.node))
    }
}

struct Grower<'a> {
    rows: Vec<[f64; 2]>,
    min_samples_leaf: usize,
    /// Least gain of a split.
    min_gain: f64,
    /// One sorted list per feature; a node's rows are the same range of each.
    lists: Vec<Vec<Entry>>,
    goes_left: Vec<bool>,
    tree: Tree,
    data: TreeData<'a>,
}

/// Fits a tree by weighted squared error. Nodes of the result are in pre-order.
///
/// A threshold lies in the gap between the neighbouring values and has as few digits as that allows.
///
/// # Panics
///
/// If the lengths of `data` do not fit together or there are 2³² rows or more.
#[must_use]
pub fn fit_tree(data: TreeData<'_>, params: TreeParams) -> Tree {
    let n = data.y.len();
    assert!(data.x.len() == n * data.width && data.weight.len() == n && u32::try_from(n).is_ok());
    let lists = (0..data.width).into_par_iter().map(|feature| {
        let mut list: Vec<Entry> = (0..n).map(|row| entry(data.x[row * data.width + feature], row)).collect();
        list.sort_unstable();
        list
    });
    let mut grower = Grower {
        rows: data.y.iter().zip(data.weight).map(|(&y, &w)| [y, w]).collect(),
        min_samples_leaf: params.min_samples_leaf.max(1),
        min_gain: 0.0,
        lists: lists.collect(),
        goes_left: vec![false; n],
        tree: Tree::leaf(0.0, 0.0, 0, 0.0),
        data,
    };
    grower.describe(0, (0..n).map(|row| grower.rows[row]).collect());
    grower.min_gain = params.min_gain * grower.tree.weight[0] * grower.tree.impurity[0];
    let mut open = BinaryHeap::from_iter(grower.best_split(0, 0, n));
    let mut leaves = 1;
    while leaves < params.max_leaf_nodes
        && let Some(best) = open.pop()
    {
        for (node, start, end) in grower.split(&best) {
            open.extend(grower.best_split(node, start, end));
        }
        leaves += 1;
    }
    in_pre_order(&grower.tree)
}

impl Grower<'_> {
    /// Sets a node's value, impurity, row count and weight.
    fn describe(&mut self, node: usize, rows: Vec<[f64; 2]>) {
        let weight: f64 = rows.iter().map(|[_, w]| w).sum();
        let mean = rows.iter().map(|[y, w]| y * w).sum::<f64>() / weight.max(f64::MIN_POSITIVE);
        let spread: f64 = rows.iter().map(|[y, w]| w * (y - mean) * (y - mean)).sum();
        // What rounding leaves of a constant target is no impurity.
        let square: f64 = rows.iter().map(|[y, w]| w * y * y).sum();
        let spread = if spread > 1e-24 * square { spread } else { 0.0 };
        self.tree.value[node] = mean;
        self.tree.impurity[node] = spread / weight.max(f64::MIN_POSITIVE);
        self.tree.n_samples[node] = rows.len() as u32;
        self.tree.weight[node] = weight;
    }

    /// The best split of a node, if one is worth making.
    fn best_split(&self, node: usize, start: usize, end: usize) -> Option<Open> {
        let total = self.tree.weight[node] * self.tree.impurity[node];
        let tolerance = TIE * total;
        if end - start < self.min_samples_leaf.saturating_mul(2) || total <= 0.0 {
            return None;
        }
        let gains: Vec<f64> = self
            .lists
            .par_iter()
            .map(|list| {
                let mut best = 0.0;
                self.each_split(node, &list[start..end], |gain, _, _| {
                    if gain > best {
                        best = gain;
                    }
                    true
                });
                best
            })
            .collect();
        let most = gains.iter().copied().fold(0.0, f64::max);
        if most <= tolerance || most < self.min_gain {
            return None;
        }
        let feature = gains.iter().position(|&g| g >= most - tolerance)?;
        let mut found = None;
        self.each_split(node, &self.lists[feature][start..end], |gain, low, high| {
            if gain >= most - tolerance {
                found = Some(threshold_between(low, high));
            }
            found.is_none()
        });
        Some(Open { node, start, end, gain: most, feature, threshold: found? })
    }

    /// Calls `visit` with the gain and the values on both sides of every allowed split of a sorted list, lowest first,
    /// until it returns false.
    fn each_split(&self, node: usize, list: &[Entry], mut visit: impl FnMut(f64, f32, f32) -> bool) {
        if list[0] >> 32 == list[list.len() - 1] >> 32 {
            return;
        }
        let (mean, weight) = (self.tree.value[node], self.tree.weight[node]);
        let (mut left_weight, mut left_sum) = (0.0, 0.0);
        let last = list.len() - self.min_samples_leaf;
        for i in 0..last {
            let [y, w] = self.rows[row_of(list[i])];
            left_weight += w;
            left_sum += w * (y - mean);
            if i + 1 < self.min_samples_leaf || list[i] >> 32 == list[i + 1] >> 32 {
                continue;
            }
            let right_weight = weight - left_weight;
            if left_weight <= 0.0 || right_weight <= 0.0 {
                continue;
            }
            // With the node's mean taken off, both sides have the same sum but for its sign.
            let gain = left_sum * left_sum * weight / (left_weight * right_weight);
            if !visit(gain, value_of(list[i]), value_of(list[i + 1])) {
                return;
            }
        }
    }

    /// Splits a node and returns its children with their ranges.
    fn split(&mut self, open: &Open) -> [(usize, usize, usize); 2] {
        let &Open { node, start, end, feature, threshold, .. } = open;
        let goes_left = &mut self.goes_left;
        let mut sides = [Vec::new(), Vec::new()];
        for &e in &self.lists[feature][start..end] {
            let left = value_of(e) <= threshold;
            goes_left[row_of(e)] = left;
            sides[usize::from(!left)].push(row_of(e));
        }
        let middle = start + sides[0].len();
        let goes_left = &self.goes_left;
        self.lists.par_iter_mut().for_each(|list| {
            let mut right = Vec::with_capacity(end - middle);
            let mut next = start;
            for i in start..end {
                let e = list[i];
                if goes_left[row_of(e)] {
                    list[next] = e;
                    next += 1;
                } else {
                    right.push(e);
                }
            }
            list[next..end].copy_from_slice(&right);
        });
        let first_child = self.tree.nodes();
        let t = &mut self.tree;
        t.feature[node] = feature as u32;
        t.threshold[node] = threshold;
        (t.left[node], t.right[node]) = (first_child as u32, first_child as u32 + 1);
        for _ in 0..2 {
            let blank = Tree::leaf(0.0, 0.0, 0, 0.0);
            t.feature.extend(blank.feature);
            t.threshold.extend(blank.threshold);
            t.left.extend(blank.left);
            t.right.extend(blank.right);
            t.default_left.extend(blank.default_left);
            t.value.extend(blank.value);
            t.impurity.extend(blank.impurity);
            t.n_samples.extend(blank.n_samples);
            t.weight.extend(blank.weight);
        }
        for (side, rows) in sides.iter_mut().enumerate() {
            // In row order, so that equal sets of rows give equal sums whatever feature divided them.
            rows.sort_unstable();
            let rows = rows.iter().map(|&row| self.rows[row]).collect();
            self.describe(first_child + side, rows);
        }
        // A missing value goes where more weight goes.
        self.tree.default_left[node] = self.tree.weight[first_child] >= self.tree.weight[first_child + 1];
        debug_assert_eq!(self.data.width, self.lists.len());
        [(first_child, start, middle), (first_child + 1, middle, end)]
    }
}

/// A threshold `t` with `low <= t < high` and few digits, near the middle.
fn threshold_between(low: f32, high: f32) -> f32 {
    let middle = f64::from(low) / 2.0 + f64::from(high) / 2.0;
    for digits in 0..9 {
        // A number that was just formatted parses; values beyond f32 come out infinite and do not fit the gap.
        let rounded: f32 = format!("{middle:.digits$e}").parse().unwrap_or(f32::NAN);
        if low <= rounded && rounded < high {
            return rounded;
        }
    }
    low
}

/// The same tree with its nodes in pre-order, as files have them.
fn in_pre_order(tree: &Tree) -> Tree {
    let mut order = Vec::with_capacity(tree.nodes());
    let mut stack = vec![0];
    while let Some(node) = stack.pop() {
        order.push(node);
        if !tree.is_leaf(node) {
            stack.extend([tree.right[node] as usize, tree.left[node] as usize]);
        }
    }
    let mut place = vec![0; tree.nodes()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new as u32;
    }
    let child = |c: u32| if c == LEAF { LEAF } else { place[c as usize] };
    fn pick<T: Copy>(order: &[usize], list: &[T]) -> Vec<T> {
        order.iter().map(|&i| list[i]).collect()
    }
    Tree {
        operator: tree.operator.clone(),
        feature: pick(&order, &tree.feature),
        threshold: pick(&order, &tree.threshold),
        left: order.iter().map(|&i| child(tree.left[i])).collect(),
        right: order.iter().map(|&i| child(tree.right[i])).collect(),
        default_left: pick(&order, &tree.default_left),
        outputs: 1,
        value: pick(&order, &tree.value),
        impurity: pick(&order, &tree.impurity),
        n_samples: pick(&order, &tree.n_samples),
        weight: pick(&order, &tree.weight),
        linear: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    fn params(max_leaf_nodes: usize, min_samples_leaf: usize) -> TreeParams {
        TreeParams { max_leaf_nodes, min_samples_leaf, min_gain: 0.0 }
    }

    /// Tied integer features and a target that depends on them.
    fn tied(seed: u64, n: usize, width: usize) -> (Vec<f32>, Vec<f64>, Vec<f64>) {
        let mut s = Stream::new(seed, "tied");
        let x: Vec<f32> = (0..n * width).map(|_| s.below(6) as f32 - 2.0).collect();
        let y = x.chunks(width).map(|r| f64::from(r[0] * r[1 % width] > 1.0) + 0.1 * s.normal()).collect();
        let w = (0..n).map(|_| [0.5, 1.0, 2.0][s.below(3)]).collect();
        (x, y, w)
    }

    /// Weighted squared error left after the best single split, by trying everything.
    fn brute_force(x: &[f32], width: usize, y: &[f64], w: &[f64], min_leaf: usize) -> f64 {
        let error = |rows: &[usize]| {
            let weight: f64 = rows.iter().map(|&r| w[r]).sum();
            let mean = rows.iter().map(|&r| w[r] * y[r]).sum::<f64>() / weight;
            rows.iter().map(|&r| w[r] * (y[r] - mean).powi(2)).sum::<f64>()
        };
        let all: Vec<usize> = (0..y.len()).collect();
        let mut best = error(&all);
        for f in 0..width {
            for t in x.iter().skip(f).step_by(width) {
                let (left, right): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&r| x[r * width + f] <= *t);
                if left.len() >= min_leaf && right.len() >= min_leaf {
                    best = best.min(error(&left) + error(&right));
                }
            }
        }
        best
    }

    fn loss(tree: &Tree, x: &[f32], width: usize, y: &[f64], w: &[f64]) -> f64 {
        x.chunks(width).zip(y).zip(w).map(|((r, y), w)| w * (y - tree.predict(r)).powi(2)).sum()
    }

    proptest! {
        #[test]
        fn the_first_split_is_the_best_of_all(seed in 0u64..500, n in 4usize..40, min_leaf in 1usize..4) {
            let (x, y, w) = tied(seed, n, 3);
            let data = TreeData { x: &x, width: 3, y: &y, weight: &w };
            let tree = fit_tree(data, params(2, min_leaf));
            let expected = brute_force(&x, 3, &y, &w, min_leaf);
            prop_assert!((loss(&tree, &x, 3, &y, &w) - expected).abs() < 1e-9);
        }

        #[test]
        fn thresholds_stay_in_the_gap(a in -1e6f32..1e6, step in 1e-4f32..10.0) {
            let b = a + step;
            prop_assume!(a < b);
            let t = threshold_between(a, b);
            prop_assert!(a <= t && t < b);
            let next = f32::from_bits(if a >= 0.0 { (a + 0.0).to_bits() + 1 } else { a.to_bits() - 1 });
            prop_assert_eq!(threshold_between(a, next), a);
        }
    }

    #[test]
    fn thresholds_read_well() {
        assert_eq!(threshold_between(0.0, 1.0), 0.5);
        assert_eq!(threshold_between(40.3, 47.9), 44.0);
        assert_eq!(threshold_between(-1.0, 1.0), 0.0);
        assert_eq!(threshold_between(1234.0, 1236.0), 1235.0);
    }

    #[test]
    fn weight_two_equals_a_duplicated_row() {
        let (x, y, _) = tied(3, 60, 4);
        let weights: Vec<f64> = (0..60).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
        let (mut x2, mut y2) = (x.clone(), y.clone());
        for i in (0..60).step_by(3) {
            x2.extend_from_slice(&x[i * 4..i * 4 + 4]);
            y2.push(y[i]);
        }
        let ones = vec![1.0; y2.len()];
        let once = fit_tree(TreeData { x: &x, width: 4, y: &y, weight: &weights }, params(12, 1));
        let twice = fit_tree(TreeData { x: &x2, width: 4, y: &y2, weight: &ones }, params(12, 1));
        assert_eq!((&once.feature, &once.threshold, &once.left), (&twice.feature, &twice.threshold, &twice.left));
        assert!(once.value.iter().zip(&twice.value).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn scaling_weights_by_a_power_of_two_changes_nothing() {
        let (x, y, w) = tied(5, 200, 4);
        let scaled: Vec<f64> = w.iter().map(|w| w * 1024.0).collect();
        let a = fit_tree(TreeData { x: &x, width: 4, y: &y, weight: &w }, params(16, 5));
        let mut b = fit_tree(TreeData { x: &x, width: 4, y: &y, weight: &scaled }, params(16, 5));
        b.weight.iter_mut().for_each(|w| *w /= 1024.0);
        assert_eq!(a, b);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let (x, y, w) = tied(7, 500, 6);
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit_tree(TreeData { x: &x, width: 6, y: &y, weight: &w }, params(32, 3)))
        };
        assert_eq!(fit(1), fit(4));
    }

    #[test]
    fn a_separable_set_is_separated_and_leaves_are_limited() {
        // Equal values on both sides of other features: a learner that skips ties does not find these splits.
        let x: Vec<f32> = (0..400).flat_map(|i| [(i % 4) as f32, (i / 200) as f32]).collect();
        let y: Vec<f64> = (0..400).map(|i| f64::from((i % 4 >= 2) && i >= 200)).collect();
        let w = vec![1.0; 400];
        let data = TreeData { x: &x, width: 2, y: &y, weight: &w };
        let tree = fit_tree(data, params(64, 1));
        assert_eq!((tree.leaves(), loss(&tree, &x, 2, &y, &w)), (3, 0.0));
        assert_eq!(fit_tree(data, params(2, 1)).leaves(), 2);
        assert_eq!(tree.n_samples[0], 400);
    }

    #[test]
    fn constant_features_and_constant_targets_give_one_leaf() {
        let w = vec![1.0; 10];
        let y: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(fit_tree(TreeData { x: &[1.0; 10], width: 1, y: &y, weight: &w }, params(8, 1)).leaves(), 1);
        let x: Vec<f32> = (0..10u8).map(f32::from).collect();
        assert_eq!(fit_tree(TreeData { x: &x, width: 1, y: &[0.3; 10], weight: &w }, params(8, 1)).leaves(), 1);
    }
}
