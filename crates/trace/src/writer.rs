//! Recording a trace part by part, by one recorder or several, so that memory stays bounded and a killed recording can go
//! on.
//!
//! Order on disk: `plan.json` first, then for each part its tables and last its marker `parts/part-00003.json`, and
//! `manifest.json` at the very end. Each file is written under a temporary name of its own and renamed. A part counts as
//! done only if its marker is there and every file still has the marker's hash.
//!
//! Several recorders with the same plan may be at work in one directory: whatever two of them write under the same name
//! has the same bytes, and whoever sees all parts done writes the manifest.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    directory::{FoundTrace, difference, remove_leftovers},
    error::{Problem, Problems, TraceError},
    manifest::{MANIFEST, Manifest, PARTS, PLAN, TableFile, json_bytes, parse_json, read_manifest},
    part_writer::PartWriter,
    parts::{MOST_PARTS, PartState, number_of_parts, unmarked},
    shard::Shard,
};
use sched_distill_core::file;

/// Everything that defines a trace before it is recorded. Two recordings with equal plans give equal bytes, provided
/// that what they record is reproducible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// The manifest to be, without tables.
    pub manifest: Manifest,
    /// Number of parts. Which episodes form a part is the caller's choice and must not depend on the number of threads.
    #[serde(deserialize_with = "number_of_parts")]
    pub parts: u32,
    /// Whether fewer will do: nobody knows yet how many come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_ended: bool,
}

/// Writes one trace. Parts may be written in any order and from several threads.
#[derive(Debug)]
pub struct TraceWriter {
    pub(super) dir: PathBuf,
    pub(super) plan: RecordPlan,
    /// Files of the parts that this recorder has finished or found sound.
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
        if !(1..=MOST_PARTS).contains(&plan.parts) {
            problems.add(PLAN, None, None, format_args!("`parts` is {}, expected 1 to {MOST_PARTS}", plan.parts));
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
        if !plan_path.exists() && dir.join(MANIFEST).exists() {
            return Err(writer.differs("it has no plan.json, another program wrote it".to_owned()));
        }
        if !file::write_if_absent(&plan_path, &json_bytes(&writer.plan))
            .map_err(TraceError::io(&plan_path, "written"))?
        {
            writer.resume(&plan_path)?;
        }
        for table in writer.plan.manifest.table_names().chain([PARTS]) {
            let folder = dir.join(table);
            fs::create_dir_all(&folder).map_err(TraceError::io(&folder, "created"))?;
        }
        Ok(writer)
    }

    /// Compares what an earlier recorder, or one at work now, has planned or completed.
    fn resume(&mut self, plan_path: &Path) -> Result<(), TraceError> {
        let bytes = fs::read(plan_path).map_err(TraceError::io(plan_path, "read"))?;
        let theirs: Value = parse_json(plan_path, &bytes)?;
        // With the names of this version, where it is a plan that this version understands.
        let understood = RecordPlan::deserialize(&theirs).ok();
        // Nor did it say, in the log of a shadow, who may give nothing.
        if let Some(RecordPlan { manifest, open_ended: true, .. }) = &understood
            && self.plan.open_ended
        {
            self.plan.manifest.abstains = manifest.abstains;
            self.plan.manifest.labeller_abstains = manifest.labeller_abstains;
        }
        // An earlier version had other words for the same features, and did not say who controls them.
        let mut ours = self.plan.clone();
        let theirs_set = understood.as_ref().map(|plan| &plan.manifest.feature_set);
        if let Some(set) = theirs_set.filter(|set| set.difference(&ours.manifest.feature_set).is_none()) {
            ours.manifest.feature_set = set.clone();
        }
        let theirs = understood.map_or(theirs, |plan| to_value(&plan));
        if let Some(difference) = difference("", &theirs, &to_value(&ours)) {
            return Err(self.differs(difference));
        }
        if !self.plan.open_ended && self.dir.join(MANIFEST).exists() {
            let (manifest, _) = read_manifest(&self.dir)?;
            let bare = Manifest { tables: Vec::new(), ..manifest.clone() };
            if let Some(difference) = difference("", &to_value(&bare), &to_value(&ours.manifest)) {
                return Err(self.differs(difference));
            }
            self.complete = Some(manifest);
        }
        Ok(())
    }

    /// Numbers of the parts of a shard that have yet to be written, in order: those that are not there, and those whose
    /// files are not any more what they were when the part was finished.
    #[must_use]
    pub fn missing_parts(&self, shard: Shard) -> Vec<u32> {
        if self.complete.is_some() {
            return Vec::new();
        }
        (0..self.plan.parts).filter(|&part| shard.contains(part) && !self.is_finished(part)).collect()
    }

    /// Whether a part is done and sound, whoever wrote it.
    #[must_use]
    pub fn is_finished(&self, index: u32) -> bool {
        if self.complete.is_some() || self.done().contains_key(&index) {
            return true;
        }
        match PartState::of(&self.dir, &self.plan.manifest, index) {
            PartState::Done(files) => {
                self.done().insert(index, files);
                true
            }
            PartState::Missing | PartState::Damaged(_) => false,
        }
    }

    /// Begins a part. Parts may be written in any order and from several threads.
    ///
    /// # Errors
    ///
    /// * [`TraceError::UnknownPart`] if `index` is not below the plan's number of parts.
    /// * [`TraceError::Io`] if its files cannot be created.
    pub fn part(&self, index: u32) -> Result<PartWriter<'_>, TraceError> {
        if index >= self.plan.parts {
            return Err(TraceError::UnknownPart { dir: self.dir.clone(), index, parts: self.plan.parts });
        }
        PartWriter::new(self, index)
    }

    /// Writes the manifest of the complete trace and returns it. What killed recorders have left behind is removed.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Incomplete`] if parts are missing or damaged.
    /// * [`TraceError::Invalid`] if the parts do not have as many episodes as the plan.
    /// * [`TraceError::Io`] if the manifest cannot be written.
    pub fn finish(self) -> Result<Manifest, TraceError> {
        if let Some(manifest) = self.complete {
            return Ok(manifest);
        }
        // Only if no part is missing at first sight are those of other recorders compared with their hashes.
        let mut missing = unmarked(&self.dir, self.plan.parts)?;
        if missing.is_empty() {
            missing = self.missing_parts(Shard::WHOLE);
        }
        if !missing.is_empty() {
            return Err(TraceError::Incomplete { dir: self.dir, missing, parts: self.plan.parts });
        }
        let done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut manifest = self.plan.manifest;
        let tables = manifest.table_names().count();
        let files = (0..tables).flat_map(|table| done.values().map(move |part| part[table].clone()));
        manifest.tables = files.collect();
        let mut problems = Problems::default();
        manifest.check_sealed(&mut problems);
        problems.into_result(&self.dir)?;
        // What the manifest lists is on the disk before the manifest is.
        let tables: Vec<PathBuf> = manifest.tables.iter().map(|table| self.dir.join(&table.path)).collect();
        file::sync(&tables).map_err(|(path, e)| TraceError::io(&path, "written")(e))?;
        let path = self.dir.join(MANIFEST);
        file::write(&path, &manifest.to_bytes()).map_err(TraceError::io(&path, "written"))?;
        remove_leftovers(&self.dir, &manifest)?;
        Ok(manifest)
    }

    pub(super) fn done(&self) -> MutexGuard<'_, BTreeMap<u32, Vec<TableFile>>> {
        // The map is sound even if a thread died with the lock: it is changed by single insertions.
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn differs(&self, difference: String) -> TraceError {
        TraceError::PlanDiffers { dir: self.dir.clone(), difference }
    }

    pub(super) fn invalid(&self, file: &str, message: String) -> TraceError {
        TraceError::Invalid {
            dir: self.dir.clone(),
            problem: Problem { file: file.to_owned(), column: None, row: None, message },
        }
    }
}

fn to_value<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("plain data serialises")
}
