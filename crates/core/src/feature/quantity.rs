//! A quantity of a level's candidates: what it is, what it is called, and how it is worked out.

use super::{Level, rank::ranks};
use crate::level::{Control, FLAG, FeatureSpec, Filler, QuantityWords, RatioKind, Scope};
use std::marker::PhantomData;

/// A quantity of a level: an entry of [`Level::QUANTITIES`], begun by [`Described`].
pub struct Quantity<L: 'static> {
    what: Described<L>,
    ranked: bool,
    ratio: bool,
    pub(super) value: Value<L>,
}

/// What is wanted of a quantity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Its place in the level.
    pub(super) quantity: usize,
    /// Its first column.
    pub(super) first: usize,
    value: bool,
    /// Columns of its rank and ratio.
    rank: Option<usize>,
    ratio: Option<usize>,
}

/// How a quantity is worked out.
pub(super) enum Value<L: 'static> {
    /// It is 1 of the candidate that is none, and 0 of others.
    IsNone,
    /// It is the same for all, the one that is none included.
    Shared(&'static dyn Shared<L>),
    /// Each has its own.
    Each(&'static dyn Each<L>),
}

/// Works out what all candidates share.
pub(super) trait Shared<L: Level> {
    fn of(&self, question: &L::Question<'_>) -> f64;
}

impl<L: Level, V: Into<f64>, F: Fn(&L::Question<'_>) -> V> Shared<L> for F {
    fn of(&self, question: &L::Question<'_>) -> f64 {
        self(question).into()
    }
}

/// Works out a quantity of all candidates: one call of something unknown for a column, not for a value.
pub(super) trait Each<L: Level> {
    fn list(&self, question: &L::Question<'_>, candidates: &[L::Candidate<'_>], column: &mut [f64]);
}

impl<L: Level, V: Into<f64>, F: Fn(&L::Question<'_>, &L::Candidate<'_>) -> V> Each<L> for F {
    fn list(&self, question: &L::Question<'_>, candidates: &[L::Candidate<'_>], column: &mut [f64]) {
        column.iter_mut().zip(candidates).for_each(|(to, candidate)| *to = self(question, candidate).into());
    }
}

/// What a quantity is and what it is called, before it is said how it is worked out. `control` says who controls it.
pub struct Described<L> {
    control: Control,
    name: &'static str,
    unit: &'static str,
    meaning: [&'static str; 2],
    scope: Scope,
    whole: bool,
    noun: &'static str,
    less_more: &'static str,
    ends: Option<[&'static str; 2]>,
    fillers: &'static [(&'static str, f32)],
    of: PhantomData<L>,
}

impl<L: Level> Described<L> {
    /// A quantity in its own unit. `meaning` says in a sentence what it is.
    #[must_use]
    pub const fn absolute(control: Control, name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (scope, meaning, of) = (Scope::Absolute, [meaning, ""], PhantomData);
        let (noun, less_more, ends, fillers) = ("", "", None, &[]);
        Self { control, name, unit, meaning, scope, whole: false, noun, less_more, ends, fillers, of }
    }

    /// A time in ms.
    #[must_use]
    pub const fn time(control: Control, name: &'static str, meaning: &'static str) -> Self {
        Self::absolute(control, name, "ms", meaning)
    }

    /// A number of something, or a place in an order: always whole.
    #[must_use]
    pub const fn count(control: Control, name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { whole: true, ..Self::absolute(control, name, unit, meaning) }
    }

    /// What is so (1) or not (0).
    #[must_use]
    pub const fn flag(control: Control, name: &'static str, meaning: &'static str) -> Self {
        Self::count(control, name, FLAG, meaning)
    }

    /// A share of a cluster total.
    #[must_use]
    pub const fn share(control: Control, name: &'static str, meaning: &'static str) -> Self {
        Self { scope: Scope::Share, ..Self::absolute(control, name, "1", meaning) }
    }

    /// The rest of a long sentence that says what it is, after a space.
    #[must_use]
    pub const fn and(self, rest: &'static str) -> Self {
        Self { meaning: [self.meaning[0], rest], ..self }
    }

    /// Its noun, and what a candidate with less and with more of it is, as for [`QuantityWords::new`].
    #[must_use]
    pub const fn words(self, noun: &'static str, less_more: &'static str) -> Self {
        Self { noun, less_more, ..self }
    }

    /// What a candidate with least and most of it is, where that does not follow from the words for less and more.
    #[must_use]
    pub const fn ends(self, least: &'static str, most: &'static str) -> Self {
        Self { ends: Some([least, most]), ..self }
    }

    /// Who has no such quantity, so that the column holds a filler: those whose column of that name, which may be this one, holds that
    /// value. The candidate that is none has none of what others have and need not be named.
    #[must_use]
    pub const fn lacking(self, fillers: &'static [(&'static str, f32)]) -> Self {
        Self { fillers, ..self }
    }

    /// One column: `value` works it out from the question and a candidate. The candidate that is none has 0.
    #[must_use]
    pub const fn value<V: Into<f64>>(
        self,
        value: &'static impl Fn(&L::Question<'_>, &L::Candidate<'_>) -> V,
    ) -> Quantity<L> {
        Quantity { what: self, ranked: false, ratio: false, value: Value::Each(value) }
    }

    /// [`Self::value`], and its rank within the choice.
    #[must_use]
    pub const fn ranked<V: Into<f64>>(
        self,
        value: &'static impl Fn(&L::Question<'_>, &L::Candidate<'_>) -> V,
    ) -> Quantity<L> {
        Quantity { ranked: true, ..self.value(value) }
    }

    /// [`Self::value`], and its ratio to the least of the choice, as its unit has it.
    #[must_use]
    pub const fn ratio<V: Into<f64>>(
        self,
        value: &'static impl Fn(&L::Question<'_>, &L::Candidate<'_>) -> V,
    ) -> Quantity<L> {
        Quantity { ratio: true, ..self.value(value) }
    }

    /// [`Self::value`], its rank and its ratio.
    #[must_use]
    pub const fn compared<V: Into<f64>>(
        self,
        value: &'static impl Fn(&L::Question<'_>, &L::Candidate<'_>) -> V,
    ) -> Quantity<L> {
        Quantity { ranked: true, ..self.ratio(value) }
    }

    /// One column that all candidates share, the one that is none included: it has a noun, and [clauses](Self::clauses) if it is so or not.
    #[must_use]
    pub const fn shared<V: Into<f64>>(
        self,
        noun: &'static str,
        value: &'static impl Fn(&L::Question<'_>) -> V,
    ) -> Quantity<L> {
        Quantity { what: Self { noun, ..self }, ranked: false, ratio: false, value: Value::Shared(value) }
    }

    /// What is the case where it is not so, and where it is: `the job {waits|runs already}`.
    #[must_use]
    pub const fn clauses(self, not_so: &'static str) -> Self {
        Self { less_more: not_so, ..self }
    }

    /// The flag of the candidate that is none: 1 of it, and 0 of all others.
    #[must_use]
    pub const fn is_none(self) -> Quantity<L> {
        Quantity { what: self, ranked: false, ratio: false, value: Value::IsNone }
    }
}

impl<L: Level> Quantity<L> {
    /// How many columns are made of it.
    pub(super) const fn columns(&self) -> usize {
        1 + self.ranked as usize + self.ratio as usize
    }

    /// What is wanted of it by marks of the level's columns, if anything.
    pub(super) fn wanted(&self, place: usize, first: usize, marks: &[bool]) -> Option<Wanted> {
        let column = |has: bool, column: usize| (has && marks[column]).then_some(column);
        let (value, rank) = (marks[first], column(self.ranked, first + 1));
        let ratio = column(self.ratio, first + 1 + usize::from(self.ranked));
        (value || rank.is_some() || ratio.is_some()).then_some(Wanted { quantity: place, first, value, rank, ratio })
    }

    /// The descriptions of its columns; those of ranks and ratios are yet without words, which are the level's.
    pub(super) fn specs(&self) -> Vec<FeatureSpec> {
        let Described { control, name, unit, meaning, scope, whole, .. } = self.what;
        let spec = |name: String, unit: &str, meaning: [&str; 2], scope, whole| FeatureSpec {
            name,
            unit: unit.to_owned(),
            meaning: meaning.join(" ").trim_end().to_owned(),
            scope,
            version: 1,
            whole,
            control,
        };
        let mut specs = vec![spec(name.to_owned(), unit, meaning, scope, whole)];
        if self.ranked {
            specs.push(spec(format!("{name}_rank"), "1", ["", ""], Scope::Rank, true));
        }
        if self.ratio {
            specs.push(spec(format!("{name}_ratio"), "1", ["", ""], Scope::Ratio, false));
        }
        specs
    }

    /// Sets, by column and row, what is wanted, from its values.
    #[inline]
    pub(super) fn fill(
        &self,
        values: &[f64],
        wanted: &Wanted,
        order: &mut Vec<u32>,
        mut set: impl FnMut(usize, usize, f64),
    ) {
        if wanted.value {
            values.iter().enumerate().for_each(|(row, &value)| set(wanted.first, row, value));
        }
        // A single candidate has rank 0.
        if let Some(column) = wanted.rank.filter(|_| values.len() > 1) {
            ranks(values, order, |row, rank| set(column, row, rank as f64));
        }
        if let Some(column) = wanted.ratio {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let kind = RatioKind::of_unit(self.what.unit);
            let ratio = |value: f64| match kind {
                RatioKind::Time => value / least.max(1.0),
                RatioKind::Count => (value + 1.0) / (least + 1.0),
            };
            values.iter().enumerate().for_each(|(row, &value)| set(column, row, ratio(value)));
        }
    }

    /// What it is called.
    pub(super) fn words(&self) -> QuantityWords {
        let Described { name, noun, less_more, ends, fillers, .. } = self.what;
        let [least, most] = ends.map_or([None, None], |ends| ends.map(|words| Some(words.to_owned())));
        let fillers = fillers.iter().map(|&(column, is)| Filler { column: column.to_owned(), is }).collect();
        let shared = matches!(self.value, Value::Shared(_));
        QuantityWords { least, most, shared, fillers, ..QuantityWords::new(name, noun, less_more) }
    }
}
