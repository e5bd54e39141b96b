//! Ranks and ratios of a choice, made again after a quantity has changed.

use super::super::{
    error::{ExplainError, rows_of},
    family::base_name,
};
use sched_distill_core::level::{LevelSpec, Scope};

/// How the columns of a level hang together: which are quantities of their own, and which are formed from them within the
/// choice, as [`Scope`] says. Ratios of quantities in `ms` are those of times, others those of counts.
///
/// A candidate whose feature `is_none` is 1 (the one that gives nothing) takes no part in ranks and ratios; its columns stay 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceColumns {
    width: usize,
    families: Vec<Derived>,
    /// Family of each column.
    family: Vec<usize>,
    none: Option<usize>,
}

/// A quantity and the columns formed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Derived {
    pub(super) base: usize,
    pub(super) rank: Option<usize>,
    pub(super) ratio: Option<usize>,
    time: bool,
}

impl Derived {
    /// The ratio of a value if the smallest value of the choice is `least`.
    pub(super) fn ratio_of(&self, value: f64, least: f64) -> f32 {
        (if self.time { value / least.max(1.0) } else { (value + 1.0) / (least + 1.0) }) as f32
    }
}

impl ChoiceColumns {
    /// The columns of a level.
    ///
    /// # Errors
    ///
    /// If a rank or ratio has no quantity that it is named after.
    pub fn new(level: &LevelSpec) -> Result<Self, ExplainError> {
        let base = |scope| matches!(scope, Scope::Absolute | Scope::Share);
        let mut families: Vec<Derived> = Vec::new();
        for (column, feature) in level.features.iter().enumerate().filter(|(_, f)| base(f.scope)) {
            families.push(Derived { base: column, rank: None, ratio: None, time: feature.unit == "ms" });
        }
        let mut family = Vec::with_capacity(level.features.len());
        for (column, feature) in level.features.iter().enumerate() {
            let name = base_name(feature);
            let found = families.iter().position(|f| level.features[f.base].name == name);
            let Some(found) = found else {
                return Err(ExplainError::NoBase { feature: feature.name.clone() });
            };
            match feature.scope {
                Scope::Rank => families[found].rank = Some(column),
                Scope::Ratio => families[found].ratio = Some(column),
                Scope::Absolute | Scope::Share => {}
            }
            family.push(found);
        }
        let none = level.features.iter().position(|f| f.name == "is_none");
        Ok(Self { width: level.features.len(), families, family, none })
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a column is a quantity of its own, not formed from others.
    #[must_use]
    pub fn is_base(&self, column: usize) -> bool {
        self.families[self.family[column]].base == column
    }

    /// Whether a column is a quantity, and not the mark of the candidate that gives nothing.
    pub(super) fn may_change(&self, column: usize) -> bool {
        self.is_base(column) && self.none != Some(column)
    }

    pub(super) fn derived(&self, column: usize) -> &Derived {
        &self.families[self.family[column]]
    }

    /// Whether a row takes part in ranks and ratios.
    pub(super) fn takes_part(&self, row: &[f32]) -> bool {
        self.none.is_none_or(|none| row[none] != 1.0)
    }

    /// Makes all ranks and ratios of a choice again from its quantities; `x` has the shape `(candidates, width)`.
    ///
    /// Quantities are taken as they stand in the row, in f32. Where the extractor knew more digits, a ratio may differ in the
    /// last one.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width.
    pub fn recompute(&self, x: &mut [f32]) -> Result<(), ExplainError> {
        rows_of("x", x, self.width)?;
        self.families.iter().for_each(|family| self.recompute_family(x, family));
        Ok(())
    }

    /// The same for what is formed from one column, which must be a quantity of its own.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width, or there is no such column.
    pub fn recompute_column(&self, x: &mut [f32], column: usize) -> Result<(), ExplainError> {
        rows_of("x", x, self.width)?;
        if column >= self.width {
            return Err(ExplainError::NoSuchFeature { feature: column, width: self.width });
        }
        self.recompute_family(x, self.derived(column));
        Ok(())
    }

    pub(super) fn recompute_family(&self, x: &mut [f32], family: &Derived) {
        if family.rank.is_none() && family.ratio.is_none() {
            return;
        }
        let rows = x.len() / self.width;
        let at = |row: usize, column: usize| row * self.width + column;
        let least =
            x.chunks_exact(self.width).filter(|row| self.takes_part(row)).map(|row| f64::from(row[family.base]));
        let least = least.fold(f64::INFINITY, f64::min);
        for row in 0..rows {
            if !self.takes_part(&x[at(row, 0)..at(row + 1, 0)]) {
                continue;
            }
            let own = x[at(row, family.base)];
            if let Some(rank) = family.rank {
                let others = x.chunks_exact(self.width).filter(|other| self.takes_part(other));
                let smaller = others.filter(|other| other[family.base] < own).count();
                x[at(row, rank)] = smaller as f32;
            }
            if let Some(ratio) = family.ratio {
                x[at(row, ratio)] = family.ratio_of(f64::from(own), least);
            }
        }
    }
}
