//! What a fit is asked for, and why it may be refused.

use serde::{Deserialize, Serialize};

/// What a model is taught about each candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The teacher's probability.
    Probability,
    /// The probability divided by the best candidate's, so that choices among many count like choices among few.
    RelativeProbability,
    /// ln of that, not below −6.
    LogRatio,
}

/// Who grows the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackEnd {
    /// Our own learner.
    Own,
    /// linfa-trees, for comparison: it classifies chosen / not chosen and misplaces splits on tied features.
    LinfaTrees,
}

/// Recipe of a student. Defaults: 64 leaves per level, at least 20 rows per leaf, splits that take away 5e-4 of the error,
/// relative probabilities, kinds balanced to 0.8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitParams {
    /// Largest number of leaves per level.
    pub max_leaf_nodes: usize,
    /// Fewest rows in a leaf.
    pub min_samples_leaf: usize,
    /// Least share of the level's whole squared error that a split must take away; what simple policies need no leaf for
    /// is left out.
    pub min_gain: f64,
    /// What the tree is taught.
    pub target: Target,
    /// How far the kinds of choices are balanced: 0 counts choices, 1 gives every kind the same total weight. Kinds differ
    /// in number and in difficulty (easy affinity choices outnumber free ones by far), so the default lies between.
    pub balance: f64,
    /// Who grows the tree.
    pub back_end: BackEnd,
    /// Name of the model that schedules: `tree` or `linear`.
    #[serde(rename = "use")]
    pub used: String,
}

impl Default for FitParams {
    fn default() -> Self {
        Self {
            max_leaf_nodes: 64,
            min_samples_leaf: 20,
            min_gain: 5e-4,
            target: Target::RelativeProbability,
            balance: 0.8,
            back_end: BackEnd::Own,
            used: "tree".to_owned(),
        }
    }
}

impl FitParams {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// The first bad field with its allowed range.
    pub fn check(&self) -> Result<(), FitError> {
        let bad = |name, found: String, allowed| Err(FitError::Param { name, found, allowed });
        match self {
            p if !(2..=65_536).contains(&p.max_leaf_nodes) => {
                bad("max_leaf_nodes", p.max_leaf_nodes.to_string(), "2..=65536")
            }
            p if p.min_samples_leaf == 0 => bad("min_samples_leaf", "0".to_owned(), "at least 1"),
            p if !(0.0..=1.0).contains(&p.min_gain) => bad("min_gain", p.min_gain.to_string(), "in 0..=1"),
            p if !(0.0..=1.0).contains(&p.balance) => bad("balance", p.balance.to_string(), "in 0..=1"),
            p if !matches!(p.used.as_str(), "tree" | "linear") => bad("use", p.used.clone(), "`tree` or `linear`"),
            _ => Ok(()),
        }
    }
}

/// Why a student cannot be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// A level has no choice to learn from.
    #[error("level `{level}`: no choice with two or more candidates to learn from; record more episodes")]
    NoChoices {
        /// The level.
        level: String,
    },
    /// A feature is NaN or infinite.
    #[error("level `{level}`: feature `{feature}` is {value} at row {row}; features must be finite")]
    NotFinite {
        /// The level.
        level: String,
        /// The feature.
        feature: String,
        /// Row of the table.
        row: usize,
        /// What stands there.
        value: f32,
    },
    /// The tree learner refused.
    #[error("level `{level}`: {source}")]
    Tree {
        /// The level.
        level: String,
        /// Why.
        source: super::TreeError,
    },
    /// The library that does the work refused.
    #[error("level `{level}`: {what} failed: {reason}")]
    Library {
        /// The level.
        level: String,
        /// Which part.
        what: &'static str,
        /// What it said.
        reason: String,
    },
}
