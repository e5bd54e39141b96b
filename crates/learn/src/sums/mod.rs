//! What a fit asks of choices that are elsewhere: in parts that others read, on this machine or on many, in any order.
//!
//! Each question is answered by sums over all choices of a level, taken part by part and put together in the order of the parts, or
//! by whole numbers, which have no order ([`crate::grow_by_sums`]). So the answers, and what is fitted from them, are the same to the
//! last bit however many machines and threads there are and whoever comes first.

mod additive;
mod draw;
mod survey;
mod temperature;

pub use additive::{ClusterSums, NewtonAt, NewtonSums, SpreadSums, TermSource, Terms, fit_terms_by_sums};
pub use draw::{Drawing, DrawnChoices};
pub use survey::{Survey, Weighing};
pub use temperature::{SoftnessSource, SoftnessSums, fit_temperature_by_sums};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by part, to be added up in the order of the parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByPart(BTreeMap<u32, Vec<f64>>);

impl ByPart {
    /// Adds numbers of a part to those that it has.
    pub fn add(&mut self, part: u32, numbers: impl IntoIterator<Item = f64>) {
        let sums = self.0.entry(part).or_default();
        for (at, number) in numbers.into_iter().enumerate() {
            match sums.get_mut(at) {
                Some(sum) => *sum += number,
                None => sums.push(number),
            }
        }
    }

    /// Takes in other parts.
    pub fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(part, numbers)| self.add(part, numbers));
    }

    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Sums over all parts, so many of them.
    #[must_use]
    pub fn total(&self, numbers: usize) -> Vec<f64> {
        let mut total = vec![0.0; numbers];
        for sums in self.0.values() {
            total.iter_mut().zip(sums).for_each(|(sum, number)| *sum += number);
        }
        total
    }
}

#[cfg(test)]
mod study;
#[cfg(test)]
mod tests;
