//! `manifest.json`: what a trace holds and how it was made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::{Problems, TraceError};
use sched_distill_core::{
    figure::{COMPLETION_FIGURES, Figure},
    level::{ALL_KINDS, FeatureSet, sha256_hex},
    rng::Split,
    text::without_mark,
};

/// The version of the trace format that this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const PLAN: &str = "plan.json";
/// Tables beside the levels.
pub(super) const EPISODES: &str = "episodes";
pub(super) const ITEMS: &str = "items";
pub(super) const TIMELINE: &str = "timeline";
pub(super) const SIDE_TABLES: [&str; 3] = [EPISODES, ITEMS, TIMELINE];
/// Columns of the episodes before those of the figures.
pub(super) const EPISODE_COLUMNS: [&str; 7] = ["episode", "seed", "split", "policy", "outcome", "decisions", "events"];
/// Columns that every level has, in the order in which they are written. Entities and features follow.
const FIXED_COLUMNS: [&str; 10] =
    ["episode", "step", "choice", "time_ms", "kind", "candidate", "parent", "log_prob", "chosen", "weight"];
/// Folder of the markers of finished parts.
pub(super) const PARTS: &str = "parts";

/// A policy or workload: how it was named, and the files it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// As the user named it, e.g. `decima:model.pt,mode=sample`.
    pub id: String,
    /// SHA-256 (hex) of each file it was read from, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// One Parquet file of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// Path relative to the trace, `job.parquet` or `job/part-00003.parquet`.
    pub path: String,
    /// Number of rows; 0 in a trace that is not sealed yet.
    #[serde(default)]
    pub rows: usize,
    /// SHA-256 (hex) of the file; empty in a trace that is not sealed yet.
    #[serde(default)]
    pub sha256: String,
}

impl TableFile {
    /// What is wrong with a file of another hash.
    #[must_use]
    pub fn other_hash(&self, found: &str) -> String {
        format!(
            "has SHA-256 {found}, the manifest has {}; the file was damaged or replaced, restore it or record again",
            self.sha256
        )
    }
}

/// What a trace holds and how it was made. Fields that may be left out by other programs are those that [`super::seal`]
/// fills: `feature_set_hash`, `tables`, and in these `rows` and `sha256`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of this crate that wrote the trace; other programs put their own name or nothing.
    #[serde(default)]
    pub version: String,
    /// Scenario, e.g. `dag`; the same as in `feature_set`.
    pub scenario: String,
    /// The policy whose decisions were executed.
    pub driver: Source,
    /// The policy that gave the log-probabilities.
    pub labeller: Source,
    /// Where the jobs came from.
    pub workload: Source,
    /// The user's seed.
    pub seed: u64,
    /// What the episodes may be used for.
    pub split: Split,
    /// Number of episodes.
    pub episodes: u32,
    /// Number of the first episode within the split.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_episode: u32,
    /// Names of the kinds of decisions, at most 256.
    pub kinds: Vec<String>,
    /// Whether the first level has a candidate `none`.
    pub abstains: bool,
    /// Whether the labeller too may take that candidate; left out where it may. In the log of a shadow a present scheduler may
    /// give nothing where the policy beside it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labeller_abstains: Option<bool>,
    /// Levels, their entity columns and their features.
    pub feature_set: FeatureSet,
    /// [`FeatureSet::hash`] of `feature_set`.
    #[serde(default)]
    pub feature_set_hash: String,
    /// What is measured of every episode, the objective first; left out where it is [`COMPLETION_FIGURES`].
    #[serde(default = "completion_figures", skip_serializing_if = "is_completion")]
    pub figures: Vec<Figure>,
    /// All Parquet files, those of one table in the order in which they are read.
    #[serde(default)]
    pub tables: Vec<TableFile>,
}

fn completion_figures() -> Vec<Figure> {
    COMPLETION_FIGURES.to_vec()
}

fn is_completion(figures: &[Figure]) -> bool {
    figures == COMPLETION_FIGURES
}

impl Manifest {
    /// A manifest of this build without tables; seed 0, split `train`, no episodes, no kinds, no abstention.
    ///
    /// ```
    /// use sched_distill_core::level::FeatureSet;
    /// use sched_distill_trace::{Manifest, Source};
    /// let features = FeatureSet { scenario: "dag".into(), levels: Vec::new() };
    /// let policy = Source { id: "fair".into(), ..Source::default() };
    /// let workload = Source { id: "tpch".into(), ..Source::default() };
    /// let manifest = Manifest {
    ///     seed: 7,
    ///     episodes: 20,
    ///     kinds: vec!["free".into()],
    ///     ..Manifest::new(features, policy.clone(), policy, workload)
    /// };
    /// assert_eq!(manifest.scenario, "dag");
    /// ```
    #[must_use]
    pub fn new(feature_set: FeatureSet, driver: Source, labeller: Source, workload: Source) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: feature_set.scenario.clone(),
            driver,
            labeller,
            workload,
            seed: 0,
            split: Split::Train,
            episodes: 0,
            first_episode: 0,
            kinds: Vec::new(),
            abstains: false,
            labeller_abstains: None,
            feature_set_hash: feature_set.hash(),
            feature_set,
            figures: completion_figures(),
            tables: Vec::new(),
        }
    }

    /// The bytes of `manifest.json`: indented JSON in the order of the fields, closed by a newline. Equal manifests have
    /// equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        json_bytes(self)
    }

    /// Whether a label may be `none`.
    #[must_use]
    pub fn labels_none(&self) -> bool {
        self.abstains && self.labeller_abstains != Some(false)
    }

    /// SHA-256 (hex) of [`Manifest::to_bytes`]. Since the manifest holds the hash of every table, this is the hash of the
    /// trace.
    #[must_use]
    pub fn hash(&self) -> String {
        sha256_hex(&self.to_bytes())
    }

    /// Names of all tables: the levels, then those for the pictures.
    pub(super) fn table_names(&self) -> impl Iterator<Item = &str> {
        self.feature_set.levels.iter().map(|l| l.name.as_str()).chain(SIDE_TABLES)
    }

    /// The files of one table, in order.
    pub(super) fn files<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a TableFile> {
        self.tables.iter().filter(move |f| self.table_of(&f.path) == Some(table))
    }

    /// The table that a path belongs to. A table keeps the file name that its level gave it in an earlier version.
    pub(super) fn table_of<'a>(&self, path: &'a str) -> Option<&'a str> {
        table_of(path).map(|table| self.feature_set.name_of(table))
    }

    /// Rows of a level, or of another table.
    #[must_use]
    pub fn rows_of(&self, table: &str) -> usize {
        self.files(table).map(|file| file.rows).sum()
    }

    /// Reports what is wrong with the description itself: names, scenario, hash where given, paths of tables.
    pub(super) fn check(&self, problems: &mut Problems) {
        let mut problem = |message: std::fmt::Arguments<'_>| problems.add(MANIFEST, None, None, message);
        if self.scenario != self.feature_set.scenario {
            problem(format_args!(
                "`scenario` is `{}` but that of `feature_set` is `{}`",
                self.scenario, self.feature_set.scenario
            ));
        }
        let hash = self.feature_set.hash();
        if !self.feature_set_hash.is_empty() && !self.feature_set.has_hash(&self.feature_set_hash) {
            problem(format_args!(
                "`feature_set_hash` is {}, expected {hash}; leave it empty and run `distill inspect --seal`",
                self.feature_set_hash
            ));
        }
        if self.kinds.is_empty() || self.kinds.len() > 256 {
            problem(format_args!("`kinds` has {} entries, expected 1 to 256", self.kinds.len()));
        }
        if self.kinds.iter().any(|kind| kind == ALL_KINDS) {
            problem(format_args!("kind `{ALL_KINDS}` stands for all kinds together; give it another name"));
        }
        if let Some(name) = first_duplicate(self.kinds.iter().map(String::as_str)) {
            problem(format_args!("kind `{name}` is listed twice"));
        }
        if self.figures.is_empty() {
            problem(format_args!("`figures` is empty; name at least the objective, or leave it out"));
        }
        let columns = EPISODE_COLUMNS.into_iter().chain(self.figures.iter().map(|f| &*f.name));
        if let Some(name) = first_duplicate(columns) {
            problem(format_args!("figure `{name}` is named twice; {} are taken", EPISODE_COLUMNS.join(", ")));
        }
        if self.feature_set.levels.is_empty() {
            problem(format_args!("`feature_set` has no levels, expected at least one"));
        }
        if let Some(name) = first_duplicate(self.table_names().chain([PARTS])) {
            problem(format_args!("level name `{name}` is used twice; {}, {PARTS} are taken", SIDE_TABLES.join(", ")));
        }
        for level in &self.feature_set.levels {
            if !is_plain(&level.name) {
                problem(format_args!("level name `{}` may only have letters, digits, `_` and `-`", level.name));
            }
            if level.features.is_empty() {
                problem(format_args!("level `{}` has no features, expected at least one", level.name));
            }
            if let Some(name) = first_duplicate(column_names(level)) {
                problem(format_args!("level `{}`: column name `{name}` is used twice", level.name));
            }
        }
        for file in &self.tables {
            if !self.table_of(&file.path).is_some_and(|table| self.table_names().any(|name| name == table)) {
                problem(format_args!(
                    "table `{}` belongs to no level; expected NAME.parquet or NAME/part-*.parquet with NAME among {}",
                    file.path,
                    self.table_names().collect::<Vec<_>>().join(", ")
                ));
            }
        }
        if let Some(path) = first_duplicate(self.tables.iter().map(|f| f.path.as_str())) {
            problem(format_args!("table `{path}` is listed twice"));
        }
    }

    /// Reports what a complete trace must list: a file for every level, every hash, as many rows of `episodes` as
    /// episodes.
    pub(super) fn check_sealed(&self, problems: &mut Problems) {
        let unsealed = self.tables.iter().find(|f| f.sha256.is_empty());
        if let Some(file) = unsealed {
            let message = format_args!("table `{}` has no `sha256`; run `distill inspect --seal`", file.path);
            problems.add(MANIFEST, None, None, message);
        } else if self.feature_set_hash.is_empty() {
            let message = format_args!("`feature_set_hash` is missing; run `distill inspect --seal`");
            problems.add(MANIFEST, None, None, message);
        }
        for level in &self.feature_set.levels {
            if self.files(&level.name).next().is_none() {
                let message = format_args!(
                    "level `{}` has no table; write {0}.parquet and run `distill inspect --seal`",
                    level.name
                );
                problems.add(MANIFEST, None, None, message);
            }
        }
        let rows: usize = self.files(EPISODES).map(|f| f.rows).sum();
        if unsealed.is_none() && self.files(EPISODES).next().is_some() && rows != self.episodes as usize {
            let message = format_args!("`episodes` is {} but table `{EPISODES}` has {rows} rows", self.episodes);
            problems.add(MANIFEST, None, None, message);
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Column names of a level in the order in which they are written.
pub(super) fn column_names(level: &sched_distill_core::level::LevelSpec) -> impl Iterator<Item = &str> + Clone {
    let entities = level.entities.iter().map(String::as_str);
    let features = level.features.iter().map(|f| f.name.as_str());
    FIXED_COLUMNS.into_iter().chain(entities).chain(features)
}

/// The table that a path belongs to: `job` for `job.parquet` and `job/part-00003.parquet`, `None` for other shapes.
pub(super) fn table_of(path: &str) -> Option<&str> {
    let stem = path.strip_suffix(".parquet")?;
    match stem.split_once('/') {
        None => Some(stem),
        Some((table, part)) => (part.starts_with("part-") && is_plain(part)).then_some(table),
    }
}

/// Whether a name is made of ASCII letters, digits, `_` and `-`, and thus safe in a path.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn first_duplicate<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Indented JSON with a final newline.
pub(super) fn json_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Plain structs with string keys, written to memory, cannot fail.
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data serialises");
    bytes.push(b'\n');
    bytes
}

/// Parses a JSON file of the format.
pub(super) fn parse_json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, TraceError> {
    serde_json::from_slice(without_mark(bytes)).map_err(|source| TraceError::Json { path: path.to_owned(), source })
}

/// Reads `manifest.json` of a directory: the manifest and the hash of the file. Nothing but its version is checked.
pub(super) fn read_manifest(dir: &Path) -> Result<(Manifest, String), TraceError> {
    /// The version alone, so that another version is named before its unknown fields are.
    #[derive(Deserialize)]
    struct Version {
        format_version: u64,
    }
    let path = dir.join(MANIFEST);
    let bytes = fs::read(&path).map_err(TraceError::io(&path, "read"))?;
    let Version { format_version } = parse_json(&path, &bytes)?;
    if format_version != u64::from(FORMAT_VERSION) {
        return Err(TraceError::Version { path, found: format_version });
    }
    Ok((parse_json(&path, &bytes)?, sha256_hex(&bytes)))
}

/// The hash of one trace or of several together: that of their hashes, a line each.
#[must_use]
pub fn hash_of(hashes: &[String]) -> String {
    match hashes {
        [one] => one.clone(),
        several => sha256_hex(several.join("\n").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_table_paths_of_the_format_are_accepted() {
        assert_eq!(table_of("job.parquet"), Some("job"));
        assert_eq!(table_of("job/part-00003.parquet"), Some("job"));
        for path in ["job", "job/x.parquet", "job/part-../x.parquet", "a/job/part-1.parquet", "job/part-1.parquet.tmp"]
        {
            assert_eq!(table_of(path), None, "{path}");
        }
    }

    #[test]
    fn clashing_names_are_reported() {
        let levels = serde_json::json!([
            {"name": "items", "question": "?", "entities": ["job", "weight"], "features": []},
            {"name": "../x", "question": "?", "entities": [], "features": []},
        ]);
        let set = FeatureSet { scenario: "dag".into(), levels: serde_json::from_value(levels).unwrap() };
        let mut manifest = Manifest::new(set, Source::default(), Source::default(), Source::default());
        manifest.kinds = vec!["free".into(), "free".into(), "all".into()];
        manifest.tables = vec![TableFile { path: "../../etc/part-1.parquet".into(), ..TableFile::default() }];
        let mut problems = Problems::default();
        manifest.check(&mut problems);
        let text = problems.first.iter().map(|p| p.message.as_str()).collect::<Vec<_>>().join("\n");
        for expected in [
            "kind `free` is listed twice",
            "kind `all` stands for all kinds",
            "level name `items` is used twice",
            "level name `../x` may only have",
            "level `items` has no features",
            "column name `weight` is used twice",
            "table `../../etc/part-1.parquet` belongs to no level",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert_eq!(problems.count, 8, "{text}");
    }
}
