//! Best-first growth in rounds.

use super::{Cell, Finish, Layout, ONE, Sketch};
use crate::{
    FitParams,
    learner::recipe,
    tree::{
        FeatureBins, TreeError, ValidTreeParams, assemble,
        column::value_of,
        criterion::{Criterion, Moments, SquaredError, without_rounding},
        grow::{Node, Open, Split},
        prune,
        search::{Cuts, Limits, TIE, View, enough},
    },
};
use linfa::ParamGuard;
use rayon::prelude::*;
use sched_distill_core::model::Tree;
use std::collections::BinaryHeap;

/// Cells that are asked for at a time at most: 64 MiB of them, which everyone who sums up rows holds.
const MOST_CELLS: usize = 1 << 21;

/// Who has the rows.
pub trait NodeSource {
    /// Why sums may not come.
    type Error: From<TreeError>;

    /// The cells of some leaves of a sketch, one node's behind those of the one before.
    ///
    /// # Errors
    ///
    /// What keeps the sums from being formed.
    fn cells(&mut self, sketch: &Sketch, wanted: &[u32]) -> Result<Vec<Cell>, Self::Error>;

    /// What a tree lacks in the end; by node of its sketch, `next` and `means` are those of [`super::FinishSums::new`].
    ///
    /// # Errors
    ///
    /// What keeps it from being found.
    fn finish(&mut self, sketch: &Sketch, next: &[u8], means: &[f64]) -> Result<Finish, Self::Error>;
}

/// Grows a regression tree for the squared error, from sums over rows that a source has. `units` are by what weights were scaled and
/// what the unit of targets is ([`super::Coder::scale`], [`super::Coder::unit`]).
///
/// # Errors
///
/// Parameters out of range, no row of positive weight, and those of the source.
pub fn grow_by_sums<S: NodeSource>(
    source: &mut S,
    bins: &[FeatureBins],
    (scale, unit): (f64, f64),
    params: &FitParams,
) -> Result<Tree, S::Error> {
    let layout = Layout::of(bins);
    let mut sketch = Sketch::default();
    sketch.push();
    let cells = source.cells(&sketch, &[0])?;
    let total = sum(layout.of_feature(&cells, 0));
    if total[1] <= 0 {
        return Err(TreeError::NoRows.into());
    }
    let mean = total[2] as f64 / total[1] as f64 * unit;
    let criterion = SquaredError::around(mean);
    let root = Twig::new(total, Moments::of_cell(total, mean, unit), None);
    let recipe = recipe(params, criterion.impurity(&root.moments));
    let params = recipe.check_ref()?;
    let root_weight = criterion.weight(&root.moments);
    let mut grower = Grower { bins, layout, criterion, mean, unit, params, root_weight, sketch, twigs: vec![root] };
    grower.learn(0, cells);
    let splits = loop {
        let Grown { splits, unknown } = grower.grow();
        if unknown.is_empty() {
            break splits;
        }
        grower.ask(source, &unknown)?;
    };
    grower.finish(source, &splits, scale)
}

/// A node that may be part of the tree.
struct Twig {
    cell: Cell,
    moments: Moments,
    parent: Option<usize>,
    depth: usize,
    /// Its cells, as long as they are needed for its own split and for those of its children.
    cells: Vec<Cell>,
    state: State,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Its cells have yet to be asked for.
    Unknown,
    /// No split of it is allowed, or worth anything.
    Leaf,
    /// Its best split, and its children in the sketch once it was split for a try.
    Splits(Best, Option<[usize; 2]>),
}

impl Twig {
    fn new(cell: Cell, moments: Moments, parent: Option<(usize, usize)>) -> Self {
        let (parent, depth) = parent.map_or((None, 0), |(parent, depth)| (Some(parent), depth + 1));
        Self { cell, moments, parent, depth, cells: Vec::new(), state: State::Unknown }
    }

    fn rows(&self) -> usize {
        self.cell[0] as usize
    }
}

/// A split.
#[derive(Clone, Copy, Debug)]
struct Best {
    gain: f64,
    feature: usize,
    /// The last bin on the left, and the first one on the right that has rows.
    bins: [u8; 2],
}

/// A tree as it would be if what is not known could not be split.
struct Grown {
    /// The nodes split, in order.
    splits: Vec<usize>,
    /// Nodes that could be split but whose cells are not known, in the order in which they were met.
    unknown: Vec<usize>,
}

struct Grower<'a> {
    bins: &'a [FeatureBins],
    layout: Layout,
    criterion: SquaredError,
    /// Of the target over all rows.
    mean: f64,
    unit: f64,
    params: &'a ValidTreeParams,
    root_weight: f64,
    /// All splits tried so far; its nodes are the twigs.
    sketch: Sketch,
    twigs: Vec<Twig>,
}

impl Grower<'_> {
    /// Grows a tree as far as nodes are known.
    fn grow(&mut self) -> Grown {
        let mut grown = Grown { splits: Vec::new(), unknown: Vec::new() };
        let (mut open, mut made, mut fresh) = (BinaryHeap::new(), 1, vec![(0, 0)]);
        while grown.splits.len() + 1 < self.params.max_leaf_nodes {
            for (made, twig) in fresh.drain(..) {
                match self.twigs[twig].state {
                    State::Splits(Best { gain, .. }, _) => open.push(Open { gain, node: made, split: twig }),
                    State::Leaf => {}
                    State::Unknown => grown.unknown.push(twig),
                }
            }
            let Some(Open { split: twig, .. }) = open.pop() else { break };
            let Some(children) = self.split(twig) else { break };
            grown.splits.push(twig);
            fresh.extend((made..).zip(children));
            made += 2;
        }
        grown
    }

    /// The children of a node by its best split, made if they are not there; `None` of a node without one.
    fn split(&mut self, twig: usize) -> Option<[usize; 2]> {
        let State::Splits(best, children) = self.twigs[twig].state else { return None };
        if children.is_some() {
            return children;
        }
        let parent = &mut self.twigs[twig];
        let of_feature = self.layout.of_feature(&parent.cells, best.feature);
        let left = sum(&of_feature[..=usize::from(best.bins[0])]);
        let sides = [left, difference(parent.cell, left)];
        let place = Some((twig, parent.depth));
        let children = sides.map(|cell| {
            let mut child = Twig::new(cell, Moments::of_cell(cell, self.mean, self.unit), place);
            if !self.may_split(&child) {
                child.state = State::Leaf;
            }
            self.twigs.push(child);
            self.sketch.push() as usize
        });
        self.sketch.test[twig] = (best.feature as u32, best.bins[0]);
        self.sketch.children[twig] = children.map(|child| child as u32);
        if children.iter().all(|&child| matches!(self.twigs[child].state, State::Leaf)) {
            self.twigs[twig].cells = Vec::new();
        }
        self.twigs[twig].state = State::Splits(best, Some(children));
        Some(children)
    }

    /// Whether a split of a node could be allowed at all.
    fn may_split(&self, twig: &Twig) -> bool {
        twig.depth < self.params.max_depth
            && twig.rows() / 2 >= self.params.min_samples_leaf
            && self.criterion.impurity(&twig.moments) > 0.0
    }

    /// Asks for the cells of nodes, as many as may be asked for at a time: of two children for those of the one with fewer rows.
    fn ask<S: NodeSource>(&mut self, source: &mut S, unknown: &[usize]) -> Result<(), S::Error> {
        let mut parents: Vec<usize> = unknown.iter().filter_map(|&twig| self.twigs[twig].parent).collect();
        // Two children of a node were met one behind the other.
        parents.dedup();
        parents.truncate((MOST_CELLS / self.layout.cells().max(1)).max(1));
        let fewer_first = |&parent: &usize| {
            let [a, b] = self.sketch.children[parent].map(|child| child as usize);
            if self.twigs[b].rows() < self.twigs[a].rows() { [b, a] } else { [a, b] }
        };
        let pairs: Vec<[usize; 2]> = parents.iter().map(fewer_first).collect();
        let wanted: Vec<u32> = pairs.iter().map(|pair| pair[0] as u32).collect();
        let cells = source.cells(&self.sketch, &wanted)?;
        let of_few = cells.chunks_exact(self.layout.cells().max(1));
        for ((parent, [few, many]), of_few) in parents.into_iter().zip(pairs).zip(of_few) {
            let of_parent = std::mem::take(&mut self.twigs[parent].cells);
            let of_many = of_parent.iter().zip(of_few).map(|(&all, &few)| difference(all, few)).collect();
            self.learn(few, of_few.to_vec());
            self.learn(many, of_many);
        }
        Ok(())
    }

    /// Takes in the cells of a node.
    fn learn(&mut self, twig: usize, cells: Vec<Cell>) {
        let best = if self.may_split(&self.twigs[twig]) { self.best(&self.twigs[twig], &cells) } else { None };
        let known = &mut self.twigs[twig];
        (known.state, known.cells) = best.map_or((State::Leaf, Vec::new()), |best| (State::Splits(best, None), cells));
    }

    /// The best split of a node.
    fn best(&self, twig: &Twig, cells: &[Cell]) -> Option<Best> {
        let limits = Limits {
            min_samples: self.params.min_samples_leaf,
            min_weight: 0.0,
            constrained: false,
            sign: 0,
            bounds: [f64::NEG_INFINITY, f64::INFINITY],
        };
        let (cuts, criterion, rows) = (Cuts::default(), &self.criterion, twig.rows());
        let histogram = |feature: usize| {
            let mut histogram = criterion.bins();
            let of_feature = self.layout.of_feature(cells, feature);
            histogram.iter_mut().zip(of_feature).for_each(|(bin, &cell)| *bin = self.floating(cell));
            histogram
        };
        let of = |feature: usize| self.layout.of_feature(cells, feature).len();
        let gain = |feature: usize| {
            let view = View {
                criterion,
                totals: &twig.moments,
                histogram: &histogram(feature),
                bins: of(feature),
                rows,
                payload: &[],
            };
            view.most(&mut criterion.division(), &cuts, &limits)
        };
        let gains: Vec<f64> = (0..self.bins.len()).into_par_iter().map(gain).collect();
        let best = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if best == f64::NEG_INFINITY
            || best.max(0.0) < self.params.min_impurity_decrease * self.root_weight * (1.0 - TIE)
        {
            return None;
        }
        let enough = enough(criterion, &twig.moments, best);
        let feature = gains.iter().position(|&gain| gain >= enough)?;
        let histogram = &histogram(feature);
        let view = View { criterion, totals: &twig.moments, histogram, bins: of(feature), rows, payload: &[] };
        let place = view.first(&mut criterion.division(), &cuts, &limits, enough)?;
        let next = (place.bin + 1..of(feature)).find(|&bin| criterion.count(histogram, bin) > 0)?;
        Some(Best { gain: best.max(0.0), feature, bins: [place.bin as u8, next as u8] })
    }

    /// A cell as the criterion has them: targets relative to their mean.
    fn floating(&self, [rows, weight, first, _]: Cell) -> [f64; 4] {
        let weight = weight as f64 / ONE;
        // Squares matter to those who cut through bins alone.
        [rows as f64, weight, first as f64 / ONE * self.unit - self.mean * weight, 0.0]
    }

    /// The tree of some splits, in the order in which they were made.
    fn finish<S: NodeSource>(self, source: &mut S, splits: &[usize], scale: f64) -> Result<Tree, S::Error> {
        // The nodes as the in-memory engine numbers them.
        let (mut nodes, mut sketch, mut next, mut twigs) = (Vec::new(), Sketch::default(), Vec::new(), vec![0]);
        let mut place = vec![0; self.twigs.len()];
        for &twig in splits {
            let State::Splits(_, Some(children)) = self.twigs[twig].state else { continue };
            for child in children {
                place[child] = twigs.len();
                twigs.push(child);
            }
        }
        let is_split: Vec<bool> = (0..self.twigs.len()).map(|twig| splits.contains(&twig)).collect();
        for &twig in &twigs {
            let Twig { moments, depth, state, .. } = &self.twigs[twig];
            let node = sketch.push() as usize;
            next.push(0);
            let split = match *state {
                State::Splits(best, Some(children)) if is_split[twig] => {
                    let children = children.map(|child| place[child]);
                    sketch.test[node] = (best.feature as u32, best.bins[0]);
                    sketch.children[node] = children.map(|child| child as u32);
                    next[node] = best.bins[1];
                    let bins = &self.bins[best.feature];
                    let gap = best.bins.map(|bin| bins.edges[usize::from(bin)]);
                    Some(Split { feature: best.feature, gap, missing_left: None, children })
                }
                _ => None,
            };
            let bounds = [f64::NEG_INFINITY, f64::INFINITY];
            nodes.push(Node {
                totals: moments.clone(),
                range: 0..self.twigs[twig].rows(),
                depth: *depth,
                bounds,
                split,
            });
        }
        let means: Vec<f64> = nodes.iter().map(|node| node.totals.mean + self.mean).collect();
        let found = source.finish(&sketch, &next, &means)?;
        for (node, gap) in nodes.iter_mut().zip(&found.gaps) {
            if let Some(split) = node.split.as_mut().filter(|split| !self.bins[split.feature].apart) {
                split.gap = gap.map(value_of);
            }
        }
        let leaves = found.leaves.total(3 * (splits.len() + 1));
        let mut leaves = leaves.chunks_exact(3);
        for node in nodes.iter_mut().filter(|node| node.split.is_none()) {
            if let Some(&[weight, first, second]) = leaves.next()
                && weight > 0.0
            {
                node.totals = node.totals.corrected([weight, first, second], self.mean);
            }
        }
        // Children stand behind their parents.
        for node in (0..nodes.len()).rev() {
            if let Some(Split { children: [a, b], .. }) = nodes[node].split {
                nodes[node].totals = nodes[a].totals.together(&nodes[b].totals);
            }
        }
        let (tree, _) = assemble(&nodes, &self.criterion, (scale, 1), self.params);
        Ok(if self.params.ccp_alpha > 0.0 { prune(&tree, self.params.ccp_alpha) } else { tree })
    }
}

fn sum(cells: &[Cell]) -> Cell {
    cells.iter().fold([0; 4], |sum, cell| std::array::from_fn(|lane| sum[lane] + cell[lane]))
}

fn difference(all: Cell, some: Cell) -> Cell {
    std::array::from_fn(|lane| all[lane] - some[lane])
}

impl Moments {
    /// Of the rows of a cell, the targets relative to `mean`.
    fn of_cell([rows, weight, first, second]: Cell, mean: f64, unit: f64) -> Self {
        // Exact up to the last step, as the difference of two large numbers: weights and moments are below 2⁶¹.
        let spread = i128::from(second) * i128::from(weight) - i128::from(first) * i128::from(first);
        let error = spread as f64 / weight as f64;
        // Each row's weight and moments are rounded; less than what this may come to is no error.
        let error = if error > 2.0 * rows as f64 { error } else { 0.0 };
        let of_mean = first as f64 / weight as f64 * unit - mean;
        Self { weight: weight as f64 / ONE, mean: of_mean, error: error / ONE * unit * unit }
    }

    /// By the weight of the rows and the moments of the target around the mean that was known so far; `mean` is that of all rows.
    fn corrected(&self, [weight, first, second]: [f64; 3], mean: f64) -> Self {
        let of_mean = self.mean + first / weight;
        let error = second - first * first / weight;
        let square = error + weight * (of_mean * of_mean + mean * mean);
        Self { weight, mean: of_mean, error: without_rounding(error, square) }
    }

    /// Of the rows of both.
    fn together(&self, other: &Self) -> Self {
        let weight = self.weight + other.weight;
        let apart = other.mean - self.mean;
        let share = other.weight / weight;
        let error = self.error + other.error + self.weight * share * apart * apart;
        Self { weight, mean: self.mean + share * apart, error }
    }
}
