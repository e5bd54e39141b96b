//! Models laid out for speed.

use super::{CompiledAdditive, LinearLeaves, Model, Pairwise, Regime, ScoreCandidates, Tree};
use crate::level::first_max;

/// What a wrong guess about the end of a path costs, in steps along it: the work begun on the rows behind is lost as well.
/// (At 200 leaves the steps that this chooses were the quickest of those tried.)
const MISS: f64 = 10.0;
/// Rows that are walked side by side in a batch: 2 are slower by half, 8 no faster.
const LANES: usize = 4;

/// What a node asks: whether `x > threshold`.
///
/// That is a question about the bits of `x`: those of the numbers above a threshold are neighbours on the circle of 32-bit
/// integers, once missing values are out of the way. One subtraction and one comparison of integers tell, and
/// the carry becomes part of the next address; the result of a comparison of floats is slow to become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// Bits of the first number that goes right; a leaf's number in the tree.
    pub(super) low: u32,
    /// How many follow it; 0 at leaves.
    pub(super) span: u32,
}

/// Where a node leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Column tested; 0 at leaves.
    pub(super) feature: u32,
    /// Left child, the right one follows; a leaf is its own child.
    pub(super) child: u32,
}

/// All nodes; in two lists, since processors find entries of 8 bytes without a shift.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    tests: &'a [Test],
    ways: &'a [Way],
}

impl Nodes<'_> {
    fn step(self, node: usize, x: &[f32]) -> usize {
        let (Test { low, span }, Way { feature, child }) = (self.tests[node], self.ways[node]);
        let right = x[feature as usize].to_bits().wrapping_sub(low) < span;
        (child + u32::from(right)) as usize
    }

    fn arrived(self, node: usize) -> bool {
        self.ways[node].child as usize == node
    }
}

/// A [`Tree`] compiled for prediction: the same answers in little more than half the time for single rows, in a third for
/// batches.
///
/// The walk takes a fixed number of steps, leaves being their own children, so that the processor need not guess which way
/// a row goes nor (mostly) where its path ends, and consecutive rows overlap. Nothing is allocated per call.
///
/// ```
/// use sched_distill_core::model::{CompiledTree, Tree};
/// let tree = Tree::leaf(0.5, 0.0, 10, 10.0);
/// let fast = CompiledTree::new(&tree);
/// assert_eq!(fast.predict(&[1.0, 2.0]), tree.predict(&[1.0, 2.0]));
/// ```
#[derive(Clone, Debug)]
pub struct CompiledTree {
    pub(super) tests: Vec<Test>,
    pub(super) ways: Vec<Way>,
    /// Steps taken before the first look whether the row has arrived.
    pub(super) steps: usize,
    /// Columns in which missing values matter: 1 + the largest tested, 0 for a single leaf.
    pub(super) width: usize,
    /// By node: whether missing values go right.
    pub(super) missing_right: Vec<bool>,
    // By the tree's numbers of nodes: values, the first of the largest of them, and linear functions.
    outputs: usize,
    value: Vec<f64>,
    class: Vec<u32>,
    linear: Option<LinearLeaves>,
}

impl CompiledTree {
    /// Compiles a tree; takes time and memory in proportion to its nodes.
    #[must_use]
    pub fn new(tree: &Tree) -> Self {
        let order = order(tree);
        // In breadth-first order the children of inner nodes come in the order of their parents.
        let mut child = 1;
        let node = |(place, &node): (usize, &usize)| match tree.is_leaf(node) {
            true => (Test { low: node as u32, span: 0 }, Way { feature: 0, child: place as u32 }),
            false => {
                child += 2;
                (above(tree.threshold[node]), Way { feature: tree.feature[node], child: child - 2 })
            }
        };
        let (tests, ways) = order.iter().enumerate().map(node).unzip();
        let inner = |node: &&usize| !tree.is_leaf(**node);
        Self {
            tests,
            ways,
            steps: steps(tree),
            width: order.iter().filter(inner).map(|&node| tree.feature[node] as usize + 1).max().unwrap_or(0),
            missing_right: order.iter().map(|&node| !tree.is_leaf(node) && !tree.default_left[node]).collect(),
            outputs: tree.outputs,
            value: tree.value.clone(),
            class: (0..tree.nodes()).map(|n| first_max(tree.node_value(n).iter().copied()) as u32).collect(),
            linear: tree.linear.clone(),
        }
    }

    /// The leaf that a row of features reaches, by its number in the [`Tree`].
    ///
    /// # Panics
    ///
    /// This and all other predictions: if a row lacks a column that the tree tests.
    #[inline]
    #[must_use]
    pub fn apply(&self, x: &[f32]) -> usize {
        self.tests[self.walk(x)].low as usize
    }

    /// The first output for a row of features, or its leaf's linear function: the score of a tree with one output.
    #[inline]
    #[must_use]
    pub fn predict(&self, x: &[f32]) -> f64 {
        self.score(self.apply(x), x)
    }

    /// All outputs for a row of features; of a classifier, the classes' shares. Linear leaves have no part in it.
    #[inline]
    #[must_use]
    pub fn predict_outputs(&self, x: &[f32]) -> &[f64] {
        self.leaf_outputs(self.apply(x))
    }

    /// The most probable class for a row of features, the first of equals.
    #[inline]
    #[must_use]
    pub fn predict_class(&self, x: &[f32]) -> usize {
        self.leaf_class(self.apply(x))
    }

    /// All outputs of a leaf found by [`apply`](Self::apply).
    #[inline]
    #[must_use]
    pub fn leaf_outputs(&self, leaf: usize) -> &[f64] {
        &self.value[leaf * self.outputs..][..self.outputs]
    }

    /// The most probable class at a leaf found by [`apply`](Self::apply).
    #[inline]
    #[must_use]
    pub fn leaf_class(&self, leaf: usize) -> usize {
        self.class[leaf] as usize
    }

    /// [`apply`](Self::apply) for many rows: `x` has the shape `(rows, width)`, row-major, `leaves` one place per row.
    pub fn apply_rows(&self, x: &[f32], width: usize, leaves: &mut [u32]) {
        self.walk_rows(x, width, leaves, |leaf, _| leaf as u32);
    }

    /// [`predict_class`](Self::predict_class) for many rows: `x` has the shape `(rows, width)`, row-major, `classes` one
    /// place per row.
    pub fn predict_class_rows(&self, x: &[f32], width: usize, classes: &mut [u32]) {
        self.walk_rows(x, width, classes, |leaf, _| self.class[leaf]);
    }

    fn score(&self, leaf: usize, x: &[f32]) -> f64 {
        match &self.linear {
            None => self.value[leaf * self.outputs],
            Some(linear) => linear.predict(leaf, x),
        }
    }

    fn nodes(&self) -> Nodes<'_> {
        // The same length on both sides saves a check at every step.
        Nodes { tests: &self.tests[..self.ways.len()], ways: &self.ways }
    }

    /// Whether a value may be missing where it matters; whole vectors of columns are quicker than a few less.
    fn missing(&self, x: &[f32]) -> bool {
        missing(&x[..x.len().min(self.width.next_multiple_of(8))])
    }

    /// The compiled leaf of a row.
    fn walk(&self, x: &[f32]) -> usize {
        if self.missing(x) {
            return self.walk_missing(x);
        }
        let nodes = self.nodes();
        let mut node = 0;
        for _ in 0..self.steps {
            node = nodes.step(node, x);
        }
        while !nodes.arrived(node) {
            node = nodes.step(node, x);
        }
        node
    }

    /// The same for rows with missing values, which are rare enough for branches.
    #[cold]
    fn walk_missing(&self, x: &[f32]) -> usize {
        let nodes = self.nodes();
        let mut node = 0;
        while !nodes.arrived(node) {
            let Way { feature, child } = nodes.ways[node];
            node = match x[feature as usize].is_nan() {
                true => child as usize + usize::from(self.missing_right[node]),
                false => nodes.step(node, x),
            };
        }
        node
    }

    /// Writes what `make` says of every row and its leaf; several rows at a time, so that their waits overlap.
    fn walk_rows<T>(&self, x: &[f32], width: usize, out: &mut [T], make: impl Fn(usize, &[f32]) -> T) {
        let nodes = self.nodes();
        let mut groups = x.chunks_exact(width * LANES);
        let mut places = out.chunks_exact_mut(LANES);
        for (group, places) in (&mut groups).zip(&mut places) {
            let row = |lane: usize| &group[lane * width..][..width];
            let mut node = [0; LANES];
            if missing(group) {
                node = std::array::from_fn(|lane| self.walk(row(lane)));
            } else {
                for _ in 0..self.steps {
                    node = std::array::from_fn(|lane| nodes.step(node[lane], row(lane)));
                }
            }
            for (lane, place) in places.iter_mut().enumerate() {
                while !nodes.arrived(node[lane]) {
                    node[lane] = nodes.step(node[lane], row(lane));
                }
                *place = make(nodes.tests[node[lane]].low as usize, row(lane));
            }
        }
        for (row, place) in groups.remainder().chunks_exact(width).zip(places.into_remainder()) {
            *place = make(self.apply(row), row);
        }
    }
}

impl ScoreCandidates for CompiledTree {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        self.walk_rows(x, width, scores, |leaf, row| self.score(leaf, row));
    }

    fn size(&self) -> usize {
        let nodes = self.nodes();
        let leaves =
            (0..nodes.ways.len()).filter(|&node| nodes.arrived(node)).map(|node| nodes.tests[node].low as usize);
        let terms = |leaf| self.linear.as_ref().map_or(1, |l| l.terms(leaf).filter(|(_, c)| *c != 0.0).count().max(1));
        leaves.map(terms).sum()
    }
}

/// A [`Model`] ready to score many choices.
#[derive(Clone, Debug)]
pub enum CompiledModel {
    /// A compiled tree.
    Tree(CompiledTree),
    /// A compiled sum of terms.
    Additive(CompiledAdditive),
    /// A tree that compares two candidates, as it is.
    Pairwise(Pairwise),
    /// A choice of models.
    Regime {
        /// Chooses; asked about the first candidate.
        tree: CompiledTree,
        /// What it chooses from.
        models: Vec<Self>,
    },
}

impl CompiledModel {
    /// Compiles a model.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        match model {
            Model::Tree(tree) => Self::Tree(CompiledTree::new(tree)),
            Model::Additive(additive) => Self::Additive(CompiledAdditive::new(additive)),
            Model::Pairwise(pairwise) => Self::Pairwise(pairwise.clone()),
            Model::Regime(Regime { tree, models }) => {
                Self::Regime { tree: CompiledTree::new(tree), models: models.iter().map(Self::new).collect() }
            }
        }
    }
}

impl ScoreCandidates for CompiledModel {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        match self {
            Self::Tree(m) => m.score_choice(x, width, scores),
            Self::Additive(m) => m.score_choice(x, width, scores),
            Self::Pairwise(m) => m.score_choice(x, width, scores),
            Self::Regime { tree, models } => {
                if let Some(first) = x.get(..width) {
                    models[tree.predict(first) as usize].score_choice(x, width, scores);
                }
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Tree(m) => m.size(),
            Self::Additive(m) => m.size(),
            Self::Pairwise(m) => m.size(),
            Self::Regime { tree, models } => tree.size() + models.iter().map(ScoreCandidates::size).sum::<usize>(),
        }
    }
}

/// A tree's nodes breadth first: siblings are neighbours, and the nodes that most rows pass share cache lines.
pub(super) fn order(tree: &Tree) -> Vec<usize> {
    let mut order = vec![0];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        if !tree.is_leaf(node) {
            order.extend([tree.left[node] as usize, tree.right[node] as usize]);
        }
        next += 1;
    }
    order
}

/// Whether any value is missing; without an early end, so that it compiles to a few vector instructions.
fn missing(x: &[f32]) -> bool {
    x.iter().fold(false, |found, v| found | v.is_nan())
}

/// The bits of the numbers above a threshold. Missing values are not looked at and may lie inside or outside.
fn above(threshold: f32) -> Test {
    // Positive numbers rise with their bits, then come negative ones, falling. Adding 0 makes -0 the same as 0.
    let bits = (threshold + 0.0).to_bits();
    match threshold >= 0.0 {
        true => Test { low: bits + 1, span: f32::INFINITY.to_bits() - bits },
        false => Test { low: 0, span: bits },
    }
}

/// How many steps to take before looking: the depth that costs least when rows are spread like the training weight.
fn steps(tree: &Tree) -> usize {
    let mut depth = vec![0; tree.nodes()];
    // Weight of the leaves at each depth.
    let mut weight: Vec<f64> = vec![0.0];
    let weighted = tree.weight[0] > 0.0;
    for node in 0..tree.nodes() {
        if tree.is_leaf(node) {
            weight.resize(weight.len().max(depth[node] + 1), 0.0);
            weight[depth[node]] += if weighted { tree.weight[node] } else { 1.0 };
        } else {
            depth[tree.left[node] as usize] = depth[node] + 1;
            depth[tree.right[node] as usize] = depth[node] + 1;
        }
    }
    let total: f64 = weight.iter().sum();
    let (mut best, mut least) = (0, f64::INFINITY);
    // Beyond depth d: the weight of rows not arrived, and their mean cost of going on.
    let (mut late, mut left_over) = (0.0, 0.0);
    for d in (0..weight.len()).rev() {
        let cost = total * d as f64 + left_over + MISS * late;
        if cost <= least {
            (best, least) = (d, cost);
        }
        late += weight[d];
        left_over += late;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LEAF;

    /// Each test of a chain has a leaf on its left.
    fn chain(depth: u32, weight: impl Fn(u32) -> f64) -> Tree {
        let node = |n: u32| n.is_multiple_of(2) && n < 2 * depth;
        let nodes = 0..2 * depth + 1;
        let n = nodes.len();
        Tree {
            feature: vec![0; n],
            threshold: vec![0.0; n],
            left: nodes.clone().map(|n| if node(n) { n + 1 } else { LEAF }).collect(),
            right: nodes.clone().map(|n| if node(n) { n + 2 } else { LEAF }).collect(),
            default_left: vec![true; n],
            value: vec![0.0; n],
            impurity: vec![0.0; n],
            n_samples: vec![1; n],
            weight: nodes.map(weight).collect(),
            ..Tree::leaf(0.0, 0.0, 1, 1.0)
        }
    }

    #[test]
    fn the_first_look_comes_where_few_rows_go_on() {
        assert_eq!(steps(&chain(5, |_| 1.0)), 5, "looking costs more than the few steps that it may save");
        // The upper leaves hold nearly everything: 300 steps for every row would be absurd.
        assert!((3..10).contains(&steps(&chain(300, |n| 0.7f64.powi(n as i32)))));
        // Without weights all leaves count the same: looking at every step from the tenth on costs no more.
        assert!((3..20).contains(&steps(&chain(300, |_| 0.0))));
    }
}
