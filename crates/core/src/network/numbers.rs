//! The numbers that tensors of a file are of.
//!
//! Networks here compute in 32 bits, so that is what becomes of all of them. Whole numbers are no weights: only a counter is taken,
//! one number without dimensions, as a batch normalisation has.

use super::Tensor;
use safetensors::Dtype;

/// A sort of numbers that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Number {
    Float32,
    Float64,
    Float16,
    BFloat16,
    Int64,
}

/// With the names that PyTorch's storages and safetensors give them, and the bytes of one.
const NUMBERS: [(Number, &str, Dtype, &str, usize); 5] = [
    (Number::Float32, "FloatStorage", Dtype::F32, "float32", 4),
    (Number::Float64, "DoubleStorage", Dtype::F64, "float64", 8),
    (Number::Float16, "HalfStorage", Dtype::F16, "float16", 2),
    (Number::BFloat16, "BFloat16Storage", Dtype::BF16, "bfloat16", 2),
    (Number::Int64, "LongStorage", Dtype::I64, "int64", 8),
];

/// What is read, in words.
const ALLOWED: &str = "allowed are float32, float64, float16, bfloat16, and int64 for one number alone";

impl Number {
    /// The numbers of a storage class of PyTorch.
    pub(super) fn of_storage(class: &str) -> Result<Self, String> {
        let known = NUMBERS.iter().find(|(_, storage, ..)| *storage == class);
        known.map(|(number, ..)| *number).ok_or_else(|| format!("is in a `torch.{class}`; {ALLOWED}"))
    }

    /// The numbers of safetensors.
    pub(super) fn of_dtype(dtype: Dtype) -> Result<Self, String> {
        let known = NUMBERS.iter().find(|(_, _, known, ..)| *known == dtype);
        known.map(|(number, ..)| *number).ok_or_else(|| format!("is {dtype}; {ALLOWED}"))
    }

    /// What they are called.
    pub(super) fn name(self) -> &'static str {
        NUMBERS[self as usize].3
    }

    /// Bytes of one.
    pub(super) fn bytes(self) -> usize {
        NUMBERS[self as usize].4
    }

    /// A tensor of little-endian numbers. The error says what is wrong with it.
    pub(super) fn tensor(self, shape: Vec<usize>, bytes: &[u8]) -> Result<Tensor, String> {
        let data = match self {
            Self::Float32 => words(bytes).map(f32::from_le_bytes).collect(),
            Self::Float64 => words(bytes).map(f64::from_le_bytes).map(narrow).collect::<Result<_, String>>()?,
            Self::Float16 => words(bytes).map(u16::from_le_bytes).map(half).collect(),
            Self::BFloat16 => {
                words(bytes).map(|word| f32::from_bits(u32::from(u16::from_le_bytes(word)) << 16)).collect()
            }
            Self::Int64 if shape.is_empty() => words(bytes).map(|word| i64::from_le_bytes(word) as f32).collect(),
            Self::Int64 => return Err(format!("of shape {shape:?} is int64; {ALLOWED}")),
        };
        Ok(Tensor { shape, data })
    }
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

/// The nearest float32, where there is one.
fn narrow(v: f64) -> Result<f32, String> {
    let near = v as f32;
    match near.is_finite() == v.is_finite() {
        true => Ok(near),
        false => Err(format!("holds {v:e}, which is too large for float32")),
    }
}

/// The number that 16 bits stand for: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let size = match exponent {
        // 2^-24 is the smallest number above 0.
        0 => fraction as f32 / 16_777_216.0,
        // Infinite, or not a number.
        31 => f32::from_bits(0x7f80_0000 | fraction << 13),
        // The exponent counts from 15, that of 32 bits from 127.
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_stand_in_their_order() {
        assert!(NUMBERS.iter().enumerate().all(|(i, (number, ..))| *number as usize == i));
    }

    #[test]
    fn every_half_is_what_its_bits_say() {
        for bits in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
            let expected = match exponent {
                0 => fraction / 1024.0 * 2f64.powi(-14),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
            };
            let expected = if bits & 0x8000 == 0 { expected } else { -expected };
            let found = f64::from(half(bits));
            assert!(found == expected || (found.is_nan() && expected.is_nan()), "{bits:#06x}: {found} {expected}");
        }
    }

    #[test]
    fn numbers_become_float32_or_say_why_not() {
        let read = |number: Number, shape: &[usize], bytes: &[u8]| number.tensor(shape.to_vec(), bytes).map(|t| t.data);
        let doubles: Vec<u8> = [0.1f64, -3e38].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(read(Number::Float64, &[2], &doubles), Ok(vec![0.1, -3e38]));
        let error = read(Number::Float64, &[1], &4e38f64.to_le_bytes()).unwrap_err();
        assert_eq!(error, "holds 4e38, which is too large for float32");
        assert_eq!(read(Number::BFloat16, &[2], &[0x80, 0x3f, 0x49, 0xc0]), Ok(vec![1.0, -3.140625]));
        assert_eq!(read(Number::Int64, &[], &7i64.to_le_bytes()), Ok(vec![7.0]));
        assert!(
            read(Number::Int64, &[1], &7i64.to_le_bytes()).unwrap_err().starts_with("of shape [1] is int64; allowed")
        );
        assert!(Number::of_dtype(Dtype::U8).unwrap_err().starts_with("is U8; allowed are float32"));
        assert!(Number::of_storage("CharStorage").unwrap_err().contains("`torch.CharStorage`; allowed"));
    }
}
