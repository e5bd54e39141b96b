//! Families: a quantity and the columns derived from it.

use sched_distill_core::level::{FeatureSpec, LevelSpec, Scope};
use serde::{Deserialize, Serialize};

/// A base quantity of a level with its rank and ratio columns: they change together, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// Name of the base quantity.
    pub name: String,
    /// Its columns, ascending.
    pub columns: Vec<usize>,
}

/// Name of the base quantity of a feature: a rank or ratio is named after it, `remaining_work_rank` after `remaining_work`.
pub(super) fn base_name(feature: &FeatureSpec) -> &str {
    let ending = match feature.scope {
        Scope::Rank => "_rank",
        Scope::Ratio => "_ratio",
        Scope::Absolute | Scope::Share => return &feature.name,
    };
    feature.name.strip_suffix(ending).unwrap_or(&feature.name)
}

/// The families of a level in order of their first column. Every column is in one of them.
///
/// ```
/// use sched_distill_explain::families;
/// use sched_distill_dag::feature::feature_set;
///
/// let level = &feature_set().levels[1];
/// let first = &families(level)[0];
/// assert_eq!(first.name, "remaining_tasks");
/// assert_eq!(first.columns, [0, 1, 2]); // the quantity, its rank, its ratio
/// ```
#[must_use]
pub fn families(level: &LevelSpec) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for (column, feature) in level.features.iter().enumerate() {
        let name = base_name(feature);
        match families.iter_mut().find(|f| f.name == name) {
            Some(family) => family.columns.push(column),
            None => families.push(Family { name: name.to_owned(), columns: vec![column] }),
        }
    }
    families
}
