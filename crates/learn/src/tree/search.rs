//! The divisions of a node's rows by one feature, in order of the threshold, with their gains.
//!
//! Bin by bin, rows move from the right side to the left. Where some rows miss the feature, every division is tried with them
//! on the right and with them on the left; all present values against the missing ones is one of them.
//!
//! The exact engine cuts through bins as well: those in which, by [`Criterion::bound`], a gain as large as the best one
//! found between bins could hide. Their rows are sorted and move one by one. So every gap that could be the best one is
//! looked at, and most rows are never sorted.

use super::criterion::{BINS, Criterion, MISSING_BIN};

/// Gains that differ by less than this share of the node's weighted impurity are tied.
pub(super) const TIE: f64 = 1e-10;

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

/// Where a feature divides a node; the order is that of the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Place {
    /// Number of the last bin on the left.
    pub(super) bin: usize,
    /// If the division cuts through this bin, the key of its last value on the left; else the largest key.
    pub(super) key: u32,
    /// Whether the rows that miss the feature go left; `None` if there are none.
    pub(super) missing_left: Option<bool>,
}

/// A node's rows in one column.
pub(super) struct View<'a, C: Criterion> {
    pub(super) criterion: &'a C,
    pub(super) totals: &'a C::Totals,
    pub(super) histogram: &'a C::Bins,
    pub(super) bins: usize,
    /// How many rows there are.
    pub(super) rows: usize,
    /// The rows, where bins are cut through.
    pub(super) payload: &'a [C::Payload],
}

/// Bins that are cut through, and their rows.
pub(super) struct Cuts {
    pub(super) cut: [bool; BINS],
    /// Bin and key of the value, and place among the node's rows, of every row in such a bin, sorted.
    pub(super) rows: Vec<(u64, u32)>,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { cut: [false; BINS], rows: Vec::new() }
    }
}

impl Cuts {
    pub(super) fn clear(&mut self) {
        self.cut = [false; BINS];
        self.rows.clear();
    }
}

/// The least gain that counts as equal to the best one of a node. Gains that are nothing but rounding are all equal to 0: an
/// impure node is split even where no single split helps, since two splits may help together (as where the answer is the
/// exclusive or of two flags).
pub(super) fn enough<C: Criterion>(criterion: &C, totals: &C::Totals, best: f64) -> f64 {
    let tie = TIE * criterion.weight(totals) * criterion.impurity(totals);
    if best > tie { best - tie } else { best.min(0.0) - tie }
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

impl<C: Criterion> View<'_, C> {
    /// Calls `visit` with the gain and the place of every allowed division, until it returns false: first with the missing
    /// values on the right, then, if there are any, with them on the left.
    pub(super) fn divide(
        &self,
        division: &mut C::Division,
        cuts: &Cuts,
        limits: &Limits,
        mut visit: impl FnMut(f64, Place) -> bool,
    ) {
        let (criterion, n) = (self.criterion, self.rows);
        for missing_left in self.sides() {
            let mut left = self.reset(division, missing_left);
            let mut cut_rows = &cuts.rows[..];
            'bins: for bin in 0..self.bins {
                let count = criterion.count(self.histogram, bin) as usize;
                if count == 0 {
                    continue;
                }
                if n - left <= limits.min_samples {
                    break;
                }
                let mut goes_on = |division: &C::Division, left: usize, key: u32| {
                    let enough = left >= limits.min_samples && n - left >= limits.min_samples;
                    !(enough && limits.allow(criterion, division))
                        || visit(criterion.gain(division), Place { bin, key, missing_left })
                };
                if cuts.cut[bin] {
                    let (rows, others) = cut_rows.split_at(count);
                    cut_rows = others;
                    for (i, &(key, at)) in rows.iter().enumerate() {
                        criterion.push(division, self.payload[at as usize]);
                        let differs = rows.get(i + 1).is_some_and(|next| next.0 != key);
                        if differs && !goes_on(division, left + i + 1, key as u32) {
                            break 'bins;
                        }
                    }
                } else {
                    criterion.push_bin(division, self.histogram, bin);
                }
                left += count;
                if !goes_on(division, left, u32::MAX) {
                    break;
                }
            }
        }
    }

    /// The largest gain of an allowed division.
    pub(super) fn most(&self, division: &mut C::Division, cuts: &Cuts, limits: &Limits) -> f64 {
        let mut most = f64::NEG_INFINITY;
        self.divide(division, cuts, limits, |gain, _| {
            if gain > most {
                most = gain;
            }
            true
        });
        most
    }

    /// The lowest place whose gain is enough; with missing values on the right before on the left. Where sums that were
    /// formed in another order fall short of it, the place of the largest gain.
    pub(super) fn first(&self, division: &mut C::Division, cuts: &Cuts, limits: &Limits, enough: f64) -> Option<Place> {
        let mut found: Option<Place> = None;
        let mut best: Option<(f64, Place)> = None;
        self.divide(division, cuts, limits, |gain, place| {
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, place));
            }
            // The walk with missing values on the left comes second and goes on only below what the first one found.
            let lower = found.is_none_or(|f| (place.bin, place.key) < (f.bin, f.key));
            if lower && gain >= enough {
                found = Some(place);
            }
            lower && gain < enough
        });
        found.or(best.map(|(_, place)| place))
    }

    /// Marks the bins in which a gain of `enough` could hide; returns how many rows they have.
    pub(super) fn find_cuts(&self, division: &mut C::Division, enough: f64, cut: &mut [bool; BINS]) -> usize {
        *cut = [false; BINS];
        for missing_left in self.sides() {
            self.reset(division, missing_left);
            for (bin, cut) in cut.iter_mut().enumerate().take(self.bins) {
                let count = self.criterion.count(self.histogram, bin);
                if count > 0 {
                    *cut |= count > 1 && self.criterion.bound(division, self.histogram, bin) >= enough;
                    self.criterion.push_bin(division, self.histogram, bin);
                }
            }
        }
        (0..self.bins).filter(|&bin| cut[bin]).map(|bin| self.criterion.count(self.histogram, bin) as usize).sum()
    }

    /// On which side the missing values are tried.
    fn sides(&self) -> impl Iterator<Item = Option<bool>> + use<C> {
        let missing = self.criterion.count(self.histogram, MISSING_BIN) > 0;
        let sides = if missing { [Some(false), Some(true)] } else { [None, None] };
        sides.into_iter().take(1 + usize::from(missing))
    }

    /// All rows on the right, but for missing ones that are tried on the left; returns the number of those.
    fn reset(&self, division: &mut C::Division, missing_left: Option<bool>) -> usize {
        self.criterion.reset(division, self.totals);
        if missing_left != Some(true) {
            return 0;
        }
        self.criterion.push_bin(division, self.histogram, MISSING_BIN);
        self.criterion.count(self.histogram, MISSING_BIN) as usize
    }
}
