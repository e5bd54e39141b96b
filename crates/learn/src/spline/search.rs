//! The term that helps most beside those that are there.

use super::{Candidate, Factors, Searched, SplineParams, bins::Column};
use crate::{choice::ChoiceData, cholesky, rows::add_scaled};
use rayon::prelude::*;
use sched_distill_core::model::{Factor, Shape};
use std::{array::from_fn, ops::Range};

/// Terms that are rated exactly.
const FINALISTS: usize = 48;

/// Choices whose rows are looked at together, term by term, while they are in the cache; fixed, so that the sums do not depend
/// on the number of threads.
const BLOCK: usize = 256;

/// Rows that stay in the cache beside the sums of their products.
const FEW: usize = 16;

/// A term that lowers the mean loss by less explains nothing.
const LEAST_GAIN: f64 = 1e-9;

/// What each row says at the present coefficients.
pub(super) struct Rows {
    /// Weight × (the teacher's probability − the model's): the slope.
    pub(super) slope: Vec<f64>,
    /// Weight × the model's probability: the curvature.
    pub(super) bend: Vec<f64>,
}

impl Rows {
    pub(super) fn new(data: &ChoiceData<'_, f32>, total: f64, scores: &[f64]) -> Self {
        let (mut slope, mut bend) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        for c in 0..data.choices() {
            let rows = data.bounds[c]..data.bounds[c + 1];
            let choice = data.choice(c);
            let weight = choice.weight / total;
            let sum: f64 = choice.probability.iter().sum();
            let best = scores[rows.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            rows.clone().for_each(|row| bend[row] = (scores[row] - best).exp());
            let whole: f64 = bend[rows.clone()].iter().sum();
            for (row, p) in rows.zip(choice.probability) {
                let q = bend[row] / whole;
                (slope[row], bend[row]) = (weight * (p / sum - q), weight * q);
            }
        }
        Self { slope, bend }
    }
}

/// The terms whose entry promises the largest decrease of the loss, the best first and at most `room`, no two of the same
/// features; none if none promises anything. `z` are the values of the terms that are there, shape `(rows, terms)`.
pub(super) fn best_terms(
    searched: &Searched<'_>,
    params: &SplineParams,
    now: &Candidate,
    z: &[f64],
    room: usize,
) -> Vec<Factors> {
    let k = now.terms.len();
    let rows = searched.rows();
    let score = |row: usize| z[row * k..(row + 1) * k].iter().zip(&now.coefficient).map(|(z, c)| z * c).sum();
    let scores: Vec<f64> = (0..rows).map(score).collect();
    let at = Rows::new(&searched.data, searched.total, &scores);
    let finalists = finalists(searched, params, now, &at);
    let gains = gains(searched, &at, (z, k), &finalists, params.ridge).unwrap_or_default();
    let mut order: Vec<usize> = (0..gains.len()).filter(|&i| gains[i] > LEAST_GAIN).collect();
    // A stable sort: of equals the first comes first.
    order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    let features = |i: usize| finalists[i].iter().map(|f| f.feature).collect::<Vec<_>>();
    let mut chosen: Vec<usize> = Vec::new();
    for i in order {
        if chosen.len() < room && chosen.iter().all(|&c| features(c) != features(i)) {
            chosen.push(i);
        }
    }
    chosen.into_iter().map(|i| finalists[i].clone()).collect()
}

/// The terms that look best on sums over bins.
fn finalists(searched: &Searched<'_>, params: &SplineParams, now: &Candidate, at: &Rows) -> Vec<Factors> {
    let (bins, bounds, rows) = (&searched.bins, searched.data.bounds, searched.rows());
    let mut parents: Vec<Option<Factor>> = vec![None];
    if params.products {
        for term in now.terms.iter().filter(|t| t.len() == 1) {
            parents.push(Some(term[0]));
        }
    }
    let of_parent = |&parent: &Option<Factor>| {
        let times = |row: usize| parent.map_or(1.0, |f| f.of(searched.columns[f.feature as usize * rows + row]));
        let parent_rows = ParentRows::new(bounds, at, times);
        let columns = bins.columns.iter().filter(|c| parent.is_none_or(|p| p.feature != c.feature));
        let rate = |column| rate(column, bounds, &parent_rows, params.ridge);
        // Of each feature the best smooth factor and the best one with a threshold: neighbouring thresholds rate alike and would
        // leave no place for others.
        let best = |column| {
            let (kinked, smooth): (Vec<_>, Vec<_>) = rate(column).into_iter().partition(|(_, f)| f.threshold.is_some());
            [smooth, kinked].into_iter().filter_map(|list| list.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)))
        };
        columns.flat_map(best).map(|(gain, factor)| (gain, parent, factor)).collect::<Vec<_>>()
    };
    let mut rated: Vec<(f64, Option<Factor>, Factor)> = parents.par_iter().flat_map_iter(of_parent).collect();
    // A stable sort: of equals the first comes first.
    rated.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<Factors> = Vec::new();
    // Half of the places are for terms of one factor: the rating of products is rough, and there are many of them.
    let mut places = [FINALISTS / 2; 2];
    for (_, parent, factor) in rated {
        let mut term: Factors = parent.into_iter().chain([factor]).collect();
        term.sort_by_key(|f| f.feature);
        let place = &mut places[term.len() - 1];
        if *place > 0 && !now.terms.contains(&term) && !found.contains(&term) {
            found.push(term);
            *place -= 1;
        }
    }
    found
}

/// The rows' slopes and curvatures, for terms that are multiples of a parent.
pub(super) struct ParentRows {
    /// By row: slope · p, curvature · p and curvature · p², p being the parent's value.
    rows: Vec<[f64; 3]>,
    /// By choice: the curvature of all its rows; 0 where the parent is.
    whole: Vec<f64>,
}

impl ParentRows {
    pub(super) fn new(bounds: &[usize], at: &Rows, parent: impl Fn(usize) -> f64) -> Self {
        let values: Vec<f64> = (0..at.slope.len()).map(parent).collect();
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs())).max(f64::MIN_POSITIVE);
        let row = |(row, v): (usize, f64)| [at.slope[row] * v, at.bend[row] * v, at.bend[row] * v * v];
        let whole = bounds.windows(2).map(|b| match values[b[0]..b[1]].iter().all(|&v| v == 0.0) {
            true => 0.0,
            false => at.bend[b[0]..b[1]].iter().sum(),
        });
        let whole = whole.collect();
        Self { rows: values.iter().map(|v| v / largest).enumerate().map(row).collect(), whole }
    }
}

/// Sums over the rows of a bin, x being the value: of slope, slope·x, bend, bend·x, bend·x²; and what the last three lose
/// because only differences within a choice count: (Σ bend)², Σ bend · Σ bend·x and (Σ bend·x)² over the rows of each choice,
/// divided by its bend.
type Sums = [[f64; 4]; 2];

/// The score test of every factor of a feature, times the parent's values: slope² / curvature.
pub(super) fn rate(column: &Column, bounds: &[usize], parent: &ParentRows, ridge: f64) -> Vec<(f64, Factor)> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { rate_avx2(column, bounds, parent, ridge) };
    }
    rate_portable(column, bounds, parent, ridge)
}

/// The same bits sooner: nothing is fused, and no sum changes its order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rate_avx2(column: &Column, bounds: &[usize], parent: &ParentRows, ridge: f64) -> Vec<(f64, Factor)> {
    rate_portable(column, bounds, parent, ridge)
}

#[inline(always)]
fn rate_portable(column: &Column, bounds: &[usize], parent: &ParentRows, ridge: f64) -> Vec<(f64, Factor)> {
    let mut sums: Vec<Sums> = vec![[[0.0; 4]; 2]; column.knots.len() + 1];
    // Of the logarithm: slope, curvature, and what it loses.
    let mut log = [0.0; 3];
    for (bounds, &whole) in bounds.windows(2).zip(&parent.whole) {
        if whole <= 0.0 {
            continue;
        }
        // Over the choice's rows so far, from the largest value down: what a threshold between two of them leaves.
        let (mut mean, mut mean_x, mut mean_log) = (0.0, 0.0, 0.0);
        let mut before = [0.0; 4];
        for place in bounds[0]..bounds[1] {
            let [slope, first, bend] = parent.rows[column.order[place] as usize];
            let x = column.value[place];
            mean += first;
            mean_x += first * x;
            let squares = [0.0, mean * mean, mean * mean_x, mean_x * mean_x];
            // Four at once, of which the first is not needed.
            let mut lost: [f64; 4] = from_fn(|i| (squares[i] - before[i]) / whole);
            before = squares;
            let bent = bend * x;
            lost[0] = bent * x;
            let [sum, rest] = &mut sums[column.code[place] as usize];
            sum.iter_mut().zip([slope, slope * x, bend, bent]).for_each(|(s, v)| *s += v);
            rest.iter_mut().zip(lost).for_each(|(s, v)| *s += v);
            if let Some(x) = column.log.get(place) {
                mean_log += first * x;
                (log[0], log[1]) = (log[0] + slope * x, log[1] + bend * x * x);
            }
        }
        log[2] += mean_log * mean_log / whole;
    }
    // Entry `i`: sums over the rows above threshold `i − 1`.
    for i in (1..sums.len()).rev() {
        let above = sums[i];
        sums[i - 1].iter_mut().flatten().zip(above.into_iter().flatten()).for_each(|(s, a)| *s += a);
    }
    let rate = |&factor: &Factor| {
        let threshold = factor.threshold.unwrap_or(0.0);
        let [[s, sx, b, bx], [bxx, l, lx, lxx]] = match factor.threshold {
            None => sums[0],
            Some(_) => sums[1 + column.knots.partition_point(|&k| k < threshold)],
        };
        let t = f64::from(threshold) / column.unit;
        let (slope, bend, lost) = match factor.shape {
            Shape::Linear => (sx, bxx, lxx),
            Shape::Log => log.into(),
            Shape::Above => (s, b, l),
            Shape::Excess => (sx - t * s, bxx - 2.0 * t * bx + t * t * b, lxx - 2.0 * t * lx + t * t * l),
        };
        let rest = bend - lost;
        // What rounding leaves of a term that is the same for all candidates is no term. The penalty is on scaled terms, so it
        // is a share of the curvature here.
        let gain = if rest > 1e-9 * bend { slope * slope / (rest * (1.0 + ridge)) } else { 0.0 };
        (gain, factor)
    };
    column.shapes.iter().map(rate).collect()
}

/// What a block of choices says of the terms that are there, `z`, and of terms that may come: sums over its rows.
struct Block {
    /// Curvature of the terms that are there; the lower triangle.
    gram: Vec<f64>,
    /// Of each term that may come: slope, curvature, and its curvature with each term that is there.
    slope: Vec<f64>,
    bend: Vec<f64>,
    shared: Vec<f64>,
}

impl Block {
    fn new(k: usize, terms: usize) -> Self {
        let [slope, bend] = [vec![0.0; terms], vec![0.0; terms]];
        Self { gram: vec![0.0; k * k], slope, bend, shared: vec![0.0; k * terms] }
    }

    fn merge(mut self, other: &Self) -> Self {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.gram, &other.gram);
        add(&mut self.slope, &other.slope);
        add(&mut self.bend, &other.bend);
        add(&mut self.shared, &other.shared);
        self
    }
}

/// The decrease that one Newton step in each of these terms promises, what the terms that are there explain taken out. `z` are
/// those, shape `(rows, k)`; `None` if they have no curvature left.
fn gains(
    searched: &Searched<'_>,
    at: &Rows,
    (z, k): (&[f64], usize),
    terms: &[Factors],
    ridge: f64,
) -> Option<Vec<f64>> {
    let choices = searched.data.choices();
    let blocks: Vec<Block> = (0..choices.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| of_block(searched, at, (z, k), terms, block * BLOCK..((block + 1) * BLOCK).min(choices)))
        .collect();
    let mut sums = blocks.iter().fold(Block::new(k, terms.len()), Block::merge);
    // Scaled to curvature 1, so that the penalty is on scaled terms.
    let scale: Vec<f64> = (0..k).map(|i| sums.gram[i * k + i].sqrt().max(1e-150)).collect();
    for i in 0..k {
        (0..=i).for_each(|j| sums.gram[i * k + j] /= scale[i] * scale[j]);
        sums.gram[i * k + i] += ridge;
    }
    let factor = cholesky::factor(sums.gram, k, 0.0).ok()?;
    let gain = |term: usize| {
        let (slope, bend) = (sums.slope[term], sums.bend[term]);
        if bend <= 0.0 {
            return 0.0;
        }
        let shared: Vec<f64> = sums.shared[term * k..(term + 1) * k].iter().zip(&scale).map(|(s, by)| s / by).collect();
        let explained: f64 = cholesky::forward(&factor, &shared).iter().map(|v| v * v).sum();
        // What rounding leaves of a combination of present terms is no term.
        let rest = (bend - explained).max(0.0);
        if rest < 1e-6 * bend { 0.0 } else { slope * slope / (2.0 * (rest + ridge * bend)) }
    };
    Some((0..terms.len()).map(gain).collect())
}

fn of_block(searched: &Searched<'_>, at: &Rows, z: (&[f64], usize), terms: &[Factors], choices: Range<usize>) -> Block {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { of_block_avx2(searched, at, z, terms, choices) };
    }
    of_block_portable(searched, at, z, terms, choices)
}

/// The same bits sooner: nothing is fused, and no sum changes its order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn of_block_avx2(
    searched: &Searched<'_>,
    at: &Rows,
    z: (&[f64], usize),
    terms: &[Factors],
    choices: Range<usize>,
) -> Block {
    of_block_portable(searched, at, z, terms, choices)
}

#[inline(always)]
fn of_block_portable(
    searched: &Searched<'_>,
    at: &Rows,
    (z, k): (&[f64], usize),
    terms: &[Factors],
    choices: Range<usize>,
) -> Block {
    let bounds = &searched.data.bounds[choices.start..=choices.end];
    let (first, end) = (bounds[0], bounds[choices.len()]);
    let mut sums = Block::new(k, terms.len());
    // Relative to their choice's mean under the model.
    let mut z = z[first * k..end * k].to_vec();
    let mut mean = vec![0.0; k];
    for bounds in bounds.windows(2) {
        let rows = &mut z[(bounds[0] - first) * k..(bounds[1] - first) * k];
        let bend = &at.bend[bounds[0]..bounds[1]];
        let whole = bend.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        mean.fill(0.0);
        for (row, bend) in rows.chunks_exact(k.max(1)).zip(bend) {
            mean.iter_mut().zip(row).for_each(|(m, z)| *m += bend * z);
        }
        mean.iter_mut().for_each(|m| *m /= whole);
        rows.chunks_exact_mut(k.max(1)).for_each(|row| row.iter_mut().zip(&mean).for_each(|(z, m)| *z -= m));
    }
    for (rows, bend) in z.chunks(FEW * k.max(1)).zip(at.bend[first..end].chunks(FEW)) {
        for i in 0..k {
            add_scaled(&mut sums.gram[i * k..=i * k + i], rows, k, |row| bend[row] * rows[row * k + i]);
        }
    }
    let mut v = Vec::new();
    for (term, factors) in terms.iter().enumerate() {
        v.clear();
        v.extend(searched.values(factors, first..end));
        let (slope, bend) = (&mut sums.slope[term], &mut sums.bend[term]);
        let shared = &mut sums.shared[term * k..(term + 1) * k];
        for bounds in bounds.windows(2) {
            let curvature = &at.bend[bounds[0]..bounds[1]];
            let values = &mut v[bounds[0] - first..bounds[1] - first];
            let whole = curvature.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            let mean = curvature.iter().zip(&*values).map(|(b, v)| b * v).sum::<f64>() / whole;
            values.iter_mut().for_each(|v| *v -= mean);
        }
        for (row, v) in v.iter_mut().enumerate() {
            *slope += at.slope[first + row] * *v;
            let pull = at.bend[first + row] * *v;
            *bend += pull * *v;
            *v = pull;
        }
        add_scaled(shared, &z, k, |row| v[row]);
    }
    sums
}
