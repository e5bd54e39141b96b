//! Ranks within a choice.

/// Up to so many candidates, counting the smaller ones for each is faster than sorting.
const FEW: usize = 32;

/// From so many on it pays to look first whether they are in order already.
const SEVERAL: usize = 6;

/// Calls `set` with the place and rank of every value: the number of smaller values, so that ties share the lowest.
pub(super) fn ranks(values: &[f64], order: &mut Vec<u32>, mut set: impl FnMut(usize, usize)) {
    let count = values.len();
    if count >= SEVERAL && values.is_sorted() {
        ranks_along(values, 0..count, set);
    } else if count >= SEVERAL && values.is_sorted_by(|a, b| a >= b) {
        ranks_along(values, (0..count).rev(), set);
    } else if count <= FEW {
        // Several side by side, each compared with all.
        for (first, some) in (0..).step_by(8).zip(values.chunks(8)) {
            let (mut of, mut smaller) = ([f64::NAN; 8], [0_i64; 8]);
            of[..some.len()].copy_from_slice(some);
            for &other in values {
                smaller.iter_mut().zip(of).for_each(|(smaller, value)| *smaller += i64::from(other < value));
            }
            (first..).zip(&smaller[..some.len()]).for_each(|(row, &smaller)| set(row, smaller as usize));
        }
    } else {
        order.clear();
        order.extend(0..count as u32);
        // Ties share a rank, so their order among themselves is of no interest.
        order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        ranks_along(values, order.iter().map(|&place| place as usize), set);
    }
}

/// The same where their ascending order is known.
fn ranks_along(values: &[f64], order: impl Iterator<Item = usize>, mut set: impl FnMut(usize, usize)) {
    let (mut rank, mut last) = (0, f64::NEG_INFINITY);
    for (place, i) in order.enumerate() {
        if values[i] > last {
            (rank, last) = (place, values[i]);
        }
        set(i, rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_order_have_the_same_ranks() {
        let orders: [&[f64]; 4] = [
            &[0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 9.0],
            &[9.0, 9.0, 3.0, 1.0, 1.0, 0.5, -2.0],
            &[5.0; 8],
            &[0.0, -0.0, 0.0, -0.0, -1.0, -1.0, -3.0],
        ];
        for values in orders {
            let mut found = vec![usize::MAX; values.len()];
            ranks(values, &mut Vec::new(), |i, rank| found[i] = rank);
            assert!(
                values.iter().zip(&found).all(|(v, &r)| values.iter().filter(|o| *o < v).count() == r),
                "{found:?}"
            );
        }
    }

    #[test]
    fn counting_and_sorting_give_the_same_ranks() {
        let mut stream = crate::rng::Stream::new(1, "ranks");
        for n in [2, 7, FEW, FEW + 1, 100] {
            let values: Vec<f64> = (0..n).map(|_| stream.below(n) as f64 / 4.0).collect();
            let mut counted = vec![usize::MAX; n];
            ranks(&values, &mut Vec::new(), |i, rank| counted[i] = rank);
            let (mut sorted, mut order) = (vec![0; n], Vec::from_iter(0..n));
            order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            ranks_along(&values, order.into_iter(), |i, rank| sorted[i] = rank);
            assert_eq!(counted, sorted);
            assert!(values.iter().zip(&sorted).all(|(v, &r)| values.iter().filter(|o| *o < v).count() == r));
        }
    }
}
