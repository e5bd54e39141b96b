//! Logits by Newton's method, with standard errors that allow for dependence within episodes.
//!
//! With weights scaled to the sum 1 and terms centred and scaled within choices, the fit minimises
//! `f(β) = Σ w · loss(β) + ridge / 2 · |β|²`, which is convex: Newton's steps, halved until they help, find its only minimum.
//!
//! Standard errors are those of the sandwich `H⁻¹ (G / (G − 1) · Σ s_g s_gᵀ) H⁻¹`, where `H` is the second derivative of `f`
//! and `s_g` the summed slope of the loss over the choices of cluster `g` of `G` (Liang and Zeger 1986). They hold although
//! the targets are probabilities rather than draws, and however alike the choices of an episode are. The ridge's bias is not
//! in them.

use super::{
    LogitError, LogitParams, ValidLogitParams,
    data::ChoiceData,
    design::{BLOCK, Design},
    objective::{bend, loss},
};
use crate::{
    cholesky,
    rows::{add_scaled, extend_with_dots},
};
use linfa::ParamGuard;
use rayon::prelude::*;
use sched_distill_core::model::{Additive, Factor, Shape, Term};
use std::{collections::BTreeMap, ops::Range};

/// Newton's steps are given up after this number; seven or so are usual.
const MOST_STEPS: usize = 200;

/// The last step is the one that lowers the loss by less than half of this: Newton's steps square what is left.
const CLOSE: f64 = 1e-14;

/// The same while terms are searched for.
const CLOSE_ENOUGH: f64 = 1e-7;

/// The curvature is measured anew where a step promises more than this share of what the one before did.
const STALE: f64 = 0.1;

/// Share of the decrease promised by the slope that a step must bring.
const ARMIJO: f64 = 1e-4;

/// A step that does not help at this length never will.
const LEAST_STEP: f64 = 1e-8;

/// A pivot below this share of its diagonal is rounding: the term is a combination of those before it.
const LEAST_PIVOT: f64 = 1e-11;

/// Without a penalty, less curvature than this everywhere means that the coefficients run away.
const LEAST_CURVATURE: f64 = 1e-9;

/// Fits a conditional logit; coefficients are in score per unit of each feature. It has a term for every feature that is used, in
/// order, then one for every product.
///
/// The result does not depend on the number of threads.
///
/// # Errors
///
/// [`LogitError`]: a bad parameter, data that do not fit together or are not finite, features that never differ within a
/// choice, and, without a ridge, features that are combinations of others or tell the choices perfectly.
///
/// ```
/// use sched_distill_learn::{ChoiceData, LogitParams, fit_logit};
/// // One choice between x = 0 and x = 2: ln(0.8 / 0.2) = 2 β.
/// let data = ChoiceData {
///     x: &[0.0f32, 2.0], width: 1, bounds: &[0, 2], probability: &[0.2, 0.8], weight: &[1.0], cluster: &[0],
/// };
/// let logit = fit_logit(&data, &LogitParams::default().ridge(0.0))?;
/// assert!((logit.terms[0].coefficient - 4f64.ln() / 2.0).abs() < 1e-9);
/// # Ok::<(), sched_distill_learn::LogitError>(())
/// ```
pub fn fit_logit<T: Copy + Into<f64> + Sync>(
    data: &ChoiceData<'_, T>,
    params: &LogitParams,
) -> Result<Additive, LogitError> {
    fit_valid(data, params.check_ref()?)
}

pub(super) fn fit_valid<T: Copy + Into<f64> + Sync>(
    data: &ChoiceData<'_, T>,
    params: &ValidLogitParams,
) -> Result<Additive, LogitError> {
    let fitted = fit_from(data, params, None, Effort::Full)?;
    let linear = |column: &usize| Factor { feature: *column as u32, shape: Shape::Linear, threshold: None };
    let term = |(term, columns): &(usize, Vec<usize>)| Term {
        coefficient: fitted.coefficient[*term],
        factors: columns.iter().map(linear).collect(),
        sd: fitted.sd[*term],
        standard_error: fitted.standard_error.as_ref().map(|list| list[*term]),
    };
    Ok(Additive { intercept: 0.0, terms: fitted.used.iter().map(term).collect() })
}

/// How well a logit is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Close enough to compare sets of terms; no standard errors.
    Search,
    /// To the last digits.
    Full,
}

/// A logit with what a search for its terms needs. The lists have one entry per feature, then one per product.
#[derive(Debug, PartialEq)]
pub(crate) struct Fitted {
    /// In score per unit; 0 where a term is not used.
    pub(crate) coefficient: Vec<f64>,
    /// `None` for a single cluster, and in a search.
    pub(crate) standard_error: Option<Vec<f64>>,
    /// Deviations within choices.
    pub(crate) sd: Vec<f64>,
    /// The terms that are used, with their columns.
    used: Vec<(usize, Vec<usize>)>,
    /// By used term, in order: about how much the objective grows without it, β² / 2 (H⁻¹)ⱼⱼ.
    pub(crate) loss_without: Vec<f64>,
    /// The objective: mean loss and penalty.
    pub(crate) value: f64,
}

/// Fits from coefficients near the best ones, if there are any: in score per unit, one per term.
pub(crate) fn fit_from<T: Copy + Into<f64> + Sync>(
    data: &ChoiceData<'_, T>,
    params: &ValidLogitParams,
    start: Option<&[f64]>,
    effort: Effort,
) -> Result<Fitted, LogitError> {
    let total = data.check()?;
    let design = Design::new(data, total, params)?;
    // A search looks at the same rows a few times, at a size that fits in memory.
    let rows = (effort == Effort::Search).then(|| design.all_rows(data));
    let mut problem = Problem { data, design: &design, total, rows };
    minimise(&mut problem, &design, params.ridge, start, effort)
}

/// Who has the choices and sums up over them.
pub(crate) trait Slopes {
    /// Why sums may not come.
    type Error: From<LogitError>;

    /// The sums at some coefficients, without the penalty.
    fn sums(&mut self, beta: &[f64], order: Order) -> Result<Sums, Self::Error>;

    /// Standard errors of the scaled coefficients; `None` for a single cluster. `hessian` is factored.
    fn standard_errors(&mut self, beta: &[f64], hessian: &[f64]) -> Result<Option<Vec<f64>>, Self::Error>;
}

/// Newton's method.
pub(crate) fn minimise<S: Slopes>(
    slopes: &mut S,
    design: &Design,
    ridge: f64,
    start: Option<&[f64]>,
    effort: Effort,
) -> Result<Fitted, S::Error> {
    let k = design.used.len();
    let mut beta: Vec<f64> = match start {
        None => vec![0.0; k],
        Some(list) => design.used.iter().map(|&term| list[term] * design.sd[term]).collect(),
    };
    let mut sums = |beta: &[f64], order: Order| Ok::<_, S::Error>(slopes.sums(beta, order)?.penalised(beta, ridge));
    let mut at = sums(&beta, Order::Curvature)?;
    let factor = |hessian: &[f64]| {
        let singular = |i: usize| LogitError::Singular { term: design.term(design.used[i]) };
        cholesky::factor(hessian.to_vec(), k, LEAST_PIVOT).map_err(singular)
    };
    let mut hessian = factor(&at.hessian)?;
    let mut promised = f64::INFINITY;
    for _ in 0..MOST_STEPS {
        let step = cholesky::solve(&hessian, &at.gradient);
        let promise: f64 = step.iter().zip(&at.gradient).map(|(s, g)| s * g).sum();
        let last = promise <= if effort == Effort::Full { CLOSE } else { CLOSE_ENOUGH };
        // The curvature of an earlier step does as long as it brings the next ones close quickly; the last digits need their own.
        let anew = promise > STALE * promised || effort == Effort::Full && promise <= CLOSE_ENOUGH;
        promised = promise;
        let order = if anew { Order::Curvature } else { Order::Slope };
        let mut length = 1.0;
        let next = loop {
            let trial: Vec<f64> = beta.iter().zip(&step).map(|(b, s)| b - length * s).collect();
            let sums = sums(&trial, order)?;
            // The last step is too short for a decrease that could be told from rounding.
            if last || sums.value <= at.value - ARMIJO * length * promise {
                break Some((trial, sums));
            }
            length /= 2.0;
            if length < LEAST_STEP {
                break None;
            }
        };
        let Some(next) = next else { break };
        (beta, at) = next;
        if !at.hessian.is_empty() {
            hessian = factor(&at.hessian)?;
        }
        if last {
            break;
        }
    }
    if effort == Effort::Full && at.hessian.is_empty() {
        at = sums(&beta, Order::Curvature)?;
        hessian = factor(&at.hessian)?;
    }
    // The diagonal of L·Lᵀ.
    let curvature = |i: usize| hessian[i * k..=i * k + i].iter().map(|l| l * l).sum::<f64>();
    let flattest = (0..k).map(curvature).fold(f64::INFINITY, f64::min);
    if ridge == 0.0 && k > 0 && flattest < LEAST_CURVATURE {
        return Err(LogitError::Separable.into());
    }
    let errors = if effort == Effort::Full { slopes.standard_errors(&beta, &hessian)? } else { None };
    let loss_without = (0..k).map(|i| {
        let unit: Vec<f64> = (0..k).map(|j| f64::from(u8::from(i == j))).collect();
        beta[i] * beta[i] / (2.0 * cholesky::solve(&hessian, &unit)[i])
    });
    let loss_without = loss_without.collect();
    let terms = design.sd.len();
    let natural = |scaled: Vec<f64>| {
        let mut list = vec![0.0; terms];
        design.used.iter().zip(scaled).for_each(|(&term, v)| list[term] = v / design.sd[term]);
        list
    };
    Ok(Fitted {
        coefficient: natural(beta),
        standard_error: errors.map(natural),
        sd: design.sd.clone(),
        used: design.used.iter().map(|&term| (term, design.term(term))).collect(),
        loss_without,
        value: at.value,
    })
}

/// Choices that are all here, or a part of them.
pub(crate) struct Problem<'a, T> {
    pub(crate) data: &'a ChoiceData<'a, T>,
    pub(crate) design: &'a Design,
    /// Weight of all choices, here and elsewhere.
    pub(crate) total: f64,
    /// The design's rows of all choices, shape `(rows, used)`; `None` where they are made as they are needed.
    pub(crate) rows: Option<Vec<f64>>,
}

/// Which sums are formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Value and gradient.
    Slope,
    /// The Hessian too.
    Curvature,
    /// Value, and the gradient of the loss by cluster.
    Clusters,
}

/// The objective at some coefficients.
pub(crate) struct Sums {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
    /// Row-major; the lower triangle. Empty where it is not asked for.
    pub(crate) hessian: Vec<f64>,
    /// Slope of the loss by cluster, without the penalty; only where asked for.
    pub(crate) clusters: BTreeMap<u64, Vec<f64>>,
}

impl Sums {
    pub(crate) fn new(k: usize, order: Order) -> Self {
        let hessian = vec![0.0; if order == Order::Curvature { k * k } else { 0 }];
        Self { value: 0.0, gradient: vec![0.0; k], hessian, clusters: BTreeMap::new() }
    }

    fn merge(mut self, other: Self) -> Self {
        self.value += other.value;
        self.gradient.iter_mut().zip(other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.iter_mut().zip(other.hessian).for_each(|(a, b)| *a += b);
        for (cluster, slope) in other.clusters {
            match self.clusters.get_mut(&cluster) {
                Some(sum) => sum.iter_mut().zip(slope).for_each(|(a, b)| *a += b),
                None => _ = self.clusters.insert(cluster, slope),
            }
        }
        self
    }

    fn penalised(mut self, beta: &[f64], ridge: f64) -> Self {
        let k = beta.len();
        for (i, b) in beta.iter().enumerate() {
            self.value += ridge / 2.0 * b * b;
            self.gradient[i] += ridge * b;
            if !self.hessian.is_empty() {
                self.hessian[i * k + i] += ridge;
            }
        }
        self
    }
}

/// Buffers for one choice.
#[derive(Default)]
struct Scratch {
    z: Vec<f64>,
    mean: Vec<f64>,
    scores: Vec<f64>,
    slope: Vec<f64>,
    bent: Vec<f64>,
}

impl<T: Copy + Into<f64> + Sync> Slopes for Problem<'_, T> {
    type Error = LogitError;

    fn sums(&mut self, beta: &[f64], order: Order) -> Result<Sums, LogitError> {
        Ok(self.all(beta, order))
    }

    fn standard_errors(&mut self, beta: &[f64], hessian: &[f64]) -> Result<Option<Vec<f64>>, LogitError> {
        let clusters = self.all(beta, Order::Clusters).clusters;
        let count = clusters.len() as f64;
        let mut variance = vec![0.0; beta.len()];
        for slope in clusters.values() {
            let moved = cholesky::solve(hessian, slope);
            variance.iter_mut().zip(moved).for_each(|(v, m)| *v += m * m);
        }
        Ok((count > 1.0).then(|| variance.into_iter().map(|v| (v * count / (count - 1.0)).sqrt()).collect()))
    }
}

impl<T: Copy + Into<f64> + Sync> Problem<'_, T> {
    /// The sums over the choices that are here, without the penalty.
    pub(crate) fn all(&self, beta: &[f64], order: Order) -> Sums {
        let (k, choices) = (beta.len(), self.data.choices());
        let blocks: Vec<Sums> = (0..choices.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| self.block(block * BLOCK..((block + 1) * BLOCK).min(choices), beta, order))
            .collect();
        blocks.into_iter().fold(Sums::new(k, order), Sums::merge)
    }

    /// The sums over some choices, without the penalty.
    fn block(&self, choices: Range<usize>, beta: &[f64], order: Order) -> Sums {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.block_avx2(choices, beta, order) };
        }
        self.block_portable(choices, beta, order)
    }

    /// The same bits in half the time: nothing is fused, and no sum changes its order.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn block_avx2(&self, choices: Range<usize>, beta: &[f64], order: Order) -> Sums {
        self.block_portable(choices, beta, order)
    }

    #[inline(always)]
    fn block_portable(&self, choices: Range<usize>, beta: &[f64], order: Order) -> Sums {
        let (mut sums, mut scratch) = (Sums::new(beta.len(), order), Scratch::default());
        for c in choices {
            self.add(c, beta, order, &mut sums, &mut scratch);
        }
        sums
    }

    #[inline(always)]
    fn add(&self, c: usize, beta: &[f64], order: Order, sums: &mut Sums, scratch: &mut Scratch) {
        let choice = self.data.choice(c);
        let (n, k) = (choice.probability.len(), beta.len());
        let weight = choice.weight / self.total;
        if n < 2 || weight == 0.0 {
            return;
        }
        let Scratch { z, mean, scores, slope, bent } = scratch;
        let z = match &self.rows {
            Some(rows) => &rows[self.data.bounds[c] * k..self.data.bounds[c + 1] * k],
            None => {
                self.design.rows(choice, z, mean);
                &*z
            }
        };
        scores.clear();
        extend_with_dots(scores, z, beta, n);
        slope.resize(n, 0.0);
        sums.value += weight * loss(choice.probability, scores, slope);
        let gradient = match order {
            Order::Clusters => sums.clusters.entry(self.data.cluster[c]).or_insert_with(|| vec![0.0; k]),
            Order::Slope | Order::Curvature => &mut sums.gradient,
        };
        add_scaled(gradient, z, k, |row| weight * slope[row]);
        if order != Order::Curvature {
            return;
        }
        bent.resize(n * k, 0.0);
        bend(choice.probability, slope, z, bent);
        for a in 0..k {
            add_scaled(&mut sums.hessian[a * k..=a * k + a], bent, k, |row| weight * z[row * k + a]);
        }
    }
}
