//! Accumulated local effects of a feature.

use super::{
    dependence::{quantiles, sorted_column},
    error::{ExplainError, rows_of, total_weight},
    path,
};
use rayon::prelude::*;
use sched_distill_core::model::Tree;

/// Rows whose differences are added up together; fixed, so that threads change nothing.
const BLOCK: usize = 4096;

/// Accumulated local effects of one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct AccumulatedEffects {
    /// Column of the feature.
    pub feature: usize,
    /// Borders of the bins, ascending; the first is the smallest value, the last the largest.
    pub edges: Vec<f32>,
    /// Weight of the rows in each bin, one less than borders.
    pub weight: Vec<f64>,
    /// Outputs of the tree.
    pub outputs: usize,
    /// Effect at each border, shape `(edges, outputs)`, in units of the output.
    pub effect: Vec<f64>,
}

/// Accumulated local effects, first order (Apley and Zhu, *Visualizing the Effects of Predictor Variables in Black Box
/// Supervised Learning Models*, 2020): like partial dependence, but a row is moved only within its own bin, so that no
/// combination of values far from the data is asked about.
///
/// The definition, with weights: the borders z₀ < z₁ < ... are the distinct quantiles 0, 1/bins, ..., 1 of the feature (each the
/// smallest value with that share of the rows at or below it). Bin k holds the rows with z₍ₖ₋₁₎ < x <= zₖ, the first bin also
/// those with x = z₀. Its local effect is the weighted mean over its rows of f(zₖ, rest) − f(z₍ₖ₋₁₎, rest). The effect at zₖ is
/// the sum of the local effects up to bin k, less a constant: the mean over bins, by weight, of the mean of the effects at
/// their two borders (as in the authors' `ALEPlot`). A bin without weight has the local effect 0.
///
/// `x` has the shape `(rows, width)`, row-major. Rows in which the feature is missing are left out. A feature with one value
/// has one border and the effect 0; one with none has no border.
///
/// # Errors
///
/// If the tree has linear leaves or tests a column beyond `width`, there is no such feature, there are no rows or no bins, or
/// a length or weight is wrong.
pub fn accumulated_effects(
    tree: &Tree,
    x: &[f32],
    width: usize,
    weight: Option<&[f64]>,
    feature: usize,
    bins: usize,
) -> Result<AccumulatedEffects, ExplainError> {
    path::check(tree, width)?;
    let rows = rows_of("x", x, width)?;
    total_weight(weight, rows, "x")?;
    if bins == 0 {
        return Err(ExplainError::Empty("bins"));
    }
    let edges = quantiles(&sorted_column(x, width, feature)?, bins);
    let (outputs, bins) = (tree.outputs, edges.len().saturating_sub(1));
    // Per bin: the weight, then the weighted differences.
    let stride = outputs + 1;
    let block = |(block, x): (usize, &[f32])| {
        let mut sums = vec![0.0; bins * stride];
        for (i, row) in x.chunks_exact(width).enumerate() {
            if row[feature].is_nan() || bins == 0 {
                continue;
            }
            let bin = edges.partition_point(|&z| z < row[feature]).saturating_sub(1);
            let weight = weight.map_or(1.0, |w| w[block * BLOCK + i]);
            let sums = &mut sums[bin * stride..][..stride];
            sums[0] += weight;
            let [below, above] = leaves(tree, row, feature, [edges[bin], edges[bin + 1]]);
            if below != above {
                let values = tree.node_value(above).iter().zip(tree.node_value(below));
                sums[1..].iter_mut().zip(values).for_each(|(sum, (a, b))| *sum += weight * (a - b));
            }
        }
        sums
    };
    let blocks: Vec<Vec<f64>> = x.par_chunks(BLOCK * width).enumerate().map(block).collect();
    let mut sums = vec![0.0; bins * stride];
    for block in &blocks {
        sums.iter_mut().zip(block).for_each(|(sum, b)| *sum += b);
    }
    let weight: Vec<f64> = sums.iter().step_by(stride).copied().collect();
    let mut effect = vec![0.0; edges.len() * outputs];
    let total: f64 = weight.iter().sum();
    for k in 0..outputs {
        let (mut so_far, mut mean) = (0.0, 0.0);
        for (bin, &weight) in weight.iter().enumerate() {
            let before = so_far;
            if weight > 0.0 {
                so_far += sums[bin * stride + 1 + k] / weight;
                mean += weight / total * f64::midpoint(before, so_far);
            }
            effect[(bin + 1) * outputs + k] = so_far;
        }
        effect.iter_mut().skip(k).step_by(outputs).for_each(|e| *e -= mean);
    }
    Ok(AccumulatedEffects { feature, edges, weight, outputs, effect })
}

/// The leaves that a row reaches with two values of a feature, in one walk as long as it goes the same way.
fn leaves(tree: &Tree, row: &[f32], feature: usize, values: [f32; 2]) -> [usize; 2] {
    let child = |node: usize, value: f32| {
        let goes_left = (value <= tree.threshold[node]) | (value.is_nan() & tree.default_left[node]);
        (if goes_left { tree.left[node] } else { tree.right[node] }) as usize
    };
    let mut at = [0; 2];
    while at[0] == at[1] && !tree.is_leaf(at[0]) {
        let tested = tree.feature[at[0]] as usize;
        at = values.map(|value| child(at[0], if tested == feature { value } else { row[tested] }));
    }
    for (node, value) in at.iter_mut().zip(values) {
        while !tree.is_leaf(*node) {
            let tested = tree.feature[*node] as usize;
            *node = child(*node, if tested == feature { value } else { row[tested] });
        }
    }
    at
}
