//! Recording a trace part by part, so that memory stays bounded and a killed recording can go on.
//!
//! Order on disk: `plan.json` first, then for each part its tables and last its marker `parts/part-00003.json`, and
//! `manifest.json` at the very end. Each file is written under a temporary name and renamed. A part counts as done only
//! if its marker is there and every file still has the marker's hash. Two recorders in one directory at the same time are
//! not supported.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::{Frame, encode};
use super::directory::{FoundTrace, difference};
use super::error::{Problem, Problems, TraceError};
use super::level_file;
use super::manifest::{MANIFEST, Manifest, PARTS, PLAN, TableFile};
use super::manifest::{json_bytes, parse_json, read_manifest, write_atomically};
use super::reader::context;
use super::rows::{EpisodeRow, ItemRow, Row, TimelineRow, check_episodes};
use super::table::LevelTable;
use crate::level::sha256_hex;

/// Everything that defines a trace before it is recorded. Two recordings with equal plans give equal bytes, provided
/// that what they record is reproducible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// The manifest to be, without tables.
    pub manifest: Manifest,
    /// Number of parts. Which episodes form a part is the caller's choice and must not depend on the number of threads.
    pub parts: u32,
}

/// A contiguous run of episodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// One table per level of the plan, in its order; a table may be without rows.
    pub tables: Vec<LevelTable>,
    /// How the episodes went, in order of their number.
    pub episodes: Vec<EpisodeRow>,
    /// The items of the episodes.
    pub items: Vec<ItemRow>,
    /// The timeline of sampled episodes.
    pub timeline: Vec<TimelineRow>,
}

/// Writes one trace. Parts may be written in any order and from several threads.
#[derive(Debug)]
pub struct TraceWriter {
    dir: PathBuf,
    plan: RecordPlan,
    /// Files of the finished parts.
    done: Mutex<BTreeMap<u32, Vec<TableFile>>>,
    /// The manifest of a trace that was complete from the start.
    complete: Option<Manifest>,
}

impl TraceWriter {
    /// Begins or resumes a recording in `dir`, which is created if need be. With `force`, a trace that is there already
    /// is removed first; files that do not belong to the trace format stay.
    ///
    /// # Errors
    ///
    /// * [`TraceError::NotATrace`] if the directory holds anything but a trace; `force` does not help.
    /// * [`TraceError::PlanDiffers`] if it holds a trace with another plan, and `force` is not set.
    /// * [`TraceError::Invalid`] if the plan's manifest is unsound.
    /// * [`TraceError::Io`] if the directory cannot be written.
    pub fn create(dir: &Path, plan: RecordPlan, force: bool) -> Result<Self, TraceError> {
        let mut problems = Problems::default();
        plan.manifest.check(&mut problems);
        if plan.parts == 0 {
            problems.add(PLAN, None, None, format_args!("`parts` is 0, expected at least 1"));
        }
        if plan.manifest.feature_set_hash.is_empty() || !plan.manifest.tables.is_empty() {
            problems.add(PLAN, None, None, format_args!("the manifest must have its feature set's hash and no tables"));
        }
        problems.into_result(dir)?;

        fs::create_dir_all(dir).map_err(TraceError::io(dir, "created"))?;
        if let Some(found) = FoundTrace::in_directory(dir)?
            && force
        {
            found.remove(dir)?;
        }
        let mut writer = Self { dir: dir.to_owned(), done: Mutex::default(), complete: None, plan };
        let plan_path = dir.join(PLAN);
        if plan_path.exists() {
            writer.resume(&plan_path)?;
        } else if dir.join(MANIFEST).exists() {
            return Err(writer.differs("it has no plan.json, another program wrote it".to_owned()));
        } else {
            write_atomically(&plan_path, &json_bytes(&writer.plan))?;
        }
        for table in writer.plan.manifest.table_names().chain([PARTS]) {
            let folder = dir.join(table);
            fs::create_dir_all(&folder).map_err(TraceError::io(&folder, "created"))?;
        }
        Ok(writer)
    }

    /// Takes over what an earlier recording with the same plan has left.
    fn resume(&mut self, plan_path: &Path) -> Result<(), TraceError> {
        let bytes = fs::read(plan_path).map_err(TraceError::io(plan_path, "read"))?;
        let theirs: Value = parse_json(plan_path, &bytes)?;
        if let Some(difference) = difference("", &theirs, &to_value(&self.plan)) {
            return Err(self.differs(difference));
        }
        if self.dir.join(MANIFEST).exists() {
            let (manifest, _) = read_manifest(&self.dir)?;
            let bare = Manifest { tables: Vec::new(), ..manifest.clone() };
            if let Some(difference) = difference("", &to_value(&bare), &to_value(&self.plan.manifest)) {
                return Err(self.differs(difference));
            }
            self.complete = Some(manifest);
            return Ok(());
        }
        for index in 0..self.plan.parts {
            // A marker that is missing, damaged or not true any more means that the part has to be recorded again.
            let files: Option<Vec<TableFile>> =
                fs::read(self.marker(index)).ok().and_then(|b| serde_json::from_slice(&b).ok());
            let is_whole = |f: &TableFile| fs::read(self.dir.join(&f.path)).is_ok_and(|b| sha256_hex(&b) == f.sha256);
            if let Some(files) = files.filter(|files| {
                let expected = self.plan.manifest.table_names().map(|table| part_path(table, index));
                expected.eq(files.iter().map(|f| f.path.clone())) && files.iter().all(is_whole)
            }) {
                self.finished().insert(index, files);
            }
        }
        Ok(())
    }

    /// Numbers of the parts that have yet to be written, in order.
    #[must_use]
    pub fn missing_parts(&self) -> Vec<u32> {
        if self.complete.is_some() {
            return Vec::new();
        }
        let done = self.finished();
        (0..self.plan.parts).filter(|index| !done.contains_key(index)).collect()
    }

    /// Writes a part. A part that was finished before is left as it is.
    ///
    /// Every table is read back and checked before it gets its name, so that a recorded trace is a readable one. Rules
    /// across parts (episodes in increasing order) are checked when the trace is read.
    ///
    /// # Errors
    ///
    /// * [`TraceError::UnknownPart`] if `index` is not below the plan's number of parts.
    /// * [`TraceError::Invalid`] if a table does not fit the plan or breaks a rule of the format.
    /// * [`TraceError::Io`] if a file cannot be written.
    pub fn write_part(&self, index: u32, part: &Part) -> Result<(), TraceError> {
        if index >= self.plan.parts {
            return Err(TraceError::UnknownPart { dir: self.dir.clone(), index, parts: self.plan.parts });
        }
        if self.complete.is_some() || self.finished().contains_key(&index) {
            return Ok(());
        }
        let mut files = self.write_levels(index, &part.tables)?;
        files.push(self.write_rows(index, &part.episodes, |file, rows, problems| {
            check_episodes(file, rows, &mut None, problems);
        })?);
        files.push(self.write_rows(index, &part.items, |_, _, _| {})?);
        files.push(self.write_rows(index, &part.timeline, |_, _, _| {})?);
        write_atomically(&self.marker(index), &json_bytes(&files))?;
        self.finished().insert(index, files);
        Ok(())
    }

    /// Writes the manifest of the complete trace and returns it.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Incomplete`] if parts are missing.
    /// * [`TraceError::Invalid`] if the parts do not have as many episodes as the plan.
    /// * [`TraceError::Io`] if the manifest cannot be written.
    pub fn finish(self) -> Result<Manifest, TraceError> {
        if let Some(manifest) = self.complete {
            return Ok(manifest);
        }
        let done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if done.len() < self.plan.parts as usize {
            return Err(TraceError::Incomplete { dir: self.dir, done: done.len() as u32, parts: self.plan.parts });
        }
        let mut manifest = self.plan.manifest;
        let tables = manifest.table_names().count();
        let files = (0..tables).flat_map(|table| done.values().map(move |part| part[table].clone()));
        manifest.tables = files.collect();
        let mut problems = Problems::default();
        manifest.check_sealed(&mut problems);
        problems.into_result(&self.dir)?;
        write_atomically(&self.dir.join(MANIFEST), &manifest.to_bytes())?;
        Ok(manifest)
    }

    fn write_levels(&self, index: u32, tables: &[LevelTable]) -> Result<Vec<TableFile>, TraceError> {
        let manifest = &self.plan.manifest;
        let names: Vec<&str> = tables.iter().map(|t| t.spec.name.as_str()).collect();
        if !tables.iter().map(|t| &t.spec).eq(&manifest.feature_set.levels) {
            return Err(self.invalid(PLAN, format!("part {index} has levels {names:?} that differ from the plan's")));
        }
        let mut files = Vec::new();
        for (level, table) in tables.iter().enumerate() {
            let path = part_path(&table.spec.name, index);
            let bad = if table.kinds == manifest.kinds {
                level_file::misshapen(table)
            } else {
                Some(format!("kinds are {:?}, expected {:?}", table.kinds, manifest.kinds))
            };
            if let Some(bad) = bad {
                return Err(self.invalid(&path, bad));
            }
            files.push(self.write_table(&table.spec.name, index, level_file::columns(table), |frame, problems| {
                level_file::read(frame, &context(manifest, level, None), problems);
            })?);
        }
        Ok(files)
    }

    fn write_rows<R: Row>(
        &self,
        index: u32,
        rows: &[R],
        check: impl Fn(&str, &[R], &mut Problems),
    ) -> Result<TableFile, TraceError> {
        self.write_table(R::TABLE, index, R::columns(rows), |frame, problems| {
            if let Some(rows) = R::read(frame, problems) {
                check(frame.file(), &rows, problems);
            }
        })
    }

    /// Writes one file after `check` has found nothing in what was encoded.
    fn write_table(
        &self,
        table: &str,
        index: u32,
        columns: Vec<polars::prelude::Column>,
        check: impl Fn(&Frame<'_>, &mut Problems),
    ) -> Result<TableFile, TraceError> {
        let manifest = &self.plan.manifest;
        let path = part_path(table, index);
        let facts = [
            ("format_version", manifest.format_version.to_string()),
            ("feature_set_hash", manifest.feature_set_hash.clone()),
            ("scenario", manifest.scenario.clone()),
            ("level", table.to_owned()),
            ("version", manifest.version.clone()),
        ];
        let bytes = encode(columns, &facts).map_err(|reason| self.invalid(&path, reason))?;
        let mut problems = Problems::default();
        let mut rows = 0;
        if let Some(frame) = Frame::decode(&path, &bytes, &mut problems) {
            rows = frame.rows();
            check(&frame, &mut problems);
        }
        problems.into_result(&self.dir)?;
        write_atomically(&self.dir.join(&path), &bytes)?;
        let sha256 = sha256_hex(&bytes);
        Ok(TableFile { path, rows, sha256 })
    }

    fn finished(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Vec<TableFile>>> {
        // The map is sound even if a thread died with the lock: it is changed by single insertions.
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn marker(&self, index: u32) -> PathBuf {
        self.dir.join(PARTS).join(format!("part-{index:05}.json"))
    }

    fn differs(&self, difference: String) -> TraceError {
        TraceError::PlanDiffers { dir: self.dir.clone(), difference }
    }

    fn invalid(&self, file: &str, message: String) -> TraceError {
        TraceError::Invalid {
            dir: self.dir.clone(),
            problem: Problem { file: file.to_owned(), column: None, row: None, message },
        }
    }
}

/// Name of a table's file in a part.
fn part_path(table: &str, index: u32) -> String {
    format!("{table}/part-{index:05}.parquet")
}

fn to_value<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("plain data serialises")
}
