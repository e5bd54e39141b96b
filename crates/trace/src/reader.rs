//! Reading a trace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    columns::Frame,
    error::{Problems, TraceError},
    level_file,
    manifest::{MANIFEST, Manifest, PLAN, TableFile, parse_json, read_manifest},
    parts::{number_of_parts, unmarked},
    rows::{EpisodeRow, ItemRow, Row, TimelineRow, check_episodes},
    rules::Context,
    table::LevelTable,
    untrusted,
};
use sched_distill_core::level::{NONE_FLAG, sha256_hex};

/// A complete trace on disk. Only the manifest is in memory; each call reads the table it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Directory of the trace.
    pub dir: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// SHA-256 (hex) of the manifest file: the hash of the trace.
    pub hash: String,
    /// Whether choices are read as a policy has them that always gives something.
    without_none: bool,
}

impl Trace {
    /// Opens a trace.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Incomplete`] if its recording was interrupted.
    /// * [`TraceError::Version`] if it is of another format version.
    /// * [`TraceError::Io`], [`TraceError::Json`] or [`TraceError::Invalid`] if the manifest is missing or unsound.
    pub fn open(dir: &Path) -> Result<Self, TraceError> {
        if let Some(incomplete) = incomplete(dir) {
            return Err(incomplete);
        }
        let (manifest, hash) = read_manifest(dir)?;
        let mut problems = Problems::default();
        manifest.check(&mut problems);
        manifest.check_sealed(&mut problems);
        problems.into_result(dir)?;
        let (dir, without_none) = (dir.to_owned(), !manifest.labels_none());
        Ok(Self { dir, manifest, hash, without_none })
    }

    /// The same trace with everything that was executed: also where nobody was given anything, which the labeller never does.
    /// As it is opened, a trace has the candidates of its labeller.
    #[must_use]
    pub fn as_executed(&self) -> Self {
        Self { without_none: false, ..self.clone() }
    }

    /// The same trace as a policy is asked that may give nothing (`abstains`) or always gives something. That one has no such
    /// candidate, and is not asked where that is the label.
    #[must_use]
    pub fn asked_of(&self, abstains: bool) -> Self {
        Self { without_none: self.without_none || !abstains, ..self.clone() }
    }

    /// Whether the choices of the first level have a candidate that gives nothing, of policies that may.
    #[must_use]
    pub fn abstains(&self) -> bool {
        self.manifest.abstains && !self.without_none
    }

    /// Whether candidates or choices of a level are left out, so that its rows are not those of the files.
    pub fn leaves_out(&self, level: &str) -> bool {
        let set = &self.manifest.feature_set;
        let first = set.levels.first().filter(|first| first.name == set.name_of(level));
        self.without_none
            && self.manifest.abstains
            && first.is_some_and(|first| first.features.iter().any(|feature| feature.name == NONE_FLAG))
    }

    /// A table of a level that was just read, with the candidates that it is to have.
    pub(super) fn for_reader(&self, level: usize, table: LevelTable) -> LevelTable {
        let table = table.with_none(level == 0 && self.manifest.abstains);
        if self.without_none { table.without_none() } else { table }
    }

    /// Reads all choices of a level, in order.
    ///
    /// # Errors
    ///
    /// * [`TraceError::UnknownLevel`] if the trace has no such level.
    /// * [`TraceError::Invalid`] with file, column and row of the first thing that breaks the format: a file that is
    ///   missing, damaged or not the one whose hash the manifest has; a column that is missing, unknown or of another
    ///   type; a value that is null, NaN or infinite; a choice whose rows are apart, out of order or not one choice.
    pub fn level(&self, name: &str) -> Result<LevelTable, TraceError> {
        let index = self.level_index(name)?;
        let spec = self.manifest.feature_set.levels[index].clone();
        let mut last = None;
        let mut all = self.for_reader(index, LevelTable::new(spec, self.manifest.kinds.clone()));
        for file in self.manifest.files(&self.manifest.feature_set.levels[index].name) {
            let mut problems = Problems::default();
            let context = context(&self.manifest, index, last);
            let part = read_level_file(&self.dir, file, &context, &mut problems);
            problems.into_result(&self.dir)?;
            let part = part.expect("a file without problems has a table");
            last = part.choices.last().map(|c| (c.id, c.step)).or(last);
            all.append(self.for_reader(index, part));
        }
        Ok(all)
    }

    /// Rows of a level, as the manifest has them.
    #[must_use]
    pub fn rows_of(&self, level: &str) -> usize {
        self.manifest.rows_of(level)
    }

    pub(super) fn level_index(&self, name: &str) -> Result<usize, TraceError> {
        let set = &self.manifest.feature_set;
        set.levels.iter().position(|l| l.name == set.name_of(name)).ok_or_else(|| TraceError::UnknownLevel {
            dir: self.dir.clone(),
            level: name.to_owned(),
            known: set.levels.iter().map(|l| l.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Reads how the episodes went, in order of their number; empty if the trace has no such table.
    ///
    /// # Errors
    ///
    /// [`TraceError::Invalid`] as for [`Trace::level`].
    pub fn episodes(&self) -> Result<Vec<EpisodeRow>, TraceError> {
        let mut problems = Problems::default();
        let rows = read_episodes(&self.dir, &self.manifest, &mut problems);
        problems.into_result(&self.dir)?;
        Ok(rows)
    }

    /// Reads the items of all episodes; empty if the trace has no such table.
    ///
    /// # Errors
    ///
    /// [`TraceError::Invalid`] as for [`Trace::level`].
    pub fn items(&self) -> Result<Vec<ItemRow>, TraceError> {
        self.rows()
    }

    /// Reads the timeline of the sampled episodes; empty if the trace has no such table.
    ///
    /// # Errors
    ///
    /// [`TraceError::Invalid`] as for [`Trace::level`].
    pub fn timeline(&self) -> Result<Vec<TimelineRow>, TraceError> {
        self.rows()
    }

    fn rows<R: Row>(&self) -> Result<Vec<R>, TraceError> {
        let mut problems = Problems::default();
        let rows = read_rows(&self.dir, &self.manifest, &mut problems);
        problems.into_result(&self.dir)?;
        Ok(rows)
    }
}

/// [`TraceError::Incomplete`] if the directory holds a recording that was not finished.
pub(super) fn incomplete(dir: &Path) -> Option<TraceError> {
    if dir.join(MANIFEST).exists() || !dir.join(PLAN).exists() {
        return None;
    }
    /// The number alone: the rest does not matter here.
    #[derive(serde::Deserialize)]
    struct Parts {
        #[serde(deserialize_with = "number_of_parts")]
        parts: u32,
        #[serde(default)]
        open_ended: bool,
    }
    let missing = || -> Result<TraceError, TraceError> {
        let plan = dir.join(PLAN);
        let bytes = fs::read(&plan).map_err(TraceError::io(&plan, "read"))?;
        let Parts { parts, open_ended } = parse_json(&plan, &bytes)?;
        Ok(match open_ended {
            true => TraceError::OpenEnded(dir.to_owned()),
            false => TraceError::Incomplete { dir: dir.to_owned(), missing: unmarked(dir, parts)?, parts },
        })
    };
    Some(missing().unwrap_or_else(|error| error))
}

/// What the rules of level number `index` need to know.
pub(super) fn context(manifest: &Manifest, index: usize, last: Option<(u64, u32)>) -> Context<'_> {
    Context {
        spec: &manifest.feature_set.levels[index],
        kinds: &manifest.kinds,
        first: index == 0,
        last,
        rows_before: 0,
    }
}

/// Reads and checks one file of a level; `None` only with a problem reported.
pub(super) fn read_level_file(
    dir: &Path,
    file: &TableFile,
    context: &Context<'_>,
    problems: &mut Problems,
) -> Option<LevelTable> {
    level_file::read(&read_frame(dir, file, problems)?, context, problems)
}

/// Reads and checks the episodes.
pub(super) fn read_episodes(dir: &Path, manifest: &Manifest, problems: &mut Problems) -> Vec<EpisodeRow> {
    let (mut all, mut last) = (Vec::new(), None);
    for file in manifest.files(EpisodeRow::TABLE) {
        if let Some(frame) = read_frame(dir, file, problems)
            && let Some(rows) = EpisodeRow::read(&frame, &manifest.figures, problems)
        {
            check_episodes(&file.path, &rows, &mut last, problems);
            all.extend(rows);
        }
    }
    all
}

/// Reads and checks a table of rows.
pub(super) fn read_rows<R: Row>(dir: &Path, manifest: &Manifest, problems: &mut Problems) -> Vec<R> {
    let mut all = Vec::new();
    for file in manifest.files(R::TABLE) {
        if let Some(frame) = read_frame(dir, file, problems) {
            all.extend(R::read(&frame, &manifest.figures, problems).unwrap_or_default());
        }
    }
    all
}

/// Reads a Parquet file and compares it with the manifest: its hash and, in a sealed trace, its number of rows.
fn read_frame<'a>(dir: &Path, file: &'a TableFile, problems: &mut Problems) -> Option<Frame<'a>> {
    let name = file.path.as_str();
    let bytes = match fs::read(dir.join(name)) {
        Ok(bytes) => bytes,
        Err(error) => {
            problems.add(name, None, None, format_args!("cannot be read: {error}"));
            return None;
        }
    };
    if file.sha256.is_empty()
        && let Err(reason) = untrusted::check(&dir.join(name))
    {
        problems.add(name, None, None, format_args!("{reason}"));
        return None;
    }
    if !file.sha256.is_empty() {
        let found = sha256_hex(&bytes);
        if found != file.sha256 {
            problems.add(name, None, None, format_args!("{}", file.other_hash(&found)));
            return None;
        }
    }
    let frame = Frame::decode(name, &bytes, problems)?;
    if frame.rows() != file.rows && !(file.rows == 0 && file.sha256.is_empty()) {
        problems.add(name, None, None, format_args!("has {} rows, the manifest has {}", frame.rows(), file.rows));
    }
    Some(frame)
}
