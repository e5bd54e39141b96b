//! What the search for splits needs to know of a criterion, and the squared error of one or several outputs.
//!
//! All sums are of weights scaled to a total in `[1, 2)`. A *gain* is the weighted decrease of impurity that a split
//! brings: W·I − W_left·I_left − W_right·I_right.

use super::data::{Rows, Targets};

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
    type Bins: Send;
    /// A division of a node's rows in two while they move from right to left.
    type Division: Send;

    fn payload(&self, row: u32) -> Self::Payload;

    /// Sums over rows, which come in ascending order.
    fn totals(&self, rows: &[u32]) -> Self::Totals;
    fn weight(&self, totals: &Self::Totals) -> f64;
    /// Impurity per weight.
    fn impurity(&self, totals: &Self::Totals) -> f64;
    /// Appends what a node predicts.
    fn value(&self, totals: &Self::Totals, into: &mut Vec<f64>);

    fn bins(&self) -> Self::Bins;
    fn clear(&self, bins: &mut Self::Bins);
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
        Self { rows: y.iter().zip(&rows.weight).map(|(y, &w)| [w, y - mean]).collect(), mean }
    }
}

/// Mean over all rows, by which targets are shifted so that sums do not lose digits to a common offset.
fn weighted_mean(rows: &Rows<'_>, y: impl Fn(usize) -> f64) -> f64 {
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
    weight: f64,
    mean: f64,
    error: f64,
}

/// Rows, weight and weighted sum of a bin.
type Cell = [f64; 3];

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

    fn totals(&self, rows: &[u32]) -> Moments {
        let (mut weight, mut sum, mut square) = (0.0, 0.0, 0.0);
        for [w, y] in rows.iter().map(|&row| self.payload(row)) {
            weight += w;
            sum += w * y;
            square += w * y * y;
        }
        let mean = sum / weight;
        let error: f64 = rows.iter().map(|&row| self.payload(row)).map(|[w, y]| w * (y - mean) * (y - mean)).sum();
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
        Box::new([[0.0; 3]; BINS])
    }

    fn clear(&self, bins: &mut Self::Bins) {
        bins.fill([0.0; 3]);
    }

    #[inline]
    fn add(&self, bins: &mut Self::Bins, bin: u8, [w, y]: [f64; 2]) {
        let cell = &mut bins[usize::from(bin)];
        cell[0] += 1.0;
        cell[1] += w;
        cell[2] += w * y;
    }

    fn subtract(&self, bins: &mut Self::Bins, other: &Self::Bins) {
        for (cell, other) in bins.iter_mut().zip(other.iter()) {
            cell.iter_mut().zip(other).for_each(|(a, b)| *a -= b);
            if cell[0] == 0.0 {
                *cell = [0.0; 3];
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
        let [_, w, sum] = bins[bin];
        division.weight += w;
        division.sum += sum - w * division.node_mean;
    }

    #[inline]
    fn gain(&self, d: &LeftSum) -> f64 {
        d.sum * d.sum * d.node_weight / (d.weight * (d.node_weight - d.weight))
    }

    fn weights(&self, d: &LeftSum) -> [f64; 2] {
        [d.weight, d.node_weight - d.weight]
    }

    fn predictions(&self, d: &LeftSum) -> [f64; 2] {
        let mean = self.mean + d.node_mean;
        [mean + d.sum / d.weight, mean - d.sum / (d.node_weight - d.weight)]
    }

    fn lanes(&self) -> usize {
        3
    }
}

/// A sum of squared deviations, or 0 if it is no more than what rounding leaves of a constant target.
fn without_rounding(error: f64, square: f64) -> f64 {
    if error > 1e-24 * square { error } else { 0.0 }
}

/// Squared error of several outputs, averaged over them.
pub(super) struct SquaredErrors {
    weight: Vec<f64>,
    /// Targets less their means, shape `(rows, outputs)`.
    y: Vec<f64>,
    mean: Vec<f64>,
}

impl SquaredErrors {
    pub(super) fn new(rows: &Rows<'_>, values: &[f64], outputs: usize) -> Self {
        let mean: Vec<f64> = (0..outputs).map(|k| weighted_mean(rows, |row| values[row * outputs + k])).collect();
        let y = values.chunks_exact(outputs).flat_map(|y| y.iter().zip(&mean).map(|(y, mean)| y - mean)).collect();
        Self { weight: rows.weight.clone(), y, mean }
    }

    fn outputs(&self) -> usize {
        self.mean.len()
    }

    fn row(&self, row: u32) -> &[f64] {
        &self.y[row as usize * self.outputs()..][..self.outputs()]
    }
}

/// Weight, means and mean squared error of a node.
#[derive(Clone)]
pub(super) struct ManyMoments {
    weight: f64,
    mean: Vec<f64>,
    error: f64,
}

/// Rows per bin; weights and weighted sums, `1 + outputs` numbers per bin.
pub(super) struct ManyBins {
    rows: [u32; BINS],
    sums: Vec<f64>,
}

/// The left side of a division by several outputs.
pub(super) struct LeftSums {
    node_weight: f64,
    node_mean: Vec<f64>,
    weight: f64,
    sum: Vec<f64>,
}

impl Criterion for SquaredErrors {
    type Payload = u32;
    type Totals = ManyMoments;
    type Bins = ManyBins;
    type Division = LeftSums;

    fn payload(&self, row: u32) -> u32 {
        row
    }

    fn totals(&self, rows: &[u32]) -> ManyMoments {
        let (mut weight, mut mean) = (0.0, vec![0.0; self.outputs()]);
        let (mut square, mut error) = (0.0, 0.0);
        for &row in rows {
            let w = self.weight[row as usize];
            weight += w;
            for (sum, y) in mean.iter_mut().zip(self.row(row)) {
                *sum += w * y;
                square += w * y * y;
            }
        }
        mean.iter_mut().for_each(|sum| *sum /= weight);
        for &row in rows {
            let deviations = self.row(row).iter().zip(&mean).map(|(y, mean)| (y - mean) * (y - mean));
            error += self.weight[row as usize] * deviations.sum::<f64>();
        }
        square += weight * self.mean.iter().map(|mean| mean * mean).sum::<f64>();
        ManyMoments { weight, mean, error: without_rounding(error, square) / self.outputs() as f64 }
    }

    fn weight(&self, totals: &ManyMoments) -> f64 {
        totals.weight
    }

    fn impurity(&self, totals: &ManyMoments) -> f64 {
        totals.error / totals.weight
    }

    fn value(&self, totals: &ManyMoments, into: &mut Vec<f64>) {
        into.extend(totals.mean.iter().zip(&self.mean).map(|(a, b)| a + b));
    }

    fn bins(&self) -> ManyBins {
        ManyBins { rows: [0; BINS], sums: vec![0.0; BINS * self.lanes()] }
    }

    fn clear(&self, bins: &mut ManyBins) {
        bins.rows.fill(0);
        bins.sums.fill(0.0);
    }

    #[inline]
    fn add(&self, bins: &mut ManyBins, bin: u8, row: u32) {
        let (bin, w) = (usize::from(bin), self.weight[row as usize]);
        bins.rows[bin] += 1;
        let cell = &mut bins.sums[bin * self.lanes()..][..self.lanes()];
        cell[0] += w;
        cell[1..].iter_mut().zip(self.row(row)).for_each(|(sum, y)| *sum += w * y);
    }

    fn subtract(&self, bins: &mut ManyBins, other: &ManyBins) {
        bins.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a -= b);
        for (bin, (rows, other)) in bins.rows.iter_mut().zip(&other.rows).enumerate() {
            *rows -= other;
            if *rows == 0 {
                bins.sums[bin * self.lanes()..][..self.lanes()].fill(0.0);
            }
        }
    }

    fn count(&self, bins: &ManyBins, bin: usize) -> u32 {
        bins.rows[bin]
    }

    fn division(&self) -> LeftSums {
        let zeros = vec![0.0; self.outputs()];
        LeftSums { node_weight: 0.0, node_mean: zeros.clone(), weight: 0.0, sum: zeros }
    }

    fn reset(&self, division: &mut LeftSums, totals: &ManyMoments) {
        division.node_weight = totals.weight;
        division.node_mean.copy_from_slice(&totals.mean);
        division.weight = 0.0;
        division.sum.fill(0.0);
    }

    #[inline]
    fn push(&self, division: &mut LeftSums, row: u32) {
        let w = self.weight[row as usize];
        division.weight += w;
        let terms = self.row(row).iter().zip(&division.node_mean);
        division.sum.iter_mut().zip(terms).for_each(|(sum, (y, mean))| *sum += w * (y - mean));
    }

    #[inline]
    fn push_bin(&self, division: &mut LeftSums, bins: &ManyBins, bin: usize) {
        let cell = &bins.sums[bin * self.lanes()..][..self.lanes()];
        division.weight += cell[0];
        let terms = cell[1..].iter().zip(&division.node_mean);
        division.sum.iter_mut().zip(terms).for_each(|(sum, (add, mean))| *sum += add - cell[0] * mean);
    }

    #[inline]
    fn gain(&self, d: &LeftSums) -> f64 {
        let square: f64 = d.sum.iter().map(|sum| sum * sum).sum();
        square * d.node_weight / (d.weight * (d.node_weight - d.weight) * d.sum.len() as f64)
    }

    fn weights(&self, d: &LeftSums) -> [f64; 2] {
        [d.weight, d.node_weight - d.weight]
    }

    fn predictions(&self, d: &LeftSums) -> [f64; 2] {
        let mean = self.mean[0] + d.node_mean[0];
        [mean + d.sum[0] / d.weight, mean - d.sum[0] / (d.node_weight - d.weight)]
    }

    fn lanes(&self) -> usize {
        1 + self.outputs()
    }
}

/// The outputs of a regression, for [`SquaredErrors`].
pub(super) fn outputs<'a>(targets: &Targets<'a>) -> Option<(&'a [f64], usize)> {
    match *targets {
        Targets::Outputs { values, outputs } => Some((values, outputs)),
        _ => None,
    }
}
