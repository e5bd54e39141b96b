//! Why an explanation is refused.

use thiserror::Error;

/// Why an explanation is refused. Nothing here depends on the rows' values, so a tree that was explained once will be again.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// SHAP values, partial dependence and counterfactuals are defined here for trees of one value per leaf.
    #[error("the tree has linear leaves: only trees with one value per leaf can be explained")]
    LinearLeaves,
    /// The tree tests a column that the rows do not have.
    #[error("node {node} tests feature {feature}, but rows have {width}")]
    FeatureOutOfRange {
        /// Node of the tree.
        node: usize,
        /// The column it tests.
        feature: usize,
        /// Columns per row.
        width: usize,
    },
    /// A feature number that is none.
    #[error("feature {feature} does not exist: rows have {width}")]
    NoSuchFeature {
        /// What was asked for.
        feature: usize,
        /// Columns per row.
        width: usize,
    },
    /// An output number that is none.
    #[error("output {output} does not exist: the tree has {outputs}")]
    NoSuchOutput {
        /// What was asked for.
        output: usize,
        /// Outputs of the tree.
        outputs: usize,
    },
    /// A list is not as long as the others.
    #[error("`{name}` has {found} entries, expected {expected}")]
    Length {
        /// Argument.
        name: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// Row-major data whose length is not a multiple of the width.
    #[error("`{name}` has {found} entries, which is no multiple of the width {width}")]
    Ragged {
        /// Argument.
        name: &'static str,
        /// Its length.
        found: usize,
        /// Columns per row.
        width: usize,
    },
    /// A list that must not be empty is, or its weights add up to 0.
    #[error("`{0}` is empty or without weight")]
    Empty(&'static str),
    /// A weight, scale or bound that is negative, zero where it must not be, or not finite.
    #[error("`{name}` holds {value} at {index}, expected {expected}")]
    BadNumber {
        /// Argument.
        name: &'static str,
        /// Place in it.
        index: usize,
        /// What stands there.
        value: f64,
        /// What is allowed, in words.
        expected: &'static str,
    },
    /// A list that should hold every row once does not.
    #[error("permutation {index} does not hold each of the {rows} rows once")]
    NoPermutation {
        /// Which one.
        index: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A candidate number that is none.
    #[error("candidate {candidate} does not exist: the choice has {rows}")]
    NoSuchCandidate {
        /// What was asked for.
        candidate: usize,
        /// Candidates of the choice.
        rows: usize,
    },
    /// A rank or ratio column without the quantity that it is formed from.
    #[error("feature `{feature}` is formed from a quantity that the level does not have")]
    NoBase {
        /// Its name.
        feature: String,
    },
    /// A tie that the row at hand breaks already, or that goes round in a circle.
    #[error("{0}")]
    Tie(String),
}

/// The number of rows in row-major data.
pub(super) fn rows_of(name: &'static str, x: &[f32], width: usize) -> Result<usize, ExplainError> {
    if width == 0 || !x.len().is_multiple_of(width) {
        return Err(ExplainError::Ragged { name, found: x.len(), width });
    }
    Ok(x.len() / width)
}

/// Checks the length of a list.
pub(super) fn expect_length(name: &'static str, found: usize, expected: usize) -> Result<(), ExplainError> {
    if found == expected { Ok(()) } else { Err(ExplainError::Length { name, found, expected }) }
}

/// Checks row weights (`None` weighs every row 1) and returns their sum, which is positive.
pub(super) fn total_weight(weight: Option<&[f64]>, rows: usize, of: &'static str) -> Result<f64, ExplainError> {
    let Some(weight) = weight else {
        return if rows == 0 { Err(ExplainError::Empty(of)) } else { Ok(rows as f64) };
    };
    expect_length("weight", weight.len(), rows)?;
    if let Some(index) = weight.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        let expected = "a finite number, at least 0";
        return Err(ExplainError::BadNumber { name: "weight", index, value: weight[index], expected });
    }
    let total: f64 = weight.iter().sum();
    if total > 0.0 { Ok(total) } else { Err(ExplainError::Empty(of)) }
}
