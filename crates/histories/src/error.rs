//! Why a history cannot be used.

use std::path::PathBuf;

/// Why a history cannot be used. None of these is about single lines: those that cannot be read are counted and left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A file or folder cannot be read.
    #[error("{path}: cannot read")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file is packed in a way that is not read.
    #[error("{path}: is packed as {packing}, which is not read: {advice}")]
    Packing {
        /// The file.
        path: PathBuf,
        /// What it is packed as.
        packing: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// A file, or the files of a rolling log, hold no event of Spark.
    #[error(
        "{path}: {found}; a Spark event log has a JSON object with an `Event` in each line: give a file that Spark wrote to its \
         `spark.eventLog.dir`"
    )]
    NoEvents {
        /// The file or folder.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
    /// A folder holds no event log.
    #[error(
        "{path}: {found}; give an event log, a folder `eventlog_v2_*` with files `events_*`, a folder of Databricks with `eventlog`, or \
         a folder of any of these"
    )]
    NoLogs {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
    /// A file is not of the form that it is read as, or has nothing that can be used.
    #[error("{path}: {place}: {found}; {allowed}: {advice}")]
    OtherForm {
        /// The file.
        path: PathBuf,
        /// Where in it, as `line 1`.
        place: String,
        /// What is there.
        found: String,
        /// What could be there.
        allowed: String,
        /// What to do.
        advice: String,
    },
    /// There is more than can be held.
    #[error("{path}: has more than {most} {what}; give fewer logs at a time")]
    TooMuch {
        /// The file or folder.
        path: PathBuf,
        /// How many are possible.
        most: usize,
        /// What there is too much of.
        what: &'static str,
    },
}
