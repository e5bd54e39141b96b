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

/// Parents whose multiples are rated together.
const LANES: usize = 4;

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

/// Factors of a feature with the gain that each promises.
type Rated = Vec<(f64, Factor)>;

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
    let bins = &searched.bins;
    let mut parents: Vec<Option<Factor>> = vec![None];
    if params.products {
        for term in now.terms.iter().filter(|t| t.len() == 1) {
            parents.push(Some(term[0]));
        }
    }
    let of_parents = |parents: &[Option<Factor>]| {
        // Some at a time in the lanes of the processor's vectors.
        let rated = match *parents {
            [a, b, c, d] => rate_all(searched, at, [a, b, c, d], params.ridge),
            [a, b, c] => rate_all(searched, at, [a, b, c], params.ridge),
            [a, b] => rate_all(searched, at, [a, b], params.ridge),
            _ => rate_all(searched, at, [parents[0]], params.ridge),
        };
        let of_parent = |(&parent, of_columns): (&Option<Factor>, Vec<Rated>)| {
            let columns = bins.columns.iter().zip(of_columns);
            let others = columns.filter(|(c, _)| parent.is_none_or(|p| p.feature != c.feature)).map(|(_, rated)| rated);
            // Of each feature the best smooth factor and the best one with a threshold: neighbouring thresholds rate alike and would
            // leave no place for others.
            let best = |rated: Rated| {
                let (kinked, smooth): (Vec<_>, Vec<_>) = rated.into_iter().partition(|(_, f)| f.threshold.is_some());
                [smooth, kinked].into_iter().filter_map(|list| list.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)))
            };
            others.flat_map(best).map(|(gain, factor)| (gain, parent, factor)).collect::<Vec<_>>()
        };
        parents.iter().zip(rated).flat_map(of_parent).collect::<Vec<_>>()
    };
    let mut rated: Vec<(f64, Option<Factor>, Factor)> = parents.par_chunks(LANES).flat_map_iter(of_parents).collect();
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

/// The factors of every feature, rated as multiples of each of some parents: parent by parent and, of each, feature by feature.
fn rate_all<const N: usize>(
    searched: &Searched<'_>,
    at: &Rows,
    parents: [Option<Factor>; N],
    ridge: f64,
) -> Vec<Vec<Rated>> {
    let (bounds, rows) = (searched.data.bounds, searched.rows());
    let value = |parent: Option<Factor>, row: usize| {
        parent.map_or(1.0, |f| f.of(searched.columns[f.feature as usize * rows + row]))
    };
    let parent_rows = ParentRows::new(bounds, at, |row| parents.map(|parent| value(parent, row)));
    let columns = searched.bins.columns.par_iter();
    let of_columns: Vec<[Rated; N]> = columns.map(|column| rate(column, bounds, &parent_rows, ridge)).collect();
    let mut of_parents: Vec<Vec<Rated>> = (0..N).map(|_| Vec::with_capacity(of_columns.len())).collect();
    for of_column in of_columns {
        of_parents.iter_mut().zip(of_column).for_each(|(all, rated)| all.push(rated));
    }
    of_parents
}

/// The rows' slopes and curvatures, for terms that are multiples of one of some parents, each in a lane of its own.
pub(super) struct ParentRows<const N: usize> {
    /// By row: slope · p, curvature · p and curvature · p², p being the parent's value.
    rows: Vec<[[f64; N]; 3]>,
    /// By choice: the curvature of all its rows; 0 where the parent is.
    whole: Vec<[f64; N]>,
}

impl<const N: usize> ParentRows<N> {
    pub(super) fn new(bounds: &[usize], at: &Rows, parents: impl Fn(usize) -> [f64; N]) -> Self {
        let values: Vec<[f64; N]> = (0..at.slope.len()).map(parents).collect();
        let mut largest = [0.0f64; N];
        for row in &values {
            largest.iter_mut().zip(row).for_each(|(m, v)| *m = m.max(v.abs()));
        }
        let scaled = |row: &[f64; N]| from_fn(|lane| row[lane] / largest[lane].max(f64::MIN_POSITIVE));
        let row = |(row, v): (usize, [f64; N])| {
            [v.map(|v| at.slope[row] * v), v.map(|v| at.bend[row] * v), v.map(|v| at.bend[row] * v * v)]
        };
        let whole = |b: &[usize]| {
            let sum = at.bend[b[0]..b[1]].iter().sum();
            from_fn(|lane| if values[b[0]..b[1]].iter().all(|v| v[lane] == 0.0) { 0.0 } else { sum })
        };
        Self {
            whole: bounds.windows(2).map(whole).collect(),
            rows: values.iter().map(scaled).enumerate().map(row).collect(),
        }
    }
}

/// Sums over the rows of a bin, x being the value: of slope, slope·x, bend, bend·x, bend·x²; and what the last three lose
/// because only differences within a choice count: (Σ bend)², Σ bend · Σ bend·x and (Σ bend·x)² over the rows of each choice,
/// divided by its bend.
type Sums<const N: usize> = [[f64; N]; 8];

/// The score test of every factor of a feature, times the values of each parent: slope² / curvature.
pub(super) fn rate<const N: usize>(
    column: &Column,
    bounds: &[usize],
    parents: &ParentRows<N>,
    ridge: f64,
) -> [Rated; N] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { rate_avx2(column, bounds, parents, ridge) };
    }
    rate_portable(column, bounds, parents, ridge)
}

/// The same bits sooner: nothing is fused, and no sum changes its order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rate_avx2<const N: usize>(column: &Column, bounds: &[usize], parents: &ParentRows<N>, ridge: f64) -> [Rated; N] {
    rate_portable(column, bounds, parents, ridge)
}

#[inline(always)]
fn rate_portable<const N: usize>(column: &Column, bounds: &[usize], parents: &ParentRows<N>, ridge: f64) -> [Rated; N] {
    let add = |sum: &mut [f64; N], v: [f64; N]| sum.iter_mut().zip(v).for_each(|(s, v)| *s += v);
    let mut sums: Vec<Sums<N>> = vec![[[0.0; N]; 8]; column.knots.len() + 1];
    // Of the logarithm: slope, curvature, and what it loses.
    let mut log = [[0.0; N]; 3];
    for (bounds, whole) in bounds.windows(2).zip(&parents.whole) {
        if whole.iter().all(|&whole| whole <= 0.0) {
            continue;
        }
        // Where a parent is 0, so is all that is divided.
        let whole = whole.map(|whole| if whole > 0.0 { whole } else { 1.0 });
        // Over the choice's rows so far, from the largest value down: what a threshold between two of them leaves.
        let (mut mean, mut mean_x, mut mean_log) = ([0.0; N], [0.0; N], [0.0; N]);
        let mut before = [[0.0; N]; 3];
        for place in bounds[0]..bounds[1] {
            let [slope, first, bend] = parents.rows[column.order[place] as usize];
            let x = column.value[place];
            add(&mut mean, first);
            add(&mut mean_x, first.map(|first| first * x));
            let squares = [
                from_fn(|lane| mean[lane] * mean[lane]),
                from_fn(|lane| mean[lane] * mean_x[lane]),
                from_fn(|lane| mean_x[lane] * mean_x[lane]),
            ];
            let bent = bend.map(|bend| bend * x);
            let sum = &mut sums[column.code[place] as usize];
            let new = [slope, slope.map(|slope| slope * x), bend, bent, bent.map(|bent| bent * x)];
            for (sum, new) in sum.iter_mut().zip(new) {
                add(sum, new);
            }
            for (i, sum) in sum[5..].iter_mut().enumerate() {
                add(sum, from_fn(|lane| (squares[i][lane] - before[i][lane]) / whole[lane]));
            }
            before = squares;
            if let Some(&x) = column.log.get(place) {
                add(&mut mean_log, first.map(|first| first * x));
                add(&mut log[0], slope.map(|slope| slope * x));
                add(&mut log[1], bend.map(|bend| bend * x * x));
            }
        }
        add(&mut log[2], from_fn(|lane| mean_log[lane] * mean_log[lane] / whole[lane]));
    }
    // Entry `i`: sums over the rows above threshold `i − 1`.
    for i in (1..sums.len()).rev() {
        let above = sums[i];
        sums[i - 1].iter_mut().zip(above).for_each(|(s, a)| add(s, a));
    }
    let rate = |lane: usize, &factor: &Factor| {
        let threshold = factor.threshold.unwrap_or(0.0);
        let of_bin = match factor.threshold {
            None => sums[0],
            Some(_) => sums[1 + column.knots.partition_point(|&k| k < threshold)],
        };
        let [s, sx, b, bx, bxx, l, lx, lxx] = of_bin.map(|sum| sum[lane]);
        let t = f64::from(threshold) / column.unit;
        let (slope, bend, lost) = match factor.shape {
            Shape::Linear => (sx, bxx, lxx),
            Shape::Log => log.map(|sum| sum[lane]).into(),
            Shape::Above => (s, b, l),
            Shape::Excess => (sx - t * s, bxx - 2.0 * t * bx + t * t * b, lxx - 2.0 * t * lx + t * t * l),
        };
        let rest = bend - lost;
        // What rounding leaves of a term that is the same for all candidates is no term. The penalty is on scaled terms, so it
        // is a share of the curvature here.
        let gain = if rest > 1e-9 * bend { slope * slope / (rest * (1.0 + ridge)) } else { 0.0 };
        (gain, factor)
    };
    from_fn(|lane| column.shapes.iter().map(|factor| rate(lane, factor)).collect())
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
