//! Gini index and entropy of classes.

use super::{
    criterion::{BINS, Bound, Criterion, spread},
    data::Rows,
};
use rayon::prelude::*;

/// How unequal shares are worth.
pub(super) trait Purity: Sync + Send + Copy {
    /// The part of a class in a side's purity: Σ over classes, made comparable by [`Purity::side`].
    fn term(weight: f64) -> f64;
    /// W × (constant − impurity) of a side from its summed terms and its weight.
    fn side(terms: f64, weight: f64) -> f64;
    /// The constant: impurity is this minus purity per weight.
    const MOST: f64;
    /// Whether gains are sums of squares, as [`Bound`] has them.
    const SQUARES: bool;
}

/// 1 − Σ p².
#[derive(Clone, Copy)]
pub(super) struct Gini;

impl Purity for Gini {
    const MOST: f64 = 1.0;
    const SQUARES: bool = true;

    #[inline]
    fn term(weight: f64) -> f64 {
        weight * weight
    }

    #[inline]
    fn side(terms: f64, weight: f64) -> f64 {
        terms / weight
    }
}

/// −Σ p log₂ p.
#[derive(Clone, Copy)]
pub(super) struct Entropy;

impl Purity for Entropy {
    const MOST: f64 = 0.0;
    const SQUARES: bool = false;

    #[inline]
    fn term(weight: f64) -> f64 {
        // What rounding leaves of a class that is used up is nothing.
        if weight > 0.0 { weight * weight.log2() } else { 0.0 }
    }

    #[inline]
    fn side(terms: f64, weight: f64) -> f64 {
        terms - Self::term(weight)
    }
}

/// Classes of rows.
pub(super) struct Classes<P> {
    rows: Vec<(f64, u32)>,
    classes: usize,
    purity: std::marker::PhantomData<P>,
}

impl<P: Purity> Classes<P> {
    pub(super) fn new(rows: &Rows<'_>, class: &[u32], classes: usize) -> Self {
        let rows = rows.weight.par_iter().zip(class).map(|(&w, &c)| (w, c)).collect();
        Self { rows, classes, purity: std::marker::PhantomData }
    }
}

/// Weight by class, and of all.
#[derive(Clone)]
pub(super) struct Shares {
    class: Vec<f64>,
    weight: f64,
}

/// Rows per bin, and weight by bin and class.
#[derive(Clone)]
pub(super) struct ClassBins {
    rows: [u32; BINS],
    weight: Vec<f64>,
}

/// Weights by class of both sides, and the sums of their terms.
pub(super) struct Sides {
    left: Vec<f64>,
    right: Vec<f64>,
    terms: [f64; 2],
    weight: [f64; 2],
    /// The node's own purity.
    node: f64,
}

impl<P: Purity> Criterion for Classes<P> {
    type Payload = (f64, u32);
    type Totals = Shares;
    type Bins = ClassBins;
    type Division = Sides;

    fn payload(&self, row: u32) -> (f64, u32) {
        self.rows[row as usize]
    }

    fn totals(&self, rows: &[(f64, u32)]) -> Shares {
        let mut class = vec![0.0; self.classes];
        for &(w, c) in rows {
            class[c as usize] += w;
        }
        let weight = class.iter().sum();
        Shares { class, weight }
    }

    fn weight(&self, totals: &Shares) -> f64 {
        totals.weight
    }

    fn impurity(&self, totals: &Shares) -> f64 {
        // From shares rather than weights: exactly 0 for a single class.
        let terms: f64 = totals.class.iter().map(|w| P::term(w / totals.weight)).sum();
        (P::MOST - terms).max(0.0)
    }

    fn value(&self, totals: &Shares, into: &mut Vec<f64>) {
        into.extend(totals.class.iter().map(|w| w / totals.weight));
    }

    fn bins(&self) -> ClassBins {
        ClassBins { rows: [0; BINS], weight: vec![0.0; BINS * self.classes] }
    }

    #[inline]
    fn add(&self, bins: &mut ClassBins, bin: u8, (w, class): (f64, u32)) {
        let bin = usize::from(bin);
        bins.rows[bin] += 1;
        bins.weight[bin * self.classes + class as usize] += w;
    }

    fn subtract(&self, bins: &mut ClassBins, other: &ClassBins) {
        bins.weight.iter_mut().zip(&other.weight).for_each(|(a, b)| *a -= b);
        for (bin, (rows, other)) in bins.rows.iter_mut().zip(&other.rows).enumerate() {
            *rows -= other;
            if *rows == 0 {
                bins.weight[bin * self.classes..][..self.classes].fill(0.0);
            }
        }
    }

    fn count(&self, bins: &ClassBins, bin: usize) -> u32 {
        bins.rows[bin]
    }

    fn division(&self) -> Sides {
        let zeros = vec![0.0; self.classes];
        Sides { left: zeros.clone(), right: zeros, terms: [0.0; 2], weight: [0.0; 2], node: 0.0 }
    }

    fn reset(&self, division: &mut Sides, totals: &Shares) {
        division.left.fill(0.0);
        division.right.copy_from_slice(&totals.class);
        let terms = totals.class.iter().map(|&w| P::term(w)).sum();
        division.terms = [0.0, terms];
        division.weight = [0.0, totals.weight];
        division.node = P::side(terms, totals.weight);
    }

    #[inline]
    fn push(&self, d: &mut Sides, (w, class): (f64, u32)) {
        let (left, right) = (&mut d.left[class as usize], &mut d.right[class as usize]);
        d.terms[0] += P::term(*left + w) - P::term(*left);
        d.terms[1] += P::term(*right - w) - P::term(*right);
        *left += w;
        *right -= w;
        d.weight[0] += w;
        d.weight[1] -= w;
    }

    #[inline]
    fn push_bin(&self, d: &mut Sides, bins: &ClassBins, bin: usize) {
        let cell = &bins.weight[bin * self.classes..][..self.classes];
        d.terms = [0.0; 2];
        for ((left, right), w) in d.left.iter_mut().zip(&mut d.right).zip(cell) {
            *left += w;
            *right -= w;
            d.weight[0] += w;
            d.weight[1] -= w;
            d.terms[0] += P::term(*left);
            d.terms[1] += P::term(*right);
        }
    }

    #[inline]
    fn gain(&self, d: &Sides) -> f64 {
        P::side(d.terms[0], d.weight[0]) + P::side(d.terms[1], d.weight[1]) - d.node
    }

    fn bound(&self, d: &Sides, bins: &ClassBins, bin: usize) -> f64 {
        let cell = &bins.weight[bin * self.classes..][..self.classes];
        let w: f64 = cell.iter().sum();
        let node: f64 = d.weight.iter().sum();
        // Rows whose weight was lost to rounding could be anything.
        if w <= 0.0 {
            return f64::INFINITY;
        }
        if P::SQUARES {
            let (mut square, mut of_mean) = ([0.0; 3], 0.0);
            for ((left, right), of_bin) in d.left.iter().zip(&d.right).zip(cell) {
                let share = (left + right) / node;
                let (before, deviation) = (left - d.weight[0] * share, of_bin - w * share);
                square[0] += before * before;
                square[1] += deviation * deviation;
                square[2] += (before + deviation) * (before + deviation);
                of_mean += of_bin * of_bin / w;
            }
            return Bound { weight: [node, d.weight[0], w], square, spread: spread(w, of_mean) }.value();
        }
        // Impurities only add up: both sides keep at least what they have without the bin.
        let side = |terms: f64, weight: f64| if weight > 0.0 { P::side(terms, weight) } else { 0.0 };
        let right: f64 = d.right.iter().zip(cell).map(|(right, of_bin)| P::term(right - of_bin)).sum();
        let bound = P::MOST * w + side(d.terms[0], d.weight[0]) + side(right, d.weight[1] - w) - d.node;
        bound + 1e-9 * bound.abs()
    }

    fn weights(&self, d: &Sides) -> [f64; 2] {
        d.weight
    }

    fn predictions(&self, d: &Sides) -> [f64; 2] {
        // With two classes, the share of the second.
        [d.left[1] / d.weight[0], d.right[1] / d.weight[1]]
    }

    fn lanes(&self) -> usize {
        1 + self.classes
    }
}
