//! What single features do to a score, for any model that scores candidates one by one.

use super::{Sampled, draw};
use crate::{Effect, ExplainError, dependence::feature_grid};
use rayon::prelude::*;
use sched_distill_core::{
    model::{Model, ScoreCandidates},
    rng::Stream,
};

/// Values of a grid at most.
const GRID: usize = 24;
/// Candidates that are moved along the grid at most.
const ROWS: usize = 1500;

/// Accumulated local effects and partial dependence of some columns; none for a model that compares candidates.
///
/// The definitions are those of [`accumulated_effects`](crate::accumulated_effects) and
/// [`partial_dependence`](crate::partial_dependence) with the distinct quantiles as borders and grid.
pub(super) fn effects(
    sampled: &Sampled<'_>,
    model: &Model,
    columns: &[usize],
    seed: u64,
) -> Result<Vec<Effect>, ExplainError> {
    if matches!(model, Model::Pairwise(_)) {
        return Ok(Vec::new());
    }
    let rows = rows(sampled, seed);
    columns.par_iter().filter_map(|&column| effect(sampled, model, &rows, column).transpose()).collect()
}

/// Rows of candidates with their weights: all, or as many as are enough.
fn rows<'a>(sampled: &'a Sampled<'_>, seed: u64) -> Vec<(&'a [f32], f64)> {
    let of_case = |c: &'a super::Case<'_>| {
        let n = c.choice.len();
        (0..n).map(move |i| (c.choice.row(i), c.weight / n as f64))
    };
    let mut rows: Vec<(&[f32], f64)> = sampled.cases.iter().flat_map(of_case).collect();
    draw(&mut rows, ROWS, Stream::new(seed, "effect"));
    rows
}

fn effect(
    sampled: &Sampled<'_>,
    model: &Model,
    rows: &[(&[f32], f64)],
    column: usize,
) -> Result<Option<Effect>, ExplainError> {
    let spec = &sampled.sample.table.spec;
    let width = spec.features.len();
    // Who has no such quantity cannot have more of it.
    let rows: Vec<(&[f32], f64)> = rows.iter().copied().filter(|(row, _)| sampled.values.has(row, column)).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let flat: Vec<f32> = rows.iter().flat_map(|(row, _)| *row).copied().collect();
    let grid = feature_grid(&flat, width, column, GRID)?;
    let mut work = vec![0.0; width];
    let mut score = |row: &[f32], value: f32| {
        work.copy_from_slice(row);
        work[column] = value;
        let mut score = [0.0];
        model.score_choice(&work, width, &mut score);
        score[0]
    };
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let mut partial = vec![0.0; grid.len()];
    let mut bins = vec![(0.0, 0.0); grid.len().saturating_sub(1)];
    let mut mean = 0.0;
    for &(row, weight) in &rows {
        mean += weight / total * score(row, row[column]);
        for (sum, &value) in partial.iter_mut().zip(&grid) {
            *sum += weight / total * score(row, value);
        }
        if !bins.is_empty() {
            let bin = grid.partition_point(|&z| z < row[column]).saturating_sub(1).min(bins.len() - 1);
            bins[bin].0 += weight;
            bins[bin].1 += weight * (score(row, grid[bin + 1]) - score(row, grid[bin]));
        }
    }
    let mut accumulated = vec![0.0; grid.len()];
    let mut centre = 0.0;
    for (bin, &(weight, sum)) in bins.iter().enumerate() {
        let step = if weight > 0.0 { sum / weight } else { 0.0 };
        accumulated[bin + 1] = accumulated[bin] + step;
        centre += weight / total * f64::midpoint(accumulated[bin], accumulated[bin + 1]);
    }
    accumulated.iter_mut().for_each(|e| *e -= centre);
    partial.iter_mut().for_each(|p| *p -= mean);
    Ok(Some(Effect { feature: spec.features[column].name.clone(), grid, accumulated, partial }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use crate::{Preference, accumulated_effects, partial_dependence};
    use sched_distill_core::{
        level::Values,
        model::{LEAF, NamedModel, Tree},
    };
    use sched_distill_judge::evaluator::{Role, Scorer};
    use sched_distill_trace::{LevelTable, Sampler};

    /// For a tree they are those of the functions that know trees.
    #[test]
    fn effects_of_a_tree_are_those_of_the_exact_functions() {
        let mut s = Stream::new(8, "effects");
        let mut row = || [s.uniform() as f32, s.uniform() as f32];
        let choices: Vec<_> = (0..60).map(|i| (i / 10, 0, vec![row(), row(), row()], 0)).collect();
        let table = tiny::table("job", &choices);
        let mut sampler = Sampler::new(LevelTable::new(table.spec.clone(), table.kinds.clone()), 100, 1);
        sampler.add(&table);
        let sample = sampler.finish();
        let mut tree = Tree::empty(1);
        tree.push_test(0, 0.5, [1, 2], true);
        tree.push_test(1, 0.25, [3, 4], true);
        (0..3).for_each(|_| tree.push_test(0, 0.0, [LEAF; 2], true));
        tree.value = vec![0.0, 0.0, 2.0, -1.0, 0.5];
        tree.impurity = vec![0.0; 5];
        tree.n_samples = vec![1; 5];
        tree.weight = vec![1.0; 5];
        let named = NamedModel { name: "tree".to_owned(), temperature: 1.0, model: Model::Tree(tree.clone()) };
        let (scorer, preference) = (Scorer::model(&named, Role::Student), Preference::new(&named.model, 2).unwrap());
        let values = Values::new(&sample.table.spec, None);
        let sampled = Sampled::new((&sample, &values), &scorer, &preference).unwrap();
        for (column, effect) in effects(&sampled, &named.model, &[0, 1], 1).unwrap().iter().enumerate() {
            let exact = accumulated_effects(&tree, &sample.table.x, 2, None, column, GRID - 1).unwrap();
            assert_eq!(effect.grid, exact.edges);
            let partial = partial_dependence(&tree, &sample.table.x, 2, None, column, &effect.grid).unwrap().average;
            let mean = sample.table.x.chunks(2).map(|row| tree.predict(row)).sum::<f64>() / 180.0;
            let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close(&effect.accumulated, &exact.effect));
            assert!(close(&effect.partial, &partial.iter().map(|p| p - mean).collect::<Vec<_>>()));
        }
    }
}
