//! What the candidates of a choice have in one column, in few characters of JSON.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use std::fmt;

/// A number in a file: whole ones without a point, others with as few digits as tell it from its neighbours among 32-bit floats, and those
/// that JSON has no number for as `"NaN"`, `"Infinity"` and `"-Infinity"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f32);

/// Whole numbers below this are exact in 32 bits.
const WHOLE: f32 = 16_777_216.0;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            v if v.is_nan() => serializer.serialize_str("NaN"),
            v if v.is_infinite() => serializer.serialize_str(if v > 0.0 { "Infinity" } else { "-Infinity" }),
            v if v.fract() == 0.0 && v.abs() < WHOLE && !(v == 0.0 && v.is_sign_negative()) => {
                serializer.serialize_i64(v as i64)
            }
            v => serializer.serialize_f32(v),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl Visitor<'_> for Numbers {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Number, E> {
                Ok(Number(v as f32))
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Number, E> {
                Ok(Number(v as f32))
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Number, E> {
                Ok(Number(v as f32))
            }

            fn visit_str<E: de::Error>(self, v: &str) -> Result<Number, E> {
                match v {
                    "NaN" => Ok(Number(f32::NAN)),
                    "Infinity" => Ok(Number(f32::INFINITY)),
                    "-Infinity" => Ok(Number(f32::NEG_INFINITY)),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

/// A column of a choice: one value where all candidates have the same, else one for each; none where the values follow from another
/// column, as ranks and ratios do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Column<T> {
    /// All have this.
    Same(T),
    /// One for each, in the choice's order.
    Each(Vec<T>),
    /// What the quantity makes it to the last bit ([`ChoiceColumns::recompute`](crate::ChoiceColumns::recompute)).
    Follows,
}

impl<T: Copy + PartialEq> Column<T> {
    /// Of the candidates' values; a missing value is like no other, so that a column with one is written out.
    pub(super) fn new(values: Vec<T>) -> Self {
        match values.first() {
            Some(first) if values.iter().all(|v| v == first) => Self::Same(*first),
            _ => Self::Each(values),
        }
    }

    /// The value of a candidate; `None` if there is no such candidate, or it follows.
    #[must_use]
    pub fn of(&self, candidate: usize) -> Option<T> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(candidate).copied(),
            Self::Follows => None,
        }
    }

    /// Whether it has a value for each of so many candidates, and no more.
    #[must_use]
    pub fn fits(&self, candidates: usize) -> bool {
        match self {
            Self::Same(_) | Self::Follows => true,
            Self::Each(values) => values.len() == candidates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    #[test]
    fn every_bit_of_a_number_survives_the_file() -> Result<(), serde_json::Error> {
        let mut stream = Stream::new(1, "numbers");
        let mut all: Vec<f32> = (0..100_000).map(|_| f32::from_bits(stream.bits() as u32)).collect();
        all.extend([0.0, -0.0, 1.0, -3.0, 16_777_215.0, 16_777_216.0, 1e9, f32::MAX, f32::MIN_POSITIVE, 1e-45]);
        let text = serde_json::to_string(&all.iter().map(|&v| Number(v)).collect::<Vec<_>>())?;
        let back: Vec<Number> = serde_json::from_str(&text)?;
        for (a, b) in all.iter().zip(&back) {
            assert!(a.to_bits() == b.0.to_bits() || a.is_nan() && b.0.is_nan(), "{a} {b:?}");
        }
        let few: Vec<Number> = [3.0, 0.1, -0.0, f32::NAN, f32::NEG_INFINITY].map(Number).to_vec();
        assert_eq!(serde_json::to_string(&few)?, r#"[3,0.1,-0.0,"NaN","-Infinity"]"#);
        assert!(serde_json::from_str::<Number>("\"many\"").is_err() && serde_json::from_str::<Number>("null").is_err());
        Ok(())
    }

    #[test]
    fn a_column_of_one_value_is_that_value() -> Result<(), serde_json::Error> {
        let numbers = |values: &[f32]| Column::new(values.iter().map(|&v| Number(v)).collect());
        for (values, expected) in
            [(&[2.0, 2.0][..], "2"), (&[2.0, 3.5], "[2,3.5]"), (&[f32::NAN; 2], r#"["NaN","NaN"]"#)]
        {
            let column = numbers(values);
            let text = serde_json::to_string(&column)?;
            assert_eq!(text, expected);
            let back: Column<Number> = serde_json::from_str(&text)?;
            for (i, value) in values.iter().enumerate() {
                assert_eq!(back.of(i).map(|n| n.0.to_bits()), Some(value.to_bits()));
            }
            assert!(back.fits(2) && (expected == "2" || !back.fits(3)));
        }
        assert_eq!(serde_json::from_str::<Column<Number>>("null")?, Column::Follows);
        Ok(())
    }
}
