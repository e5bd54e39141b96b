//! Measured speeds: a table of samples per second by type, parameter servers and workers, from a JSON file.

use sched_distill_core::workload::{WorkloadError, read_text};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// What a grid file says it is.
const FORMAT: &str = "dl2-speed-grid/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGrid {
    format: String,
    // These three are for people: rows are always parameter servers, columns workers, cells samples/s.
    #[serde(default, rename = "rows")]
    _rows: String,
    #[serde(default, rename = "cols")]
    _cols: String,
    #[serde(default, rename = "unit")]
    _unit: String,
    grid: BTreeMap<String, Vec<Vec<f64>>>,
}

/// Speeds of all workers together in samples/s, by model. Row `p − 1` holds `p` parameter servers, column `w − 1` `w`
/// workers.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedGrid {
    models: BTreeMap<String, Vec<Vec<f64>>>,
}

impl SpeedGrid {
    /// Reads a grid file, see `docs/training-workload-format.md`.
    ///
    /// # Errors
    ///
    /// An unreadable file, text that is not JSON of this form, rows of different lengths, a cell that is negative or not
    /// finite, with model, row and column.
    pub fn load(path: &Path) -> Result<Self, WorkloadError> {
        Self::parse(&read_text(path)?).map_err(|problem| WorkloadError::Format { path: path.to_owned(), problem })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let raw: RawGrid = serde_json::from_str(text)
            .map_err(|e| format!("not a grid of speeds (docs/training-workload-format.md): {e}"))?;
        if raw.format != FORMAT {
            return Err(format!("`format` must be `{FORMAT}`, got `{}`", raw.format));
        }
        for (model, rows) in &raw.grid {
            let width = rows.first().map_or(0, Vec::len);
            if width == 0 {
                return Err(format!("model `{model}` has no cells; at least one row with one column is needed"));
            }
            for (row, cells) in rows.iter().enumerate() {
                let at = format!("model `{model}`, row {} (parameter servers)", row + 1);
                if cells.len() != width {
                    return Err(format!("{at} has {} columns; the first row has {width}", cells.len()));
                }
                if let Some(column) = cells.iter().position(|f| !(f.is_finite() && *f >= 0.0)) {
                    let (column, found) = (column + 1, cells[column]);
                    return Err(format!("{at}, column {column} (workers): speeds must be at least 0, got {found}"));
                }
            }
        }
        Ok(Self { models: raw.grid })
    }

    /// The rows of a model, or what is missing for counts up to one beyond `limits` (workers, parameter servers).
    pub(super) fn rows(&self, model: &str, limits: [u32; 2]) -> Result<&[Vec<f64>], String> {
        let rows = self.models.get(model).ok_or_else(|| {
            let known: Vec<&str> = self.models.keys().map(String::as_str).collect();
            format!("the grid has no model `{model}`; it has {}", known.join(", "))
        })?;
        for (what, side, limit) in [("workers", rows[0].len(), limits[0]), ("parameter servers", rows.len(), limits[1])]
        {
            if limit as usize >= side {
                return Err(format!(
                    "the grid reaches {side} {what} for `{model}`, which allows at most {} per job, got {limit} (Optimus looks one beyond)",
                    side - 1
                ));
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_model_row_and_column() {
        let file = |grid: &str| format!(r#"{{"format": "dl2-speed-grid/1", "grid": {grid}}}"#);
        for (text, expected) in [
            (r#"{"format": "x", "grid": {}}"#.to_owned(), "`format` must be `dl2-speed-grid/1`, got `x`"),
            (file(r#"{"m": []}"#), "`m` has no cells"),
            (file(r#"{"m": [[1, 2], [3]]}"#), "row 2 (parameter servers) has 1 columns; the first row has 2"),
            (file(r#"{"m": [[1, 2], [3, -4]]}"#), "row 2 (parameter servers), column 2 (workers): speeds must"),
            (file(r#"{"m": [[1e999]]}"#), "number out of range"),
        ] {
            let message = SpeedGrid::parse(&text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let grid = SpeedGrid::parse(&file(r#"{"m": [[1, 2], [3, 4]]}"#)).unwrap();
        assert!(grid.rows("x", [1, 1]).unwrap_err().contains("no model `x`; it has m"));
        assert!(grid.rows("m", [2, 1]).unwrap_err().contains("reaches 2 workers for `m`, which allows at most 1"));
        assert_eq!(grid.rows("m", [1, 1]).unwrap()[1][0], 3.0);
    }
}
