//! How much worse a tree predicts when a feature is shuffled.

use super::{
    error::{ExplainError, expect_length, rows_of, total_weight},
    path::{self, Edge, Paths, Side},
};
use rayon::prelude::*;
use sched_distill_core::{
    level::first_max,
    model::{LEAF, Tree},
    rng::Stream,
};

/// What a prediction is held against.
#[derive(Clone, Copy, Debug)]
pub enum Metric<'a> {
    /// The weighted share of rows whose [class](Tree::predict_class) is right; one class per row.
    Accuracy(&'a [u32]),
    /// The coefficient of determination of the first output, 1 − Σw(y − ŷ)² ÷ Σw(y − ȳ)²; one target per row. If the target is
    /// constant it is 1 for a perfect prediction, else 0.
    R2(&'a [f64]),
}

/// How rows are shuffled. All groups are shuffled alike.
#[derive(Clone, Copy, Debug)]
pub enum Shuffles<'a> {
    /// So many, drawn from a seed.
    Seeded {
        /// The seed.
        seed: u64,
        /// Number of shuffles; positive.
        repeats: usize,
    },
    /// Given lists, shape `(repeats, rows)`: row `i` takes the shuffled columns of row `list[i]`.
    Given(&'a [u32]),
}

/// Permutation importance of groups of features.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutationImportance {
    /// The metric of the data as they are.
    pub baseline: f64,
    /// Number of shuffles.
    pub repeats: usize,
    /// By how much each shuffle lowered the metric, shape `(groups, repeats)`.
    pub drops: Vec<f64>,
}

impl PermutationImportance {
    /// Mean drop of each group over the shuffles.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        self.drops.chunks_exact(self.repeats).map(|d| d.iter().sum::<f64>() / d.len() as f64).collect()
    }

    /// Standard deviation of each group's drop over the shuffles (divided by their number).
    #[must_use]
    pub fn sd(&self) -> Vec<f64> {
        let sd = |(d, mean): (&[f64], f64)| (d.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / d.len() as f64).sqrt();
        self.drops.chunks_exact(self.repeats).zip(self.mean()).map(sd).collect()
    }
}

/// Permutation importance (Breiman, *Random Forests*, 2001; scikit-learn's definition): the drop of a metric when the columns
/// of a group are shuffled over the rows, together.
///
/// `x` has the shape `(rows, width)`, row-major; `weight` has one entry per row, and `None` counts each once. A group is a list
/// of columns: one column for a feature's own importance, or a [family](super::Family). Shuffling a feature but not its rank
/// and ratio makes rows that cannot be, and lets the tree fall back on them.
///
/// Cheap: a group that the tree does not test costs nothing, a row whose path does not test the group keeps its prediction, and
/// others start again at the first node on their path that does. The same bytes for any number of threads.
///
/// # Errors
///
/// If the tree has linear leaves or tests a column beyond `width`, a group has one, a length is wrong, there are no rows or
/// shuffles, or a given list does not hold every row once.
pub fn permutation_importance(
    tree: &Tree,
    x: &[f32],
    width: usize,
    metric: Metric<'_>,
    weight: Option<&[f64]>,
    groups: &[Vec<usize>],
    shuffles: Shuffles<'_>,
) -> Result<PermutationImportance, ExplainError> {
    path::check(tree, width)?;
    let rows = rows_of("x", x, width)?;
    total_weight(weight, rows, "x")?;
    if let Some(&feature) = groups.iter().flatten().find(|&&f| f >= width) {
        return Err(ExplainError::NoSuchFeature { feature, width });
    }
    let drawn;
    let lists = match shuffles {
        Shuffles::Given(lists) => {
            check_lists(lists, rows)?;
            lists
        }
        Shuffles::Seeded { seed, repeats } => {
            drawn = draw(seed, repeats, rows);
            &drawn
        }
    };
    if lists.is_empty() {
        return Err(ExplainError::Empty("shuffles"));
    }
    let order = ByLeaf::new(tree, x, width);
    let losses = Losses::new(tree, metric, weight, &order.row)?;
    let lists: Vec<u32> = lists.chunks_exact(rows).flat_map(|list| order.places_of(list)).collect();
    let leaves = (0..tree.nodes()).filter(|&node| tree.is_leaf(node));
    let total: f64 =
        leaves.map(|leaf| order.places(leaf).map(|place| losses.of(place, leaf as u32)).sum::<f64>()).sum();
    let baseline = losses.score(total);
    let edges = path::edges(tree);
    let paths = Paths::new(tree, &edges);
    let drops = |group: &Vec<usize>| {
        let shuffled = Shuffled::new(tree, &paths, &edges, &order, group);
        let mut batch = Batch::default();
        let drop = |list: &[u32]| {
            let change = shuffled.change(list, &order, &losses, &mut batch);
            if change == 0.0 { 0.0 } else { baseline - losses.score(total + change) }
        };
        lists.chunks_exact(rows).map(drop).collect::<Vec<f64>>()
    };
    let drops: Vec<Vec<f64>> = groups.par_iter().map(drops).collect();
    Ok(PermutationImportance { baseline, repeats: lists.len() / rows, drops: drops.concat() })
}

fn check_lists(lists: &[u32], rows: usize) -> Result<(), ExplainError> {
    expect_length("shuffles", lists.len(), lists.len() / rows * rows)?;
    let mut seen = vec![usize::MAX; rows];
    for (index, list) in lists.chunks_exact(rows).enumerate() {
        for &row in list {
            match seen.get_mut(row as usize) {
                Some(seen) if *seen != index => *seen = index,
                _ => return Err(ExplainError::NoPermutation { index, rows }),
            }
        }
    }
    Ok(())
}

fn draw(seed: u64, repeats: usize, rows: usize) -> Vec<u32> {
    let mut stream = Stream::new(seed, "permutation importance");
    let mut lists = Vec::with_capacity(repeats * rows);
    for _ in 0..repeats {
        let start = lists.len();
        lists.extend(0..rows as u32);
        let list = &mut lists[start..];
        for last in (1..rows).rev() {
            list.swap(last, stream.below(last + 1));
        }
    }
    lists
}

/// Rows in order of the leaf they reach, ascending within a leaf, so that work on a leaf reads memory in order.
struct ByLeaf {
    /// The rows of node `n` have the places `start[n]..start[n + 1]`.
    start: Vec<usize>,
    /// Row number at each place.
    row: Vec<u32>,
    /// Place of each row.
    place: Vec<u32>,
    /// The columns that the tree tests, one behind the other, by place.
    values: Vec<f32>,
    /// Where each column begins, [`UNTESTED`] if the tree does not test it.
    column: Vec<usize>,
}

const UNTESTED: usize = usize::MAX;

impl ByLeaf {
    fn new(tree: &Tree, x: &[f32], width: usize) -> Self {
        let leaf_of: Vec<u32> = x.chunks_exact(width).map(|row| tree.apply(row) as u32).collect();
        let rows = leaf_of.len();
        let mut start = vec![0; tree.nodes() + 1];
        leaf_of.iter().for_each(|&leaf| start[leaf as usize + 1] += 1);
        for node in 0..tree.nodes() {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let (mut row, mut place) = (vec![0; rows], vec![0; rows]);
        for (number, &leaf) in leaf_of.iter().enumerate() {
            let at = &mut next[leaf as usize];
            row[*at] = number as u32;
            place[number] = *at as u32;
            *at += 1;
        }
        let mut column = vec![UNTESTED; width];
        let mut tested = Vec::new();
        for node in (0..tree.nodes()).filter(|&node| !tree.is_leaf(node)) {
            let feature = tree.feature[node] as usize;
            if column[feature] == UNTESTED {
                column[feature] = tested.len() * rows;
                tested.push(feature);
            }
        }
        let mut values = vec![0.0; tested.len() * rows];
        // Some rows at a time, so that they stay near while each column takes its own from them.
        for (block, numbers) in row.chunks(16).enumerate() {
            for (i, &feature) in tested.iter().enumerate() {
                let cells = &mut values[i * rows + block * 16..][..numbers.len()];
                cells.iter_mut().zip(numbers).for_each(|(cell, &n)| *cell = x[n as usize * width + feature]);
            }
        }
        Self { start, row, place, values, column }
    }

    /// A shuffle in terms of places: for each place, the place that its columns come from.
    fn places_of(&self, list: &[u32]) -> impl Iterator<Item = u32> {
        self.row.iter().map(|&row| self.place[list[row as usize] as usize])
    }

    fn places(&self, node: usize) -> std::ops::Range<usize> {
        self.start[node]..self.start[node + 1]
    }
}

/// What a prediction costs, by the row's place and its leaf: a sum over rows makes the metric.
struct Losses {
    truth: Truth,
    /// Empty if every row counts once.
    weight: Vec<f64>,
    /// Class or first output of each node.
    class: Vec<u32>,
    value: Vec<f64>,
    /// What the sum is divided by.
    scale: f64,
}

/// What is true of the row at each place.
enum Truth {
    Class(Vec<u32>),
    Value(Vec<f64>),
}

impl Losses {
    fn new(tree: &Tree, metric: Metric<'_>, weight: Option<&[f64]>, row: &[u32]) -> Result<Self, ExplainError> {
        let in_order = |list: &[f64]| row.iter().map(|&row| list[row as usize]).collect::<Vec<f64>>();
        let w = |row: usize| weight.map_or(1.0, |w| w[row]);
        let total: f64 = (0..row.len()).map(w).sum();
        let (truth, scale) = match metric {
            Metric::Accuracy(class) => {
                expect_length("class", class.len(), row.len())?;
                (Truth::Class(row.iter().map(|&row| class[row as usize]).collect()), total)
            }
            Metric::R2(y) => {
                expect_length("y", y.len(), row.len())?;
                let mean = y.iter().enumerate().map(|(row, y)| w(row) * y).sum::<f64>() / total;
                let spread = y.iter().enumerate().map(|(row, y)| w(row) * (y - mean).powi(2)).sum();
                (Truth::Value(in_order(y)), spread)
            }
        };
        let nodes = 0..tree.nodes();
        Ok(Self {
            truth,
            weight: weight.map(in_order).unwrap_or_default(),
            class: nodes.clone().map(|n| first_max(tree.node_value(n).iter().copied()) as u32).collect(),
            value: nodes.map(|n| tree.node_value(n)[0]).collect(),
            scale,
        })
    }

    fn of(&self, place: usize, leaf: u32) -> f64 {
        let loss = match &self.truth {
            Truth::Class(class) => f64::from(u8::from(class[place] != self.class[leaf as usize])),
            Truth::Value(y) => (y[place] - self.value[leaf as usize]).powi(2),
        };
        self.weight.get(place).map_or(loss, |w| w * loss)
    }

    fn score(&self, sum: f64) -> f64 {
        match self.truth {
            Truth::Value(_) if self.scale == 0.0 => f64::from(u8::from(sum == 0.0)),
            Truth::Value(_) => 1.0 - sum / self.scale,
            Truth::Class(_) => (self.scale - sum) / self.scale,
        }
    }
}

/// A tree, some of whose columns come from other rows.
struct Shuffled {
    nodes: Vec<Node>,
    leaves: Vec<LeafTests>,
}

/// A leaf whose way tests the group.
struct LeafTests {
    leaf: u32,
    /// First node on the way that tests the group.
    restart: u32,
    /// What the way asks of the group, and where the columns begin.
    sides: Vec<(Side, usize)>,
}

#[derive(Clone, Copy)]
struct Node {
    threshold: f32,
    /// Left and right, [`LEAF`] at leaves.
    child: [u32; 2],
    default_left: bool,
    /// Whether the column comes from another row.
    moved: bool,
    column: usize,
}

impl Shuffled {
    fn new(tree: &Tree, paths: &Paths, edges: &[Edge], order: &ByLeaf, group: &[usize]) -> Self {
        let node = |node: usize| {
            let feature = tree.feature[node] as usize;
            Node {
                threshold: tree.threshold[node],
                child: [tree.left[node], tree.right[node]],
                default_left: tree.default_left[node],
                moved: !tree.is_leaf(node) && group.contains(&feature),
                column: order.column.get(feature).copied().unwrap_or(UNTESTED),
            }
        };
        let nodes: Vec<Node> = (0..tree.nodes()).map(node).collect();
        let mut restart = vec![LEAF; nodes.len()];
        for edge in edges {
            let (parent, child) = (edge.parent as usize, edge.child as usize);
            let first = restart[parent] == LEAF && nodes[parent].moved;
            restart[child] = if first { edge.parent } else { restart[parent] };
        }
        let tests = |number: usize| {
            let own = paths.sides(number).iter().filter(|s| group.contains(&(s.feature as usize)));
            LeafTests {
                leaf: paths.leaf[number],
                restart: restart[paths.leaf[number] as usize],
                sides: own.map(|&s| (s, order.column[s.feature as usize])).collect(),
            }
        };
        Self { leaves: (0..paths.len()).map(tests).filter(|l| l.restart != LEAF).collect(), nodes }
    }

    /// By how much the sum of losses changes under a shuffle. `batch` must be empty, and is again.
    fn change(&self, list: &[u32], order: &ByLeaf, losses: &Losses, batch: &mut Batch) -> f64 {
        let mut change = 0.0;
        let mut restart = LEAF;
        for tests in &self.leaves {
            if restart != tests.restart || batch.count >= FULL {
                change += self.spread(restart, &order.values, losses, batch);
                restart = tests.restart;
            }
            let places = order.places(tests.leaf as usize);
            let known = batch.count;
            batch.rows.resize(batch.rows.len().max(known + places.len()), (0, 0));
            // Who leaves the leaf cannot be foreseen, so there is no branch on it.
            let mut note = |place: usize, other: u32, stays: bool| {
                batch.rows[batch.count] = (place as u32, other);
                batch.count += usize::from(!stays);
            };
            let others = places.clone().zip(&list[places]);
            if let [(side, column)] = tests.sides[..] {
                let column = &order.values[column..][..list.len()];
                others.for_each(|(place, &other)| note(place, other, side.holds(column[other as usize])));
            } else {
                let holds = |other: u32, (s, column): &(Side, usize)| s.holds(order.values[column + other as usize]);
                let all = |other| tests.sides.iter().fold(true, |stays, side| stays & holds(other, side));
                others.for_each(|(place, &other)| note(place, other, all(other)));
            }
            change -= batch.rows[known..batch.count].iter().map(|r| losses.of(r.0 as usize, tests.leaf)).sum::<f64>();
        }
        change + self.spread(restart, &order.values, losses, batch)
    }

    /// Sends the rows of a batch down from a node, all through one test before the next, and adds up their losses.
    fn spread(&self, node: u32, values: &[f32], losses: &Losses, batch: &mut Batch) -> f64 {
        let Batch { rows, right, count, todo } = batch;
        let mut sum = 0.0;
        right.resize(rows.len(), (0, 0));
        todo.push((node, 0, std::mem::take(count)));
        while let Some((at, start, end)) = todo.pop() {
            if start == end {
                continue;
            }
            let node = &self.nodes[at as usize];
            let rows = &mut rows[start..end];
            if node.child[0] == LEAF {
                sum += rows.iter().map(|r| losses.of(r.0 as usize, at)).sum::<f64>();
                continue;
            }
            let column = &values[node.column..];
            // Left ones move to the front, right ones wait beside.
            let (mut lefts, mut rights) = (0, 0);
            for i in 0..rows.len() {
                let row = rows[i];
                let value = column[if node.moved { row.1 } else { row.0 } as usize];
                let goes_left = (value <= node.threshold) | (value.is_nan() & node.default_left);
                (rows[lefts], right[rights]) = (row, row);
                lefts += usize::from(goes_left);
                rights += usize::from(!goes_left);
            }
            rows[lefts..].copy_from_slice(&right[..rights]);
            todo.push((node.child[1], start + lefts, end));
            todo.push((node.child[0], start, start + lefts));
        }
        sum
    }
}

/// A batch with so many rows is sent on.
const FULL: usize = 2048;

/// Rows that leave their leaves, below one node that tests the group first.
#[derive(Default)]
struct Batch {
    /// Place of the row, and the place that the group's columns come from; only the first `count` are of this batch.
    rows: Vec<(u32, u32)>,
    count: usize,
    right: Vec<(u32, u32)>,
    /// Nodes with the ranges of rows that are at them.
    todo: Vec<(u32, usize, usize)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_lists_hold_every_row_once_and_depend_on_the_seed() {
        let lists = draw(3, 4, 50);
        assert_eq!(check_lists(&lists, 50), Ok(()));
        assert_eq!(lists, draw(3, 4, 50));
        assert_ne!(lists, draw(4, 4, 50));
        assert_ne!(lists[..50], lists[50..100]);
        let error = check_lists(&[0, 1, 1, 1], 2).unwrap_err();
        assert_eq!(error, ExplainError::NoPermutation { index: 1, rows: 2 });
    }
}
