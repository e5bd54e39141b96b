//! `exp`, `ln` and `ln_1p` that give the same bits everywhere.
//!
//! Those of the standard library are the platform's, whose last digits differ from one library to the next. Where a student
//! decides or a model scores, the bits must be the same on every machine and in every language that
//! [exports](crate::model::export) are written in. So these are made of nothing but `+`, `-`, `*`, `/`, comparisons and the bits
//! of a number, which IEEE 754 leaves no choice about, in an order that is fixed. They are at most 2 units in the last place
//! from the true value, and about as fast as the platform's.
//!
//! Exported source code holds the same functions, operation by operation: what is changed here is to be changed there
//! (`model/export/math.rs`), and a test compares the bits.

/// ln 2 in two parts: the first has so few bits that its products with exponents are exact.
const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];

/// 1 ÷ ln 2.
const PER_LN_2: f64 = std::f64::consts::LOG2_E;

/// 1.5 · 2⁵²: numbers near it have no places behind the point, so that adding it rounds, and their last bits count.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The bits of √½, rounded down.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcc;

/// The bits of 1.
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// The bits of a number's fraction.
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;

/// 2 to the power of an exponent from -1022 to 1023.
#[inline(always)]
fn power_of_2(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// eˣ.
///
/// x = k · ln 2 + r with a whole k, so that |r| is at most half of ln 2; eʳ is its series up to the 13th power.
///
/// ```
/// # use sched_distill_core::elementary::exp;
/// assert_eq!((exp(0.0), exp(f64::NEG_INFINITY), exp(1000.0)), (1.0, 0.0, f64::INFINITY));
/// ```
#[must_use]
#[inline]
pub fn exp(x: f64) -> f64 {
    // Beyond this all is infinite, or 0, long since.
    if x.abs() > 800.0 {
        return if x > 0.0 { f64::INFINITY } else { 0.0 };
    }
    let shifted = x * PER_LN_2 + ROUNDER;
    let k = shifted - ROUNDER;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    let b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362_880.0));
    let c = (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) + r2 * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    let power = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
    // What is not a number, k included, goes through all of this as such. In two steps, as 2 to the power of k alone may be too
    // large or too small.
    let k = i64::from(shifted.to_bits() as u32 as i32);
    let half = k >> 1;
    power * power_of_2(half) * power_of_2(k - half)
}

/// The natural logarithm; not a number for negative x.
///
/// x = 2ᵏ · m with m from √½ to √2. With f = m - 1 and s = f ÷ (2 + f), ln m is 2 · artanh s = 2s + s · (⅔s² + ⅖s⁴ + ...).
///
/// ```
/// # use sched_distill_core::elementary::ln;
/// assert_eq!((ln(1.0), ln(0.0), ln(f64::INFINITY)), (0.0, f64::NEG_INFINITY, f64::INFINITY));
/// ```
#[must_use]
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return match x {
            0.0 => f64::NEG_INFINITY,
            f64::INFINITY => x,
            _ => f64::NAN,
        };
    }
    // Numbers so small that their exponent does not say how small are made larger by 2⁵⁴.
    let (bits, less) = match x < f64::MIN_POSITIVE {
        true => ((x * 18_014_398_509_481_984.0).to_bits(), 54),
        false => (x.to_bits(), 0),
    };
    let above = bits + (ONE - SQRT_HALF);
    let k = ((above >> 52) as i64 - 1023 - less) as f64;
    let f = f64::from_bits((above & FRACTION) + SQRT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let a = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    let b = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    let rest = z * (a + z4 * (b + z4 * (2.0 / 19.0)));
    // 2s is f - s · f, and s · f is f²/2 - s · f²/2: what is left to be added is small, and so are its errors.
    let half = 0.5 * f * f;
    k * LN_2[0] - ((half - (s * (half + rest) + k * LN_2[1])) - f)
}

/// ln(1 + x), exact for small x too; not a number below -1.
///
/// u = 1 + x is rounded. What it lost makes up a part of ln u that is as large as x ÷ (u - 1) says.
///
/// ```
/// # use sched_distill_core::elementary::ln_1p;
/// assert_eq!((ln_1p(0.0), ln_1p(1e-20), ln_1p(-1.0)), (0.0, 1e-20, f64::NEG_INFINITY));
/// ```
#[must_use]
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    if u == 1.0 {
        return x;
    }
    if u == f64::INFINITY {
        return u;
    }
    ln(u) * (x / (u - 1.0))
}

/// x where it is above 0, else 0, also where it is no number.
#[must_use]
#[inline(always)]
pub fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// Units in the last place between two numbers of the same sign.
    fn apart(a: f64, b: f64) -> u64 {
        match a.is_nan() || b.is_nan() {
            true => u64::from(a.is_nan() != b.is_nan()) * u64::MAX,
            false if a == b => 0,
            false => a.to_bits().abs_diff(b.to_bits()),
        }
    }

    fn most_apart(own: fn(f64) -> f64, std: fn(f64) -> f64, values: impl Iterator<Item = f64>) -> u64 {
        values.map(|x| apart(own(x), std(x))).max().unwrap_or(0)
    }

    const EDGES: [f64; 20] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        0.999_999_999_999_999_9,
        1.000_000_000_000_000_2,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        709.782_712_893_384,
        709.782_712_893_385,
        -745.133_219_101_941_1,
        -745.133_219_101_941_2,
    ];

    #[test]
    fn they_are_close_to_those_of_the_platform() {
        let mut s = Stream::new(1, "elementary");
        let n = 300_000;
        let uniform = |s: &mut Stream, low: f64, high: f64| low + (high - low) * s.uniform();
        let any = |s: &mut Stream| f64::from_bits(s.bits());
        for (own, std, ranges) in [
            (exp as fn(f64) -> f64, f64::exp as fn(f64) -> f64, [(-1.0, 1.0), (-708.0, 709.7), (-746.0, -700.0)]),
            (ln, f64::ln, [(0.5, 2.0), (0.0, 1e-300), (0.0, 1e6)]),
            (ln_1p, f64::ln_1p, [(-0.5, 1.0), (-1.0, 1e6), (-1e-9, 1e-9)]),
        ] {
            for (low, high) in ranges {
                let most = most_apart(own, std, (0..n).map(|_| uniform(&mut s, low, high)));
                assert!(most <= 2, "{most} from {low} to {high}");
            }
            assert!(most_apart(own, std, (0..n).map(|_| any(&mut s))) <= 2);
            assert!(most_apart(own, std, (0..n).map(|_| 2f64.powf(uniform(&mut s, -80.0, 80.0)))) <= 2);
            assert!(most_apart(own, std, (0..n).map(|i| f64::from(i as f32 / 8.0))) <= 2);
            assert!(most_apart(own, std, EDGES.into_iter()) <= 2);
        }
    }

    #[test]
    fn edges_are_exact() {
        assert!([0.0, -0.0].map(exp).iter().all(|v| v.to_bits() == 1f64.to_bits()));
        assert_eq!(ln(1.0).to_bits(), 0);
        assert_eq!([0.0, -0.0].map(|x| ln_1p(x).to_bits()), [0, 1 << 63]);
        assert_eq!([0.0, -0.0, -5e-324].map(ln)[..2], [f64::NEG_INFINITY; 2]);
        assert!([-5e-324, -1.0, f64::NEG_INFINITY, f64::NAN].iter().all(|&x| ln(x).is_nan()));
        assert!([-1.1, f64::NEG_INFINITY, f64::NAN].iter().all(|&x| ln_1p(x).is_nan()));
        assert_eq!((exp(-746.0), exp(f64::NEG_INFINITY), exp(710.0)), (0.0, 0.0, f64::INFINITY));
        assert_eq!(exp(-745.0).to_bits(), 1);
        assert!(exp(f64::NAN).is_nan() && exp(709.78).is_finite());
        assert_eq!((ln(f64::INFINITY), ln_1p(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
        assert_eq!([-0.0, f64::NAN, -1.0, 2.0, f64::INFINITY].map(positive), [0.0, 0.0, 0.0, 2.0, f64::INFINITY]);
        assert_eq!(positive(-0.0).to_bits(), 0);
    }

    #[test]
    fn what_is_larger_has_no_smaller_value() {
        let mut s = Stream::new(2, "elementary");
        for _ in 0..200_000 {
            let x = 20.0 * s.normal();
            let next = x + 1e-12 * (1.0 + x.abs());
            assert!(exp(next) >= exp(x), "exp {x}");
            assert!(ln(next.abs().max(x.abs())) >= ln(next.abs().min(x.abs())), "ln {x}");
            assert!(ln_1p(next.exp()) >= ln_1p(x.exp()), "ln_1p {x}");
        }
    }

    /// The same bits on every machine that this is tested on.
    #[test]
    fn bits_are_those_of_other_machines() {
        let mut s = Stream::new(3, "elementary");
        let mut sum = 0u64;
        for _ in 0..50_000 {
            let x = 100.0 * s.uniform();
            for value in [exp(x - 100.0), exp(x), ln(x), ln_1p(x)] {
                sum = sum.rotate_left(5) ^ value.to_bits();
            }
        }
        assert_eq!(sum, 0x0c1b_f95c_0378_31c0, "{sum:#x}");
    }
}
