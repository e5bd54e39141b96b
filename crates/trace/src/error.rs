//! What can be wrong with a trace.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

/// How many problems are kept in words; the rest are only counted.
const KEPT: usize = 20;

/// Why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system refused.
    #[error("{}: cannot be {action}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// `read`, `written`, ...
        action: &'static str,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A JSON file does not parse or has unknown or missing fields.
    #[error("{}: not a file of trace format {}", path.display(), super::FORMAT_VERSION)]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        #[source]
        source: serde_json::Error,
    },
    /// Written in another version of the format.
    #[error(
        "{}: trace format version {found} is not supported, this build reads version {}; record the trace again or use \
         the version of distill that wrote it", path.display(), super::FORMAT_VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u64,
    },
    /// The recording was interrupted.
    #[error(
        "{}: incomplete: {} of {parts} parts; run the same `distill record` command again to complete it",
        dir.display(), (*parts as usize).saturating_sub(missing.len())
    )]
    Incomplete {
        /// The trace.
        dir: PathBuf,
        /// Numbers of the parts that are not there, or damaged; at most `parts`.
        missing: Vec<u32>,
        /// Parts planned.
        parts: u32,
    },
    /// The recording goes on, or was killed.
    #[error(
        "{}: a log without a manifest: a server writes to it, or was killed; `distill shadow` brings it up to date",
        .0.display()
    )]
    OpenEnded(PathBuf),
    /// A directory for a new trace holds something else.
    #[error("{}: is not a trace and not empty (it holds `{found}`); choose another directory", dir.display())]
    NotATrace {
        /// The directory.
        dir: PathBuf,
        /// One of its entries.
        found: String,
    },
    /// A trace is to be removed, and the folder of one of its tables is a link.
    #[error(
        "{}: is a link, and what it leads to is not removed with the trace; remove the link, or choose another directory",
        path.display()
    )]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// A directory holds a trace made with other arguments.
    #[error("{}: holds a trace made with other arguments: {difference}; remove it", dir.display())]
    PlanDiffers {
        /// The directory.
        dir: PathBuf,
        /// The first difference, e.g. `` `seed` is 3 there and 4 now ``.
        difference: String,
    },
    /// The number of a part is not below the planned number of parts.
    #[error("{}: part {index} is not in the plan, which has {parts} parts counted from 0", dir.display())]
    UnknownPart {
        /// The trace.
        dir: PathBuf,
        /// Part asked for.
        index: u32,
        /// Parts planned.
        parts: u32,
    },
    /// The level asked for is not in the trace.
    #[error("{}: has no level `{level}`; its levels are {known}", dir.display())]
    UnknownLevel {
        /// The trace.
        dir: PathBuf,
        /// Level asked for.
        level: String,
        /// Levels of the trace.
        known: String,
    },
    /// A file breaks a rule of the format.
    #[error("{}/{problem}", dir.display())]
    Invalid {
        /// The trace.
        dir: PathBuf,
        /// What is wrong where.
        problem: Problem,
    },
}

impl TraceError {
    /// For `map_err`: an operating system error with its path.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}

/// One thing that is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// File, relative to the trace; empty for the directory itself.
    pub file: String,
    /// Column, where the problem has one.
    pub column: Option<String>,
    /// Row of the file, counted from 0, where the problem has one.
    pub row: Option<usize>,
    /// What was found, and what is allowed.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        match (&self.column, self.row) {
            (Some(column), Some(row)) => write!(f, "column `{column}`, row {row}: ")?,
            (Some(column), None) => write!(f, "column `{column}`: ")?,
            (None, Some(row)) => write!(f, "row {row}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

/// Problems met so far: the first few in words, and their number.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) first: Vec<Problem>,
    pub(super) count: usize,
}

impl Problems {
    /// Counts a problem; the message is put together only if it will be kept.
    pub(super) fn add(&mut self, file: &str, column: Option<&str>, row: Option<usize>, message: fmt::Arguments<'_>) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(Problem {
                file: file.to_owned(),
                column: column.map(str::to_owned),
                row,
                message: message.to_string(),
            });
        }
    }

    /// Counts an error that concerns the directory as a whole, with its causes.
    pub(super) fn add_error(&mut self, error: &TraceError) {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        self.add("", None, None, format_args!("{message}"));
    }

    /// The first problem as an error.
    pub(super) fn into_result(self, dir: &Path) -> Result<(), TraceError> {
        match self.first.into_iter().next() {
            None => Ok(()),
            Some(problem) => Err(TraceError::Invalid { dir: dir.to_owned(), problem }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_file_column_row_reason() {
        let mut problems = Problems::default();
        for row in 0..30 {
            problems.add("job.parquet", Some("age"), Some(row), format_args!("is NaN"));
        }
        assert_eq!((problems.first.len(), problems.count), (KEPT, 30));
        let error = problems.into_result(Path::new("t")).unwrap_err();
        assert_eq!(error.to_string(), "t/job.parquet: column `age`, row 0: is NaN");
    }
}
