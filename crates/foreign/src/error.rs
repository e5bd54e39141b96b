//! Why a foreign network cannot be used, or gave no answer.

use sched_distill_core::{contract::ScoreError, policy::PolicyError};
use std::path::PathBuf;

/// Why a foreign network cannot be used, or gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    /// The command of a script cannot be read.
    #[error("script:{command}: {problem}")]
    Command {
        /// The command.
        command: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A name without its command.
    #[error(
        "script:{name}: of a command that has a name the name alone is written (hash {hash}), so that this process does not know it; \
         give the command again, as in script:{name}=COMMAND"
    )]
    NameAlone {
        /// The name.
        name: String,
        /// Of the command that is meant.
        hash: String,
    },
    /// The program could not be started.
    #[error("script:{command}: cannot start `{program}`; is it installed and on the path?")]
    Start {
        /// The command.
        command: String,
        /// Its first word.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The process ended, or closed its output, instead of answering.
    #[error("script:{command}: the process {how} instead of answering `{asked}`{stderr}")]
    Ended {
        /// The command.
        command: String,
        /// In what way.
        how: String,
        /// The beginning of the line that it was to answer.
        asked: String,
        /// The last lines that it wrote on its standard error, introduced.
        stderr: String,
    },
    /// The process did not answer in time; it was killed.
    #[error(
        "script:{command}: no answer within {seconds} s to `{asked}`; give it more time with timeout=SECONDS, and see that \
         it writes a whole line and flushes{stderr}"
    )]
    TimedOut {
        /// The command.
        command: String,
        /// What it was given.
        seconds: f64,
        /// The beginning of the line that it was to answer.
        asked: String,
        /// The last lines that it wrote on its standard error, introduced.
        stderr: String,
    },
    /// The process answered something else than the protocol asks for.
    #[error("script:{command}: answered `{line}`: {problem}{stderr}")]
    Answer {
        /// The command.
        command: String,
        /// The beginning of what it wrote.
        line: String,
        /// What is wrong with that.
        problem: String,
        /// The last lines that it wrote on its standard error, introduced.
        stderr: String,
    },
    /// A model file could not be read.
    #[error("{network}: cannot load the model: {problem}")]
    Load {
        /// The network.
        network: String,
        /// What the reader said.
        problem: String,
    },
    /// A model has other inputs or outputs than the contract names.
    #[error("{network}: {problem} (docs/foreign-policies.md)")]
    Signature {
        /// The network.
        network: String,
        /// What was found and what is allowed.
        problem: String,
    },
    /// The model failed on a question.
    #[error("{network}: the model failed on a question with {sizes}: {problem}")]
    Run {
        /// The network.
        network: String,
        /// How many nodes, jobs and so on the question has.
        sizes: String,
        /// What the run-time said.
        problem: String,
    },
    /// The answer is none to the question.
    #[error("{network}: {problem}")]
    Scores {
        /// The network.
        network: String,
        /// What is wrong with it.
        problem: ScoreError,
    },
    /// This build cannot read such models.
    #[error("{kind}:{}: this build of distill does not read {what}; build it with `cargo build --release --features {feature}`{hint}", path.display())]
    NotBuilt {
        /// Name of the policy.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// Which files it would read.
        what: &'static str,
        /// The cargo feature.
        feature: &'static str,
        /// What else to know.
        hint: &'static str,
    },
    /// A network of a kind that has errors of its own.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl From<ForeignError> for PolicyError {
    fn from(error: ForeignError) -> Self {
        Self::Other(Box::new(error))
    }
}
