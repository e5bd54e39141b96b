//! What the search for splits needs to know of a criterion, and the squared error of one output.
//!
//! All sums are of weights scaled to a total in `[1, 2)`. A *gain* is the weighted decrease of impurity that a split
//! brings: W·I − W_left·I_left − W_right·I_right.

use super::data::Rows;
use rayon::prelude::*;

/// Codes of a histogram's bins are bytes; the last one stands for missing values.
pub(super) const BINS: usize = 256;
/// The bin of missing values.
pub(super) const MISSING_BIN: usize = 255;

/// Sums, running sums and gains of a criterion.
pub(super) trait Criterion: Sync {
    /// What is needed of a row.
    type Payload: Copy + Send + Sync;
    /// Sums over the rows of a node.
    type Totals: Clone + Send + Sync;
    /// Sums over the rows of each of [`BINS`] bins.
    type Bins: Clone + Send + Sync;
    /// A division of a node's rows in two while they move from right to left.
    type Division: Send + Sync;

    fn payload(&self, row: u32) -> Self::Payload;

    /// Sums over rows, which come in ascending order.
    fn totals(&self, rows: &[Self::Payload]) -> Self::Totals;
    fn weight(&self, totals: &Self::Totals) -> f64;
    /// Impurity per weight.
    fn impurity(&self, totals: &Self::Totals) -> f64;
    /// Appends what a node predicts.
    fn value(&self, totals: &Self::Totals, into: &mut Vec<f64>);

    fn bins(&self) -> Self::Bins;
    fn add(&self, bins: &mut Self::Bins, bin: u8, row: Self::Payload);
    /// Takes the rows of `other` away; bins that are left without rows have no sums left either.
    fn subtract(&self, bins: &mut Self::Bins, other: &Self::Bins);
    fn count(&self, bins: &Self::Bins, bin: usize) -> u32;

    fn division(&self) -> Self::Division;
    /// All rows of a node on the right.
    fn reset(&self, division: &mut Self::Division, totals: &Self::Totals);
    fn push(&self, division: &mut Self::Division, row: Self::Payload);
    fn push_bin(&self, division: &mut Self::Division, bins: &Self::Bins, bin: usize);
    fn gain(&self, division: &Self::Division) -> f64;
    /// No division that cuts through the next bin gains more than this, whatever the order of its rows.
    fn bound(&self, division: &Self::Division, bins: &Self::Bins, bin: usize) -> f64;
    /// Weights on the left and on the right.
    fn weights(&self, division: &Self::Division) -> [f64; 2];
    /// What both sides would predict, for monotone constraints: in the units of [`Criterion::value`].
    fn predictions(&self, division: &Self::Division) -> [f64; 2];

    /// Numbers per row and bin that a histogram keeps.
    fn lanes(&self) -> usize;
}

/// Squared error of one output.
pub(super) struct SquaredError {
    /// Weight, and target less the mean of all.
    rows: Vec<[f64; 2]>,
    mean: f64,
}

impl SquaredError {
    pub(super) fn new(rows: &Rows<'_>, y: &[f64]) -> Self {
        let mean = weighted_mean(rows, |row| y[row]);
        Self { rows: y.par_iter().zip(&rows.weight).map(|(y, &w)| [w, y - mean]).collect(), mean }
    }

    /// For nodes of rows that are not here, whose targets have this mean.
    pub(super) fn around(mean: f64) -> Self {
        Self { rows: Vec::new(), mean }
    }
}

/// Mean over all rows, by which targets are shifted so that sums do not lose digits to a common offset.
pub(super) fn weighted_mean(rows: &Rows<'_>, y: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for &row in &rows.active {
        let w = rows.weight[row as usize];
        sum += w * y(row as usize);
        weight += w;
    }
    sum / weight
}

/// Weight, mean and squared error of a node.
#[derive(Clone)]
pub(super) struct Moments {
    pub(super) weight: f64,
    /// Relative to the mean of all rows.
    pub(super) mean: f64,
    pub(super) error: f64,
}

/// Rows, weight, weighted sum and weighted sum of squares of a bin.
type Cell = [f64; 4];

/// The left side of a division; the right one is what is missing to the node.
#[derive(Default)]
pub(super) struct LeftSum {
    node_weight: f64,
    node_mean: f64,
    weight: f64,
    /// Σ w (y − node mean); the right side has the same but for the sign.
    sum: f64,
}

impl Criterion for SquaredError {
    type Payload = [f64; 2];
    type Totals = Moments;
    type Bins = Box<[Cell; BINS]>;
    type Division = LeftSum;

    fn payload(&self, row: u32) -> [f64; 2] {
        self.rows[row as usize]
    }

    fn totals(&self, rows: &[[f64; 2]]) -> Moments {
        let (mut weight, mut sum, mut square) = (0.0, 0.0, 0.0);
        for &[w, y] in rows {
            weight += w;
            sum += w * y;
            square += w * y * y;
        }
        let mean = sum / weight;
        let error: f64 = rows.iter().map(|[w, y]| w * (y - mean) * (y - mean)).sum();
        Moments { weight, mean, error: without_rounding(error, square + weight * self.mean * self.mean) }
    }

    fn weight(&self, totals: &Moments) -> f64 {
        totals.weight
    }

    fn impurity(&self, totals: &Moments) -> f64 {
        totals.error / totals.weight
    }

    fn value(&self, totals: &Moments, into: &mut Vec<f64>) {
        into.push(totals.mean + self.mean);
    }

    fn bins(&self) -> Self::Bins {
        Box::new([[0.0; 4]; BINS])
    }

    #[inline]
    fn add(&self, bins: &mut Self::Bins, bin: u8, [w, y]: [f64; 2]) {
        let cell = &mut bins[usize::from(bin)];
        let wy = w * y;
        cell[0] += 1.0;
        cell[1] += w;
        cell[2] += wy;
        cell[3] += wy * y;
    }

    fn subtract(&self, bins: &mut Self::Bins, other: &Self::Bins) {
        for (cell, other) in bins.iter_mut().zip(other.iter()) {
            cell.iter_mut().zip(other).for_each(|(a, b)| *a -= b);
            // The square only serves as an upper bound; rounding is in proportion to what was taken away.
            cell[3] += 1e-13 * other[3];
            if cell[0] == 0.0 {
                *cell = [0.0; 4];
            }
        }
    }

    fn count(&self, bins: &Self::Bins, bin: usize) -> u32 {
        bins[bin][0] as u32
    }

    fn division(&self) -> LeftSum {
        LeftSum::default()
    }

    fn reset(&self, division: &mut LeftSum, totals: &Moments) {
        *division = LeftSum { node_weight: totals.weight, node_mean: totals.mean, weight: 0.0, sum: 0.0 };
    }

    #[inline]
    fn push(&self, division: &mut LeftSum, [w, y]: [f64; 2]) {
        division.weight += w;
        division.sum += w * (y - division.node_mean);
    }

    #[inline]
    fn push_bin(&self, division: &mut LeftSum, bins: &Self::Bins, bin: usize) {
        let [_, w, sum, _] = bins[bin];
        division.weight += w;
        division.sum += sum - w * division.node_mean;
    }

    #[inline]
    fn gain(&self, d: &LeftSum) -> f64 {
        d.sum * d.sum * d.node_weight / (d.weight * (d.node_weight - d.weight))
    }

    fn bound(&self, d: &LeftSum, bins: &Self::Bins, bin: usize) -> f64 {
        let [_, w, sum, square] = bins[bin];
        // Rows whose weight was lost to rounding could be anything.
        if w <= 0.0 {
            return f64::INFINITY;
        }
        let deviation = sum - w * d.node_mean;
        let after = d.sum + deviation;
        let square_sums = [d.sum * d.sum, deviation * deviation, after * after];
        Bound { weight: [d.node_weight, d.weight, w], square: square_sums, spread: spread(square, sum * sum / w) }
            .value()
    }

    fn weights(&self, d: &LeftSum) -> [f64; 2] {
        [d.weight, d.node_weight - d.weight]
    }

    fn predictions(&self, d: &LeftSum) -> [f64; 2] {
        let mean = self.mean + d.node_mean;
        [mean + d.sum / d.weight, mean - d.sum / (d.node_weight - d.weight)]
    }

    fn lanes(&self) -> usize {
        4
    }
}

/// What bounds the gains of divisions that cut through a bin, for criteria that are sums of squares.
///
/// Let s be the sum of the weighted deviations from the node's mean on the left side, W the node's weight. A division with
/// the weight w on the left gains |s|² W / (w (W − w)). While a bin's rows move left, s runs from its value before the bin
/// to that after it, straight but for the bin's own spread V: a part of weight p of the bin's weight b is off that line by
/// at most √(p (b − p) V / b) ≤ ½ √(b V) (Cauchy–Schwarz). Besides, no division in two gains more than one that sets
/// every row of the bin apart from the others and from what is left and right of the bin.
pub(super) struct Bound {
    /// Weight of the node, of what is left of the bin, and of the bin.
    pub(super) weight: [f64; 3],
    /// |s|² of what is left of the bin, of the bin alone, and of both together.
    pub(super) square: [f64; 3],
    /// Weighted squared error of the bin's rows around their own mean, or somewhat more.
    pub(super) spread: f64,
}

impl Bound {
    pub(super) fn value(&self) -> f64 {
        let ([node, left, bin], [before, middle, after], spread) = (self.weight, self.square, self.spread);
        let (after_left, right) = (left + bin, node - left - bin);
        let part = |square: f64, weight: f64| if weight > 0.0 { square / weight } else { 0.0 };
        let apart = part(before, left) + part(middle, bin) + part(after, right) + spread;
        let straight = before.max(after).sqrt() + 0.5 * (bin * spread).sqrt();
        let narrow = (left * (node - left)).min(after_left * right);
        let cut = if narrow > 0.0 { straight * straight * node / narrow } else { f64::INFINITY };
        apart.min(cut) * (1.0 + 1e-9)
    }
}

/// The squared error of a bin around its own mean, not less than it is: the difference of two sums of squares loses its
/// digits where the bin is far from the mean of all.
pub(super) fn spread(square: f64, of_mean: f64) -> f64 {
    (square - of_mean).max(0.0) + 1e-11 * square
}

/// A sum of squared deviations, or 0 if it is no more than what rounding leaves of a constant target.
pub(super) fn without_rounding(error: f64, square: f64) -> f64 {
    if error > 1e-24 * square { error } else { 0.0 }
}
