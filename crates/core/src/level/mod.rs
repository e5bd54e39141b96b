//! Levels, features and their hash: the words that every part right of the simulator shares.
//!
//! A *level* is one question that a decision answers (which job? which stage? how many executors?). A level's candidates
//! are described by *features*. This module holds their description as plain data, so that traces, students, fits and
//! reports never need to know what kind of cluster they are about.

mod earlier;
mod formula;
mod phrase;
mod values;
mod words;
mod write;

pub use formula::{HOW_COLUMNS_ARE_FORMED, RatioKind};
pub use phrase::{Phrases, base, capital, third_person, time_unit};
pub use values::{Filler, Values};
pub use words::{KindWords, LevelWords, NetworkWords, QuantityWords, Words, pairs};
pub use write::{count, grouped, number, quantity, singular, typed};

use crate::elementary::{exp, ln};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// How a feature's value is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A quantity in its own unit.
    Absolute,
    /// A share of a cluster total.
    Share,
    /// Rank within the choice: 0 is the smallest, ties share the lowest rank.
    Rank,
    /// Ratio to the smallest value within the choice: `(x+1)/(min+1)` for counts, `x/max(min, 1 ms)` for times.
    Ratio,
}

/// One feature: a column of a level's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredFeature")]
pub struct FeatureSpec {
    /// Stable column name, e.g. `remaining_work_rank`.
    pub name: String,
    /// Unit of the value: `ms`, `tasks`, `ms·tasks`, `executors`, `1` for pure numbers, [`FLAG`] for flags.
    pub unit: String,
    /// One sentence that the report prints.
    pub meaning: String,
    /// How the value is formed.
    pub scope: Scope,
    /// Version of the definition; a change of meaning under the same name raises it.
    pub version: u32,
    /// Whether all values are whole numbers. Not part of the hash.
    pub whole: bool,
    /// Who controls the value. Not part of the hash.
    #[serde(skip_serializing_if = "Control::is_declared")]
    pub control: Control,
}

/// Who controls a value: whom one trusts who goes by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// The user: it is, or depends on, how she describes her job. Also where nobody says who does.
    #[default]
    Declared,
    /// Nobody: the cluster measures it.
    Measured,
    /// The scheduler: it follows from what was decided before.
    Decided,
}

impl Control {
    /// What the user reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Measured => "measured",
            Self::Decided => "decided",
        }
    }

    /// Whether a user may say something else.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        *self == Self::Declared
    }
}

/// Unit of features that are 0 or 1.
pub const FLAG: &str = "0/1";

/// A feature in a file, which need not say whether it is whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFeature {
    name: String,
    unit: String,
    meaning: String,
    scope: Scope,
    version: u32,
    whole: Option<bool>,
    #[serde(default)]
    control: Control,
}

impl From<StoredFeature> for FeatureSpec {
    fn from(stored: StoredFeature) -> Self {
        let StoredFeature { name, unit, meaning, scope, version, whole, control } = stored;
        // Units of what was counted when files did not say it.
        let counts = [FLAG, "executors", "jobs", "servers", "slots", "stages", "tasks", "workers"];
        let counted = scope == Scope::Rank || (scope == Scope::Absolute && counts.contains(&unit.as_str()));
        let whole = whole.unwrap_or(counted);
        Self { name, unit, meaning, scope, version, whole, control }
    }
}

/// One level of a scenario: its name, what its candidates are, and their features in column order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    /// `job`, `stage`, `amount`, ...
    pub name: String,
    /// The question in words, e.g. "Which job gets the executors?".
    pub question: String,
    /// Who its candidates are, and in which order they stand, in a sentence; left out of files that do not say it. Not part of the hash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub candidates: String,
    /// Names of the entity columns that identify a candidate, e.g. `["job", "stage"]`.
    pub entities: Vec<String>,
    /// Features in column order.
    pub features: Vec<FeatureSpec>,
}

impl LevelSpec {
    /// The same, saying who its candidates are: "Jobs that wait, by arrival."
    #[must_use]
    pub fn of(mut self, candidates: &str) -> Self {
        candidates.clone_into(&mut self.candidates);
        self
    }

    /// Whether it asks for an amount: its candidates are 1, 2, 3, ... of something, in this order.
    #[must_use]
    pub fn is_amount(&self) -> bool {
        self.entities.last().is_some_and(|name| name == "amount")
    }
}

/// The full description of what a scenario's trace holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredFeatureSet")]
pub struct FeatureSet {
    /// Name of the scenario, e.g. `dag`.
    pub scenario: String,
    /// Levels from the first question to the last.
    pub levels: Vec<LevelSpec>,
}

/// A feature set in a file, whose levels may have the names that they had in an earlier version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFeatureSet {
    scenario: String,
    levels: Vec<LevelSpec>,
}

impl From<StoredFeatureSet> for FeatureSet {
    fn from(stored: StoredFeatureSet) -> Self {
        let StoredFeatureSet { scenario, levels } = stored;
        Self { scenario, levels }.with_present_names()
    }
}

impl FeatureSet {
    /// SHA-256 (hex) of the canonical JSON of (scenario, level, name, unit, scope, version) in order; prose is left out,
    /// so rewording a meaning does not make old students unusable. Levels count under the first name that they had.
    #[must_use]
    pub fn hash(&self) -> String {
        self.hash_by(|level| self.names_of(level).last().unwrap_or(level))
    }

    /// Whether a hash that a file names is this set's; that of another program may be of the names as they stand.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        hash == self.hash() || hash == self.hash_by(|level| level)
    }

    fn hash_by<'a>(&'a self, name: impl Fn(&'a str) -> &'a str) -> String {
        let mut rows = Vec::new();
        for level in &self.levels {
            for f in &level.features {
                rows.push((&self.scenario, name(&level.name), &f.name, &f.unit, f.scope, f.version));
            }
        }
        // Serialising strings and integers to memory cannot fail.
        sha256_hex(&serde_json::to_vec(&rows).expect("plain data serialises"))
    }

    /// The level of that name, or of the one that it had in an earlier version.
    #[must_use]
    pub fn level(&self, name: &str) -> Option<&LevelSpec> {
        let name = self.name_of(name);
        self.levels.iter().find(|l| l.name == name)
    }

    /// The first difference between two feature sets in words, for error messages; `None` if their hashes agree.
    #[must_use]
    pub fn difference(&self, other: &FeatureSet) -> Option<String> {
        if self.hash() == other.hash() {
            return None;
        }
        if self.scenario != other.scenario {
            return Some(format!("scenario `{}` against `{}`", self.scenario, other.scenario));
        }
        for level in &self.levels {
            let Some(theirs) = other.level(&level.name) else {
                return Some(format!("level `{}` is missing", level.name));
            };
            for f in &level.features {
                match theirs.features.iter().find(|g| g.name == f.name) {
                    None => {
                        return Some(format!("level `{}`: feature `{}` is missing", level.name, f.name));
                    }
                    Some(g) if (&g.unit, g.scope, g.version) != (&f.unit, f.scope, f.version) => {
                        return Some(format!(
                            "level `{}`: feature `{}` is v{} in {} against v{} in {}",
                            level.name, f.name, f.version, f.unit, g.version, g.unit
                        ));
                    }
                    Some(_) => {}
                }
            }
            if let Some(extra) = theirs.features.iter().find(|g| level.features.iter().all(|f| f.name != g.name)) {
                return Some(format!("level `{}`: feature `{}` is extra", level.name, extra.name));
            }
        }
        Some("the order of features or levels differs".to_owned())
    }
}

/// Name of the flag of the candidate "give nothing", which stands for no job, stage or task. All other features of its row
/// are 0.
pub const NONE_FLAG: &str = "is_none";

/// The kind of a figure over choices of all kinds. No kind of a trace is called so.
pub const ALL_KINDS: &str = "all";

/// SHA-256 of some bytes as lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Index of the first maximum (NaN never wins); 0 for an empty iterator. This is the tie rule of every choice: candidates
/// stand in order of (arrival, job, stage), and the first of equals is taken.
pub fn first_max(values: impl IntoIterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, v) in values.into_iter().enumerate() {
        if v > best.1 {
            best = (i, v);
        }
    }
    best.0
}

/// ln Σ exp of scores of which at least one is finite: what is to be taken from each of them to make log-probabilities.
///
/// ```
/// # use sched_distill_core::level::log_sum_exp;
/// assert_eq!(log_sum_exp(&[1000.0, 1000.0, f64::NEG_INFINITY]), 1000.0 + std::f64::consts::LN_2);
/// ```
#[must_use]
pub fn log_sum_exp(scores: &[f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + ln(scores.iter().map(|s| exp(s - most)).sum())
}
