//! Pairs of candidates as rows, for learners that know rows only.

use super::data::{ChoiceData, OneChoice};
use sched_distill_core::{model::pair_column, rng::Stream};

/// Unordered pairs in memory at most; twice as many rows.
pub(crate) const MOST_PAIRS: usize = 250_000;

/// Rows of pairs.
pub(crate) struct Pairs {
    /// The first candidate's features, then the differences first − second; shape `(rows, 2 × width)`, row-major.
    pub(crate) x: Vec<f32>,
    /// The chance that the first one wins, p₁ / (p₁ + p₂).
    pub(crate) y: Vec<f64>,
    pub(crate) weight: Vec<f64>,
}

/// The pairs of a choice that count: both indices and their share of the choice's weight, (pᵢ + pⱼ) / (n − 1).
pub(super) fn shares<'a, T>(choice: &OneChoice<'a, T>) -> impl Iterator<Item = (usize, usize, f64)> + use<'a, T> {
    let p = choice.probability;
    let whole = p.iter().sum::<f64>() * (p.len() - 1) as f64;
    let pairs = (0..p.len()).flat_map(move |i| (i + 1..p.len()).map(move |j| (i, j)));
    pairs.map(move |(i, j)| (i, j, (p[i] + p[j]) / whole)).filter(|(.., share)| *share > 0.0)
}

/// All pairs in both orders, the smaller index first and its mirror image behind it.
///
/// Where there would be more than `most` unordered pairs, large choices get fewer: as many for each as make the total fit,
/// drawn in proportion to their weight at even distances, so that every choice keeps its weight and every pair has its due
/// weight on average.
pub(crate) fn pairs(data: &ChoiceData<'_, f32>, most: usize) -> Pairs {
    let width = data.width;
    let per_choice = limit(data, most);
    let mut rows = Pairs { x: Vec::new(), y: Vec::new(), weight: Vec::new() };
    let mut stream = Stream::new(0, "pairs");
    for c in 0..data.choices() {
        let choice = data.choice(c);
        let n = choice.probability.len();
        if n < 2 || choice.weight == 0.0 {
            continue;
        }
        let mut push = |i: usize, j: usize, share: f64| {
            let (a, b) = (&choice.x[i * width..(i + 1) * width], &choice.x[j * width..(j + 1) * width]);
            for (first, second, k, l) in [(a, b, i, j), (b, a, j, i)] {
                rows.x.extend((0..2 * width).map(|column| pair_column(first, second, column)));
                rows.y.push(choice.probability[k] / (choice.probability[k] + choice.probability[l]));
                rows.weight.push(choice.weight * share / 2.0);
            }
        };
        if n * (n - 1) / 2 <= per_choice {
            shares(&choice).for_each(|(i, j, share)| push(i, j, share));
            continue;
        }
        let start = stream.uniform();
        let mut upto = 0.0;
        for (i, j, share) in shares(&choice) {
            let drawn = |sum: f64| (sum * per_choice as f64 - start).ceil().max(0.0);
            let before = drawn(upto);
            upto += share;
            let times = drawn(upto.min(1.0)) - before;
            if times > 0.0 {
                push(i, j, times / per_choice as f64);
            }
        }
    }
    rows
}

/// The largest number of pairs per choice, at least 1, with which all choices together have no more than `most`.
fn limit(data: &ChoiceData<'_, f32>, most: usize) -> usize {
    let counts = data.bounds.windows(2).map(|b| (b[1] - b[0]) * (b[1] - b[0] - 1) / 2);
    let total = |limit: usize| counts.clone().map(|n| n.min(limit)).sum::<usize>();
    let (mut low, mut high) = (1, counts.clone().max().unwrap_or(1).max(1));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if total(middle) <= most {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
