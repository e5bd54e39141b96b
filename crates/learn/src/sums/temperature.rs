//! The softmax temperature of a model, over choices that are elsewhere.

use super::ByPart;
use crate::temperature::{Scored, newton};
use sched_distill_core::model::Model;
use sched_distill_trace::LevelTable;

/// Who has the choices.
pub trait SoftnessSource {
    /// Why sums may not come.
    type Error;

    /// Of the model's scores at an inverse temperature: [`SoftnessSums::numbers`] over all choices.
    ///
    /// # Errors
    ///
    /// What keeps the sums from being formed.
    fn numbers(&mut self, model: &Model, inverse: f64) -> Result<[f64; 4], Self::Error>;
}

/// How a model's probabilities compare with the teacher's over some choices.
#[derive(Clone, Debug, Default)]
pub struct SoftnessSums(ByPart);

impl SoftnessSums {
    /// Adds choices of a part.
    pub fn add(&mut self, part: u32, table: &LevelTable, model: &Model, inverse: f64) {
        self.0.add(part, Scored::new(model, table).numbers(inverse));
    }

    /// The sums by part.
    #[must_use]
    pub fn by_part(&self) -> &ByPart {
        &self.0
    }

    /// Takes in other parts.
    pub fn merge(&mut self, other: ByPart) {
        self.0.merge(other);
    }

    /// Weighted slope and curvature of the cross-entropy in the inverse temperature, weighted range of scores, and weight.
    #[must_use]
    pub fn numbers(&self) -> [f64; 4] {
        let total = self.0.total(4);
        std::array::from_fn(|i| total[i])
    }
}

/// The temperature with least cross-entropy to the teacher; 1 if there is nothing to go by.
///
/// # Errors
///
/// Those of the source.
pub fn fit_temperature_by_sums<S: SoftnessSource>(source: &mut S, model: &Model) -> Result<f64, S::Error> {
    let [.., spread, weight] = source.numbers(model, 0.0)?;
    newton(spread / weight, |inverse| {
        let [slope, curvature, _, weight] = source.numbers(model, inverse)?;
        Ok([slope / weight, curvature / weight])
    })
}
