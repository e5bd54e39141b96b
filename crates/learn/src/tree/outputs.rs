//! The squared error of several outputs.

use super::{
    criterion::{BINS, Bound, Criterion, spread, weighted_mean, without_rounding},
    data::Rows,
};

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

/// Rows per bin; weight, summed squares over all outputs and weighted sums, `2 + outputs` numbers per bin.
#[derive(Clone)]
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

    #[inline]
    fn add(&self, bins: &mut ManyBins, bin: u8, row: u32) {
        let (bin, w) = (usize::from(bin), self.weight[row as usize]);
        bins.rows[bin] += 1;
        let cell = &mut bins.sums[bin * self.lanes()..][..self.lanes()];
        cell[0] += w;
        for (sum, y) in cell[2..].iter_mut().zip(self.row(row)) {
            *sum += w * y;
        }
        cell[1] += w * self.row(row).iter().map(|y| y * y).sum::<f64>();
    }

    fn subtract(&self, bins: &mut ManyBins, other: &ManyBins) {
        bins.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a -= b);
        // The square only serves as an upper bound; rounding is in proportion to what was taken away.
        let squares = |bin: usize| bin * self.lanes() + 1;
        (0..BINS).for_each(|bin| bins.sums[squares(bin)] += 1e-13 * other.sums[squares(bin)]);
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
        let terms = cell[2..].iter().zip(&division.node_mean);
        division.sum.iter_mut().zip(terms).for_each(|(sum, (add, mean))| *sum += add - cell[0] * mean);
    }

    #[inline]
    fn gain(&self, d: &LeftSums) -> f64 {
        let square: f64 = d.sum.iter().map(|sum| sum * sum).sum();
        square * d.node_weight / (d.weight * (d.node_weight - d.weight) * d.sum.len() as f64)
    }

    fn bound(&self, d: &LeftSums, bins: &ManyBins, bin: usize) -> f64 {
        let cell = &bins.sums[bin * self.lanes()..][..self.lanes()];
        let (w, mut of_mean) = (cell[0], 0.0);
        // Rows whose weight was lost to rounding could be anything.
        if w <= 0.0 {
            return f64::INFINITY;
        }
        let mut square = [0.0; 3];
        for ((left, sum), mean) in d.sum.iter().zip(&cell[2..]).zip(&d.node_mean) {
            let deviation = sum - w * mean;
            square[0] += left * left;
            square[1] += deviation * deviation;
            square[2] += (left + deviation) * (left + deviation);
            of_mean += sum * sum / w;
        }
        Bound { weight: [d.node_weight, d.weight, w], square, spread: spread(cell[1], of_mean) }.value()
            / d.sum.len() as f64
    }

    fn weights(&self, d: &LeftSums) -> [f64; 2] {
        [d.weight, d.node_weight - d.weight]
    }

    fn predictions(&self, d: &LeftSums) -> [f64; 2] {
        let mean = self.mean[0] + d.node_mean[0];
        [mean + d.sum[0] / d.weight, mean - d.sum[0] / (d.node_weight - d.weight)]
    }

    fn lanes(&self) -> usize {
        2 + self.outputs()
    }
}
