//! `batch_task.csv` of the Alibaba cluster trace of 2018.
//!
//! A line per task of a job, without a header: name, instances, job, type, status, start and end in seconds, cores in hundredths, memory. What
//! is a task there is a [`Stage`] here, and an instance a task of it. A name tells what a task waits for: `R4_2` is number 4 and waits for
//! number 2. Others, as `task_` with a code, wait for nothing. Letters mean nothing.
//!
//! How long an instance runs is not in this file: from start to end of the task is taken for it, which is longer if its instances did not all
//! run at once.

use super::{Dag, DagLog, Stage, order};
use crate::{
    HistoryError,
    input::{Progress, Text},
    jobs::{Unit, columns::whole, table::cells, time::number_ms},
    skips::Skips,
};
use std::{
    borrow::Cow,
    cell::Cell,
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

/// Cells of a line.
const CELLS: usize = 9;

/// Tasks that are held at most.
const MOST_TASKS: usize = 50_000_000;

const ADVICE: &str =
    "give the file `batch_task.csv` of the trace of 2018 (cluster-trace-v2018), plain or packed with gzip";

/// A line.
struct Task {
    job: u32,
    name: Box<str>,
    instances: u32,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    cores: Option<f32>,
    at: u64,
}

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<DagLog, HistoryError> {
    let read = Cell::new(0);
    let mut text = Text::open(path, &read, progress)?;
    let (mut skips, mut tasks) = (Skips::default(), Vec::new());
    let (mut numbers, mut names) = (HashMap::<Arc<str>, u32>::new(), Vec::<Arc<str>>::new());
    while let Some((at, line)) = text.next() {
        let line = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            Err(problem) => {
                skips.skip(&problem, at, "");
                continue;
            }
        };
        let cells = match cells(&line, ',') {
            Ok(cells) => cells,
            Err(problem) => {
                skips.skip(problem, at, &line);
                continue;
            }
        };
        if at == 1 {
            refuse(cells.len(), path)?;
        }
        match task(&cells, at) {
            Ok((task, job)) => {
                if tasks.len() >= MOST_TASKS {
                    return Err(HistoryError::TooMuch { path: path.to_owned(), most: MOST_TASKS, what: "tasks" });
                }
                let job = match numbers.get(job) {
                    Some(&job) => job,
                    None => {
                        let (name, number) = (Arc::<str>::from(job), names.len() as u32);
                        names.push(name.clone());
                        numbers.insert(name, number);
                        number
                    }
                };
                tasks.push(Task { job, ..task });
            }
            Err(problem) => skips.skip(problem, at, &line),
        }
    }
    drop(numbers);
    let mut log = DagLog { cut: text.cut, ..DagLog::default() };
    // Lines of a job need not stand together.
    tasks.sort_by_key(|task| task.job);
    for tasks in tasks.chunk_by(|a, b| a.job == b.job) {
        let name = tasks.first().and_then(|task| names.get(task.job as usize)).map_or("", |name| name);
        match dag(name, tasks, &mut skips, &mut log.missing_parents) {
            Some(dag) => log.dags.push(dag),
            None => log.circular += 1,
        }
    }
    if log.dags.is_empty() {
        return Err(skips.nothing(path, log.cut.as_deref(), "a task of a job with 9 cells", ADVICE));
    }
    let origin = log.dags.iter().filter_map(|dag| dag.start_ms).min().unwrap_or(0);
    for dag in &mut log.dags {
        let times = dag.stages.iter_mut().map(|stage| &mut stage.start_ms);
        times.chain([&mut dag.start_ms]).flatten().for_each(|time| *time -= origin);
    }
    log.dags.sort_by_key(|dag| dag.start_ms.unwrap_or(i64::MAX));
    log.skipped = skips.skipped;
    log.cautions = vec![
        "when jobs were submitted is not in the trace: their first task starts some time later",
        "durations are those of whole tasks of the trace, in seconds, and not shorter than those of their instances",
    ];
    Ok(log)
}

/// Refuses files that have another count of columns.
fn refuse(count: usize, path: &Path) -> Result<(), HistoryError> {
    let found = match count {
        8 => "a line has 8 cells, as in the trace of 2017, which tells nothing of what tasks wait for",
        14 => "a line has 14 cells, as in `batch_instance.csv`, which has instances instead of tasks",
        _ => return Ok(()),
    };
    Err(HistoryError::OtherForm {
        path: path.to_owned(),
        place: "line 1".to_owned(),
        found: found.to_owned(),
        allowed: format!("a line has {CELLS} cells"),
        advice: ADVICE.to_owned(),
    })
}

/// A line as a task, and its job; else what is wrong with it.
fn task<'c>(cells: &'c [Cow<'_, str>], at: u64) -> Result<(Task, &'c str), &'static str> {
    let [name, instances, job, _, _, start, end, cores, _] = cells else {
        return Err("it has not 9 cells");
    };
    let (name, job) = (name.trim(), job.trim());
    if name.is_empty() || job.is_empty() {
        return Err("it has no name or no job");
    }
    let instances = whole(instances).filter(|&count| count > 0).ok_or("its instances are no whole number from 1 on")?;
    // 0 stands for what did not happen.
    let time = |text: &str| match text.trim() {
        "" => Ok(None),
        text => number_ms(text, Unit::Seconds).map(|ms| Some(ms).filter(|&ms| ms > 0)).ok_or("a time is no number"),
    };
    let (start_ms, end_ms) = (time(start)?, time(end)?);
    if start_ms.zip(end_ms).is_some_and(|(start, end)| end < start) {
        return Err("it ends before it starts");
    }
    let cores = match cores.trim() {
        "" => None,
        text => {
            Some(text.parse::<f32>().ok().filter(|cores| (0.0..1e9).contains(cores)).ok_or("its cores are no number")?)
        }
    };
    let cores = cores.map(|hundredths| hundredths / 100.0);
    Ok((Task { job: 0, name: name.into(), instances, start_ms, end_ms, cores, at }, job))
}

/// The number of a task, and those that it waits for; `None` if its name has none.
fn number(name: &str) -> Option<(u32, Vec<u32>)> {
    let mut parts = name.split('_');
    let first = parts.next()?;
    let digits = first.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    if digits.len() == first.len() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Other parts are remarks.
    Some((digits.parse().ok()?, parts.filter_map(|part| part.parse().ok()).collect()))
}

/// The DAG of the tasks of a job; `None` if they wait for each other in a circle.
fn dag(name: &str, tasks: &[Task], skips: &mut Skips, missing: &mut u64) -> Option<Dag> {
    let (mut stages, mut waits, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new());
    for task in tasks {
        let place = stages.len() as u32;
        if let Some((number, parents)) = number(&task.name) {
            if numbers.contains_key(&number) {
                skips.skip("its job has a task of this number already", task.at, &task.name);
                continue;
            }
            numbers.insert(number, place);
            waits.extend(parents.into_iter().map(|parent| (parent, place)));
        }
        stages.push(Stage {
            name: task.name.clone(),
            num_tasks: task.instances,
            duration_ms: task.start_ms.zip(task.end_ms).map(|(start, end)| end - start),
            start_ms: task.start_ms,
            cores: task.cores,
        });
    }
    let mut edges = Vec::new();
    let mut is_complete = stages.iter().all(|stage| stage.duration_ms.is_some());
    for (parent, child) in waits {
        match numbers.get(&parent) {
            Some(&parent) => edges.push([parent, child]),
            None => {
                *missing += 1;
                is_complete = false;
            }
        }
    }
    let (stages, edges) = order::ordered(stages, edges)?;
    let start_ms = stages.iter().filter_map(|stage| stage.start_ms).min();
    Some(Dag { id: name.into(), start_ms, stages, edges, is_complete })
}

/// Does a line look like one of this file?
pub(super) fn is_tasks(line: &str) -> bool {
    cells(line, ',').is_ok_and(|cells| {
        let is_whole = |place: usize| cells.get(place).is_some_and(|cell| whole(cell).is_some());
        cells.len() == CELLS && [1, 3, 5, 6].into_iter().all(is_whole) && task(&cells, 1).is_ok()
    })
}
