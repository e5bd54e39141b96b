//! Workflows of WfCommons: a file, or a folder of files, each of which has one.

use super::{
    DagWorkload, JobTemplate,
    traces::{self, Pool, Templates},
};
use sched_distill_core::{spec::Spec, workload::WorkloadError};
use sched_distill_histories::dags::Format;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Files of a folder that are looked at to tell what it has.
const LOOKED_AT: usize = 8;

/// Opens `wfcommons:PATH`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require("PATH", "a workflow of WfCommons, or a folder of them")?;
    traces::open(spec, |warmup_ms| read(path, warmup_ms), |_, job| kind(job).to_owned())
}

/// Repeats of a workflow are of one kind: `blast-small-001` and `blast-small-002`.
fn kind(job: &JobTemplate) -> &str {
    let name = job.graph().name();
    match name.rsplit_once('-') {
        Some((kind, number)) if !kind.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => name,
    }
}

/// The name of a file without what says of which type it is.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".json").unwrap_or(name).to_owned()
}

/// The files of a folder, by name, or the file itself.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let all: io::Result<Vec<PathBuf>> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect();
    let mut all = all?;
    all.retain(|path| path.is_file());
    all.sort_unstable();
    Ok(all)
}

fn read(path: &Path, warmup_ms: f64) -> Result<Pool, WorkloadError> {
    let all = files(path).map_err(|source| WorkloadError::Io { path: path.to_owned(), source })?;
    let count = all.len();
    // A file that was named is read whatever it is: the reader says best what is wrong with it.
    let files: Vec<PathBuf> =
        all.into_iter().filter(|file| file == path || traces::is(file, Format::WfCommons)).collect();
    if files.is_empty() {
        let problem = format!(
            "has {count} files, none of which is a workflow in WfFormat 1.5; give a workflow of WfCommons, or a folder with some"
        );
        return Err(WorkloadError::Format { path: path.to_owned(), problem });
    }
    // Run times are in fractions of a second, so that none is too short.
    let (mut templates, mut jobs, mut notes) = (Templates::new(0.0, warmup_ms), Vec::new(), Vec::new());
    for file in &files {
        let log = traces::read(file, Format::WfCommons)?;
        for dag in &log.dags {
            jobs.extend(templates.template(file, &stem(file), dag)?.map(Arc::new));
        }
        // What holds for every one of them is said below.
        notes.extend(log.skipped.iter().map(|skipped| format!("{}: {skipped}", stem(file))));
        if log.missing_parents > 0 {
            let lost = log.missing_parents;
            notes.push(format!(
                "{}: {lost} edges are left out, as they come from or lead to tasks that are not there",
                stem(file)
            ));
        }
    }
    if files.len() < count {
        notes.push(format!("{} of {count} files are no workflows, and are left out", count - files.len()));
    }
    notes.extend(templates.notes());
    notes.push("every task is a stage of its own, and runs on one executor, however many cores it had".to_owned());
    Ok(Pool { what: "workflows", jobs, files, notes })
}

/// Whether a file is a workflow, or one of the first of a folder is.
pub(super) fn reads(path: &Path) -> bool {
    files(path).is_ok_and(|files| files.iter().take(LOOKED_AT).any(|file| traces::is(file, Format::WfCommons)))
}
