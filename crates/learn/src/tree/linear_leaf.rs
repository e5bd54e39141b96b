//! Linear leaves: a small ridge regression per leaf on the features that were tested on the way to it.

use super::{criterion::Criterion, grow::State};
use crate::cholesky;
use sched_distill_core::model::{LEAF, LinearLeaves, Tree};

/// Fits the leaves of a grown tree. `grown[i]` is the grown node of node `i`; `y` are the targets by row.
///
/// Features are centred and scaled to deviation 1 within the leaf, so the penalty treats them alike; features that are
/// constant in a leaf are left out of it.
pub(super) fn fit<C: Criterion>(
    tree: &Tree,
    grown: &[usize],
    state: &State<'_, C>,
    y: &[f64],
    ridge: f64,
) -> LinearLeaves {
    let mut leaves =
        LinearLeaves { intercept: Vec::new(), start: vec![0], feature: Vec::new(), coefficient: Vec::new() };
    let mut tested: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes()];
    for node in 0..tree.nodes() {
        let mut features = std::mem::take(&mut tested[node]);
        let mut intercept = 0.0;
        if tree.left[node] == LEAF {
            features.sort_unstable();
            features.dedup();
            let rows = &state.order[state.nodes[grown[node]].range.clone()];
            let (constant, terms) = leaf(state, rows, y, &features, ridge);
            intercept = constant;
            for (feature, coefficient) in terms {
                leaves.feature.push(feature);
                leaves.coefficient.push(coefficient);
            }
        } else {
            features.push(tree.feature[node]);
            tested[tree.left[node] as usize].clone_from(&features);
            tested[tree.right[node] as usize] = features;
        }
        leaves.intercept.push(intercept);
        leaves.start.push(leaves.feature.len() as u32);
    }
    leaves
}

/// Intercept and terms of one leaf.
fn leaf<C: Criterion>(
    state: &State<'_, C>,
    rows: &[u32],
    y: &[f64],
    features: &[u32],
    ridge: f64,
) -> (f64, Vec<(u32, f64)>) {
    let weight = |row: u32| state.rows.weight[row as usize];
    let value = |row: u32, feature: u32| f64::from(state.rows.value(row, feature as usize));
    let total: f64 = rows.iter().map(|&row| weight(row)).sum();
    let mean = |of: &dyn Fn(u32) -> f64| rows.iter().map(|&row| weight(row) * of(row)).sum::<f64>() / total;
    let mean_y = mean(&|row| y[row as usize]);
    let moments = features.iter().map(|&feature| {
        let centre = mean(&|row| value(row, feature));
        (feature, centre, mean(&|row| (value(row, feature) - centre).powi(2)).sqrt())
    });
    let used: Vec<(u32, f64, f64)> = moments.filter(|&(_, centre, sd)| sd > 1e-7 * centre.abs().max(1e-30)).collect();
    let k = used.len();
    let (mut gram, mut moment, mut row_of) = (vec![0.0; k * k], vec![0.0; k], vec![0.0; k]);
    for &row in rows {
        let w = weight(row) / total;
        for (z, &(feature, centre, sd)) in row_of.iter_mut().zip(&used) {
            *z = (value(row, feature) - centre) / sd;
        }
        for i in 0..k {
            moment[i] += w * row_of[i] * (y[row as usize] - mean_y);
            for j in 0..=i {
                gram[i * k + j] += w * row_of[i] * row_of[j];
            }
        }
    }
    for i in 0..k {
        gram[i * k + i] += ridge;
    }
    // The penalty keeps the system definite; where rounding overcomes it, the leaf stays constant.
    let slopes = cholesky::factor(gram, k, 0.0).map_or(vec![0.0; k], |factor| cholesky::solve(&factor, &moment));
    let terms: Vec<(u32, f64)> = used.iter().zip(&slopes).map(|(u, slope)| (u.0, slope / u.2)).collect();
    let intercept = mean_y - used.iter().zip(&terms).map(|(u, term)| u.1 * term.1).sum::<f64>();
    (intercept, terms)
}

#[cfg(test)]
mod tests {
    use crate::tree::{
        Leaf, Targets, TreeData, TreeParams, fit_tree,
        tests::{leaves, rows, values},
    };
    use sched_distill_core::rng::Stream;

    #[test]
    fn linear_leaves_need_half_the_leaves_on_a_smooth_target() {
        let mut s = Stream::new(5, "linear leaves");
        let make = |s: &mut Stream| -> (Vec<f32>, Vec<f64>) {
            let x: Vec<f32> = (0..4000 * 2).map(|_| (4.0 * s.uniform()) as f32).collect();
            let y = x.chunks(2).map(|r| f64::from(r[0]).sin() + 0.5 * f64::from(r[1]).sqrt()).collect();
            (x, y)
        };
        let ((x, y), (test_x, test_y)) = (make(&mut s), make(&mut s));
        let error = |params: &TreeParams| {
            let tree =
                fit_tree(TreeData { x: &x, width: 2, targets: Targets::Values(&y), weight: None }, params).unwrap();
            tree.check(2).unwrap();
            test_x.chunks(2).zip(&test_y).map(|(r, y)| (tree.predict(r) - y).powi(2)).sum::<f64>()
        };
        let linear = error(&leaves(16).leaf(Leaf::Linear { ridge: 1e-6 }));
        let constant = error(&leaves(32));
        assert!(linear < 0.5 * constant, "{linear} {constant}");
    }

    #[test]
    fn a_linear_target_is_one_linear_leaf() {
        let (x, _, weight) = rows(2, 300, 2);
        let y: Vec<f64> = x.chunks(2).map(|r| 3.0 - 2.0 * f64::from(r[1])).collect();
        let params = leaves(4).leaf(Leaf::Linear { ridge: 1e-9 });
        let tree = fit_tree(values(&x, 2, &y, &weight), &params).unwrap();
        assert!(x.chunks(2).zip(&y).all(|(r, y)| (tree.predict(r) - y).abs() < 1e-5));
    }
}
