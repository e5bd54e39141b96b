//! A workflow in WfFormat 1.5 of WfCommons.
//!
//! `workflow.specification` has the tasks and what each waits for, `workflow.execution` how long each ran. Each task is a [`Stage`] of one.

use super::{Dag, DagLog, Stage, order};
use crate::{
    HistoryError,
    input::{Progress, STEP, open, printable, unmarked},
    skips::Skips,
};
use serde::Deserialize;
use std::{
    cell::Cell,
    collections::HashMap,
    io::{BufReader, Read},
    path::Path,
};

const ADVICE: &str = "give an instance of WfCommons in WfFormat 1.5, as wfcommons/WfInstances has them; the tools of WfCommons convert others";

/// Longest time that a task can take, s.
const MOST_S: f64 = 1e12;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "schemaVersion")]
    version: Option<String>,
    workflow: Option<Workflow>,
}

#[derive(Deserialize)]
struct Workflow {
    specification: Option<Specification>,
    execution: Option<Execution>,
}

#[derive(Deserialize)]
struct Specification {
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    id: String,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(default)]
    tasks: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: String,
    #[serde(default, rename = "runtimeInSeconds")]
    runtime_s: Option<f64>,
    #[serde(default, rename = "coreCount")]
    cores: Option<f32>,
}

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<DagLog, HistoryError> {
    let refused = |place: String, found: String| HistoryError::OtherForm {
        path: path.to_owned(),
        place,
        found,
        allowed: "a workflow has `workflow.specification.tasks`, each with `id`, `parents` and `children`".to_owned(),
        advice: ADVICE.to_owned(),
    };
    let packed = Cell::new(0);
    let (input, total) = open(path, &packed)?;
    let input = unmarked(input);
    let input = BufReader::with_capacity(1 << 16, Told { input, packed: &packed, told: 0, total, progress });
    let file: File = serde_json::from_reader(input)
        .map_err(|error| refused(format!("line {}", error.line()), printable(&error.to_string())))?;
    progress(total, total);
    let workflow =
        file.workflow.ok_or_else(|| refused("the object".to_owned(), "there is no `workflow`".to_owned()))?;
    let Some(Specification { tasks }) = workflow.specification else {
        let version = file.version.map_or("without a version".to_owned(), |version| {
            format!("in version {}", crate::input::shown(version.as_bytes()))
        });
        return Err(refused(
            "`workflow`".to_owned(),
            format!("there is no `specification`; this is WfFormat {version}"),
        ));
    };
    let runs = workflow.execution.map(|execution| execution.tasks).unwrap_or_default();
    let runs: HashMap<&str, &Run> = runs.iter().map(|run| (&*run.id, run)).collect();
    let mut log = DagLog {
        cautions: vec!["when the workflow was submitted, and what else there was, is not in the file"],
        ..DagLog::default()
    };
    let mut skips = Skips::default();
    let (mut stages, mut places) = (Vec::new(), HashMap::new());
    for (at, task) in (1..).zip(&tasks) {
        if places.contains_key(&*task.id) {
            skips.skip("there is a task of this id already", at, &task.id);
            continue;
        }
        places.insert(&*task.id, stages.len() as u32);
        let run = runs.get(&*task.id);
        let runtime_s = run.and_then(|run| run.runtime_s).filter(|seconds| (0.0..MOST_S).contains(seconds));
        stages.push(Stage {
            name: task.id.as_str().into(),
            num_tasks: 1,
            duration_ms: runtime_s.map(|seconds| (1000.0 * seconds).round() as i64),
            start_ms: None,
            cores: run.and_then(|run| run.cores).filter(|cores| cores.is_finite() && *cores >= 0.0),
        });
    }
    if stages.is_empty() {
        return Err(refused("`workflow.specification.tasks`".to_owned(), "there is no task".to_owned()));
    }
    let mut edges = Vec::new();
    for task in &tasks {
        let parents = task.parents.iter().map(|parent| (parent, &task.id));
        for (parent, child) in parents.chain(task.children.iter().map(|child| (&task.id, child))) {
            match (places.get(&**parent), places.get(&**child)) {
                (Some(&parent), Some(&child)) => edges.push([parent, child]),
                _ => log.missing_parents += 1,
            }
        }
    }
    let is_complete = log.missing_parents == 0 && stages.iter().all(|stage| stage.duration_ms.is_some());
    let (stages, edges) = order::ordered(stages, edges).ok_or_else(|| {
        refused("`workflow.specification.tasks`".to_owned(), "tasks wait for each other in a circle".to_owned())
    })?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let id = file.name.as_deref().unwrap_or(&stem).into();
    log.dags.push(Dag { id, start_ms: None, stages, edges, is_complete });
    log.skipped = skips.skipped;
    Ok(log)
}

/// An input that tells how far it is.
struct Told<'a, 'p, R> {
    input: R,
    packed: &'a Cell<u64>,
    told: u64,
    total: u64,
    progress: &'a mut Progress<'p>,
}

impl<R: Read> Read for Told<'_, '_, R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.packed.get() - self.told >= STEP {
            self.told = self.packed.get();
            (self.progress)(self.told.min(self.total), self.total);
        }
        self.input.read(out)
    }
}
