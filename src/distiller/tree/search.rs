//! The divisions of a node's rows by one feature, in order of the threshold, with their gains.
//!
//! Rows move one by one, or bin by bin, from the right side to the left. Where some rows miss the feature, every division
//! is tried with them on the right and with them on the left; all present values against the missing ones is one of them.

use super::{
    column::{Entry, is_missing, row_of},
    criterion::{Criterion, MISSING_BIN},
};

/// What both sides of a split of a node must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) min_samples: usize,
    /// Scaled like the weights.
    pub(super) min_weight: f64,
    /// Whether any feature is constrained; then so are the predictions of all nodes.
    pub(super) constrained: bool,
    /// Direction of the feature at hand.
    pub(super) sign: i8,
    /// Least and largest prediction that the node's place allows.
    pub(super) bounds: [f64; 2],
}

/// Where a feature divides a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// Number of the last bin on the left, or rows with a value on the left.
    pub(super) at: usize,
    /// Whether the rows that miss the feature go left; `None` if there are none.
    pub(super) missing_left: Option<bool>,
}

impl Limits {
    fn allow<C: Criterion>(&self, criterion: &C, division: &C::Division) -> bool {
        let [left, right] = criterion.weights(division);
        if !(left > 0.0 && right > 0.0) || left.min(right) < self.min_weight {
            return false;
        }
        if !self.constrained {
            return true;
        }
        let [low, high] = self.bounds;
        let [a, b] = criterion.predictions(division);
        let ordered = match self.sign {
            0 => true,
            sign => (b - a) * f64::from(sign) >= 0.0,
        };
        ordered && a.min(b) >= low && a.max(b) <= high
    }
}

/// Calls `visit` with the gain and the place of every allowed division of a sorted list, until it returns false: first with
/// the missing values on the right, then, if there are any, with them on the left.
pub(super) fn divide_list<C: Criterion>(
    criterion: &C,
    (totals, division): (&C::Totals, &mut C::Division),
    list: &[Entry],
    limits: &Limits,
    mut visit: impl FnMut(f64, Place) -> bool,
) {
    let (n, min) = (list.len(), limits.min_samples);
    let present = match list.last() {
        Some(&last) if is_missing(last) => list.partition_point(|&e| !is_missing(e)),
        _ => n,
    };
    let missing = n - present;
    if present == 0 || (missing == 0 && list[0] >> 32 == list[n - 1] >> 32) {
        return;
    }
    for missing_left in [false, true] {
        if missing_left && missing == 0 {
            return;
        }
        criterion.reset(division, totals);
        let ahead = if missing_left { missing } else { 0 };
        list[present..][..ahead].iter().for_each(|&e| criterion.push(division, criterion.payload(row_of(e))));
        // All present values on the left leave only the missing ones for the right.
        let last = if missing > 0 && !missing_left { present } else { present - 1 };
        for i in 0..last.min((n - ahead).saturating_sub(min)) {
            criterion.push(division, criterion.payload(row_of(list[i])));
            let differs = i + 1 == present || list[i] >> 32 != list[i + 1] >> 32;
            if differs && i + 1 + ahead >= min && limits.allow(criterion, division) {
                let place = Place { at: i + 1, missing_left: (missing > 0).then_some(missing_left) };
                if !visit(criterion.gain(division), place) {
                    break;
                }
            }
        }
    }
}

/// The same for the bins of a histogram of `n` rows.
pub(super) fn divide_bins<C: Criterion>(
    criterion: &C,
    (totals, division): (&C::Totals, &mut C::Division),
    (histogram, bins, n): (&C::Bins, usize, usize),
    limits: &Limits,
    mut visit: impl FnMut(f64, Place) -> bool,
) {
    let missing = criterion.count(histogram, MISSING_BIN) as usize;
    for missing_left in [false, true] {
        if missing_left && missing == 0 {
            return;
        }
        criterion.reset(division, totals);
        let mut left = 0;
        if missing_left {
            criterion.push_bin(division, histogram, MISSING_BIN);
            left = missing;
        }
        for bin in 0..bins.min(MISSING_BIN) {
            let count = criterion.count(histogram, bin) as usize;
            if count == 0 {
                continue;
            }
            left += count;
            if n - left < limits.min_samples {
                break;
            }
            criterion.push_bin(division, histogram, bin);
            if left >= limits.min_samples && limits.allow(criterion, division) {
                let place = Place { at: bin, missing_left: (missing > 0).then_some(missing_left) };
                if !visit(criterion.gain(division), place) {
                    break;
                }
            }
        }
    }
}
