//! What an unfinished recording holds.

use std::{fs, path::Path};

use serde::Serialize;

use super::{
    error::{Problem, Problems, TraceError},
    manifest::{EPISODES, Manifest, PLAN, parse_json},
    open_ended::marked,
    parts::{PartState, part_path},
    reader::read_episodes,
    writer::RecordPlan,
};

/// A recording without manifest: what was planned, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unfinished {
    /// The manifest to be, without tables.
    pub plan: Manifest,
    /// Number of parts planned; where nobody knows how many come, of those that are there.
    pub parts: u32,
    /// Numbers of the parts that are done and sound.
    pub done: Vec<u32>,
    /// Numbers of the parts that have yet to be recorded.
    pub missing: Vec<u32>,
    /// Parts that were done but are damaged, and have to be recorded again.
    pub damaged: Vec<DamagedPart>,
    /// Numbers of the episodes in the parts that are done.
    pub episodes: Vec<u32>,
}

/// A part whose files are not what they were when it was finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DamagedPart {
    /// Number of the part.
    pub part: u32,
    /// The first thing that is wrong with it.
    pub problem: Problem,
}

impl Unfinished {
    /// Looks at all parts of the recording in `dir`.
    pub(super) fn read(dir: &Path) -> Result<Self, TraceError> {
        let path = dir.join(PLAN);
        let bytes = fs::read(&path).map_err(TraceError::io(&path, "read"))?;
        let RecordPlan { manifest: plan, mut parts, open_ended } = parse_json(&path, &bytes)?;
        if open_ended {
            parts = marked(dir)?;
        }
        let (mut done, mut missing, mut damaged, mut tables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in 0..parts {
            match PartState::of(dir, &plan, part) {
                PartState::Missing => missing.push(part),
                PartState::Damaged(problem) => damaged.push(DamagedPart { part, problem }),
                PartState::Done(files) => {
                    done.push(part);
                    tables.extend(files.into_iter().filter(|file| file.path == part_path(EPISODES, part)));
                }
            }
        }
        let mut problems = Problems::default();
        let rows = read_episodes(dir, &Manifest { tables, ..plan.clone() }, &mut problems);
        problems.into_result(dir)?;
        Ok(Self { plan, parts, done, missing, damaged, episodes: rows.iter().map(|row| row.episode).collect() })
    }
}
