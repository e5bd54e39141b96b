//! The sum over a tree's leaves, for many rows.
//!
//! A leaf's terms depend on a row's pattern alone, so leaves with few features keep them in a table of all patterns. For a
//! block of rows the walk over the tree's edges keeps one word per row, of which a test clears the bit of its feature, and so
//! has every leaf's pattern at hand when it comes to it.

use super::{
    super::path::{Edge, Paths},
    game::{Game, words},
};
use rayon::prelude::*;
use sched_distill_core::model::Tree;

/// Rows that go through the tree together.
const BLOCK: usize = 16;

/// Numbers that the tables of one tree may hold together (32 MiB); leaves with the smallest tables come first.
pub(super) const TABLE_ROOM: usize = 4 << 20;

/// An edge of the tree as the walk sees it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Place of the feature among those that the tree tests.
    column: u32,
    threshold: f32,
    goes_left: bool,
    default_left: bool,
    depth: u32,
    /// The feature's bit, 0 for features that no table counts.
    bit: u32,
    /// The leaf at the end of the edge, [`NO_LEAF`] for an inner node.
    leaf: u32,
}

const NO_LEAF: u32 = u32::MAX;

/// A leaf and what it adds to the output.
#[derive(Debug)]
struct Leaf {
    targets: Vec<u32>,
    value: Vec<f64>,
    /// The terms of every pattern, empty if there are too many.
    table: Vec<f64>,
    mask: u32,
}

/// Adds up the terms of all leaves.
#[derive(Debug)]
pub(super) struct LeafSum<G> {
    game: G,
    paths: Paths,
    steps: Vec<Step>,
    /// Columns of a row that the tree tests.
    columns: Vec<u32>,
    depth: usize,
    leaves: Vec<Leaf>,
    width: usize,
    outputs: usize,
    /// Places in a row of the output, each of `outputs` numbers.
    places: usize,
}

/// Memory of one thread.
struct Scratch {
    column: Vec<[f32; BLOCK]>,
    pattern: Vec<[u32; BLOCK]>,
    words: Vec<u64>,
    terms: Vec<f64>,
    game: Vec<f64>,
}

impl<G: Game> LeafSum<G> {
    /// For rows of `width` columns and output rows of `places`; its tables hold at most `room` numbers.
    pub(super) fn new(
        game: G,
        tree: &Tree,
        (paths, edges): (Paths, &[Edge]),
        (width, places): (usize, usize),
        room: usize,
    ) -> Self {
        let mut columns: Vec<u32> = edges.iter().map(|e| tree.feature[e.parent as usize]).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut next_leaf = 0;
        let step = |edge: &Edge| {
            let node = edge.parent as usize;
            let is_leaf = tree.is_leaf(edge.child as usize);
            next_leaf += u32::from(is_leaf);
            Step {
                // The feature is in the list: it was made from the same edges.
                column: columns.partition_point(|&f| f < tree.feature[node]) as u32,
                threshold: tree.threshold[node],
                goes_left: edge.goes_left,
                default_left: tree.default_left[node],
                depth: edge.depth,
                bit: 1u32.checked_shl(edge.place).unwrap_or(0),
                leaf: if is_leaf { next_leaf - 1 } else { NO_LEAF },
            }
        };
        let steps: Vec<Step> = edges.iter().map(step).collect();
        let depth = steps.iter().map(|s| s.depth as usize + 1).max().unwrap_or(0);
        let leaf = |leaf: usize| Leaf {
            targets: game.targets(leaf),
            value: tree.node_value(paths.leaf[leaf] as usize).to_vec(),
            table: Vec::new(),
            mask: 0,
        };
        let leaves: Vec<Leaf> = (0..paths.len()).map(leaf).collect();
        let outputs = tree.outputs;
        let mut sum = Self { game, paths, steps, columns, depth, leaves, width, outputs, places };
        sum.fill_tables(room);
        sum
    }

    fn fill_tables(&mut self, mut room: usize) {
        let bits = |leaf: usize| self.paths.sides(leaf).len();
        let mut order: Vec<usize> = (0..self.leaves.len()).filter(|&l| bits(l) <= self.game.table_bits()).collect();
        order.sort_by_key(|&leaf| bits(leaf));
        let fits = |&leaf: &usize| {
            let size = self.leaves[leaf].targets.len() << bits(leaf);
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        };
        let mut has_table = vec![false; self.leaves.len()];
        order.iter().copied().take_while(fits).for_each(|leaf| has_table[leaf] = true);
        let (game, paths) = (&self.game, &self.paths);
        let fill = |scratch: &mut Vec<f64>, (number, leaf): (usize, &mut Leaf)| {
            if !has_table[number] || leaf.targets.is_empty() {
                return;
            }
            let patterns = 1u64 << paths.sides(number).len();
            leaf.mask = (patterns - 1) as u32;
            leaf.table = vec![0.0; leaf.targets.len() * patterns as usize];
            for (pattern, terms) in (0..patterns).zip(leaf.table.chunks_exact_mut(leaf.targets.len())) {
                game.weigh(number, &[pattern], scratch, terms);
            }
        };
        self.leaves.par_iter_mut().enumerate().with_min_len(8).map_init(Vec::new, fill).collect::<()>();
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds the terms of all leaves to `out`, shape `(rows, places, outputs)`, for rows of shape `(rows, width)`.
    pub(super) fn add(&self, x: &[f32], out: &mut [f64]) {
        let row = self.places * self.outputs;
        if x.len() <= BLOCK * self.width {
            self.add_block(x, out, &mut self.scratch());
            return;
        }
        // Each row is its own sum, so threads change nothing.
        let blocks = x.par_chunks(BLOCK * self.width).zip(out.par_chunks_mut(BLOCK * row));
        blocks.with_min_len(8).for_each_init(|| self.scratch(), |scratch, (x, out)| self.add_block(x, out, scratch));
    }

    fn scratch(&self) -> Scratch {
        let most = self.leaves.iter().map(|l| l.targets.len()).max().unwrap_or(0);
        let bits = (0..self.paths.len()).map(|leaf| self.paths.sides(leaf).len()).max().unwrap_or(0);
        Scratch {
            column: vec![[0.0; BLOCK]; self.columns.len()],
            pattern: vec![[u32::MAX; BLOCK]; self.depth + 1],
            words: vec![0; words(bits)],
            terms: vec![0.0; most],
            game: Vec::new(),
        }
    }

    fn add_block(&self, x: &[f32], out: &mut [f64], scratch: &mut Scratch) {
        for (r, row) in x.chunks_exact(self.width).enumerate() {
            for (column, &feature) in scratch.column.iter_mut().zip(&self.columns) {
                column[r] = row[feature as usize];
            }
        }
        for step in &self.steps {
            let (above, below) = scratch.pattern.split_at_mut(step.depth as usize + 1);
            let (above, below) = (&above[step.depth as usize], &mut below[0]);
            let column = &scratch.column[step.column as usize];
            // All bits are set at the root, and each test that a row fails clears that of its feature.
            for r in 0..BLOCK {
                let goes_left = (column[r] <= step.threshold) | (column[r].is_nan() & step.default_left);
                below[r] = above[r] & !(u32::from(goes_left != step.goes_left) * step.bit);
            }
            if step.leaf == NO_LEAF {
                continue;
            }
            let leaf = &self.leaves[step.leaf as usize];
            if leaf.table.is_empty() {
                self.add_weighed(step.leaf as usize, x, out, scratch);
            } else {
                leaf.add(below, out, self.places * self.outputs);
            }
        }
    }

    /// Adds a leaf without a table.
    fn add_weighed(&self, number: usize, x: &[f32], out: &mut [f64], scratch: &mut Scratch) {
        let (leaf, sides) = (&self.leaves[number], self.paths.sides(number));
        let pattern = &mut scratch.words[..words(sides.len())];
        let terms = &mut scratch.terms[..leaf.targets.len()];
        for (row, out) in x.chunks_exact(self.width).zip(out.chunks_exact_mut(self.places * self.outputs)) {
            pattern.fill(0);
            for (i, side) in sides.iter().enumerate() {
                pattern[i / 64] |= u64::from(side.holds(row[side.feature as usize])) << (i % 64);
            }
            self.game.weigh(number, pattern, &mut scratch.game, terms);
            for (term, &target) in terms.iter().zip(&leaf.targets) {
                for (out, value) in out[target as usize * self.outputs..].iter_mut().zip(&leaf.value) {
                    *out += term * value;
                }
            }
        }
    }
}

impl Leaf {
    /// Adds the leaf's terms to rows of `row` numbers each.
    fn add(&self, pattern: &[u32; BLOCK], out: &mut [f64], row: usize) {
        // Tables are larger than the nearest caches. To read from all rows' terms first lets the waits overlap.
        let ends = pattern.iter().take(out.len() / row).map(|&p| self.terms(p)).map(|t| t[0] + t[t.len() - 1]);
        std::hint::black_box(ends.sum::<f64>());
        match self.value.len() {
            1 => self.add_fixed::<1>(pattern, out, row),
            2 => self.add_fixed::<2>(pattern, out, row),
            4 => self.add_fixed::<4>(pattern, out, row),
            8 => self.add_fixed::<8>(pattern, out, row),
            outputs => {
                for (&pattern, out) in pattern.iter().zip(out.chunks_exact_mut(row)) {
                    for (term, &target) in self.terms(pattern).iter().zip(&self.targets) {
                        for (out, value) in out[target as usize * outputs..].iter_mut().zip(&self.value) {
                            *out += term * value;
                        }
                    }
                }
            }
        }
    }

    /// The same, for a number of outputs that the compiler knows.
    fn add_fixed<const OUTPUTS: usize>(&self, pattern: &[u32; BLOCK], out: &mut [f64], row: usize) {
        let value: [f64; OUTPUTS] = std::array::from_fn(|k| self.value[k]);
        for (&pattern, out) in pattern.iter().zip(out.chunks_exact_mut(row)) {
            let (cells, _) = out.as_chunks_mut::<OUTPUTS>();
            for (term, &target) in self.terms(pattern).iter().zip(&self.targets) {
                let cell = &mut cells[target as usize];
                for k in 0..OUTPUTS {
                    cell[k] += term * value[k];
                }
            }
        }
    }

    fn terms(&self, pattern: u32) -> &[f64] {
        &self.table[(pattern & self.mask) as usize * self.targets.len()..][..self.targets.len()]
    }
}
