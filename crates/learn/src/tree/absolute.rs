//! The absolute error of one output: leaves predict medians.
//!
//! A side's median and the deviations from it come from a Fenwick tree over the node's distinct targets, so that a row moves
//! from one side to the other in O(log n). Deviations have no useful sums per bin: bins hold their rows, and every division
//! is looked at.

use super::{
    criterion::{BINS, Criterion, weighted_mean},
    data::Rows,
};

pub(super) struct AbsoluteError {
    weight: Vec<f64>,
    /// Targets less the mean of all, so that sums do not lose digits to a common offset.
    y: Vec<f64>,
    mean: f64,
}

impl AbsoluteError {
    pub(super) fn new(rows: &Rows<'_>, y: &[f64]) -> Self {
        let mean = weighted_mean(rows, |row| y[row]);
        Self { weight: rows.weight.clone(), y: y.iter().map(|y| y - mean).collect(), mean }
    }
}

/// A node's distinct targets in ascending order, each with its weight, and what follows from them.
#[derive(Clone)]
pub(super) struct Distribution {
    targets: Vec<f64>,
    weights: Vec<f64>,
    side: Side,
}

/// Weight, median and weighted absolute deviation from it.
#[derive(Clone, Copy, Default)]
struct Side {
    weight: f64,
    median: f64,
    error: f64,
}

/// Prefix sums of weights and of weighted targets that can be updated (Fenwick 1994).
#[derive(Default)]
struct Fenwick {
    sums: Vec<[f64; 2]>,
    total: [f64; 2],
}

impl Fenwick {
    fn clear(&mut self, n: usize) {
        self.sums.clear();
        self.sums.resize(n + 1, [0.0; 2]);
        self.total = [0.0; 2];
    }

    fn add(&mut self, at: usize, [w, wy]: [f64; 2]) {
        self.total = [self.total[0] + w, self.total[1] + wy];
        let mut i = at + 1;
        while let Some(sum) = self.sums.get_mut(i) {
            *sum = [sum[0] + w, sum[1] + wy];
            i += i & i.wrapping_neg();
        }
    }

    /// Weight, median and deviation, given the targets.
    fn side(&self, targets: &[f64]) -> Side {
        let [weight, sum] = self.total;
        let half = weight / 2.0;
        // The first target at which half of the weight is reached; before it there is less.
        let (mut at, mut below) = (0, [0.0; 2]);
        let mut step = targets.len().next_power_of_two();
        while step > 0 {
            if let Some(s) = self.sums.get(at + step).filter(|s| below[0] + s[0] < half) {
                below = [below[0] + s[0], below[1] + s[1]];
                at += step;
            }
            step /= 2;
        }
        let median = targets[at.min(targets.len() - 1)];
        // Every median between the targets at which half is reached and exceeded gives the same deviation.
        let error = (sum - below[1]) - median * (weight - below[0]) + median * below[0] - below[1];
        Side { weight, median, error: error.max(0.0) }
    }
}

/// Both sides of a division.
#[derive(Default)]
pub(super) struct Sides {
    targets: Vec<f64>,
    left: Fenwick,
    right: Fenwick,
    node_error: f64,
}

impl Criterion for AbsoluteError {
    type Payload = u32;
    type Totals = Distribution;
    type Bins = Vec<Vec<u32>>;
    type Division = Sides;

    fn payload(&self, row: u32) -> u32 {
        row
    }

    fn totals(&self, rows: &[u32]) -> Distribution {
        let mut sorted: Vec<[f64; 2]> =
            rows.iter().map(|&row| [self.y[row as usize], self.weight[row as usize]]).collect();
        sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let (targets, weights): (Vec<f64>, Vec<f64>) = sorted
            .chunk_by(|a, b| a[0] == b[0])
            .map(|equal| (equal[0][0], equal.iter().map(|e| e[1]).sum::<f64>()))
            .unzip();
        let weight: f64 = weights.iter().sum();
        let mut reached = 0.0;
        let at = weights.iter().position(|w| {
            reached += w;
            reached >= weight / 2.0
        });
        let at = at.unwrap_or(0);
        // If exactly half of the weight is reached, the middle of the two targets around.
        let upper = if reached == weight / 2.0 { at + 1 } else { at };
        let median = (targets[at] + targets[upper.min(targets.len() - 1)]) / 2.0;
        let error = targets.iter().zip(&weights).map(|(y, w)| w * (y - median).abs()).sum();
        Distribution { targets, weights, side: Side { weight, median, error } }
    }

    fn weight(&self, totals: &Distribution) -> f64 {
        totals.side.weight
    }

    fn impurity(&self, totals: &Distribution) -> f64 {
        totals.side.error / totals.side.weight
    }

    fn value(&self, totals: &Distribution, into: &mut Vec<f64>) {
        into.push(totals.side.median + self.mean);
    }

    fn bins(&self) -> Vec<Vec<u32>> {
        vec![Vec::new(); BINS]
    }

    fn add(&self, bins: &mut Vec<Vec<u32>>, bin: u8, row: u32) {
        bins[usize::from(bin)].push(row);
    }

    fn subtract(&self, bins: &mut Vec<Vec<u32>>, other: &Vec<Vec<u32>>) {
        for (rows, other) in bins.iter_mut().zip(other) {
            rows.retain(|row| other.binary_search(row).is_err());
        }
    }

    fn count(&self, bins: &Vec<Vec<u32>>, bin: usize) -> u32 {
        bins[bin].len() as u32
    }

    fn division(&self) -> Sides {
        Sides::default()
    }

    fn reset(&self, division: &mut Sides, totals: &Distribution) {
        division.targets.clone_from(&totals.targets);
        division.left.clear(totals.targets.len());
        division.right.clear(totals.targets.len());
        for (at, (y, w)) in totals.targets.iter().zip(&totals.weights).enumerate() {
            division.right.add(at, [*w, w * y]);
        }
        division.node_error = totals.side.error;
    }

    fn push(&self, division: &mut Sides, row: u32) {
        let (y, w) = (self.y[row as usize], self.weight[row as usize]);
        let at = division.targets.partition_point(|&t| t < y);
        division.left.add(at, [w, w * y]);
        division.right.add(at, [-w, -w * y]);
    }

    fn push_bin(&self, division: &mut Sides, bins: &Vec<Vec<u32>>, bin: usize) {
        bins[bin].iter().for_each(|&row| self.push(division, row));
    }

    fn gain(&self, d: &Sides) -> f64 {
        d.node_error - d.left.side(&d.targets).error - d.right.side(&d.targets).error
    }

    fn bound(&self, _: &Sides, _: &Vec<Vec<u32>>, _: usize) -> f64 {
        f64::INFINITY
    }

    fn weights(&self, d: &Sides) -> [f64; 2] {
        [d.left.total[0], d.right.total[0]]
    }

    fn predictions(&self, d: &Sides) -> [f64; 2] {
        [&d.left, &d.right].map(|side| side.side(&d.targets).median + self.mean)
    }

    fn lanes(&self) -> usize {
        // Bins of rows are never worth keeping: as many rows as there are bins times this do not exist.
        usize::MAX / BINS
    }
}
