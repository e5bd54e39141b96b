//! Recordings that nobody knows the end of: parts are added one after the other, and a manifest can be written at any time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::{Problems, TraceError},
    manifest::{EPISODES, MANIFEST, Manifest, PLAN, TableFile, parse_json},
    parts::{MOST_PARTS, PartState, part_path},
    writer::{RecordPlan, TraceWriter},
};
use sched_distill_core::file;

impl RecordPlan {
    /// A plan for as many parts and episodes as will come.
    #[must_use]
    pub fn open_ended(manifest: Manifest) -> Self {
        Self { manifest: Manifest { episodes: 0, ..manifest }, parts: MOST_PARTS, open_ended: true }
    }
}

impl TraceWriter {
    /// Where an open-ended recording goes on: the number of the next part and of the next episode.
    #[must_use]
    pub fn so_far(&self) -> (u32, u32) {
        let parts = finished(&self.dir, &self.plan.manifest);
        (parts.len() as u32, episodes(&parts))
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
        seal_so_far(&self.dir, &self.plan.manifest)
    }
}

/// Writes the manifest of what an open-ended recording holds at present, whether a recorder is at work there or was killed; other
/// traces are left as they are.
///
/// # Errors
///
/// * [`TraceError::Io`] if a file cannot be read or the manifest cannot be written.
pub fn bring_up_to_date(dir: &Path) -> Result<(), TraceError> {
    let path = dir.join(PLAN);
    if !path.exists() {
        return Ok(());
    }
    let bytes = fs::read(&path).map_err(TraceError::io(&path, "read"))?;
    let plan: RecordPlan = parse_json(&path, &bytes)?;
    if plan.open_ended {
        seal_so_far(dir, &plan.manifest)?;
    }
    Ok(())
}

/// The files of the finished parts, up to the first that is not.
pub(super) fn finished(dir: &Path, manifest: &Manifest) -> Vec<Vec<TableFile>> {
    let part = |index| match PartState::of(dir, manifest, index) {
        PartState::Done(files) => Some(files),
        PartState::Missing | PartState::Damaged(_) => None,
    };
    (0..MOST_PARTS).map_while(part).collect()
}

fn episodes(parts: &[Vec<TableFile>]) -> u32 {
    let of_part = |(index, files): (u32, &Vec<TableFile>)| -> usize {
        files.iter().filter(|file| file.path == part_path(EPISODES, index)).map(|file| file.rows).sum()
    };
    u32::try_from((0..).zip(parts).map(of_part).sum::<usize>()).unwrap_or(u32::MAX)
}

fn seal_so_far(dir: &Path, plan: &Manifest) -> Result<Option<Manifest>, TraceError> {
    let parts = finished(dir, plan);
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
