//! How much worse a tree predicts when a feature is shuffled.

use super::{
    error::{ExplainError, expect_length, rows_of, total_weight},
    path,
};
use crate::{
    level::first_max,
    model::{LEAF, Tree},
    rng::Stream,
};
use rayon::prelude::*;

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
    let losses = Losses::new(tree, metric, weight, rows)?;
    let leaf_of: Vec<u32> = x.chunks_exact(width).map(|row| tree.apply(row) as u32).collect();
    let total: f64 = (0..rows).map(|row| losses.of(row, leaf_of[row])).sum();
    let rows_by_leaf = group_by_leaf(&leaf_of, tree.nodes());
    let baseline = losses.score(total);
    let edges = path::edges(tree);
    let drops = |group: &Vec<usize>| {
        let shuffled = Shuffled::new(tree, &edges, x, width, group);
        let drop = |list: &[u32]| {
            let change = shuffled.change(list, &rows_by_leaf, &losses);
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

/// Rows in order of the leaf they reach, ascending within a leaf: the rows of node `n` are `row[start[n]..start[n + 1]]`.
struct RowsByLeaf {
    start: Vec<usize>,
    row: Vec<u32>,
}

fn group_by_leaf(leaf_of: &[u32], nodes: usize) -> RowsByLeaf {
    let mut start = vec![0; nodes + 1];
    leaf_of.iter().for_each(|&leaf| start[leaf as usize + 1] += 1);
    for node in 0..nodes {
        start[node + 1] += start[node];
    }
    let mut next = start.clone();
    let mut row = vec![0; leaf_of.len()];
    for (number, &leaf) in leaf_of.iter().enumerate() {
        row[next[leaf as usize]] = number as u32;
        next[leaf as usize] += 1;
    }
    RowsByLeaf { start, row }
}

/// What a row's prediction costs, by leaf: a sum over rows makes the metric.
struct Losses<'a> {
    metric: Metric<'a>,
    weight: Option<&'a [f64]>,
    /// Class or first output of each node.
    class: Vec<u32>,
    value: Vec<f64>,
    /// What the sum is divided by.
    scale: f64,
}

impl<'a> Losses<'a> {
    fn new(tree: &Tree, metric: Metric<'a>, weight: Option<&'a [f64]>, rows: usize) -> Result<Self, ExplainError> {
        let w = |row: usize| weight.map_or(1.0, |w| w[row]);
        let total: f64 = (0..rows).map(w).sum();
        let scale = match metric {
            Metric::Accuracy(class) => {
                expect_length("class", class.len(), rows)?;
                total
            }
            Metric::R2(y) => {
                expect_length("y", y.len(), rows)?;
                let mean = y.iter().enumerate().map(|(row, y)| w(row) * y).sum::<f64>() / total;
                y.iter().enumerate().map(|(row, y)| w(row) * (y - mean).powi(2)).sum()
            }
        };
        let nodes = 0..tree.nodes();
        Ok(Self {
            metric,
            weight,
            class: nodes.clone().map(|n| first_max(tree.node_value(n).iter().copied()) as u32).collect(),
            value: nodes.map(|n| tree.node_value(n)[0]).collect(),
            scale,
        })
    }

    fn of(&self, row: usize, leaf: u32) -> f64 {
        let loss = match self.metric {
            Metric::Accuracy(class) => f64::from(u8::from(class[row] != self.class[leaf as usize])),
            Metric::R2(y) => (y[row] - self.value[leaf as usize]).powi(2),
        };
        self.weight.map_or(loss, |w| w[row] * loss)
    }

    fn score(&self, sum: f64) -> f64 {
        match self.metric {
            Metric::R2(_) if self.scale == 0.0 => f64::from(u8::from(sum == 0.0)),
            // The right answers are counted, not the wrong ones: so are the digits.
            Metric::Accuracy(_) => (self.scale - sum) / self.scale,
            Metric::R2(_) => 1.0 - sum / self.scale,
        }
    }
}

/// A tree, some of whose columns come from other rows.
struct Shuffled<'a> {
    x: &'a [f32],
    width: usize,
    nodes: Vec<Node>,
    /// First node on the way to each node that tests the group, [`LEAF`] if there is none.
    restart: Vec<u32>,
    /// The group's columns that the tree tests, one behind the other.
    moved: Vec<f32>,
}

#[derive(Clone, Copy)]
struct Node {
    threshold: f32,
    feature: u32,
    /// Where the column begins in `moved`, [`OWN`] if the row's own value counts.
    moved: usize,
    left: u32,
    right: u32,
    default_left: bool,
}

const OWN: usize = usize::MAX;

impl<'a> Shuffled<'a> {
    fn new(tree: &Tree, edges: &[path::Edge], x: &'a [f32], width: usize, group: &[usize]) -> Self {
        let rows = x.len() / width;
        let inner = |node: &usize| !tree.is_leaf(*node);
        let mut start = vec![OWN; width];
        let mut moved = Vec::new();
        for node in (0..tree.nodes()).filter(inner) {
            let feature = tree.feature[node] as usize;
            if start[feature] == OWN && group.contains(&feature) {
                start[feature] = moved.len();
                moved.extend((0..rows).map(|row| x[row * width + feature]));
            }
        }
        let node = |node: usize| Node {
            threshold: tree.threshold[node],
            feature: tree.feature[node],
            moved: if tree.is_leaf(node) { OWN } else { start[tree.feature[node] as usize] },
            left: tree.left[node],
            right: tree.right[node],
            default_left: tree.default_left[node],
        };
        let nodes: Vec<Node> = (0..tree.nodes()).map(node).collect();
        let mut restart = vec![LEAF; nodes.len()];
        for edge in edges {
            let (parent, child) = (edge.parent as usize, edge.child as usize);
            let tests = nodes[parent].moved != OWN;
            restart[child] = if restart[parent] == LEAF && tests { edge.parent } else { restart[parent] };
        }
        Self { x, width, nodes, restart, moved }
    }

    /// By how much the sum of losses changes under a shuffle.
    fn change(&self, list: &[u32], rows: &RowsByLeaf, losses: &Losses<'_>) -> f64 {
        let mut change = 0.0;
        for (leaf, &restart) in self.restart.iter().enumerate().filter(|(_, restart)| **restart != LEAF) {
            for &row in &rows.row[rows.start[leaf]..rows.start[leaf + 1]] {
                let row = row as usize;
                let now = self.apply(restart, row, list[row] as usize);
                if now as usize != leaf {
                    change += losses.of(row, now) - losses.of(row, leaf as u32);
                }
            }
        }
        change
    }

    /// The leaf below a node that a row reaches if it has the group's columns of another row.
    fn apply(&self, mut at: u32, row: usize, other: usize) -> u32 {
        let own = &self.x[row * self.width..][..self.width];
        loop {
            let node = &self.nodes[at as usize];
            if node.left == LEAF {
                return at;
            }
            let value = if node.moved == OWN { own[node.feature as usize] } else { self.moved[node.moved + other] };
            let goes_left = (value <= node.threshold) | (value.is_nan() & node.default_left);
            at = if goes_left { node.left } else { node.right };
        }
    }
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
