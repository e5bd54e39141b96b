//! Training rows: what callers give, and what the learner works on.

use super::{Criterion, Missing, TreeError, ValidTreeParams};
use rayon::prelude::*;

/// What a tree learns to predict.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// One number per row.
    Values(&'a [f64]),
    /// Several numbers per row, e.g. the probabilities of classes.
    Outputs {
        /// Shape `(rows, outputs)`, row-major.
        values: &'a [f64],
        /// Numbers per row.
        outputs: usize,
    },
    /// A class per row.
    Classes {
        /// Classes from 0, shape `(rows,)`.
        class: &'a [u32],
        /// Number of classes, at most 255.
        classes: usize,
    },
}

/// Training rows.
#[derive(Clone, Copy, Debug)]
pub struct TreeData<'a> {
    /// Features, shape `(rows, width)`, row-major.
    pub x: &'a [f32],
    /// Features per row.
    pub width: usize,
    /// Targets of all rows.
    pub targets: Targets<'a>,
    /// Weights, shape `(rows,)`, finite and not negative; `None` for 1 each. A row of weight 0 is as good as absent.
    pub weight: Option<&'a [f64]>,
}

/// Rows that passed the checks.
pub(super) struct Rows<'a> {
    pub(super) x: &'a [f32],
    pub(super) width: usize,
    pub(super) targets: Targets<'a>,
    pub(super) criterion: Criterion,
    /// Weight by row times `scale`, so that their sum is in `[1, 2)`.
    pub(super) weight: Vec<f64>,
    /// A power of two: weights that differ by such a factor give the same tree bit for bit.
    pub(super) scale: f64,
    /// Rows of positive weight, ascending.
    pub(super) active: Vec<u32>,
}

impl Targets<'_> {
    fn rows(&self) -> usize {
        match *self {
            Self::Values(y) => y.len(),
            Self::Outputs { values, outputs } => values.len().checked_div(outputs).unwrap_or(0),
            Self::Classes { class, .. } => class.len(),
        }
    }

    /// Numbers that a node predicts.
    pub(super) fn outputs(&self) -> usize {
        match *self {
            Self::Values(_) => 1,
            Self::Outputs { outputs, .. } => outputs,
            Self::Classes { classes, .. } => classes,
        }
    }

    fn check(&self) -> Result<(), TreeError> {
        // Sums of squares must stay finite.
        let finite = |values: &[f64], outputs: usize| match values.iter().position(|v| v.is_nan() || v.abs() >= 1e140) {
            None => Ok(()),
            Some(at) => Err(TreeError::Value {
                what: "target",
                row: at / outputs,
                value: values[at],
                allowed: "finite and below 1e140",
            }),
        };
        match *self {
            Self::Values(y) => finite(y, 1),
            Self::Outputs { outputs: 0, .. } => Err(TreeError::Shape { what: "a row's target", found: 0, expected: 1 }),
            Self::Outputs { values, outputs } if values.len() % outputs != 0 => {
                let expected = values.len().next_multiple_of(outputs);
                Err(TreeError::Shape { what: "the targets' matrix", found: values.len(), expected })
            }
            Self::Outputs { values, outputs } => finite(values, outputs),
            Self::Classes { classes, .. } if classes > 255 => Err(TreeError::TooManyClasses { found: classes }),
            Self::Classes { class, classes } => match class.iter().position(|&c| c as usize >= classes) {
                None => Ok(()),
                Some(row) => Err(TreeError::Value {
                    what: "class",
                    row,
                    value: f64::from(class[row]),
                    allowed: "below the number of classes",
                }),
            },
        }
    }
}

impl<'a> Rows<'a> {
    /// Checks the data against each other and the parameters.
    pub(super) fn new(data: TreeData<'a>, params: &ValidTreeParams) -> Result<Self, TreeError> {
        let TreeData { x, width, targets, weight } = data;
        targets.check()?;
        let rows = targets.rows();
        let shape = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(TreeError::Shape { what, found, expected }),
        };
        shape("the features' matrix", x.len(), rows.saturating_mul(width))?;
        shape("the list of weights", weight.map_or(rows, <[f64]>::len), rows)?;
        if !params.monotone.is_empty() {
            shape("monotone", params.monotone.len(), width)?;
        }
        let criterion = criterion(&targets, params)?;
        let learn = params.missing == Missing::Learn;
        let bad = |v: &f32| !(v.is_finite() || learn && v.is_nan());
        // In blocks without an early exit, which the compiler can vectorise: largest exponents stand for infinity and NaN.
        let largest =
            |block: &[f32]| block.iter().fold(0, |most: i32, v| most.max((v.to_bits() & (u32::MAX >> 1)) as i32));
        let suspicious = |block: &[f32]| largest(block) >= f32::INFINITY.to_bits() as i32 && block.iter().any(bad);
        let block = x.par_chunks(4096).enumerate().find_first(|(_, block)| suspicious(block));
        if let Some(at) = block.and_then(|(i, block)| Some(i * 4096 + block.iter().position(bad)?)) {
            return Err(TreeError::NotFinite { row: at / width, column: at % width, value: x[at] });
        }
        let total: f64 = match weight {
            None => rows as f64,
            Some(weight) => {
                if let Some(row) = weight.iter().position(|w| !(0.0..1e140).contains(w)) {
                    let allowed = "not negative and below 1e140";
                    return Err(TreeError::Value { what: "weight", row, value: weight[row], allowed });
                }
                weight.iter().sum()
            }
        };
        if total <= 0.0 {
            return Err(TreeError::NoRows);
        }
        if u32::try_from(rows).is_err() {
            return Err(TreeError::TooManyRows { found: rows });
        }
        let scale = power_of_two_below(total).recip();
        let weight: Vec<f64> = (0..rows).into_par_iter().map(|row| weight.map_or(1.0, |w| w[row]) * scale).collect();
        let active = (0..rows as u32).into_par_iter().filter(|&row| weight[row as usize] > 0.0).collect();
        Ok(Self { x, width, targets, criterion, weight, scale, active })
    }

    #[inline]
    pub(super) fn value(&self, row: u32, column: usize) -> f32 {
        self.x[row as usize * self.width + column]
    }
}

fn criterion(targets: &Targets<'_>, params: &ValidTreeParams) -> Result<Criterion, TreeError> {
    use Criterion::{AbsoluteError, Entropy, Gini, SquaredError};
    let classes = matches!(targets, Targets::Classes { .. });
    let criterion = params.criterion.unwrap_or(if classes { Gini } else { SquaredError });
    let allowed = match (targets, criterion) {
        (Targets::Classes { .. }, SquaredError | AbsoluteError) => Some("Gini or Entropy for classes"),
        (Targets::Values(_) | Targets::Outputs { .. }, Gini | Entropy) => {
            Some("SquaredError or AbsoluteError for values")
        }
        (Targets::Outputs { .. }, AbsoluteError) => Some("SquaredError for several outputs"),
        _ => None,
    };
    if let Some(allowed) = allowed {
        return Err(TreeError::Param { name: "criterion", found: format!("{criterion:?}"), allowed });
    }
    let ordered =
        matches!((targets, criterion), (Targets::Values(_), SquaredError) | (Targets::Classes { classes: 2, .. }, _));
    if !ordered && params.monotone.iter().any(|&sign| sign != 0) {
        let allowed = "empty unless for single-output squared error or two classes";
        return Err(TreeError::Param { name: "monotone", found: format!("{:?}", params.monotone), allowed });
    }
    if params.leaf != super::Leaf::Constant && !matches!(targets, Targets::Values(_)) {
        let allowed = "constant unless there is one number to predict";
        return Err(TreeError::Param { name: "leaf", found: "linear".to_owned(), allowed });
    }
    Ok(criterion)
}

/// The largest power of two that is not above a positive normal number.
pub(super) fn power_of_two_below(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & (0x7FF << 52)).max(f64::MIN_POSITIVE)
}
