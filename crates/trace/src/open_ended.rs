//! Recordings that nobody knows the end of: parts are added one after the other, and a manifest can be written at any time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    directory::remove_leftovers,
    error::{Problem, Problems, TraceError},
    manifest::{EPISODES, MANIFEST, Manifest, PARTS, PLAN, TableFile, parse_json},
    parts::{MOST_PARTS, PartState, entries, marker_path, part_path},
    writer::{RecordPlan, TraceWriter},
};
use sched_distill_core::file;

/// Held by the one recorder that may write.
#[derive(Debug)]
pub struct PlanLock(fs::File);

impl Drop for PlanLock {
    fn drop(&mut self) {
        // Not left to the closing: a program that is being started elsewhere in this one holds the file, too, for a moment.
        let _ = self.0.unlock();
    }
}

impl RecordPlan {
    /// A plan for as many parts and episodes as will come.
    #[must_use]
    pub fn open_ended(manifest: Manifest) -> Self {
        Self { manifest: Manifest { episodes: 0, ..manifest }, parts: MOST_PARTS, open_ended: true }
    }
}

impl TraceWriter {
    /// Where an open-ended recording goes on: the number of the next part and of the next episode.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Invalid`] if a part is damaged or missing: what came behind it would not fit any more.
    pub fn so_far(&self) -> Result<(u32, u32), TraceError> {
        let parts = finished(&self.dir, &self.plan.manifest)?;
        Ok((parts.len() as u32, episodes(&parts)))
    }

    /// Keeps others from writing here until the lock is dropped; `None` if another recorder does.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Io`] if the plan cannot be opened or locked.
    pub fn lock(&self) -> Result<Option<PlanLock>, TraceError> {
        let path = self.dir.join(PLAN);
        let file = fs::File::open(&path).map_err(TraceError::io(&path, "opened"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(PlanLock(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(e)) => Err(TraceError::io(&path, "locked")(e)),
        }
    }

    /// Number of figures that episodes have.
    #[must_use]
    pub fn figures(&self) -> usize {
        self.plan.manifest.figures.len()
    }

    /// Writes the manifest of what has been recorded so far, and returns it; `None` if that is nothing. Recording may go on.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Io`] if the manifest cannot be written.
    pub fn finish_so_far(&self) -> Result<Option<Manifest>, TraceError> {
        let sealed = seal_so_far(&self.dir, &self.plan.manifest)?;
        sealed.iter().try_for_each(|manifest| remove_leftovers(&self.dir, manifest))?;
        Ok(sealed)
    }
}

/// Writes the manifest of what an open-ended recording holds at present, whether a recorder is at work there or was killed; other
/// traces are left as they are. Whether there is something to read.
///
/// # Errors
///
/// * [`TraceError::Io`] if a file cannot be read or the manifest cannot be written.
/// * [`TraceError::Invalid`] if a part is damaged or missing.
pub fn bring_up_to_date(dir: &Path) -> Result<bool, TraceError> {
    let path = dir.join(PLAN);
    if !path.exists() {
        return Ok(true);
    }
    let bytes = fs::read(&path).map_err(TraceError::io(&path, "read"))?;
    let plan: RecordPlan = parse_json(&path, &bytes)?;
    Ok(!plan.open_ended || seal_so_far(dir, &plan.manifest)?.is_some())
}

/// The files of the finished parts, all of which are there and sound.
fn finished(dir: &Path, manifest: &Manifest) -> Result<Vec<Vec<TableFile>>, TraceError> {
    let (mut parts, all) = (Vec::new(), marked(dir)?);
    for index in 0..all {
        match PartState::of(dir, manifest, index) {
            PartState::Done(files) => parts.push(files),
            PartState::Damaged(problem) => return Err(TraceError::Invalid { dir: dir.to_owned(), problem }),
            PartState::Missing => {
                let message = format!("is missing, but there is a later part; of {all} parts");
                let problem = Problem { file: marker_path(index), column: None, row: None, message };
                return Err(TraceError::Invalid { dir: dir.to_owned(), problem });
            }
        }
    }
    Ok(parts)
}

/// One more than the number of the last part that has a marker.
pub(super) fn marked(dir: &Path) -> Result<u32, TraceError> {
    let folder = dir.join(PARTS);
    if !folder.exists() {
        return Ok(0);
    }
    let number = |name: String| name.strip_prefix("part-")?.strip_suffix(".json")?.parse::<u32>().ok();
    Ok(entries(&folder)?.into_iter().filter_map(number).map(|last| last + 1).max().unwrap_or(0))
}

fn episodes(parts: &[Vec<TableFile>]) -> u32 {
    let of_part = |(index, files): (u32, &Vec<TableFile>)| -> usize {
        files.iter().filter(|file| file.path == part_path(EPISODES, index)).map(|file| file.rows).sum()
    };
    u32::try_from((0..).zip(parts).map(of_part).sum::<usize>()).unwrap_or(u32::MAX)
}

fn seal_so_far(dir: &Path, plan: &Manifest) -> Result<Option<Manifest>, TraceError> {
    let parts = finished(dir, plan)?;
    if parts.is_empty() {
        return Ok(None);
    }
    let tables = (0..plan.table_names().count()).flat_map(|table| parts.iter().map(move |part| part[table].clone()));
    let manifest = Manifest { episodes: episodes(&parts), tables: tables.collect(), ..plan.clone() };
    let mut problems = Problems::default();
    manifest.check_sealed(&mut problems);
    problems.into_result(dir)?;
    // What the manifest lists is on the disk before the manifest is.
    let files: Vec<PathBuf> = manifest.tables.iter().map(|table| dir.join(&table.path)).collect();
    file::sync(&files).map_err(|(path, e)| TraceError::io(&path, "written")(e))?;
    let path = dir.join(MANIFEST);
    file::write(&path, &manifest.to_bytes()).map_err(TraceError::io(&path, "written"))?;
    Ok(Some(manifest))
}
