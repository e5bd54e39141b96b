//! What stands in which column?

use crate::{
    HistoryError,
    input::{Text, shown},
};
use std::{borrow::Cow, path::Path};

/// Names of columns that an error shows at most.
const SHOWN: usize = 20;

/// The cells of a line. Cells in quotes may hold the separator, and quotes that are doubled; none goes on in another line.
pub(crate) fn cells(line: &str, separator: char) -> Result<Vec<Cow<'_, str>>, &'static str> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (cell, after) = quoted_cell(quoted)?;
                (cell, after.strip_prefix(separator).ok_or(after))
            }
            None => match rest.split_once(separator) {
                Some((cell, after)) => (Cow::Borrowed(cell), Ok(after)),
                None => (Cow::Borrowed(rest), Err("")),
            },
        };
        cells.push(cell);
        match after {
            Ok(after) => rest = after,
            Err("") => return Ok(cells),
            Err(_) => return Err("something follows a quote that ends a cell"),
        }
    }
}

/// A cell behind its first quote, and what follows its last one.
fn quoted_cell(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let mut cell = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"').ok_or("a quote is not closed in its line")?;
        if cell.is_empty() {
            cell = Cow::Borrowed(part);
        } else {
            cell.to_mut().push_str(part);
        }
        match after.strip_prefix('"') {
            Some(after) => {
                cell.to_mut().push('"');
                rest = after;
            }
            None => return Ok((cell, after)),
        }
    }
}

/// The header of a table.
pub(super) struct Header {
    names: Vec<String>,
    pub(super) separator: char,
}

impl Header {
    /// Reads it from the first line.
    ///
    /// # Errors
    ///
    /// A file without one.
    pub(super) fn read(
        text: &mut Text<'_, '_>,
        separator: char,
        path: &Path,
        advice: &str,
    ) -> Result<Self, HistoryError> {
        let problem = match text.next() {
            Some((_, Ok(line))) => match cells(&line, separator) {
                Ok(cells) => {
                    let names = cells.iter().map(|name| name.trim().to_owned()).collect();
                    return Ok(Self { names, separator });
                }
                Err(problem) => format!("{problem}: {}", shown(line.as_bytes())),
            },
            Some((_, Err(problem))) => problem,
            None => text.cut.clone().unwrap_or_else(|| "the file is empty".to_owned()),
        };
        let allowed = "the first line has the names of the columns".to_owned();
        let (path, place, advice) = (path.to_owned(), "line 1".to_owned(), advice.to_owned());
        Err(HistoryError::OtherForm { path, place, found: problem, allowed, advice })
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a column, as it can be shown.
    pub(super) fn name(&self, column: usize) -> String {
        let name = self.names.get(column).map_or("", |name| name);
        name.chars().filter(|char| !char.is_control()).take(60).collect()
    }

    /// The place of the first column of one of these names, upper case or lower.
    pub(super) fn any(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.names.iter().position(|column| column.eq_ignore_ascii_case(name)))
    }

    /// The place of a column.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub(super) fn require(&self, name: &str, path: &Path, advice: &str) -> Result<usize, HistoryError> {
        self.any(&[name]).ok_or_else(|| {
            let names: Vec<String> = self.names.iter().take(SHOWN).map(|name| shown(name.as_bytes())).collect();
            let more = if self.names.len() > SHOWN { ", .." } else { "" };
            HistoryError::OtherForm {
                path: path.to_owned(),
                place: "line 1".to_owned(),
                found: format!("there is no column `{name}`"),
                allowed: format!("the columns are {}{more}", names.join(", ")),
                advice: advice.to_owned(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_apart() {
        let of = |line| cells(line, ',').map(|cells| cells.join("|"));
        assert_eq!(of("a,b,,").as_deref(), Ok("a|b||"));
        assert_eq!(of("").as_deref(), Ok(""));
        assert_eq!(of(r#""a,b","say ""hi""",c"#).as_deref(), Ok(r#"a,b|say "hi"|c"#));
        assert_eq!(of(r#""""""#).as_deref(), Ok("\""));
        assert!(of(r#""a"#).is_err() && of(r#""a"b,c"#).is_err());
        assert_eq!(cells("1|2,3|", '|').map(|cells| cells.len()), Ok(3));
    }
}
