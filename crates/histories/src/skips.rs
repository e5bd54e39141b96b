//! What was left out, and why?

use crate::{HistoryError, input::shown};
use std::{fmt, path::Path};

/// Reasons that are told apart at most.
const MOST_REASONS: usize = 100;

/// Rows of a log that are left out for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// The line of the first of them, or its place in an array, from 1 on.
    pub first: u64,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, count, first } = self;
        match count {
            1 => write!(f, "row {first} is left out: {reason}"),
            _ => write!(f, "{count} rows are left out, the first of them {first}: {reason}"),
        }
    }
}

/// Counts what is left out.
#[derive(Default)]
pub(crate) struct Skips {
    pub(crate) skipped: Vec<Skipped>,
    /// The first row of all, and what is wrong with it.
    first: Option<(u64, String)>,
}

impl Skips {
    /// Leaves a row out, for a text in it if that is not empty.
    pub(crate) fn skip(&mut self, reason: &str, at: u64, text: &str) {
        self.first.get_or_insert_with(|| match text {
            "" => (at, reason.to_owned()),
            text => (at, format!("{reason}: {}", shown(text.as_bytes()))),
        });
        let is_full = self.skipped.len() >= MOST_REASONS;
        let is_new = self.skipped.iter().all(|skipped| skipped.reason != reason);
        let reason = if is_full && is_new { "other reasons" } else { reason };
        match self.skipped.iter_mut().find(|skipped| skipped.reason == reason) {
            Some(skipped) => skipped.count += 1,
            None => self.skipped.push(Skipped { reason: reason.to_owned(), count: 1, first: at }),
        }
    }

    /// There is nothing else in a file: `rows` says what could be there, `advice` what to do.
    pub(crate) fn nothing(&self, path: &Path, cut: Option<&str>, rows: &str, advice: &str) -> HistoryError {
        self.none(path, cut, "job", rows, advice)
    }

    /// The same of a file whose rows are to be something else than jobs.
    pub(crate) fn none(&self, path: &Path, cut: Option<&str>, what: &str, rows: &str, advice: &str) -> HistoryError {
        let cut = cut.map_or(String::new(), |cut| format!(" ({cut})"));
        let n: u64 = self.skipped.iter().map(|skipped| skipped.count).sum();
        let (place, found) = match &self.first {
            Some((at, problem)) => (format!("row {at}"), format!("none of {n} rows is a {what}; here {problem}{cut}")),
            None => ("to its end".to_owned(), format!("there is no row{cut}")),
        };
        let (path, allowed, advice) = (path.to_owned(), format!("a row is {rows}"), advice.to_owned());
        HistoryError::OtherForm { path, place, found, allowed, advice }
    }
}
