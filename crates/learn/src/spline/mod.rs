//! Spline logits: conditional logits whose terms are searched for, one at a time.
//!
//! The terms are those of multivariate adaptive regression splines (Friedman 1991): a feature as it is, its logarithm, a step
//! or a bend at a threshold, and products of a term found before with another one. What is minimised is the loss of the
//! conditional logit, `Σ w Σᵢ −pᵢ ln qᵢ`, so that differences between candidates count and nothing else.
//!
//! **Forward:** every possible term is rated by its score test (squared slope over curvature) on sums over bins, which takes
//! one pass over the rows for all thresholds of a feature. The best few are rated again with what the terms before them explain
//! taken out (the decrease that one Newton step promises), the best one enters, and all coefficients are fitted anew.
//! **Backward:** from a quarter more terms than asked for, the one that is missed least leaves, until one is left.
//! Of each size the better of both is kept. With the shape `Linear` alone and no products it is a conditional logit with few
//! features.
//!
//! **Sharpness:** a teacher that is nearly indifferent gives its best candidate hardly more than the others, and its own entropy
//! is nearly all of the loss: what is left hardly depends on which candidate is best. Its probabilities are therefore learnt to a
//! power, which keeps their order and moves the loss to where the choice is decided; the student's temperature, fitted
//! afterwards, takes that back as far as one number can.

mod bins;
mod search;

use super::choice::{ChoiceData, Choices, Effort, LogitError, LogitParams, fit_from};
use bins::Bins;
use linfa::ParamGuard;
use sched_distill_core::model::{Additive, Factor, Shape, Term};
use std::{collections::BTreeMap, ops::Range};

/// What a spline logit may consist of.
#[derive(Clone, Debug, PartialEq)]
pub struct SplineParams {
    /// Most terms.
    pub max_terms: usize,
    /// Shapes of factors.
    pub shapes: Vec<Shape>,
    /// Whether terms may be products of two factors.
    pub products: bool,
    /// Whether a feature that could have a logarithm counts by that and by steps alone: a term in proportion to it would
    /// outgrow all others where it is larger than ever seen.
    pub bounded: bool,
    /// Thresholds tried per feature, at most 255.
    pub knots: usize,
    /// Columns that may be used; `None` for all.
    pub columns: Option<Vec<u32>>,
    /// Penalty, as in [`LogitParams::ridge`].
    pub ridge: f64,
    /// Power that the teacher's probabilities are raised to before they are learnt from; 1 leaves them as they are. At 32 a
    /// candidate counts half as much as the best one if it is 2% less probable, and hardly at all if it is 10% less probable.
    pub sharpness: f64,
}

impl Default for SplineParams {
    /// Up to 32 terms of all shapes, products, not bounded, 15 thresholds per feature, ridge 1e-4, sharpness 32.
    fn default() -> Self {
        Self {
            max_terms: 32,
            shapes: vec![Shape::Linear, Shape::Log, Shape::Above, Shape::Excess],
            products: true,
            bounded: false,
            knots: 15,
            columns: None,
            ridge: 1e-4,
            sharpness: 32.0,
        }
    }
}

/// Rows that terms are searched on; more hardly change which ones are found.
const SEARCHED: usize = 40_000;

/// Up to so many terms come and go one by one, up to twice as many by twos, and so on.
const STEP: usize = 24;

/// What a term is made of, before it has a coefficient.
type Factors = Vec<Factor>;

/// The rows that terms are searched on.
struct Searched<'a> {
    data: ChoiceData<'a, f32>,
    /// The weight of all choices.
    total: f64,
    bins: Bins,
    /// Each column's values, one behind the other.
    columns: Vec<f32>,
}

/// A set of terms with the value of the objective and, in score per unit, the coefficients.
#[derive(Clone)]
struct Candidate {
    terms: Vec<Factors>,
    coefficient: Vec<f64>,
    value: f64,
}

/// Spline logits of at most the sizes asked for, the smallest first and none twice. Terms are searched for on part of the
/// choices, and coefficients fitted on all.
///
/// The result does not depend on the number of threads.
///
/// # Errors
///
/// [`LogitError`]: data that do not fit together or are not finite, no choices, a bad ridge.
pub fn spline_path(
    data: &ChoiceData<'_, f32>,
    params: &SplineParams,
    sizes: &[usize],
) -> Result<Vec<Additive>, LogitError> {
    data.check()?;
    let probability = sharpened(data, params.sharpness);
    let data = &ChoiceData { probability: &probability, ..*data };
    let found = search_path(&every(data, SEARCHED).data(), params)?;
    let mut within: Vec<(&usize, &Candidate)> = sizes.iter().filter_map(|&n| found.range(..=n).next_back()).collect();
    within.sort_unstable_by_key(|(size, _)| **size);
    within.dedup_by_key(|(size, _)| **size);
    within.into_iter().map(|(_, terms)| fit_terms(data, params, terms)).collect()
}

/// The teacher's probabilities to some power, scaled to add up to 1 in every choice.
pub(crate) fn sharpened(data: &ChoiceData<'_, f32>, sharpness: f64) -> Vec<f64> {
    let mut list = Vec::with_capacity(data.probability.len());
    for c in 0..data.choices() {
        let probability = data.choice(c).probability;
        let best = probability.iter().copied().fold(0.0, f64::max);
        let power = |p: &f64| (p / best).powf(sharpness);
        let sum: f64 = probability.iter().map(power).sum();
        list.extend(probability.iter().map(|p| power(p) / sum));
    }
    list
}

/// Every n-th choice, with about so many rows at most.
fn every(data: &ChoiceData<'_, f32>, most: usize) -> Choices {
    let mut choices = Choices::new(data.width);
    for c in (0..data.choices()).step_by(data.probability.len().div_ceil(most).max(1)) {
        let choice = data.choice(c);
        choices.push(choice.x, choice.probability.iter().copied(), choice.weight, data.cluster[c]);
    }
    choices
}

impl<'a> Searched<'a> {
    fn new(data: ChoiceData<'a, f32>, params: &SplineParams) -> Result<Self, LogitError> {
        let total = data.check()?;
        let column = |column| data.x.iter().skip(column).step_by(data.width).copied();
        let columns = (0..data.width).flat_map(column).collect();
        Ok(Self { total, bins: Bins::new(&data, params), columns, data })
    }

    fn rows(&self) -> usize {
        self.data.probability.len()
    }

    /// A term's values in some rows.
    fn values<'b>(&'b self, term: &'b [Factor], rows: Range<usize>) -> impl Iterator<Item = f64> + 'b {
        rows.map(|row| {
            let factor = |f: &Factor| f.of(self.columns[f.feature as usize * self.rows() + row]);
            term.iter().map(factor).product()
        })
    }
}

/// The best terms found, by their number: of every number up to `STEP`, of some beyond.
fn search_path(data: &ChoiceData<'_, f32>, params: &SplineParams) -> Result<BTreeMap<usize, Candidate>, LogitError> {
    let searched = Searched::new(*data, params)?;
    let mut path: BTreeMap<usize, Candidate> = BTreeMap::new();
    let mut now = Candidate { terms: Vec::new(), coefficient: Vec::new(), value: f64::INFINITY };
    // The terms' values, term by term.
    let mut values: Vec<Vec<f64>> = Vec::new();
    let mut without = Vec::new();
    // A quarter more, so that the way back has something to choose from.
    let most = params.max_terms + params.max_terms.div_ceil(4);
    while now.terms.len() < most {
        let room = batch(now.terms.len()).min(most - now.terms.len());
        let found = search::best_terms(&searched, params, &now, &side_by_side(&values, searched.rows()), room);
        if found.is_empty() {
            break;
        }
        now.coefficient.resize(now.terms.len() + found.len(), 0.0);
        values.extend(found.iter().map(|term| searched.values(term, 0..searched.rows()).collect()));
        now.terms.extend(found);
        without = refit(data, params, &mut now, &side_by_side(&values, searched.rows()))?;
        path.insert(now.terms.len(), now.clone());
    }
    while now.terms.len() > 1 {
        // Some at a time, as they came, but never past the number that was asked for.
        let (len, asked) = (now.terms.len(), params.max_terms);
        let leave = batch(len - 1).min(if len > asked { len - asked } else { len - 1 });
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_by(|&a, &b| without[a].total_cmp(&without[b]));
        let gone = &order[..leave];
        let keep = |i: &usize| !gone.contains(i);
        now.coefficient = (0..len).filter(keep).map(|i| now.coefficient[i]).collect();
        now.terms = (0..len).filter(keep).map(|i| now.terms[i].clone()).collect();
        values = (0..len).filter(keep).map(|i| std::mem::take(&mut values[i])).collect();
        without = refit(data, params, &mut now, &side_by_side(&values, searched.rows()))?;
        let there = path.entry(now.terms.len()).or_insert_with(|| now.clone());
        if now.value < there.value {
            *there = now.clone();
        }
    }
    path.retain(|&size, _| size <= params.max_terms);
    Ok(path)
}

/// Columns as a matrix, shape `(rows, columns)`, row-major.
fn side_by_side(columns: &[Vec<f64>], rows: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; rows * columns.len()];
    for (row, values) in matrix.chunks_exact_mut(columns.len().max(1)).enumerate() {
        values.iter_mut().zip(columns).for_each(|(v, column)| *v = column[row]);
    }
    matrix
}

/// How many terms come or go between two fits: one at a time as long as there are few.
fn batch(terms: usize) -> usize {
    1 + terms / STEP
}

/// Fits the coefficients again from where they are; returns how much the objective would grow without each term. `x` are
/// the terms' values, shape `(rows, terms)`.
fn refit(
    data: &ChoiceData<'_, f32>,
    params: &SplineParams,
    now: &mut Candidate,
    x: &[f64],
) -> Result<Vec<f64>, LogitError> {
    let recipe = recipe(params);
    let fitted =
        fit_from(&wide(data, x, now.terms.len()), recipe.check_ref()?, Some(&now.coefficient), Effort::Search)?;
    now.coefficient = fitted.coefficient;
    now.value = fitted.value;
    // A term that became constant has left the fit; it is missed least of all.
    let mut without = fitted.loss_without.into_iter();
    Ok(fitted.sd.iter().map(|&sd| if sd > 0.0 { without.next().unwrap_or(0.0) } else { 0.0 }).collect())
}

/// The model of some terms, with standard errors.
fn fit_terms(data: &ChoiceData<'_, f32>, params: &SplineParams, found: &Candidate) -> Result<Additive, LogitError> {
    let x = columns(data, &found.terms);
    let recipe = recipe(params);
    let logit =
        fit_from(&wide(data, &x, found.terms.len()), recipe.check_ref()?, Some(&found.coefficient), Effort::Full)?;
    let term = |(i, factors): (usize, &Factors)| Term {
        coefficient: logit.coefficient[i],
        factors: factors.clone(),
        sd: logit.sd[i],
        standard_error: logit.standard_error.as_ref().map(|e| e[i]),
    };
    Ok(Additive { intercept: 0.0, terms: found.terms.iter().enumerate().map(term).collect() })
}

fn recipe(params: &SplineParams) -> LogitParams {
    LogitParams::default().ridge(params.ridge).constant(super::Constant::LeaveOut)
}

/// The terms' values, shape `(rows, terms)`, row-major.
pub(crate) fn columns(data: &ChoiceData<'_, f32>, terms: &[Factors]) -> Vec<f64> {
    let rows = data.x.chunks_exact(data.width);
    rows.flat_map(|row| terms.iter().map(|term| product(term, row))).collect()
}

fn product(factors: &[Factor], row: &[f32]) -> f64 {
    factors.iter().map(|f| f.of(row[f.feature as usize])).product()
}

/// The same choices with terms for features.
pub(crate) fn wide<'a>(data: &ChoiceData<'a, f32>, x: &'a [f64], width: usize) -> ChoiceData<'a, f64> {
    let &ChoiceData { bounds, probability, weight, cluster, .. } = data;
    ChoiceData { x, width, bounds, probability, weight, cluster }
}

#[cfg(test)]
mod tests;
