//! What a tree is asked for, and why it may be refused.

use ::linfa::ParamGuard;
use serde::{Deserialize, Serialize};

/// How splits are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Every gap between two neighbouring values is a candidate.
    Exact,
    /// Only the gaps between bins of about equal numbers of rows. Values stay apart where there are no more of them than
    /// bins.
    Histogram {
        /// Most bins per feature, in `2..=255`.
        max_bins: usize,
    },
}

/// What a split lowers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Weighted variance, averaged over outputs; leaves predict means.
    SquaredError,
    /// Weighted mean absolute deviation from the median; leaves predict medians. One output, exact engine.
    AbsoluteError,
    /// Gini index of classes, 1 − Σ p².
    Gini,
    /// Entropy of classes in bits.
    Entropy,
}

/// What to do about NaN features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// An error.
    Refuse,
    /// Every split learns the side they go to; where training had none, they go to the heavier side.
    Learn,
}

/// What leaves predict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaf {
    /// A constant.
    Constant,
    /// A linear function of the features tested on the way to the leaf (and the constant besides, for explanations).
    Linear {
        /// Penalty on the squared coefficients of features scaled to deviation 1 within the leaf, per unit of weight;
        /// positive.
        ridge: f64,
    },
}

/// A checked recipe of a tree; [`TreeParams`] has the words to each field.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidTreeParams {
    pub(super) engine: Engine,
    pub(super) criterion: Option<Criterion>,
    pub(super) max_leaf_nodes: usize,
    pub(super) max_depth: usize,
    pub(super) min_samples_leaf: usize,
    pub(super) min_weight_leaf: f64,
    pub(super) min_impurity_decrease: f64,
    pub(super) ccp_alpha: f64,
    pub(super) monotone: Vec<i8>,
    pub(super) missing: Missing,
    pub(super) round_thresholds: bool,
    pub(super) leaf: Leaf,
}

/// Recipe of a tree, checked when it is used.
///
/// Names and meanings are scikit-learn's where it has them. Default: exact engine, criterion by the kind of target
/// (squared error or Gini), at least one row and no least weight per leaf, no limit on leaves and depth, no pruning, no
/// constraints, missing values refused, thresholds rounded, constant leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeParams(ValidTreeParams);

impl Default for TreeParams {
    fn default() -> Self {
        Self(ValidTreeParams {
            engine: Engine::Exact,
            criterion: None,
            max_leaf_nodes: usize::MAX,
            max_depth: usize::MAX,
            min_samples_leaf: 1,
            min_weight_leaf: 0.0,
            min_impurity_decrease: 0.0,
            ccp_alpha: 0.0,
            monotone: Vec::new(),
            missing: Missing::Refuse,
            round_thresholds: true,
            leaf: Leaf::Constant,
        })
    }
}

crate::setters! { TreeParams:
    /// How splits are searched.
    engine: Engine,
    /// What a split lowers; by default [`Criterion::Gini`] for classes, else [`Criterion::SquaredError`].
    criterion: Option<Criterion>,
    /// Largest number of leaves, at least 1. The leaf whose split takes away most impurity is split first.
    max_leaf_nodes: usize,
    /// Most tests on the way to a leaf.
    max_depth: usize,
    /// Fewest rows on either side of a split, at least 1; rows of weight 0 do not count.
    min_samples_leaf: usize,
    /// Least weight on either side of a split.
    min_weight_leaf: f64,
    /// Least weighted decrease of impurity of a split: the node's share of the weight × (its impurity − the mean impurity of
    /// its children).
    min_impurity_decrease: f64,
    /// Cost of a leaf for minimal cost-complexity pruning after growth; 0 does not prune.
    ccp_alpha: f64,
    /// Per feature: 1 if the prediction must not fall as the feature rises, −1 if it must not rise, 0 for no constraint.
    /// Empty for none at all. Single-output squared error, or two classes (the share of the second).
    monotone: Vec<i8>,
    /// What to do about NaN features.
    missing: Missing,
    /// Whether a threshold becomes the shortest decimal in the gap between the neighbouring values of the node; otherwise it
    /// is the middle of the gap. The training rows fall on the same side either way.
    round_thresholds: bool,
    /// What leaves predict.
    leaf: Leaf,
}

impl ParamGuard for TreeParams {
    type Checked = ValidTreeParams;
    type Error = TreeError;

    fn check_ref(&self) -> Result<&ValidTreeParams, TreeError> {
        let p = &self.0;
        let bad = |name, found: String, allowed| Err(TreeError::Param { name, found, allowed });
        let bins = match p.engine {
            Engine::Exact => None,
            Engine::Histogram { max_bins } => Some(max_bins),
        };
        if bins.is_some_and(|bins| !(2..=255).contains(&bins)) {
            return bad("max_bins", bins.unwrap_or(0).to_string(), "in 2..=255");
        }
        if p.max_leaf_nodes == 0 {
            return bad("max_leaf_nodes", "0".to_owned(), "at least 1");
        }
        if p.min_samples_leaf == 0 {
            return bad("min_samples_leaf", "0".to_owned(), "at least 1");
        }
        let numbers = [
            ("min_weight_leaf", p.min_weight_leaf),
            ("min_impurity_decrease", p.min_impurity_decrease),
            ("ccp_alpha", p.ccp_alpha),
        ];
        for (name, value) in numbers {
            if !(value.is_finite() && value >= 0.0) {
                return bad(name, value.to_string(), "a number of at least 0");
            }
        }
        if let Some(sign) = p.monotone.iter().find(|s| !(-1..=1).contains(*s)) {
            return bad("monotone", sign.to_string(), "-1, 0 or 1 for each feature");
        }
        match p.leaf {
            Leaf::Linear { ridge } if !(ridge.is_finite() && ridge > 0.0) => {
                return bad("ridge", ridge.to_string(), "a positive number");
            }
            Leaf::Linear { .. } if p.monotone.iter().any(|&s| s != 0) => {
                return bad("leaf", "linear".to_owned(), "constant where there are monotone constraints");
            }
            Leaf::Linear { .. } if p.missing == Missing::Learn => {
                return bad("leaf", "linear".to_owned(), "constant where missing values are learned");
            }
            Leaf::Linear { .. } if p.criterion == Some(Criterion::AbsoluteError) => {
                return bad("leaf", "linear".to_owned(), "constant with the absolute error");
            }
            Leaf::Linear { .. } if p.ccp_alpha > 0.0 => {
                return bad("leaf", "linear".to_owned(), "constant for cost-complexity pruning");
            }
            _ => {}
        }
        if p.criterion == Some(Criterion::AbsoluteError) && bins.is_some() {
            return bad("engine", "histogram".to_owned(), "exact with the absolute error");
        }
        Ok(p)
    }

    fn check(self) -> Result<ValidTreeParams, TreeError> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// Why a tree cannot be grown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A parameter is out of range, or does not go with another one.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// The parts of the data do not fit together.
    #[error("{what} has {found} entries, expected {expected}")]
    Shape {
        /// Which part.
        what: &'static str,
        /// Entries found.
        found: usize,
        /// Entries expected.
        expected: usize,
    },
    /// A feature is infinite, or NaN where missing values are refused.
    #[error("feature {column} is {value} at row {row}; features must be finite{}", if .value.is_nan() { ", or missing values be learned" } else { "" })]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What stands there.
        value: f32,
    },
    /// A target or a weight is not what it should be.
    #[error("{what} is {value} at row {row}; it must be {allowed}")]
    Value {
        /// `target`, `weight` or `class`.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// What stands there.
        value: f64,
        /// Values allowed.
        allowed: &'static str,
    },
    /// More classes than a tree can tell apart.
    #[error(
        "there are {found} classes, but at most 255 are allowed: merge rare ones, or fit shares as several targets"
    )]
    TooManyClasses {
        /// Classes found.
        found: usize,
    },
    /// More rows than 32 bits can count.
    #[error("there are {found} rows, but at most 4294967295 are allowed: fit a sample")]
    TooManyRows {
        /// Rows found.
        found: usize,
    },
    /// No row has any weight.
    #[error("there is no row of positive weight to learn from")]
    NoRows,
    /// linfa refused the data set.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}
