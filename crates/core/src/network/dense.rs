//! Dense layers on the processor: `y = act(W x + b)` for many rows at once.
//!
//! Every output adds its products one after the other in input order, without fused multiply-add, and the activations are
//! plain arithmetic. Results are therefore the same bits on every machine, whichever vector instructions compute them and
//! however many rows are computed together. AVX2 is used where the processor has it.

use std::ops::{AddAssign, Mul, Range};

/// Outputs per panel of weights.
const PANEL: usize = 16;

/// A function applied to every output of a layer.
pub trait Activation {
    /// The function.
    fn apply(v: f32) -> f32;
}

/// No activation.
pub struct Identity;
/// `v` if `v >= 0`, else `0.2 v`.
pub struct Leaky;
/// `v` if `v > 0`, else 0.
pub struct Relu;
/// Hyperbolic tangent, see [`tanh`].
pub struct Tanh;

impl Activation for Identity {
    #[inline(always)]
    fn apply(v: f32) -> f32 {
        v
    }
}

impl Activation for Leaky {
    #[inline(always)]
    fn apply(v: f32) -> f32 {
        if v >= 0.0 { v } else { 0.2 * v }
    }
}

impl Activation for Relu {
    #[inline(always)]
    fn apply(v: f32) -> f32 {
        if v > 0.0 { v } else { 0.0 }
    }
}

impl Activation for Tanh {
    #[inline(always)]
    fn apply(v: f32) -> f32 {
        tanh(v)
    }
}

/// Hyperbolic tangent to within 5e-7: `x P(x²) / Q(x²)` on `[-8, 8]`, held constant beyond, where tanh is 1 to within 3e-7.
///
/// The coefficients minimise the largest error over that interval (least squares reweighted until the error was level,
/// at 1.4e-7).
#[inline(always)]
pub fn tanh(v: f32) -> f32 {
    const P: [f32; 4] = [0.999_999_37, 0.129_137_9, 2.938_971_4e-3, 1.131_144_5e-5];
    const Q: [f32; 5] = [1.0, 0.462_468_92, 2.376_445_8e-2, 2.370_467_8e-4, 2.424_171e-7];
    let x = v.clamp(-8.0, 8.0);
    let s = x * x;
    let p = P[0] + s * (P[1] + s * (P[2] + s * P[3]));
    let q = Q[0] + s * (Q[1] + s * (Q[2] + s * (Q[3] + s * Q[4])));
    x * p / q
}

/// What an output is added up in. All of it has to be inlined, so that sums stay in registers.
trait Sum: Copy + AddAssign + Mul<Output = Self> {
    /// The same number.
    fn of(value: f32) -> Self;

    /// The nearest float32.
    fn round(self) -> f32;
}

impl Sum for f32 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn round(self) -> f32 {
        self
    }
}

impl Sum for f64 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        value.into()
    }

    #[inline(always)]
    fn round(self) -> f32 {
        self as f32
    }
}

/// A layer's weights, transposed and padded.
#[derive(Clone, Debug)]
pub struct Layer {
    inputs: usize,
    /// Whether outputs are added up in 64 bits.
    precise: bool,
    /// Panels of 16 outputs one after the other; in a panel the 16 weights of input 0, then of input 1, ...
    panels: Vec<[f32; PANEL]>,
    bias: Vec<f32>,
}

/// A layer that is given some of its inputs only; the share of the others is already in `bias`.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    layer: &'a Layer,
    first: usize,
    inputs: usize,
    bias: &'a [f32],
}

impl Layer {
    /// A layer from a weight matrix, shape `(outputs, inputs)`, row-major, and a bias, shape `(outputs,)`.
    pub fn new(weight: &[f32], bias: &[f32]) -> Self {
        let inputs = weight.len() / bias.len();
        let width = bias.len().next_multiple_of(PANEL);
        let mut panels = vec![[0.0; PANEL]; width / PANEL * inputs];
        for (o, row) in weight.chunks_exact(inputs).enumerate() {
            for (i, &w) in row.iter().enumerate() {
                panels[o / PANEL * inputs + i][o % PANEL] = w;
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(width, 0.0);
        Self { inputs, precise: false, panels, bias }
    }

    /// The same layer with outputs added up in 64 bits, at twice the time: for weights of which many cancel out.
    #[must_use]
    pub fn precise(self) -> Self {
        Self { precise: true, ..self }
    }

    /// Places that one row of outputs takes: their number rounded up to 16; the surplus holds `act(0)`.
    #[inline]
    pub fn width(&self) -> usize {
        self.bias.len()
    }

    /// The layer with all its inputs.
    #[inline]
    pub fn whole(&self) -> Part<'_> {
        self.part(0..self.inputs, &self.bias)
    }

    /// The layer with some of its inputs; `bias` takes the place of its own and has [`Layer::width`] places.
    #[inline]
    pub fn part<'a>(&'a self, inputs: Range<usize>, bias: &'a [f32]) -> Part<'a> {
        Part { layer: self, first: inputs.start, inputs: inputs.len(), bias }
    }

    /// The layer's own bias, padded.
    #[inline]
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }
}

/// The instructions that the layers run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Kernel {
    /// What every processor has.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// The fastest that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self(Instructions::Avx2);
        }
        Self::PORTABLE
    }

    /// Computes `y[r] = act(bias + W x[r])` for all rows. `x` holds the rows' inputs without gaps; `y` has
    /// [`Layer::width`] places per row, and its length says how many rows there are.
    pub fn run<A: Activation>(self, part: Part<'_>, x: &[f32], y: &mut [f32]) {
        // Sums of either kind are compiled apart, so that those in 32 bits have all registers.
        match (self.0, part.layer.precise) {
            (Instructions::Portable, false) => rows::<A, f32>(part, x, y),
            (Instructions::Portable, true) => rows::<A, f64>(part, x, y),
            // SAFETY: the only place that makes this value, `detect`, has asked the processor for AVX2.
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx2, false) => unsafe { rows_avx2::<A, f32>(part, x, y) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (Instructions::Avx2, true) => unsafe { rows_avx2::<A, f64>(part, x, y) },
        }
    }
}

/// Computes `y[r] = bias + w · x[r]`, one number per row of `x`; both have their numbers in groups of eight.
pub fn score(w: &[[f32; 8]], bias: f32, x: &[f32], y: &mut [f32]) {
    for (row, y) in x.chunks_exact(8 * w.len()).zip(y) {
        // Eight running sums, added up in pairs: the compiler turns them into whatever vectors there are.
        let mut sums = [0.0; 8];
        for (x, w) in row.as_chunks::<8>().0.iter().zip(w) {
            for lane in 0..8 {
                sums[lane] += x[lane] * w[lane];
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        *y = ((a + e) + (c + g)) + ((b + f) + (d + h)) + bias;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2<A: Activation, S: Sum>(part: Part<'_>, x: &[f32], y: &mut [f32]) {
    rows::<A, S>(part, x, y);
}

/// All rows, four at a time.
#[inline(always)]
fn rows<A: Activation, S: Sum>(part: Part<'_>, x: &[f32], y: &mut [f32]) {
    let width = part.layer.width();
    let mut x = x.chunks(4 * part.inputs);
    for y in y.chunks_mut(4 * width) {
        let x = x.next().expect("`x` has as many rows as `y`");
        match y.len() / width {
            4 => block::<A, S, 4>(part, x, y),
            3 => block::<A, S, 3>(part, x, y),
            2 => block::<A, S, 2>(part, x, y),
            _ => block::<A, S, 1>(part, x, y),
        }
    }
}

/// `R` rows at once, one panel after the other, with the sums of `R x 16` outputs in registers.
#[inline(always)]
fn block<A: Activation, S: Sum, const R: usize>(part: Part<'_>, x: &[f32], y: &mut [f32]) {
    let Part { layer, first, inputs, bias } = part;
    let width = layer.width();
    let x: [&[f32]; R] = std::array::from_fn(|r| &x[r * inputs..][..inputs]);
    for (p, bias) in bias.as_chunks::<PANEL>().0.iter().enumerate() {
        let panel = &layer.panels[p * layer.inputs + first..][..inputs];
        let mut start = [S::of(0.0); PANEL];
        for (start, &bias) in start.iter_mut().zip(bias) {
            *start = S::of(bias);
        }
        let mut sums = [start; R];
        for (i, weights) in panel.iter().enumerate() {
            for r in 0..R {
                for c in 0..PANEL {
                    sums[r][c] += S::of(x[r][i]) * S::of(weights[c]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let y = &mut y[r * width + p * PANEL..][..PANEL];
            for (y, &sum) in y.iter_mut().zip(sums) {
                *y = A::apply(sum.round());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn draw(stream: &mut Stream, n: usize) -> Vec<f32> {
        (0..n).map(|_| stream.normal() as f32).collect()
    }

    #[test]
    fn rational_tanh_is_tanh_to_within_half_a_millionth() {
        let worst = (-2_000_000..=2_000_000)
            .map(|i| i as f32 * 1e-5)
            .map(|v| (f64::from(tanh(v)) - f64::from(v).tanh()).abs())
            .fold(0.0, f64::max);
        assert!(worst < 5e-7, "{worst}");
        assert_eq!(tanh(f32::MAX), -tanh(-f32::MAX));
        assert!((tanh(f32::MAX) - 1.0).abs() < 5e-7);
    }

    /// Vector instructions and the grouping of rows change no bit; the sums are right to rounding.
    #[test]
    fn kernels_agree_bit_for_bit_and_with_the_plain_sum() {
        let mut stream = Stream::new(5, "dense");
        for (inputs, outputs, rows) in [(5, 32, 1), (53, 64, 7), (37, 20, 6), (1, 3, 4), (16, 16, 13)] {
            let weight = draw(&mut stream, inputs * outputs);
            let bias = draw(&mut stream, outputs);
            let x = draw(&mut stream, rows * inputs);
            for precise in [false, true] {
                let layer = Layer { precise, ..Layer::new(&weight, &bias) };
                let run = |kernel: Kernel, x: &[f32]| {
                    let mut y = vec![f32::NAN; x.len() / inputs * layer.width()];
                    kernel.run::<Tanh>(layer.whole(), x, &mut y);
                    y
                };
                let all = run(Kernel::PORTABLE, &x);
                assert_eq!(all, run(Kernel::detect(), &x));
                assert_eq!(all, x.chunks(inputs).flat_map(|row| run(Kernel::detect(), row)).collect::<Vec<_>>());
                for (row, y) in x.chunks(inputs).zip(all.chunks(layer.width())) {
                    for o in 0..outputs {
                        let terms = weight[o * inputs..].iter().zip(row).map(|(&w, &v)| f64::from(w) * f64::from(v));
                        let sum = f64::from(bias[o]) + terms.sum::<f64>();
                        assert!((f64::from(y[o]) - sum.tanh()).abs() < 5e-6, "{inputs} {outputs} {o}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_precise_layer_sees_what_cancels_out() {
        let weight = [1e7, 0.25, -1e7, 0.25];
        let run = |layer: Layer| {
            let mut y = [f32::NAN; 16];
            Kernel::detect().run::<Identity>(layer.whole(), &[1.0; 4], &mut y);
            y[0]
        };
        assert_eq!(run(Layer::new(&weight, &[0.5])), 0.25);
        assert_eq!(run(Layer::new(&weight, &[0.5]).precise()), 1.0);
    }

    #[test]
    fn a_layer_in_two_parts_is_the_layer() {
        let mut stream = Stream::new(6, "dense");
        let (weight, bias, x) = (draw(&mut stream, 48 * 9), draw(&mut stream, 48), draw(&mut stream, 9));
        let layer = Layer::new(&weight, &bias);
        let (mut whole, mut base, mut rest) = ([0.0; 48], [0.0; 48], [0.0; 48]);
        let kernel = Kernel::detect();
        kernel.run::<Leaky>(layer.whole(), &x, &mut whole);
        kernel.run::<Identity>(layer.part(0..4, layer.bias()), &x[..4], &mut base);
        kernel.run::<Leaky>(layer.part(4..9, &base), &x[4..], &mut rest);
        // The inputs are added in the same order, so even the bits agree.
        assert_eq!(whole, rest);
    }

    #[test]
    fn scores_are_dot_products() {
        let w: Vec<f32> = (0..64u8).map(f32::from).collect();
        let x: Vec<f32> = (0..128u8).map(|i| f32::from(i % 5)).collect();
        let mut y = [0.0; 2];
        score(w.as_chunks().0, 0.5, &x, &mut y);
        for r in 0..2 {
            let sum: f32 = (0..64).map(|i| w[i] * x[64 * r + i]).sum();
            assert_eq!(y[r], sum + 0.5);
        }
    }
}
