//! Aligned tables for the terminal.

use crate::{evaluator::Estimate, figure::Figure};
use std::fmt;

/// Rows of cells; the first column and those of words are flush left, the others flush right.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// How many of the last columns hold words.
    words: usize,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&h| h.to_owned()).collect()], words: 0 }
    }

    /// The same with words in the last `columns` columns.
    pub(super) fn with_words(self, columns: usize) -> Self {
        Self { words: columns, ..self }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let gap = if c == 0 { "" } else { "  " };
                line += gap;
                let left = c == 0 || c + self.words >= columns;
                line += &if left { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
            }
            let end = if i + 1 < self.rows.len() { "\n" } else { "" };
            write!(f, "{}{end}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `0.532 [0.510, 0.555]`
pub(super) fn interval(e: &Estimate, digits: usize) -> String {
    format!("{:.digits$} [{:.digits$}, {:.digits$}]", e.value, e.low, e.high)
}

/// A figure by its unit; times with their interval, which is what policies are told apart by.
pub(super) fn figure(figure: &Figure, e: &Estimate) -> String {
    match &*figure.unit {
        "ms" => seconds(e),
        "share" => format!("{:.0} %", 100.0 * e.value),
        _ => format!("{:.1}", e.value),
    }
}

/// Milliseconds as seconds with an interval: `503 s [480, 531]`.
pub(super) fn seconds(e: &Estimate) -> String {
    let digits = if e.value < 100_000.0 { 1 } else { 0 };
    format!("{:.digits$} s [{:.digits$}, {:.digits$}]", e.value / 1e3, e.low / 1e3, e.high / 1e3)
}
