//! Features in the form in which splits are searched: bytes for features of few values or for bins, else sorted lists.

use super::{Engine, criterion::MISSING_BIN, data::Rows};
use crate::rng::{hash, scale};
use rayon::prelude::*;

/// A row in a sorted list: the feature's value as an ordered integer above, the row number below.
pub(super) type Entry = u64;

/// The ordered integer of a missing value: above all others.
const MISSING_KEY: u32 = u32::MAX;

/// Rows from which bins are made; of more rows, so many are drawn.
const SAMPLE: usize = 200_000;

/// Columns that are read together: their values share cache lines.
const GROUP: usize = 6;

/// Rows that are read at a time, so that a group's columns find them in the cache.
const BLOCK: usize = 4096;

/// A feature of all rows.
pub(super) enum Column {
    /// A byte per row: number of the bin, [`MISSING_BIN`] for a missing value.
    Codes {
        codes: Vec<u8>,
        bins: usize,
    },
    /// Active rows by value, missing values last. A node's rows are the same range of every such list.
    Sorted(Vec<Entry>),
}

fn key(value: f32) -> u32 {
    if value.is_nan() {
        return MISSING_KEY;
    }
    // −0 equals 0; then flip so that the order of the bits is the order of the numbers.
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

pub(super) fn row_of(entry: Entry) -> u32 {
    entry as u32
}

pub(super) fn value_of(entry: Entry) -> f32 {
    let key = (entry >> 32) as u32;
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

pub(super) fn is_missing(entry: Entry) -> bool {
    (entry >> 32) as u32 == MISSING_KEY
}

/// All columns of the data. Absolute errors need every column sorted.
pub(super) fn columns(rows: &Rows<'_>, engine: Engine, all_sorted: bool) -> Vec<Column> {
    let numbers: Vec<usize> = (0..rows.width).collect();
    let groups: Vec<Vec<Column>> = numbers.par_chunks(GROUP).map(|group| {
        let edges: Vec<Option<Vec<f32>>> = group
            .iter()
            .map(|&column| match engine {
                _ if all_sorted => None,
                Engine::Histogram { max_bins } => Some(quantile_edges(rows, column, max_bins)),
                Engine::Exact => few_values(rows, column),
            })
            .collect();
        let bins = edges.iter().map(|edges| edges.as_ref().map(|e| BinEdges::new(e)));
        let bins: Vec<Option<BinEdges>> = bins.collect();
        let mut columns: Vec<Column> = bins.iter().map(|bins| match bins {
            Some(bins) => Column::Codes { codes: vec![0; rows.weight.len()], bins: bins.count },
            None => Column::Sorted(Vec::with_capacity(rows.active.len())),
        }).collect();
        for block in rows.active.chunks(BLOCK) {
            for ((&number, column), bins) in group.iter().zip(&mut columns).zip(&bins) {
                let value = |row: u32| rows.x[row as usize * rows.width + number];
                match (column, bins) {
                    (Column::Codes { codes, .. }, Some(bins)) => {
                        block.iter().for_each(|&row| codes[row as usize] = bins.code(value(row)));
                    }
                    (Column::Sorted(list), _) => {
                        list.extend(block.iter().map(|&row| (u64::from(key(value(row))) << 32) | u64::from(row)));
                    }
                    (Column::Codes { .. }, None) => {}
                }
            }
        }
        for column in &mut columns {
            if let Column::Sorted(list) = column {
                sort(list);
            }
        }
        columns
    }).collect();
    groups.into_iter().flatten().collect()
}

/// The values of a column in ascending order if a byte can tell them apart.
fn few_values(rows: &Rows<'_>, column: usize) -> Option<Vec<f32>> {
    let mut values: Vec<f32> = Vec::new();
    for &row in &rows.active {
        let value = rows.x[row as usize * rows.width + column] + 0.0;
        if value.is_nan() {
            continue;
        }
        let at = values.partition_point(|&v| v < value);
        if values.get(at) != Some(&value) {
            if values.len() == MISSING_BIN {
                return None;
            }
            values.insert(at, value);
        }
    }
    Some(values)
}

/// Upper ends of bins of about equal numbers of rows: each lies between two neighbouring values, but for the last, which is
/// the largest value.
fn quantile_edges(rows: &Rows<'_>, column: usize, max_bins: usize) -> Vec<f32> {
    let value = |row: u32| rows.x[row as usize * rows.width + column] + 0.0;
    let n = rows.active.len();
    let mut keys: Vec<u32> = if n <= SAMPLE {
        rows.active.iter().map(|&row| key(value(row))).collect()
    } else {
        // One row out of every stretch of equal length, drawn so that no period of the data can meet it.
        let drawn = (0..SAMPLE).map(|i| {
            let (from, to) = (i * n / SAMPLE, (i + 1) * n / SAMPLE);
            from + scale(hash(&[i as u64]), (to - from) as u32) as usize
        });
        drawn.map(|i| key(value(rows.active[i]))).collect()
    };
    keys.sort_unstable();
    keys.truncate(keys.partition_point(|&k| k != MISSING_KEY));
    let mut values: Vec<(f32, usize)> = Vec::new();
    for &k in &keys {
        let v = value_of(u64::from(k) << 32);
        match values.last_mut() {
            Some((last, count)) if *last == v => *count += 1,
            _ => values.push((v, 1)),
        }
    }
    let Some(&(largest, _)) = values.last() else { return Vec::new() };
    let mut edges = Vec::new();
    let (mut left, mut filled) = (keys.len(), 0);
    let few = values.len() <= max_bins;
    for (i, &(low, count)) in values.iter().enumerate().take(values.len() - 1) {
        filled += count;
        // What is left is shared by the bins that are left; a value that fills a bin on its own starts a new one.
        let share = left as f64 / (max_bins - edges.len()) as f64;
        let (high, next) = values[i + 1];
        if few || filled as f64 >= share || (filled + next) as f64 > 1.5 * share {
            edges.push(super::threshold::middle(low, high));
            left -= filled;
            filled = 0;
            if edges.len() + 1 == max_bins {
                break;
            }
        }
    }
    edges.push(largest);
    edges
}

/// Upper ends of bins, padded for a search without branches.
struct BinEdges {
    edges: Box<[f32; 256]>,
    count: usize,
}

impl BinEdges {
    /// Bin `i` holds the values above edge `i − 1` and up to edge `i`; the last bin holds all larger ones as well.
    fn new(edges: &[f32]) -> Self {
        let mut padded = Box::new([f32::INFINITY; 256]);
        let inner = edges.len().saturating_sub(1);
        padded[..inner].copy_from_slice(&edges[..inner]);
        Self { edges: padded, count: edges.len() }
    }

    #[inline]
    fn code(&self, value: f32) -> u8 {
        if value.is_nan() {
            return MISSING_BIN as u8;
        }
        // The number of edges below the value.
        let mut at = 0;
        for step in [128, 64, 32, 16, 8, 4, 2, 1] {
            at += if self.edges[at + step - 1] < value { step } else { 0 };
        }
        at as u8
    }
}

/// Below this length the library's sort is faster.
const RADIX_FROM: usize = 4096;

/// Sorts a list whose rows ascend among equal values already: by the value's digits of 11, 11 and 10 bits.
fn sort(list: &mut Vec<Entry>) {
    if list.len() < RADIX_FROM {
        list.sort_unstable();
        return;
    }
    const DIGITS: [(u32, usize); 3] = [(32, 11), (43, 11), (54, 10)];
    let digit = |entry: Entry, (shift, bits): (u32, usize)| (entry >> shift) as usize & ((1 << bits) - 1);
    let mut counts = [[0u32; 1 << 11]; 3];
    for &entry in list.iter() {
        for (count, which) in counts.iter_mut().zip(DIGITS) {
            count[digit(entry, which)] += 1;
        }
    }
    let mut other = vec![0; list.len()];
    for (count, which) in counts.iter_mut().zip(DIGITS) {
        if count.iter().any(|&c| c as usize == list.len()) {
            continue;
        }
        let mut next = 0;
        for c in count.iter_mut() {
            (*c, next) = (next, next + *c);
        }
        for &entry in list.iter() {
            let place = &mut count[digit(entry, which)];
            other[*place as usize] = entry;
            *place += 1;
        }
        std::mem::swap(list, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn the_radix_sort_sorts_like_the_library() {
        let mut s = Stream::new(1, "sort");
        for tied in [false, true] {
            let values: Vec<f32> = (0..RADIX_FROM + 100)
                .map(|_| if tied { (s.normal() * 2.0).round() as f32 } else { s.normal() as f32 })
                .collect();
            let mut list: Vec<Entry> =
                values.iter().enumerate().map(|(row, &v)| (u64::from(key(v)) << 32) | row as u64).collect();
            let mut expected = list.clone();
            expected.sort_unstable();
            sort(&mut list);
            assert_eq!(list, expected);
            assert!(list.iter().all(|&e| value_of(e) == values[row_of(e) as usize]));
        }
    }

    #[test]
    fn a_value_falls_into_the_bin_whose_upper_end_is_the_first_not_below_it() {
        for n in [1usize, 2, 3, 100, 254, 255] {
            let edges: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
            let bins = BinEdges::new(&edges);
            for i in 0..n {
                assert_eq!(usize::from(bins.code(edges[i])), i, "{n}");
                assert_eq!(usize::from(bins.code(edges[i] + 1.0)), (i + 1).min(n - 1), "{n}");
            }
            assert_eq!(bins.code(f32::MIN), 0);
            assert_eq!(usize::from(bins.code(f32::NAN)), MISSING_BIN);
        }
    }
}
