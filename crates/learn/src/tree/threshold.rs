//! Thresholds between two neighbouring values.

/// The middle of two values, rounded so that `low <= middle < high`.
pub(super) fn middle(low: f32, high: f32) -> f32 {
    let middle = (f64::from(low) / 2.0 + f64::from(high) / 2.0) as f32;
    if middle < high { middle } else { low }
}

/// A threshold `t` with `low <= t < high` and as few digits as possible, near the middle.
pub(crate) fn shortest(low: f32, high: f32) -> f32 {
    let middle = f64::from(low) / 2.0 + f64::from(high) / 2.0;
    for digits in 0..9 {
        // A number that was just formatted parses; values beyond f32 come out infinite and do not fit the gap.
        let rounded: f32 = format!("{middle:.digits$e}").parse().unwrap_or(f32::NAN);
        if low <= rounded && rounded < high {
            return rounded;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_threshold_lies_in_the_gap(a in -1e30f32..1e30, b in prop_oneof![-1e30f32..1e30, -1f32..1.0], near in any::<bool>()) {
            let b = if near { a.next_up() } else { b };
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assume!(low < high);
            for t in [middle(low, high), shortest(low, high)] {
                prop_assert!(low <= t && t < high, "{low} {t} {high}");
            }
        }
    }

    #[test]
    fn a_wide_gap_gives_a_short_number() {
        assert_eq!(shortest(41.2, 43.9), 43.0);
        assert_eq!(shortest(0.0, 1.0), 0.5);
        assert_eq!(shortest(1.0, 2.0), 1.5);
        assert_eq!(shortest(-3.0, 5.0), 1.0);
        assert_eq!(middle(1.0, 2.0), 1.5);
        assert_eq!(middle(1.0, 1f32.next_up()), 1.0);
    }
}
