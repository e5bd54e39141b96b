//! Features in the form in which splits are searched: a byte per row that names a bin.

use super::{criterion::MISSING_BIN, data::Rows};
use rayon::prelude::*;
use sched_distill_core::rng::{hash, scale};
use serde::{Deserialize, Serialize};

/// Rows from which bins are made; of more rows, so many are drawn.
pub(crate) const SAMPLE: usize = 1 << 16;

/// Rows that are read at a time, so that all columns find them in the cache.
const BLOCK: usize = 2048;

/// A feature of all active rows.
pub(super) struct Column {
    /// The bin of each row, in the order in which the learner keeps the rows; [`MISSING_BIN`] for a missing value.
    pub(super) codes: Vec<u8>,
    pub(super) bins: usize,
    /// The values of the bins, if each holds a single one.
    pub(super) values: Option<Vec<f32>>,
}

/// A value as an integer that is ordered like the values; −0 equals 0. Not for NaN.
pub(crate) fn key(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    // Flip so that the order of the bits is the order of the numbers.
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

pub(crate) fn value_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// All columns of the data, with at most `max_bins` bins. Features of no more values than that keep their values apart.
pub(super) fn columns(rows: &Rows<'_>, max_bins: usize) -> Vec<Column> {
    let binnings: Vec<Binning> = samples(rows).into_par_iter().map(|sample| Binning::new(sample, max_bins)).collect();
    // All columns of a block of rows are read together, because their values share cache lines.
    let blocks: Vec<(Vec<u8>, Vec<bool>)> =
        rows.active
            .par_chunks(BLOCK)
            .map(|block| {
                let mut codes = Vec::with_capacity(block.len() * rows.width);
                let unknown = binnings.iter().enumerate().map(|(number, binning)| {
                    binning.encode(block.iter().map(|&row| rows.value(row, number)), &mut codes)
                });
                let unknown = unknown.collect();
                (codes, unknown)
            })
            .collect();
    let numbered = binnings.into_par_iter().enumerate();
    numbered
        .map(|(number, binning)| {
            if blocks.iter().any(|(_, unknown)| unknown[number]) {
                return again(rows, number, max_bins);
            }
            let mut codes = Vec::with_capacity(rows.active.len());
            for (block, _) in &blocks {
                let length = block.len() / rows.width;
                codes.extend_from_slice(&block[number * length..][..length]);
            }
            Column { codes, bins: binning.edges.count, values: binning.values }
        })
        .collect()
}

/// A column of which the sample showed few values, but which has others.
fn again(rows: &Rows<'_>, number: usize, max_bins: usize) -> Column {
    let binning = match few_values(rows, number, max_bins) {
        Some(values) => Binning::of_values(values),
        // The sample missed nearly all values: bins from all rows.
        None => {
            let values = rows.active.iter().map(|&row| rows.value(row, number)).filter(|v| !v.is_nan());
            let values = counted(values.map(key).collect());
            Binning { edges: BinEdges::new(&quantile_edges(&values, max_bins)), values: None }
        }
    };
    let mut codes = Vec::with_capacity(rows.active.len());
    binning.encode(rows.active.iter().map(|&row| rows.value(row, number)), &mut codes);
    Column { codes, bins: binning.edges.count, values: binning.values }
}

/// All columns of the data, in bins that are given.
pub(super) fn columns_in(rows: &Rows<'_>, bins: &[FeatureBins]) -> Vec<Column> {
    let numbered = bins.par_iter().enumerate();
    numbered
        .map(|(number, bins)| {
            let binning = Binning::of(bins);
            let mut codes = Vec::with_capacity(rows.active.len());
            binning.encode(rows.active.iter().map(|&row| rows.value(row, number)), &mut codes);
            Column { codes, bins: binning.edges.count, values: binning.values }
        })
        .collect()
}

/// How the values of a feature are told apart by a histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureBins {
    /// Upper ends of the bins, at most 255, ascending; the last bin holds all larger values as well.
    pub edges: Vec<f32>,
    /// Whether each bin holds a single value, its upper end.
    pub apart: bool,
}

impl FeatureBins {
    /// A bin for each value; these ascend.
    #[must_use]
    pub fn of_values(values: Vec<f32>) -> Self {
        Self { edges: values, apart: true }
    }

    /// Bins of about equal numbers of rows, of a feature of more values than bins: from the keys of a sample.
    pub(crate) fn of_sample(keys: Vec<u32>, max_bins: usize) -> Self {
        let sample = counted(keys);
        if sample.len() > max_bins {
            return Self { edges: quantile_edges(&sample, max_bins), apart: false };
        }
        // The sample has few of the values.
        let mut edges: Vec<f32> =
            sample.windows(2).map(|pair| super::threshold::middle(pair[0].0, pair[1].0)).collect();
        edges.extend(sample.last().map(|&(largest, _)| largest));
        Self { edges, apart: false }
    }
}

/// How a column's values are told apart.
pub(super) struct Binning {
    edges: BinEdges,
    values: Option<Vec<f32>>,
}

impl Binning {
    pub(super) fn of(bins: &FeatureBins) -> Self {
        Self { edges: BinEdges::new(&bins.edges), values: bins.apart.then(|| bins.edges.clone()) }
    }

    #[inline]
    pub(super) fn code(&self, value: f32) -> u8 {
        self.edges.code(value)
    }

    /// From a sample of the rows: a bin per value if it has no more than `max_bins`, else bins of about equal numbers of rows.
    fn new(sample: Vec<u32>, max_bins: usize) -> Self {
        let sample = counted(sample);
        if sample.len() <= max_bins {
            return Self::of_values(sample.into_iter().map(|(value, _)| value).collect());
        }
        Self { edges: BinEdges::new(&quantile_edges(&sample, max_bins)), values: None }
    }

    fn of_values(values: Vec<f32>) -> Self {
        Self { edges: BinEdges::new(&values), values: Some(values) }
    }

    /// Appends the bins of some values. True if there is one that bins by value do not know, because it was not in the sample.
    fn encode(&self, column: impl Iterator<Item = f32>, codes: &mut Vec<u8>) -> bool {
        let Some(values) = &self.values else {
            codes.extend(column.map(|value| self.edges.code(value)));
            return false;
        };
        let mut unknown = false;
        codes.extend(column.map(|value| {
            let code = self.edges.code(value);
            unknown |= values.get(usize::from(code)) != Some(&value) && !value.is_nan();
            code
        }));
        unknown
    }
}

/// Values in ascending order, with their numbers, from keys.
fn counted(mut keys: Vec<u32>) -> Vec<(f32, usize)> {
    keys.sort_unstable();
    keys.chunk_by(|a, b| a == b).map(|equal| (value_of(equal[0]), equal.len())).collect()
}

/// The values of a column in ascending order if there are no more than `most`.
fn few_values(rows: &Rows<'_>, number: usize, most: usize) -> Option<Vec<f32>> {
    let mut values: Vec<f32> = Vec::new();
    for value in rows.active.iter().map(|&row| rows.value(row, number)).filter(|v| !v.is_nan()) {
        let at = values.partition_point(|&v| v < value);
        if values.get(at) != Some(&value) {
            if values.len() == most {
                return None;
            }
            values.insert(at, value);
        }
    }
    Some(values)
}

/// Keys of the columns' values in a sample of the rows; none for missing values.
fn samples(rows: &Rows<'_>) -> Vec<Vec<u32>> {
    let n = rows.active.len();
    // Of many rows, one out of every stretch of equal length, drawn so that no period of the data can meet it.
    let drawn = |i: usize| {
        let (from, to) = (i * n / SAMPLE, (i + 1) * n / SAMPLE);
        from + scale(hash(&[i as u64]), (to - from) as u32) as usize
    };
    let mut keys = vec![Vec::with_capacity(n.min(SAMPLE)); rows.width];
    for i in 0..n.min(SAMPLE) {
        let row = rows.active[if n <= SAMPLE { i } else { drawn(i) }];
        for (number, keys) in keys.iter_mut().enumerate() {
            let value = rows.value(row, number);
            if !value.is_nan() {
                keys.push(key(value));
            }
        }
    }
    keys
}

/// Upper ends of at most `max_bins` bins. Values that would fill a bin on their own have one; the others share the rest, with
/// about equal numbers of rows. Each end lies between two neighbouring values, but for the last, which is the largest value.
/// `values` are more than there are bins.
fn quantile_edges(values: &[(f32, usize)], max_bins: usize) -> Vec<f32> {
    let fair = values.iter().map(|v| v.1).sum::<usize>().div_ceil(max_bins);
    let heavy = |count: usize| count >= fair;
    // Bins that heavy values will take, and rows of the others, from here on.
    let mut reserved = values.iter().filter(|v| heavy(v.1)).count();
    let mut light: usize = values.iter().map(|v| v.1).filter(|&count| !heavy(count)).sum();
    let mut edges = Vec::with_capacity(max_bins);
    let mut filled = 0;
    for pair in values.windows(2) {
        let [(low, count), (high, next)] = [pair[0], pair[1]];
        filled += count;
        let room = max_bins - edges.len();
        let share = light as f64 / room.saturating_sub(reserved).max(1) as f64;
        if heavy(count) || heavy(next) || filled as f64 >= share {
            edges.push(super::threshold::middle(low, high));
            (reserved, light) = if heavy(count) { (reserved - 1, light) } else { (reserved, light - filled) };
            filled = 0;
            if edges.len() + 1 == max_bins {
                break;
            }
        }
    }
    edges.extend(values.last().map(|&(largest, _)| largest));
    edges
}

/// Upper ends of bins, padded for a search without branches.
struct BinEdges {
    edges: Box<[[f32; 16]; 16]>,
    /// The last edge of each row.
    last: [f32; 16],
    count: usize,
}

impl BinEdges {
    /// Bin `i` holds the values above edge `i − 1` and up to edge `i`; the last bin holds all larger ones as well.
    fn new(edges: &[f32]) -> Self {
        let mut padded = Box::new([[f32::INFINITY; 16]; 16]);
        let inner = edges.len().saturating_sub(1);
        padded.as_flattened_mut()[..inner].copy_from_slice(&edges[..inner]);
        let last = padded.map(|row| row[15]);
        Self { edges: padded, last, count: edges.len() }
    }

    #[inline]
    fn code(&self, value: f32) -> u8 {
        // The number of edges below the value, by sixteens and then by ones: the edges ascend, so it is where the first
        // edge stands that is not below. All sixteen are compared at once.
        let below = |edges: &[f32; 16]| {
            let mask = edges.iter().enumerate().fold(0u32, |mask, (i, &edge)| mask | u32::from(edge < value) << i);
            (!mask).trailing_zeros()
        };
        let row = if self.count <= 16 { 0 } else { below(&self.last) & 15 };
        let code = 16 * row + below(&self.edges[row as usize]);
        if value.is_nan() { MISSING_BIN as u8 } else { code as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_bin_whose_upper_end_is_the_first_not_below_it() {
        for n in [1usize, 2, 3, 100, 254, 255] {
            let edges: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
            let bins = BinEdges::new(&edges);
            for (i, &edge) in edges.iter().enumerate() {
                assert_eq!(usize::from(bins.code(edge)), i, "{n}");
                assert_eq!(usize::from(bins.code(edge + 1.0)), (i + 1).min(n - 1), "{n}");
            }
            assert_eq!(bins.code(f32::MIN), 0);
            assert_eq!(usize::from(bins.code(f32::NAN)), MISSING_BIN);
        }
    }
}
