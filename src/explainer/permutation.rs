//! How much worse a tree predicts when a feature is shuffled.

use super::{
    error::{ExplainError, expect_length, rows_of, total_weight},
    path::{self, Edge, Paths, Side},
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
    let order = ByLeaf::new(tree, x, width);
    let losses = Losses::new(tree, metric, weight, &order.row)?;
    // Shuffles in the order of the rows.
    let reordered = lists.chunks_exact(rows).flat_map(|list| order.row.iter().map(|&row| list[row as usize]));
    let lists: Vec<u32> = reordered.collect();
    let leaves = (0..tree.nodes()).filter(|&node| tree.is_leaf(node));
    let total: f64 =
        leaves.map(|leaf| order.places(leaf).map(|place| losses.of(place, leaf as u32)).sum::<f64>()).sum();
    let baseline = losses.score(total);
    let edges = path::edges(tree);
    let paths = Paths::new(tree, &edges);
    let drops = |group: &Vec<usize>| {
        let shuffled = Shuffled::new(tree, &paths, &edges, (x, width), group);
        let drop = |list: &[u32]| {
            let change = shuffled.change(list, &order, &losses);
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
    /// Features in that order, shape `(rows, width)`.
    x: Vec<f32>,
    width: usize,
}

impl ByLeaf {
    fn new(tree: &Tree, x: &[f32], width: usize) -> Self {
        let leaf_of: Vec<u32> = x.chunks_exact(width).map(|row| tree.apply(row) as u32).collect();
        let mut start = vec![0; tree.nodes() + 1];
        leaf_of.iter().for_each(|&leaf| start[leaf as usize + 1] += 1);
        for node in 0..tree.nodes() {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut row = vec![0; leaf_of.len()];
        for (number, &leaf) in leaf_of.iter().enumerate() {
            row[next[leaf as usize]] = number as u32;
            next[leaf as usize] += 1;
        }
        let mut ordered = Vec::with_capacity(x.len());
        row.iter().for_each(|&row| ordered.extend_from_slice(&x[row as usize * width..][..width]));
        Self { start, row, x: ordered, width }
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
    /// The group's columns that the tree tests, one behind the other, in the data's own order.
    moved: Vec<f32>,
}

/// A leaf whose way tests the group.
struct LeafTests {
    leaf: u32,
    /// First node on the way that tests the group.
    restart: u32,
    /// What the way asks of the group, and where the columns begin in `moved`.
    sides: Vec<(Side, usize)>,
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

impl Shuffled {
    fn new(tree: &Tree, paths: &Paths, edges: &[Edge], (x, width): (&[f32], usize), group: &[usize]) -> Self {
        let mut start = vec![OWN; width];
        let mut moved = Vec::new();
        for edge in edges {
            let feature = tree.feature[edge.parent as usize] as usize;
            if start[feature] == OWN && group.contains(&feature) {
                start[feature] = moved.len();
                moved.extend(x.chunks_exact(width).map(|row| row[feature]));
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
        let tests = |number: usize| LeafTests {
            leaf: paths.leaf[number],
            restart: restart[paths.leaf[number] as usize],
            sides: {
                let sides = paths.sides(number).iter().map(|&s| (s, start[s.feature as usize]));
                sides.filter(|(_, start)| *start != OWN).collect()
            },
        };
        let leaves = (0..paths.len()).map(tests).filter(|l| l.restart != LEAF).collect();
        Self { nodes, leaves, moved }
    }

    /// By how much the sum of losses changes under a shuffle.
    fn change(&self, list: &[u32], order: &ByLeaf, losses: &Losses) -> f64 {
        let mut change = 0.0;
        for LeafTests { leaf, restart, sides } in &self.leaves {
            for place in order.places(*leaf as usize) {
                let other = list[place] as usize;
                if sides.iter().all(|(side, start)| side.holds(self.moved[start + other])) {
                    continue;
                }
                let now = self.apply(*restart, &order.x[place * order.width..][..order.width], other);
                change += losses.of(place, now) - losses.of(place, *leaf);
            }
        }
        change
    }

    /// The leaf below a node that a row reaches if it has the group's columns of another row.
    fn apply(&self, mut at: u32, own: &[f32], other: usize) -> u32 {
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
