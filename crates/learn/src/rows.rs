//! Sums over the rows of a matrix, several rows at a time. Each sum takes its summands in the order of the rows, so that its bits are
//! those of one row after another, with a part of the loads and stores, or of the waiting for the sum before.

use std::array::from_fn;

/// Rows that are taken at a time.
const TOGETHER: usize = 4;

/// Adds to `to` the first entries of each row times a factor that depends on the row. `rows` has the shape `(count, width)`, and a row has at
/// least as many entries as `to`.
#[inline(always)]
pub(crate) fn add_scaled(to: &mut [f64], rows: &[f64], width: usize, factor: impl Fn(usize) -> f64) {
    let count = rows.len().checked_div(width).unwrap_or(0);
    let whole = count - count % TOGETHER;
    for first in (0..whole).step_by(TOGETHER) {
        add_some::<TOGETHER>(to, &rows[first * width..], width, first, &factor);
    }
    let rest = &rows[whole * width..];
    match count - whole {
        1 => add_some::<1>(to, rest, width, whole, &factor),
        2 => add_some::<2>(to, rest, width, whole, &factor),
        3 => add_some::<3>(to, rest, width, whole, &factor),
        _ => {}
    }
}

#[inline(always)]
fn add_some<const N: usize>(to: &mut [f64], rows: &[f64], width: usize, first: usize, factor: &impl Fn(usize) -> f64) {
    let factors: [f64; N] = from_fn(|row| factor(first + row));
    if factors == [0.0; N] {
        return;
    }
    let rows: [&[f64]; N] = from_fn(|row| &rows[row * width..][..to.len()]);
    for (place, sum) in to.iter_mut().enumerate() {
        let mut all = *sum;
        for row in 0..N {
            all += factors[row] * rows[row][place];
        }
        *sum = all;
    }
}

/// Appends each row's sum of products with `factors`. `rows` has the shape `(count, factors)`.
#[inline(always)]
pub(crate) fn extend_with_dots(dots: &mut Vec<f64>, rows: &[f64], factors: &[f64], count: usize) {
    let width = factors.len();
    let whole = count - count % TOGETHER;
    for first in (0..whole).step_by(TOGETHER) {
        dots.extend(some_dots::<TOGETHER>(&rows[first * width..], factors));
    }
    let rest = &rows[whole * width..];
    match count - whole {
        1 => dots.extend(some_dots::<1>(rest, factors)),
        2 => dots.extend(some_dots::<2>(rest, factors)),
        3 => dots.extend(some_dots::<3>(rest, factors)),
        _ => {}
    }
}

#[inline(always)]
fn some_dots<const N: usize>(rows: &[f64], factors: &[f64]) -> [f64; N] {
    let rows: [&[f64]; N] = from_fn(|row| &rows[row * factors.len()..][..factors.len()]);
    // What a sum of nothing is to `Iterator::sum`.
    let mut sums = [-0.0; N];
    for (place, factor) in factors.iter().enumerate() {
        for row in 0..N {
            sums[row] += rows[row][place] * factor;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    #[test]
    fn several_rows_at_a_time_give_the_bits_of_one_after_another() {
        let mut s = Stream::new(3, "rows");
        for count in 0..11 {
            for width in 0..7 {
                let rows: Vec<f64> = (0..count * width).map(|_| s.uniform() - 0.5).collect();
                // Rows with nothing to add among them.
                let scale: Vec<f64> = (0..count).map(|_| (s.uniform() - 0.5) * s.below(2) as f64).collect();
                for taken in 0..=width {
                    let mut expected: Vec<f64> = (0..taken).map(|_| s.uniform()).collect();
                    let mut found = expected.clone();
                    for (row, scale) in rows.chunks_exact(width.max(1)).zip(&scale) {
                        expected.iter_mut().zip(row).for_each(|(sum, v)| *sum += scale * v);
                    }
                    add_scaled(&mut found, &rows, width, |row| scale[row]);
                    assert_eq!(found, expected, "{count} rows of {width}, {taken} taken");
                }
                let factors: Vec<f64> = (0..width).map(|_| s.uniform() - 0.5).collect();
                let row = |row: usize| rows[row * width..(row + 1) * width].iter().zip(&factors).map(|(v, f)| v * f);
                let expected: Vec<u64> = (0..count).map(|i| row(i).sum::<f64>().to_bits()).collect();
                let mut found = Vec::new();
                extend_with_dots(&mut found, &rows, &factors, count);
                assert_eq!(found.into_iter().map(f64::to_bits).collect::<Vec<_>>(), expected);
            }
        }
    }
}
