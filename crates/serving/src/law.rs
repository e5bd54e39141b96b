//! How long a batch takes.

use serde::{Deserialize, Serialize};

/// The tasks of a batch, as far as its time depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// How many.
    pub count: u32,
    /// Size of the largest.
    pub largest: u32,
    /// Their sizes added up.
    pub total: u64,
}

impl Batch {
    /// One task.
    #[must_use]
    pub fn of(size: u32) -> Self {
        Self { count: 1, largest: size, total: size.into() }
    }

    /// Mean size of its tasks, rounded, 1 without tasks.
    #[must_use]
    pub fn mean_size(self) -> u32 {
        (self.total as f64 / f64::from(self.count.max(1))).round().max(1.0) as u32
    }

    /// With one more task.
    #[inline]
    #[must_use]
    pub fn with(self, size: u32) -> Self {
        Self { count: self.count + 1, largest: self.largest.max(size), total: self.total + u64::from(size) }
    }
}

/// How long a batch takes, alone on an accelerator.
///
/// ```
/// use sched_distill_serving::{Batch, Law};
/// let law = Law::Padded { alpha_ms: 3.0, beta_ms: 0.03 };
/// assert_eq!(law.ms(Batch { count: 2, largest: 40, total: 50 }), 3.0 + 0.03 * 80.0);
/// ```
///
/// As JSON it is `{"padded": {"alpha_ms": 3, "beta_ms": 0.03}}`, `{"dynamic": {"alpha_ms": 6, "beta_ms": 0.08, "parallel": 4}}` or
/// `{"measured": {"sizes": [...], "batches": [...], "ms": [[...], ...]}}` with a row per batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Law {
    /// All tasks are padded to the largest: `α + β · count · largest`.
    Padded {
        /// What every batch takes, ms.
        alpha_ms: f64,
        /// What a unit of size takes, ms.
        beta_ms: f64,
    },
    /// A graph is built for every batch, which pads nothing, and up to so many tasks run side by side:
    /// `α + β · total ÷ min(count, parallel)`.
    Dynamic {
        /// What every batch takes, ms.
        alpha_ms: f64,
        /// What a unit of size takes, ms.
        beta_ms: f64,
        /// Tasks side by side.
        parallel: u32,
    },
    /// As measured.
    Measured(Table),
}

impl Law {
    /// Time of a batch, ms.
    #[inline]
    #[must_use]
    pub fn ms(&self, batch: Batch) -> f64 {
        match self {
            Self::Padded { alpha_ms, beta_ms } => {
                alpha_ms + beta_ms * (f64::from(batch.count) * f64::from(batch.largest))
            }
            Self::Dynamic { alpha_ms, beta_ms, parallel } => {
                alpha_ms + beta_ms * batch.total as f64 / f64::from(batch.count.clamp(1, *parallel))
            }
            Self::Measured(table) => table.ms(batch.count, batch.largest),
        }
    }

    /// Whether tasks are padded to the largest of their batch.
    #[must_use]
    pub fn pads(&self) -> bool {
        !matches!(self, Self::Dynamic { .. })
    }

    /// Whether the numbers can be; if not, why.
    pub(crate) fn check(&self) -> Result<(), String> {
        let number = |name: &str, value: f64, least: f64| match value >= least && value <= 1e9 {
            true => Ok(()),
            false => Err(format!("{name} must be a number from {least} to 1e9, got {value}")),
        };
        let (alpha_ms, beta_ms) = match self {
            Self::Padded { alpha_ms, beta_ms } => (*alpha_ms, *beta_ms),
            Self::Dynamic { alpha_ms, beta_ms, parallel } => {
                if !(1..=1 << 16).contains(parallel) {
                    return Err(format!("parallel must be in 1..=65536, got {parallel}"));
                }
                (*alpha_ms, *beta_ms)
            }
            Self::Measured(_) => return Ok(()),
        };
        number("alpha_ms", alpha_ms, 0.0)?;
        // A task takes time: slowdowns are measured by it.
        number("beta_ms", beta_ms, 1e-9)
    }
}

/// Measured times of batches of tasks of equal size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawTable", into = "RawTable")]
pub struct Table {
    sizes: Vec<u32>,
    batches: Vec<u32>,
    /// By batch and size, row-major.
    ms: Vec<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    sizes: Vec<u32>,
    batches: Vec<u32>,
    /// A row per batch.
    ms: Vec<Vec<f64>>,
}

/// Why a table of times cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableError(String);

impl TryFrom<RawTable> for Table {
    type Error = TableError;

    fn try_from(raw: RawTable) -> Result<Self, TableError> {
        Self::new(raw.sizes, raw.batches, raw.ms)
    }
}

impl From<Table> for RawTable {
    fn from(table: Table) -> Self {
        let ms = table.ms.chunks(table.sizes.len()).map(<[f64]>::to_vec).collect();
        Self { sizes: table.sizes, batches: table.batches, ms }
    }
}

impl Table {
    /// Times by batch (a row each) and size, ms.
    ///
    /// # Errors
    ///
    /// Sizes or batches that do not ascend from at least 1, or times that are not one positive number for each.
    pub fn new(sizes: Vec<u32>, batches: Vec<u32>, ms: Vec<Vec<f64>>) -> Result<Self, TableError> {
        for (name, list) in [("sizes", &sizes), ("batches", &batches)] {
            if list.is_empty() || list.len() > 1000 || list[0] == 0 || !list.is_sorted_by(|a, b| a < b) {
                let problem = "must be 1 to 1000 ascending whole numbers from at least 1";
                return Err(TableError(format!("{name}: {problem}, got {list:?}")));
            }
        }
        if ms.len() != batches.len() || ms.iter().any(|row| row.len() != sizes.len()) {
            let found: Vec<usize> = ms.iter().map(Vec::len).collect();
            return Err(TableError(format!(
                "ms: must be {} rows (batches) of {} numbers (sizes), got rows of {found:?}",
                batches.len(),
                sizes.len()
            )));
        }
        match ms.iter().flatten().find(|ms| !(**ms > 0.0 && **ms <= 1e9)) {
            Some(found) => Err(TableError(format!("ms: must be positive numbers up to 1e9, got {found}"))),
            None => Ok(Self { sizes, batches, ms: ms.into_iter().flatten().collect() }),
        }
    }

    /// Time of a batch of so many tasks padded to a size, ms: linear between what was measured, as the nearest below the least, and as
    /// the last two have it above the most, but no less than the last.
    // The other laws are a few instructions, which are inlined where this is not.
    #[inline(never)]
    #[must_use]
    pub fn ms(&self, count: u32, size: u32) -> f64 {
        let (row, down) = place(&self.batches, count);
        let (column, right) = place(&self.sizes, size);
        let width = self.sizes.len();
        let along = |row: usize| {
            let row = &self.ms[row * width..][..width];
            between(row[column], *row.get(column + 1).unwrap_or(&row[column]), right)
        };
        let last = self.batches.len() - 1;
        between(along(row), along((row + 1).min(last)), down).max(1e-6)
    }
}

/// Between which two numbers of a list a number lies, by the place of the first, and how far along; above all, beyond the last two.
fn place(list: &[u32], value: u32) -> (usize, f64) {
    let first = list.partition_point(|x| *x <= value).saturating_sub(1).min(list.len().saturating_sub(2));
    let Some(next) = list.get(first + 1) else { return (first, 0.0) };
    let along = (f64::from(value) - f64::from(list[first])) / f64::from(next - list[first]);
    (first, along.max(0.0))
}

fn between(a: f64, b: f64, along: f64) -> f64 {
    let value = a + (b - a) * along;
    if along > 1.0 { value.max(b) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_as_written() {
        let batch = Batch::of(10).with(30).with(20);
        assert_eq!(batch, Batch { count: 3, largest: 30, total: 60 });
        assert_eq!(Law::Padded { alpha_ms: 2.0, beta_ms: 0.5 }.ms(batch), 2.0 + 0.5 * 90.0);
        let dynamic = |parallel| Law::Dynamic { alpha_ms: 2.0, beta_ms: 0.5, parallel };
        assert_eq!(dynamic(2).ms(batch), 2.0 + 0.5 * 30.0);
        assert_eq!(dynamic(8).ms(batch), 2.0 + 0.5 * 20.0);
        assert_eq!(dynamic(8).ms(Batch::of(10)), 7.0);
    }

    #[test]
    fn tables_are_interpolated() -> Result<(), TableError> {
        let table = Table::new(vec![10, 20], vec![1, 4], vec![vec![2.0, 3.0], vec![4.0, 8.0]])?;
        for (count, size, ms) in [
            (1, 10, 2.0),
            (1, 5, 2.0),
            (1, 15, 2.5),
            (4, 20, 8.0),
            (2, 10, 2.0 + 2.0 / 3.0),
            (7, 10, 6.0),
            (1, 30, 4.0),
            (4, 15, 6.0),
        ] {
            assert!((table.ms(count, size) - ms).abs() < 1e-12, "{count} {size}: {}", table.ms(count, size));
        }
        // Above what was measured a time does not fall.
        let falls = Table::new(vec![1, 2], vec![1], vec![vec![5.0, 4.0]])?;
        assert_eq!(falls.ms(9, 100), 4.0);
        let one = Table::new(vec![7], vec![3], vec![vec![5.0]])?;
        assert_eq!((one.ms(1, 1), one.ms(100, 100)), (5.0, 5.0));
        Ok(())
    }

    #[test]
    fn tables_that_cannot_be_are_refused() {
        let refused =
            |sizes: &[u32], ms: Vec<Vec<f64>>| Table::new(sizes.to_vec(), vec![1], ms).unwrap_err().to_string();
        assert!(refused(&[2, 1], vec![vec![1.0; 2]]).contains("sizes: must be 1 to 1000 ascending"));
        assert!(refused(&[1, 2], vec![vec![1.0]]).contains("ms: must be 1 rows (batches) of 2 numbers (sizes)"));
        assert!(refused(&[1], vec![vec![f64::NAN]]).contains("ms: must be positive numbers up to 1e9, got NaN"));
    }
}
