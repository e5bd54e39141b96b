//! Partial dependence: what a tree says on average, and row by row, as one feature takes given values.

use super::{
    error::{ExplainError, rows_of, total_weight},
    path::{self, Paths},
};
use rayon::prelude::*;
use sched_distill_core::model::{LEAF, Tree};

/// Rows whose counts are added up together; fixed, so that threads change nothing.
const BLOCK: usize = 4096;

/// Partial dependence of one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDependence {
    /// Column of the feature.
    pub feature: usize,
    /// Values given to it.
    pub grid: Vec<f32>,
    /// Outputs of the tree.
    pub outputs: usize,
    /// Mean prediction at each value, shape `(grid, outputs)`.
    pub average: Vec<f64>,
}

/// Partial dependence (Friedman, *Greedy Function Approximation*, 2001): the weighted mean over the rows of the prediction
/// with the feature set to each value of `grid`; scikit-learn's `method="brute"`, at the cost of one walk per row.
///
/// `x` has the shape `(rows, width)`, row-major; `weight` has one entry per row, and `None` counts each once. The grid may be
/// in any order and hold NaN, for a missing value. Rows are counted per leaf first, so without weights the only rounding is
/// in the last sum over leaves.
///
/// ```
/// use sched_distill_explain::partial_dependence;
/// use sched_distill_core::model::{LEAF, Tree};
///
/// let tree = Tree { // x0 <= 0.5 gives 1, else 3
///     feature: vec![0; 3], threshold: vec![0.5, 0.0, 0.0], left: vec![1, LEAF, LEAF], right: vec![2, LEAF, LEAF],
///     default_left: vec![true; 3], value: vec![2.0, 1.0, 3.0], impurity: vec![1.0, 0.0, 0.0], n_samples: vec![2, 1, 1],
///     weight: vec![2.0, 1.0, 1.0], ..Tree::leaf(0.0, 0.0, 0, 0.0)
/// };
/// let curve = partial_dependence(&tree, &[0.0, 9.0, 1.0], 1, None, 0, &[0.25, 0.75])?;
/// assert_eq!(curve.average, [1.0, 3.0]);
/// # Ok::<(), sched_distill_explain::ExplainError>(())
/// ```
///
/// # Errors
///
/// If the tree has linear leaves or tests a column beyond `width`, there is no such feature, there are no rows, or a length or
/// weight is wrong.
pub fn partial_dependence(
    tree: &Tree,
    x: &[f32],
    width: usize,
    weight: Option<&[f64]>,
    feature: usize,
    grid: &[f32],
) -> Result<PartialDependence, ExplainError> {
    let rows = rows_of("x", x, width)?;
    let total = total_weight(weight, rows, "x")?;
    let members = Members::new(tree, width, feature, grid)?;
    let count = |(block, x): (usize, &[f32])| {
        let mut count = vec![0.0; tree.nodes()];
        let mut todo = Vec::new();
        for (i, row) in x.chunks_exact(width).enumerate() {
            let weight = weight.map_or(1.0, |w| w[block * BLOCK + i]);
            members.walk(tree, row, &mut todo, |leaf| count[leaf as usize] += weight);
        }
        count
    };
    let counts: Vec<Vec<f64>> = x.par_chunks(BLOCK * width).enumerate().map(count).collect();
    let mut average = vec![0.0; grid.len() * tree.outputs];
    for (number, &leaf) in members.paths.leaf.iter().enumerate() {
        let share = counts.iter().map(|c| c[leaf as usize]).sum::<f64>() / total;
        for &place in &members.grid[number] {
            let cell = &mut average[place as usize * tree.outputs..][..tree.outputs];
            cell.iter_mut().zip(tree.node_value(leaf as usize)).for_each(|(cell, value)| *cell += share * value);
        }
    }
    Ok(PartialDependence { feature, grid: grid.to_vec(), outputs: tree.outputs, average })
}

/// Individual conditional expectation (Goldstein et al., *Peeking Inside the Black Box*, 2015): the prediction for each row with
/// the feature set to each value of `grid`, shape `(rows, grid, outputs)`. The mean over rows is the partial dependence.
///
/// # Errors
///
/// As for [`partial_dependence`].
pub fn conditional_expectation(
    tree: &Tree,
    x: &[f32],
    width: usize,
    feature: usize,
    grid: &[f32],
) -> Result<Vec<f64>, ExplainError> {
    let rows = rows_of("x", x, width)?;
    let members = Members::new(tree, width, feature, grid)?;
    let mut curves = vec![0.0; rows * grid.len() * tree.outputs];
    if curves.is_empty() {
        return Ok(curves);
    }
    let mut number = vec![0; tree.nodes()];
    members.paths.leaf.iter().enumerate().for_each(|(i, &leaf)| number[leaf as usize] = i);
    let curve = |todo: &mut Vec<u32>, (row, curve): (&[f32], &mut [f64])| {
        members.walk(tree, row, todo, |leaf| {
            for &place in &members.grid[number[leaf as usize]] {
                curve[place as usize * tree.outputs..][..tree.outputs].copy_from_slice(tree.node_value(leaf as usize));
            }
        });
    };
    let pairs = x.par_chunks_exact(width).zip(curves.par_chunks_exact_mut(grid.len() * tree.outputs));
    pairs.with_min_len(256).for_each_init(Vec::new, curve);
    Ok(curves)
}

/// At most `points` values of a feature for a grid: its distinct values if they are so few, else the distinct ones among its
/// quantiles at equal steps from the smallest to the largest. Missing values are left out. Ascending.
///
/// # Errors
///
/// If there is no such feature, or the length is no multiple of the width.
pub fn feature_grid(x: &[f32], width: usize, feature: usize, points: usize) -> Result<Vec<f32>, ExplainError> {
    let sorted = sorted_column(x, width, feature)?;
    let mut distinct = sorted.clone();
    distinct.dedup();
    Ok(if distinct.len() <= points { distinct } else { quantiles(&sorted, points.saturating_sub(1).max(1)) })
}

/// A column in ascending order, without missing values.
pub(super) fn sorted_column(x: &[f32], width: usize, feature: usize) -> Result<Vec<f32>, ExplainError> {
    rows_of("x", x, width)?;
    if feature >= width {
        return Err(ExplainError::NoSuchFeature { feature, width });
    }
    // Adding 0 makes −0 the same as 0.
    let column = x.chunks_exact(width).map(|row| row[feature] + 0.0);
    let mut sorted: Vec<f32> = column.filter(|v| !v.is_nan()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    Ok(sorted)
}

/// The distinct ones of the quantiles 0, 1/steps, 2/steps, ..., 1: each the smallest value with at least that share of the
/// data at or below it.
pub(super) fn quantiles(sorted: &[f32], steps: usize) -> Vec<f32> {
    if sorted.is_empty() {
        return Vec::new();
    }
    let at = |step: usize| sorted[(step * sorted.len()).div_ceil(steps).saturating_sub(1)];
    let mut values: Vec<f32> = (0..=steps).map(at).collect();
    values.dedup();
    values
}

/// Which leaves a row can reach as one feature takes the values of a grid.
struct Members {
    paths: Paths,
    feature: u32,
    /// Per leaf from the left, the grid places whose value passes the feature's tests on the way.
    grid: Vec<Vec<u32>>,
    /// Nodes with such a leaf below them.
    alive: Vec<bool>,
}

impl Members {
    fn new(tree: &Tree, width: usize, feature: usize, grid: &[f32]) -> Result<Self, ExplainError> {
        path::check(tree, width)?;
        if feature >= width {
            return Err(ExplainError::NoSuchFeature { feature, width });
        }
        let edges = path::edges(tree);
        let paths = Paths::new(tree, &edges);
        let places = |leaf: usize| {
            let side = paths.sides(leaf).iter().find(|s| s.feature as usize == feature);
            let passes = |v: f32| side.is_none_or(|s| s.holds(v));
            (0..grid.len() as u32).filter(|&place| passes(grid[place as usize])).collect()
        };
        let grid: Vec<Vec<u32>> = (0..paths.len()).map(places).collect();
        let mut alive = vec![false; tree.nodes()];
        paths.leaf.iter().zip(&grid).for_each(|(&leaf, grid)| alive[leaf as usize] = !grid.is_empty());
        for edge in edges.iter().rev() {
            alive[edge.parent as usize] |= alive[edge.child as usize];
        }
        Ok(Self { paths, feature: feature as u32, grid, alive })
    }

    /// Calls `reach` with every leaf that a row comes to with some value of the grid.
    fn walk(&self, tree: &Tree, row: &[f32], todo: &mut Vec<u32>, mut reach: impl FnMut(u32)) {
        todo.clear();
        todo.push(0);
        while let Some(node) = todo.pop() {
            let mut node = node as usize;
            while self.alive[node] {
                let (left, right, feature) = (tree.left[node], tree.right[node], tree.feature[node]);
                if left == LEAF {
                    reach(node as u32);
                    break;
                }
                if feature == self.feature {
                    todo.push(right);
                    node = left as usize;
                } else {
                    let value = row[feature as usize];
                    let goes_left = (value <= tree.threshold[node]) | (value.is_nan() & tree.default_left[node]);
                    node = if goes_left { left } else { right } as usize;
                }
            }
        }
    }
}
