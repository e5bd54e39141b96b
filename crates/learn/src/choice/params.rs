//! What a logit is asked for, and why it may be refused.

use linfa::ParamGuard;
use serde::{Deserialize, Serialize};

/// What to do about a feature that never differs within a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constant {
    /// An error that names it.
    Refuse,
    /// Its coefficient is 0.
    LeaveOut,
}

/// A checked recipe of a logit; [`LogitParams`] has the words to each field.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidLogitParams {
    pub(super) ridge: f64,
    pub(super) columns: Option<Vec<u32>>,
    pub(super) interactions: Vec<[u32; 2]>,
    pub(super) constant: Constant,
}

/// Recipe of a logit, checked when it is used.
///
/// Default: ridge 1e-4, all columns, no interactions, constant features refused.
///
/// ```
/// use linfa::{Dataset, traits::{Fit, Predict}};
/// use ndarray::{Array1, array};
/// use sched_distill_learn::{ChoiceTarget, LogitParams};
/// // Two choices between two candidates; the larger value is taken with probability 3/4.
/// let x = array![[0.0], [1.0], [5.0], [4.0]];
/// let target = |choice, probability| ChoiceTarget { choice, cluster: choice, probability };
/// let y = Array1::from(vec![target(0, 0.25), target(0, 0.75), target(1, 0.75), target(1, 0.25)]);
/// let logit = LogitParams::default().ridge(0.0).fit(&Dataset::new(x.clone(), y))?;
/// assert!((logit.0.terms[0].coefficient - 3f64.ln()).abs() < 1e-9);
/// let scores: Array1<f64> = logit.predict(&x);
/// assert!(scores[1] > scores[0]);
/// # Ok::<(), sched_distill_learn::LogitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogitParams(ValidLogitParams);

impl Default for LogitParams {
    fn default() -> Self {
        Self(ValidLogitParams { ridge: 1e-4, columns: None, interactions: Vec::new(), constant: Constant::Refuse })
    }
}

crate::setters! { LogitParams:
    /// Penalty: `ridge / 2` × the squared coefficients of features scaled to deviation 1 within choices, per unit of weight.
    /// It makes equal columns solvable and keeps the coefficients of a deterministic teacher finite.
    ridge: f64,
    /// Columns that may enter alone; `None` for all.
    columns: Option<Vec<u32>>,
    /// Pairs of columns whose products enter too. That is how what is the same for all candidates has a say: as a factor of
    /// something that is not.
    interactions: Vec<[u32; 2]>,
    /// What to do about a column that never differs within a choice. Interactions of that kind are always refused.
    constant: Constant,
}

impl ValidLogitParams {
    /// Columns that may enter alone; `None` for all.
    pub(crate) fn columns(&self) -> Option<&[u32]> {
        self.columns.as_deref()
    }
}

impl ParamGuard for LogitParams {
    type Checked = ValidLogitParams;
    type Error = LogitError;

    fn check_ref(&self) -> Result<&ValidLogitParams, LogitError> {
        let ridge = self.0.ridge;
        match ridge.is_finite() && ridge >= 0.0 {
            true => Ok(&self.0),
            false => Err(LogitError::Param {
                name: "ridge",
                found: ridge.to_string(),
                allowed: "a number of at least 0".to_owned(),
            }),
        }
    }

    fn check(self) -> Result<ValidLogitParams, LogitError> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// Why a logit cannot be fitted. Terms are columns, or two columns for an interaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogitError {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: String,
    },
    /// The parts of the data do not fit together.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Which part.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// A feature is NaN or infinite.
    #[error("feature {column} is {value} at row {row}; features must be finite")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// A probability or a weight is not what it should be.
    #[error("{what} is {value} in choice {choice}; it must be {allowed}")]
    Value {
        /// `probability`, `weight`, ...
        what: &'static str,
        /// Choice, from 0.
        choice: usize,
        /// What stands there.
        value: f64,
        /// Values allowed.
        allowed: &'static str,
    },
    /// The rows of a choice do not stand together.
    #[error("the rows of choice {choice} do not stand together: row {row} belongs to it too")]
    Scattered {
        /// The choice's id.
        choice: u64,
        /// First row that stands apart.
        row: usize,
    },
    /// No choice between two candidates has any weight.
    #[error("there is no choice with two or more candidates and positive weight to learn from")]
    NoChoices,
    /// Terms that are the same for all candidates of every choice.
    #[error("{} within a choice and so cannot be judged", never_differs(.terms))]
    Constant {
        /// The terms.
        terms: Vec<Vec<usize>>,
    },
    /// A term is a combination of those before it.
    #[error("{} is a combination of other features; leave it out or give a positive ridge", numbered(.term))]
    Singular {
        /// The term.
        term: Vec<usize>,
    },
    /// Some combination of features tells the chosen candidates perfectly.
    #[error(
        "no finite coefficients are best, because the features tell the teacher's choices perfectly; give a positive ridge"
    )]
    Separable,
    /// linfa refused the data set.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

fn numbered(term: &[usize]) -> String {
    match term {
        [a, b] => format!("the product of features {a} and {b}"),
        _ => format!("feature {}", term.first().copied().unwrap_or_default()),
    }
}

fn never_differs(terms: &[Vec<usize>]) -> String {
    let list: Vec<String> = terms.iter().map(|t| numbered(t)).collect();
    format!("{} never {}", list.join(", "), if list.len() == 1 { "differs" } else { "differ" })
}

impl LogitError {
    /// The message with the names of features in place of their numbers.
    pub(crate) fn named(&self, names: &[&str]) -> String {
        let name = |term: &[usize]| {
            let parts: Vec<&str> = term.iter().map(|&c| names[c]).collect();
            format!("`{}`", parts.join("*"))
        };
        match self {
            Self::Constant { terms } => {
                let list: Vec<String> = terms.iter().map(|t| name(t)).collect();
                let (never, it) = if list.len() == 1 { ("never differs", "it") } else { ("never differ", "them") };
                let remedy = match terms.iter().all(|t| t.len() == 1) {
                    true => format!(
                        "leave {it} out, or multiply {it} by a feature that differs (`interactions` of the parameters)"
                    ),
                    false => "multiply by a feature that differs".to_owned(),
                };
                format!("{} {never} within a choice and so cannot be judged: {remedy}", list.join(", "))
            }
            Self::Singular { term } => {
                format!("{} is a combination of other features: leave it out, or give a positive `ridge`", name(term))
            }
            Self::Separable => {
                "no finite coefficients are best, because the features tell the teacher's choices perfectly: give a \
                 positive `ridge`"
                    .to_owned()
            }
            Self::NotFinite { row, column, value } => {
                format!("feature `{}` is {value} at row {row}; features must be finite", names[*column])
            }
            other => other.to_string(),
        }
    }
}
