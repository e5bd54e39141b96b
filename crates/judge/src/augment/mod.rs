//! Students that schedule better than they were taught: a search over guards, patches and numbers by paired simulation.
//!
//! Every step is found on training episodes, by racing many small changes or by a direct search over a few numbers at
//! once, and is kept only if it also makes validation episodes faster, new ones each time, and if the student still
//! decides as it did in most cases. Test episodes are never looked at.

mod arena;
mod edits;
mod moves;
mod numbers;
mod params;
mod plan;
mod polish;
mod race;
mod reason;
mod screen;
mod search;

pub use arena::{Arena, Surcharge};
pub use edits::Edits;
pub use params::AugmentParams;
pub use race::Paired;
pub use search::{Found, augment};

use crate::attack::AttackError;
use sched_distill_core::{
    level::FeatureSet,
    model::{Guard, GuardError},
    policy::PolicyError,
    scenario::{Catalogue, TermTemplate},
};
use sched_distill_trace::recorder::EpisodeError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An order of the candidates of a level by one of its features: (level, feature, whether the largest comes first).
pub type Order = (&'static str, &'static str, bool);

/// Where a search may pass from one model to another: (level, a feature that all candidates share, values).
pub type Border = (&'static str, &'static str, &'static [f32]);

/// What a search may try besides what the student itself offers.
#[derive(Clone, Debug)]
pub struct Repertoire {
    /// Guards.
    pub guards: Vec<Guard>,
    /// Orders for candidates that share a leaf, and for regimes.
    pub orders: Vec<Order>,
    /// Borders of regimes.
    pub borders: Vec<Border>,
    /// Terms that sums of terms may get in the direct search.
    pub terms: Vec<TermTemplate>,
}

impl Repertoire {
    /// All that there is for a scenario, about the features of `set`.
    ///
    /// # Errors
    ///
    /// A set that lacks features of the scenario.
    pub fn new(known: &Catalogue, set: &FeatureSet) -> Result<Self, GuardError> {
        let guards = known.guards.iter().map(|t| t.guards(set)).collect::<Result<Vec<_>, _>>()?.concat();
        let (orders, borders) = (known.orders.to_vec(), known.borders.to_vec());
        Ok(Self { guards, orders, borders, terms: known.terms.to_vec() })
    }
}

/// Why a search did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AugmentError {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// The budget does not suffice for a single change.
    #[error(
        "budget {budget} is too small: with {validation} validation episodes, confirming one change takes at least {confirming} \
         episodes and measuring what it does {evidence}; give at least {least}"
    )]
    Budget {
        /// What was given.
        budget: u64,
        /// Validation episodes per look.
        validation: u32,
        /// Episodes that one confirmation takes.
        confirming: u64,
        /// Episodes that the evidence of the student's edits and of one more takes.
        evidence: u64,
        /// The smallest budget that is accepted.
        least: u64,
    },
    /// A student cannot schedule.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An episode failed.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// Jobs could not be edited as users would who game a student.
    #[error(transparent)]
    Attack(#[from] AttackError),
    /// The journal cannot be read or opened.
    #[error("{path}: cannot use the journal of the search")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The journal cannot be written.
    #[error("cannot write the journal of the search")]
    Write(#[source] std::io::Error),
    /// A line of the journal is broken.
    #[error("{path}, line {line}: {problem}; take the line out, or begin anew")]
    Journal {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The direct search refused.
    #[error("the direct search cannot begin: {problem}")]
    Search {
        /// What it said.
        problem: String,
    },
    /// The user stopped it.
    #[error("interrupted; what was run is kept, the same command goes on from there")]
    Interrupted,
}

/// A step of the search that was tried on validation episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What was tried.
    pub what: String,
    /// How much better the objective got on training episodes: a share of it, or in its unit.
    pub train_gain: Option<f64>,
    /// The same on validation episodes, and its standard error.
    pub validation_gain: f64,
    /// Standard error of that.
    pub standard_error: f64,
    /// Whether it was kept.
    pub kept: bool,
    /// Share of the decisions of the student to begin with that stay as they were; `None` in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Episodes spent so far.
    pub spent: u64,
}
