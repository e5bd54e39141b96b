//! What is this trace, is it sound, and the completion of one that another program wrote.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::Serialize;

use super::{
    columns::Frame,
    error::{Problem, Problems, TraceError},
    manifest::{EPISODES, MANIFEST, Manifest, TableFile, read_manifest, table_of},
    parts::entries,
    reader::{context, incomplete, read_episodes, read_level_file, read_rows},
    rows::{ItemRow, TimelineRow},
    table::LevelTable,
    unfinished::{DamagedPart, Unfinished},
    untrusted,
};
use sched_distill_core::{file, level::sha256_hex};

/// What [`inspect`] found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inspection {
    /// The manifest, unless there is none or it cannot be read.
    pub manifest: Option<Manifest>,
    /// How far the recording is, if it is unfinished.
    pub unfinished: Option<Unfinished>,
    /// SHA-256 (hex) of the manifest file: the hash of the trace.
    pub hash: Option<String>,
    /// What the levels hold, as far as they can be read.
    pub levels: Vec<LevelSummary>,
    /// The first 20 problems.
    pub problems: Vec<Problem>,
    /// Number of all problems; 0 means that the trace is sound.
    pub problem_count: usize,
}

/// What one level of a trace holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelSummary {
    /// Name of the level.
    pub level: String,
    /// Number of rows (candidates).
    pub rows: usize,
    /// Number of choices.
    pub choices: usize,
    /// Share of choices with one candidate; 0 without choices.
    pub forced_share: f64,
    /// Number of choices of each kind, in the manifest's order.
    pub kinds: Vec<(String, usize)>,
    /// Median number of candidates (the lower one of two); 0 without choices.
    pub median_candidates: usize,
    /// Largest number of candidates; 0 without choices.
    pub max_candidates: usize,
}

/// Describes a directory that should be a trace. Whatever is wrong is reported as a problem; nothing is written.
///
/// A table with damaged bytes is recognised by its hash and not decoded. In a trace that is not sealed there is no hash:
/// there, damage inside a Parquet file may pass for other values or make the decoder ask for more memory than there is.
#[must_use]
pub fn inspect(dir: &Path) -> Inspection {
    let mut problems = Problems::default();
    let mut inspection = Inspection::default();
    match read_listed(dir) {
        Err(error @ TraceError::Incomplete { .. }) => {
            problems.add_error(&error);
            match Unfinished::read(dir) {
                Ok(unfinished) => {
                    for DamagedPart { part, problem } in &unfinished.damaged {
                        problems.add("", None, None, format_args!("part {part} is damaged: {problem}"));
                    }
                    inspection.unfinished = Some(unfinished);
                }
                Err(error) => problems.add_error(&error),
            }
        }
        Err(error) => problems.add_error(&error),
        Ok((manifest, hash)) => {
            manifest.check(&mut problems);
            // Without sound names it is not clear which file and column is which.
            if problems.count == 0 {
                manifest.check_sealed(&mut problems);
                inspection.levels = read_all(dir, &manifest, &mut problems);
            }
            inspection.manifest = Some(manifest);
            inspection.hash = Some(hash);
        }
    }
    inspection.problems = problems.first;
    inspection.problem_count = problems.count;
    inspection
}

/// Completes the manifest of a trace that another program wrote: looks for tables if none are listed, checks everything,
/// and fills in row counts, hashes and the hash of the feature set where they are missing. What is there already is
/// checked, not replaced. Sealing twice changes nothing.
///
/// # Errors
///
/// The first thing that is wrong, as [`super::Trace::level`] reports it; the manifest is then left as it was.
pub fn seal(dir: &Path) -> Result<Manifest, TraceError> {
    let (mut manifest, _) = read_listed(dir)?;
    let found = manifest.clone();
    let mut problems = Problems::default();
    manifest.check(&mut problems);
    problems.into_result(dir)?;

    let mut problems = Problems::default();
    for file in &mut manifest.tables {
        // A file that cannot be read or decoded is reported by the check below.
        let path = dir.join(&file.path);
        let Ok(bytes) = fs::read(&path) else { continue };
        if file.sha256.is_empty()
            && let Err(reason) = untrusted::check(&path)
        {
            problems.add(&file.path, None, None, format_args!("{reason}"));
            continue;
        }
        if file.sha256.is_empty() {
            file.sha256 = sha256_hex(&bytes);
        }
        if file.rows == 0 {
            file.rows = Frame::decode(&file.path, &bytes, &mut Problems::default()).map_or(0, |frame| frame.rows());
        }
    }
    problems.into_result(dir)?;
    if manifest.feature_set_hash.is_empty() {
        manifest.feature_set_hash = manifest.feature_set.hash();
    }
    let mut problems = Problems::default();
    read_all(dir, &manifest, &mut problems);
    manifest.check_sealed(&mut problems);
    problems.into_result(dir)?;
    // One of an earlier version that lacks nothing keeps its bytes, whose hash its students name.
    if manifest != found {
        let path = dir.join(MANIFEST);
        file::write(&path, &manifest.to_bytes()).map_err(TraceError::io(&path, "written"))?;
    }
    Ok(manifest)
}

/// The manifest and its hash; if it lists no tables, those that are in the directory.
fn read_listed(dir: &Path) -> Result<(Manifest, String), TraceError> {
    if let Some(incomplete) = incomplete(dir) {
        return Err(incomplete);
    }
    let (mut manifest, hash) = read_manifest(dir)?;
    if manifest.tables.is_empty() {
        let set = &manifest.feature_set;
        let found = |table| set.names_of(table).map(|name| files_of(dir, name)).find(|files| !files.is_empty());
        let paths = manifest.table_names().filter_map(found).flatten();
        manifest.tables = paths.map(|path| TableFile { path, ..TableFile::default() }).collect();
    }
    Ok((manifest, hash))
}

/// Paths of the files of a table that lie in the directory.
fn files_of(dir: &Path, table: &str) -> Vec<String> {
    let single = format!("{table}.parquet");
    let folder = entries(&dir.join(table)).unwrap_or_default();
    let parts = folder.iter().map(|name| format!("{table}/{name}")).filter(|path| table_of(path).is_some());
    dir.join(&single).exists().then_some(single).into_iter().chain(parts).collect()
}

/// Reads every table, file by file, and sums up the levels.
fn read_all(dir: &Path, manifest: &Manifest, problems: &mut Problems) -> Vec<LevelSummary> {
    let mut levels = Vec::new();
    let mut episodes = BTreeSet::new();
    for (index, spec) in manifest.feature_set.levels.iter().enumerate() {
        let mut sizes = Sizes::default();
        let mut last = None;
        for file in manifest.files(&spec.name) {
            if let Some(table) = read_level_file(dir, file, &context(manifest, index, last), problems) {
                last = table.choices.last().map(|c| (c.id, c.step)).or(last);
                sizes.add(&table);
                episodes.extend(table.choices.iter().filter(|_| index == 0).map(|choice| choice.episode));
            }
        }
        levels.push(sizes.summary(&spec.name, &manifest.kinds));
    }
    check_episodes(manifest, &episodes, problems);
    read_episodes(dir, manifest, problems);
    read_rows::<ItemRow>(dir, manifest, problems);
    read_rows::<TimelineRow>(dir, manifest, problems);
    levels
}

/// Compares the manifest's episodes with those of which the first level has choices.
fn check_episodes(manifest: &Manifest, found: &BTreeSet<u32>, problems: &mut Problems) {
    let Manifest { first_episode: first, episodes, .. } = *manifest;
    let (Some(least), Some(most)) = (found.first(), found.last()) else { return };
    // With a table of episodes, those without a choice are known to be there.
    let listed = manifest.files(EPISODES).next().is_some();
    if *least < first || *most - first >= episodes || found.len() < episodes as usize && !listed {
        let message = format_args!(
            "`first_episode` is {first} and `episodes` {episodes}, but the tables hold choices of {} episodes, numbered {least} to \
             {most}; correct the manifest",
            found.len()
        );
        problems.add(MANIFEST, None, None, message);
    }
}

/// Sizes of choices.
#[derive(Default)]
struct Sizes {
    /// Number of choices by number of candidates.
    by_candidates: BTreeMap<usize, usize>,
    /// Number of choices by kind.
    by_kind: BTreeMap<u8, usize>,
}

impl Sizes {
    fn add(&mut self, table: &LevelTable) {
        for choice in table.iter() {
            *self.by_candidates.entry(choice.len()).or_default() += 1;
            *self.by_kind.entry(choice.header.kind).or_default() += 1;
        }
    }

    fn summary(&self, level: &str, kinds: &[String]) -> LevelSummary {
        let choices: usize = self.by_candidates.values().sum();
        let mut below = 0;
        let median = self.by_candidates.iter().find(|&(_, count)| {
            below += count;
            2 * below >= choices
        });
        let forced = self.by_candidates.get(&1).copied().unwrap_or(0);
        LevelSummary {
            level: level.to_owned(),
            rows: self.by_candidates.iter().map(|(size, count)| size * count).sum(),
            choices,
            forced_share: if choices == 0 { 0.0 } else { forced as f64 / choices as f64 },
            kinds: kinds
                .iter()
                .zip(0u8..=u8::MAX)
                .map(|(kind, i)| (kind.clone(), self.by_kind.get(&i).copied().unwrap_or(0)))
                .collect(),
            median_candidates: median.map_or(0, |(&size, _)| size),
            max_candidates: self.by_candidates.keys().next_back().copied().unwrap_or(0),
        }
    }
}
