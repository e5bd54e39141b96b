//! The functions of [`crate::elementary`] in other languages, operation by operation, so that decisions and scores are the same
//! bits there. An export has those that it needs.

use super::{Language, piece::Piece};
use crate::model::Shape;

/// Which functions an export needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needed {
    exp: bool,
    ln: bool,
    ln_1p: bool,
    positive: bool,
}

impl Needed {
    /// What sums of terms need.
    pub(super) fn by(pieces: &[Piece<'_>]) -> Self {
        let has = |shapes: &[Shape]| {
            let sums = pieces.iter().filter_map(Piece::additive);
            sums.flat_map(|sum| &sum.terms).flat_map(|t| &t.factors).any(|f| shapes.contains(&f.shape))
        };
        let log = has(&[Shape::Log]);
        Self { exp: false, ln: log, ln_1p: log, positive: has(&[Shape::Log, Shape::Excess]) }
    }

    /// And what probabilities need, or sums of them.
    pub(super) fn and(self, probabilities: bool, log_probabilities: bool) -> Self {
        Self { exp: self.exp || probabilities || log_probabilities, ln: self.ln || log_probabilities, ..self }
    }

    /// Source text of the functions; none if none is needed.
    pub(super) fn text(self, language: Language) -> String {
        let Self { exp, ln, ln_1p, positive } = self;
        let [head, bits, of_exp, of_ln, of_ln_1p, of_positive] = match language {
            Language::C => C,
            Language::Rust => RUST,
            Language::Java => JAVA,
            Language::Go => GO,
        };
        let parts = [
            (exp || ln, head),
            (exp || ln, bits),
            (exp, of_exp),
            (ln, of_ln),
            (ln_1p, of_ln_1p),
            (positive, of_positive),
        ];
        parts.into_iter().filter(|(needed, _)| *needed).map(|(_, text)| text).collect()
    }
}

/// What they are, bits of numbers, eˣ, ln x, ln(1 + x), and what of x is above 0.
type Texts = [&'static str; 6];

const C: Texts = [
    "
/* Exponentials and logarithms of nothing but + - * / and bits, so that they are the same on all platforms; at most two units
 * in the last place from the true value. */
",
    "static double distill_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t distill_to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
",
    "
static double distill_power_of_2(int64_t exponent) { return distill_of_bits((uint64_t)(exponent + 1023) << 52); }

static double distill_exp(double x) {
  if (x > 800.0)
    return INFINITY;
  if (x < -800.0)
    return 0.0;
  const double shifted = x * 1.4426950408889634 + 6755399441055744.0;
  const double whole = shifted - 6755399441055744.0;
  const double r = (x - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10;
  const double r2 = r * r, r4 = r2 * r2;
  const double a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const double b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const double c =
      (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const double power = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
  /* The last bits of what was rounded are its value. */
  const int64_t k = (int64_t)((distill_to_bits(shifted) + 2048) & 4095) - 2048, half = k / 2;
  return power * distill_power_of_2(half) * distill_power_of_2(k - half);
}
",
    "
static double distill_ln(double x) {
  if (!(x > 0.0 && x < INFINITY))
    return x == 0.0 ? -INFINITY : x > 0.0 ? x : distill_of_bits(0x7ff8000000000000u);
  const int small = x < 2.2250738585072014e-308;
  const uint64_t above =
      distill_to_bits(small ? x * 18014398509481984.0 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bccu);
  const double k = (double)((int64_t)(above >> 52) - 1023 - (small ? 54 : 0));
  const double f = distill_of_bits((above & 0x000fffffffffffffu) + 0x3fe6a09e667f3bccu) - 1.0;
  const double s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
  const double a = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
  const double b = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
  const double rest = z * (a + z4 * (b + z4 * (2.0 / 19.0)));
  const double square = 0.5 * f * f;
  return k * 0.6931471803691238 - ((square - (s * (square + rest) + k * 1.9082149292705877e-10)) - f);
}
",
    "
/* ln(1 + x) */
static double distill_ln_1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0)
    return x;
  return u == INFINITY ? u : distill_ln(u) * (x / (u - 1.0));
}
",
    "
/* x where it is above 0, else 0, also where it is no number. */
static inline double distill_positive(double x) { return x > 0.0 ? x : 0.0; }
",
];

const RUST: Texts = [
    "
// Exponentials and logarithms of nothing but + - * / and bits, so that they are the same on all platforms; at most two units
// in the last place from the true value.
",
    "",
    "
#[inline]
fn power_of_2(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn exp(x: f64) -> f64 {
    if x > 800.0 {
        return f64::INFINITY;
    }
    if x < -800.0 {
        return 0.0;
    }
    let shifted = x * 1.4426950408889634 + 6755399441055744.0;
    let whole = shifted - 6755399441055744.0;
    let r = (x - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10;
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    let b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    let c = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    let power = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
    // The last bits of what was rounded are its value.
    let k = shifted.to_bits() as i32 as i64;
    let half = k >> 1;
    power * power_of_2(half) * power_of_2(k - half)
}
",
    "
fn ln(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if !(x > 0.0 && x < f64::INFINITY) {
        return if x > 0.0 { x } else { f64::NAN };
    }
    let (bits, less) = match x < f64::MIN_POSITIVE {
        true => ((x * 18014398509481984.0).to_bits(), 54),
        false => (x.to_bits(), 0),
    };
    let above = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcc);
    let k = ((above >> 52) as i64 - 1023 - less) as f64;
    let f = f64::from_bits((above & 0x000fffffffffffff) + 0x3fe6a09e667f3bcc) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let a = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    let b = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    let rest = z * (a + z4 * (b + z4 * (2.0 / 19.0)));
    let square = 0.5 * f * f;
    k * 0.6931471803691238 - ((square - (s * (square + rest) + k * 1.9082149292705877e-10)) - f)
}
",
    "
/// ln(1 + x)
fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    if u == 1.0 {
        return x;
    }
    if u == f64::INFINITY { u } else { ln(u) * (x / (u - 1.0)) }
}
",
    "
/// x where it is above 0, else 0, also where it is no number.
#[inline]
fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}
",
];

const JAVA: Texts = [
    "
  // Exponentials and logarithms of nothing but + - * / and bits, so that they are the same on all platforms; at most two units
  // in the last place from the true value.
",
    "",
    "
  static double powerOf2(int exponent) {
    return Double.longBitsToDouble((exponent + 1023L) << 52);
  }

  static double exp(double x) {
    if (x > 800.0) {
      return Double.POSITIVE_INFINITY;
    }
    if (x < -800.0) {
      return 0.0;
    }
    double shifted = x * 1.4426950408889634 + 6755399441055744.0;
    double whole = shifted - 6755399441055744.0;
    double r = (x - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10;
    double r2 = r * r;
    double r4 = r2 * r2;
    double a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    double b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    double c = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    double power = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
    // The last bits of what was rounded are its value.
    int k = (int) Double.doubleToRawLongBits(shifted);
    int half = k >> 1;
    return power * powerOf2(half) * powerOf2(k - half);
  }
",
    "
  static double ln(double x) {
    if (!(x > 0.0 && x < Double.POSITIVE_INFINITY)) {
      return x == 0.0 ? Double.NEGATIVE_INFINITY : x > 0.0 ? x : Double.NaN;
    }
    boolean small = x < 2.2250738585072014e-308;
    long above =
        Double.doubleToRawLongBits(small ? x * 18014398509481984.0 : x)
            + (0x3ff0000000000000L - 0x3fe6a09e667f3bccL);
    double k = (above >>> 52) - 1023L - (small ? 54L : 0L);
    double f = Double.longBitsToDouble((above & 0x000fffffffffffffL) + 0x3fe6a09e667f3bccL) - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double z2 = z * z;
    double z4 = z2 * z2;
    double a = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    double b = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    double rest = z * (a + z4 * (b + z4 * (2.0 / 19.0)));
    double square = 0.5 * f * f;
    return k * 0.6931471803691238 - ((square - (s * (square + rest) + k * 1.9082149292705877e-10)) - f);
  }
",
    "
  /** ln(1 + x) */
  static double ln1p(double x) {
    double u = 1.0 + x;
    if (u == 1.0) {
      return x;
    }
    return u == Double.POSITIVE_INFINITY ? u : ln(u) * (x / (u - 1.0));
  }
",
    "
  /** x where it is above 0, else 0, also where it is no number. */
  static double positive(double x) {
    return x > 0.0 ? x : 0.0;
  }
",
];

/// A product that is added to something is converted: that alone keeps compilers from fusing the two.
const GO: Texts = [
    "
// Exponentials and logarithms of nothing but + - * / and bits, so that they are the same on all platforms; at most two units
// in the last place from the true value.
",
    "",
    "
func powerOf2(exponent int32) float64 {
	return math.Float64frombits(uint64(int64(exponent)+1023) << 52)
}

func exp(x float64) float64 {
	if x > 800.0 {
		return math.Inf(1)
	}
	if x < -800.0 {
		return 0.0
	}
	shifted := float64(x*1.4426950408889634) + 6755399441055744.0
	whole := shifted - 6755399441055744.0
	r := (x - float64(whole*0.6931471803691238)) - float64(whole*1.9082149292705877e-10)
	r2 := r * r
	r4 := r2 * r2
	a := (1.0/2.0 + float64(r*(1.0/6.0))) + float64(r2*(1.0/24.0+float64(r*(1.0/120.0))))
	b := (1.0/720.0 + float64(r*(1.0/5040.0))) + float64(r2*(1.0/40320.0+float64(r*(1.0/362880.0))))
	c := (1.0/3628800.0 + float64(r*(1.0/39916800.0))) + float64(r2*(1.0/479001600.0+float64(r*(1.0/6227020800.0))))
	power := 1.0 + (r + float64(r2*(a+float64(r4*(b+float64(r4*c))))))
	// The last bits of what was rounded are its value.
	k := int32(math.Float64bits(shifted))
	half := k >> 1
	return power * powerOf2(half) * powerOf2(k-half)
}
",
    "
func ln(x float64) float64 {
	if x == 0.0 {
		return math.Inf(-1)
	}
	if !(x > 0.0 && x <= math.MaxFloat64) {
		if x > 0.0 {
			return x
		}
		return math.NaN()
	}
	less := int64(1023)
	if x < 2.2250738585072014e-308 {
		x *= 18014398509481984.0
		less += 54
	}
	above := math.Float64bits(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcc)
	k := float64(int64(above>>52) - less)
	f := math.Float64frombits((above&0x000fffffffffffff)+0x3fe6a09e667f3bcc) - 1.0
	s := f / (2.0 + f)
	z := s * s
	z2 := z * z
	z4 := z2 * z2
	a := (2.0/3.0 + float64(z*(2.0/5.0))) + float64(z2*(2.0/7.0+float64(z*(2.0/9.0))))
	b := (2.0/11.0 + float64(z*(2.0/13.0))) + float64(z2*(2.0/15.0+float64(z*(2.0/17.0))))
	rest := float64(z * (a + float64(z4*(b+float64(z4*(2.0/19.0))))))
	square := float64(0.5 * f * f)
	return float64(k*0.6931471803691238) - ((square - (float64(s*(square+rest)) + float64(k*1.9082149292705877e-10))) - f)
}
",
    "
// ln(1 + x)
func ln1p(x float64) float64 {
	u := 1.0 + x
	if u == 1.0 {
		return x
	}
	if u > math.MaxFloat64 {
		return u
	}
	return ln(u) * (x / (u - 1.0))
}
",
    "
// x where it is above 0, else 0, also where it is no number.
func positive(x float64) float64 {
	if x > 0.0 {
		return x
	}
	return 0.0
}
",
];
