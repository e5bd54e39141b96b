//! What can be wrong with a workload.

use crate::spec::SpecError;
use std::path::PathBuf;

/// Why a workload cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The spec is malformed or has a bad parameter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A file cannot be read.
    #[error("{path}: cannot read workload")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file does not have the expected form.
    #[error("{path}: {problem}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what was expected.
        problem: String,
    },
    /// A log of a real cluster cannot be used.
    #[error(transparent)]
    History(Box<dyn std::error::Error + Send + Sync>),
    /// A job makes no sense.
    #[error("{path}: job {job}{}: {problem}", stage.map_or(String::new(), |s| format!(", stage {s}")))]
    Job {
        /// The file.
        path: PathBuf,
        /// Position of the job in the file, from 0.
        job: usize,
        /// Position of the stage in the job, if it is about one.
        stage: Option<usize>,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// An episode would be too much.
    #[error("{workload}: {problem}: {less}")]
    TooMuch {
        /// The workload as it was named.
        workload: String,
        /// What is too much, how much it is, and how much is possible.
        problem: String,
        /// What makes it less.
        less: String,
    },
}
