//! Quantities of candidates, and the columns that are made of them: the values themselves, their ranks and ratios within a choice.

mod quantity;
mod rank;

/// Who controls a quantity, as tables of quantities say it, and the name of the flag of what is no candidate.
pub use crate::level::{
    Control::{Decided, Declared, Measured},
    NONE_FLAG,
};
pub use quantity::{Described, Quantity};

use crate::level::{LevelSpec, LevelWords};
use quantity::{Value, Wanted};
use std::fmt::Debug;

/// A level of a scenario: the quantities of its candidates in order, each with its words and how it is worked out.
pub trait Level: Sized + 'static {
    /// What is known of all candidates together.
    type Question<'a>;
    /// What is known of one.
    type Candidate<'a>: Clone + Debug + Send + Sync;

    /// Its name, e.g. `job`.
    const NAME: &'static str;
    /// The quantities.
    const QUANTITIES: &'static [Quantity<Self>];

    /// Its description, with every quantity followed by its rank and ratio: from the question, and names of the entity columns that identify
    /// a candidate. [`LevelSpec::of`] adds who these are.
    #[must_use]
    fn spec(question: &str, entities: &[&str]) -> LevelSpec {
        let mut level = LevelSpec {
            name: Self::NAME.to_owned(),
            question: question.to_owned(),
            candidates: String::new(),
            entities: entities.iter().map(|&entity| entity.to_owned()).collect(),
            features: Self::QUANTITIES.iter().flat_map(Quantity::specs).collect(),
        };
        // Ranks and ratios are described by what they are of.
        for column in 0..level.features.len() {
            level.features[column].meaning = level.meaning(column);
        }
        level
    }

    /// What it and its quantities are called: from what a candidate is, "prefers a ..." and "picks the ...", as in [`LevelWords`].
    #[must_use]
    fn words(called: [&str; 3]) -> LevelWords {
        let [candidate, prefers, picks] = called.map(str::to_owned);
        let quantities = Self::QUANTITIES.iter().map(Quantity::words).collect();
        LevelWords { level: Self::NAME.to_owned(), candidate, prefers, picks, quantities }
    }
}

/// Fills in the columns of a level, with buffers that are reused from one choice to the next.
#[derive(Clone, Debug)]
pub struct Columns<L: Level> {
    width: usize,
    /// What is worked out. Columns that are not wanted stay 0.
    wanted: Vec<Wanted>,
    candidates: Vec<L::Candidate<'static>>,
    /// One quantity of all candidates.
    values: Vec<f64>,
    order: Vec<u32>,
}

impl<L: Level> Default for Columns<L> {
    /// All columns are wanted.
    fn default() -> Self {
        Self::limited(&vec![true; L::QUANTITIES.iter().map(Quantity::columns).sum()])
    }
}

impl<L: Level> Columns<L> {
    /// Only the columns that are marked are worked out.
    #[must_use]
    pub fn limited(marks: &[bool]) -> Self {
        let mut first = 0;
        let mut wanted = Vec::new();
        for (place, quantity) in L::QUANTITIES.iter().enumerate() {
            wanted.extend(quantity.wanted(place, first, marks));
            first += quantity.columns();
        }
        Self { width: marks.len(), wanted, candidates: Vec::new(), values: Vec::new(), order: Vec::new() }
    }

    /// Appends the rows of candidates to `out`, row-major, and returns their number. With `has_none` there is one more, the last, of
    /// the candidate that is no candidate: it has what all share, and its flag.
    pub fn write<'a>(
        &mut self,
        question: &L::Question<'a>,
        candidates: impl IntoIterator<Item = L::Candidate<'a>>,
        has_none: bool,
        out: &mut Vec<f32>,
    ) -> usize {
        let mut all = emptied(std::mem::take(&mut self.candidates));
        all.extend(candidates);
        let (start, width, rows) = (out.len(), self.width, all.len() + usize::from(has_none));
        out.resize(start + rows * width, 0.0);
        self.values.resize(all.len(), 0.0);
        let out = &mut out[start..];
        for wanted in &self.wanted {
            let quantity = &L::QUANTITIES[wanted.quantity];
            let mut set = |column: usize, row: usize, value: f64| out[row * width + column] = value as f32;
            match quantity.value {
                Value::IsNone => (all.len()..rows).for_each(|row| set(wanted.first, row, 1.0)),
                Value::Shared(value) => {
                    let value = value.of(question);
                    (0..rows).for_each(|row| set(wanted.first, row, value));
                }
                Value::Each(each) => {
                    each.list(question, &all, &mut self.values);
                    quantity.fill(&self.values, wanted, &mut self.order, set);
                }
            }
        }
        self.candidates = emptied(all);
        rows
    }
}

/// The room of a list for things that live for another time. Collecting reuses what was allocated.
fn emptied<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().map_while(|_| None).collect()
}

#[cfg(test)]
mod tests;
