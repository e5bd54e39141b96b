//! Tables of numbers as comma-separated text.

use super::{WorkloadError, read_text};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    ops::RangeInclusive,
    path::Path,
};

/// A table with a header.
#[derive(Clone, Debug)]
pub struct Table {
    names: Vec<String>,
    /// Line numbers and cells.
    rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or has no rows.
    pub fn load(path: &Path) -> Result<Self, WorkloadError> {
        Self::parse(&read_text(path)?).map_err(|problem| WorkloadError::Format { path: path.to_owned(), problem })
    }

    /// Whether the first line of a file, plain text, names these columns, whatever others it names.
    #[must_use]
    pub fn has_columns(path: &Path, names: &[&str]) -> bool {
        let mut line = String::new();
        let read = File::open(path).and_then(|file| BufReader::new(file.take(1 << 12)).read_line(&mut line));
        let found: Vec<&str> = line.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
        read.is_ok() && names.iter().all(|name| found.contains(name))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or("the file is empty; expected a CSV file with a header")?;
        let rows: Vec<_> = lines.map(|(number, line)| (number, cells(line))).collect();
        match rows.is_empty() {
            true => Err("has no rows below its header; at least one is needed".to_owned()),
            false => Ok(Self { names: cells(header), rows }),
        }
    }

    /// The cells of a column with their lines.
    fn column<'a>(&'a self, name: &'a str) -> Result<impl Iterator<Item = (usize, usize, &'a str)>, String> {
        let place = self
            .names
            .iter()
            .position(|n| n == name)
            .ok_or_else(|| format!("line 1 names no column `{name}`; it names {}", self.names.join(", ")))?;
        let cell = move |(number, row): &'a (usize, Vec<String>)| {
            (*number, place + 1, row.get(place).map_or("", String::as_str))
        };
        Ok(self.rows.iter().map(cell))
    }

    /// A column of numbers.
    ///
    /// # Errors
    ///
    /// There is no such column, or a cell is no number that is allowed: which one.
    pub fn numbers(&self, name: &str, allowed: RangeInclusive<f64>) -> Result<Vec<f64>, String> {
        let number = |(line, place, cell): (usize, usize, &str)| {
            cell.parse::<f64>().ok().filter(|x| allowed.contains(x)).ok_or_else(|| {
                let (least, most) = (allowed.start(), allowed.end());
                format!("line {line}, column {place} (`{name}`): expected a number in {least}..={most}, got `{cell}`")
            })
        };
        self.column(name)?.map(number).collect()
    }

    /// A column of whole numbers.
    ///
    /// # Errors
    ///
    /// As for [`Table::numbers`].
    pub fn counts(&self, name: &str, allowed: RangeInclusive<u32>) -> Result<Vec<u32>, String> {
        let all = self.numbers(name, f64::from(*allowed.start())..=f64::from(*allowed.end()))?;
        match all.iter().zip(&self.rows).find(|(number, _)| number.fract() != 0.0) {
            Some((number, (line, _))) => Err(format!("line {line}, `{name}`: must be a whole number, got `{number}`")),
            // They lie between two whole numbers of this type.
            None => Ok(all.into_iter().map(|number| number as u32).collect()),
        }
    }

    /// A column of texts.
    ///
    /// # Errors
    ///
    /// There is no such column.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        Ok(self.column(name)?.map(|(_, _, cell)| cell.to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_line_and_column() {
        let read = |text: &str| Table::parse(text)?.numbers("x", 0.0..=10.0);
        assert_eq!(read("a,x\n1, 5\n\n2,7.5\n"), Ok(vec![5.0, 7.5]));
        for (text, expected) in [
            ("", "the file is empty"),
            ("a,x\n", "has no rows"),
            ("a,b\n1,2\n", "line 1 names no column `x`; it names a, b"),
            ("a,x\n1,5\n2\n", "line 3, column 2 (`x`): expected a number in 0..=10, got ``"),
            ("x\n\nNaN\n", "line 3, column 1 (`x`): expected a number in 0..=10, got `NaN`"),
            ("x\n11\n", "got `11`"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
