//! DAGs without arrivals, in one JSON file: `jobs` is an array of `[stages, edges]`, a stage is `[instances, seconds]`, an edge `[from, to]`.
//!
//! Other fields, as `columns`, say for people what stands where.

use super::{Dag, DagLog, Stage, order};
use crate::{
    HistoryError,
    input::{Progress, open, printable, unmarked},
    skips::Skips,
};
use serde::Deserialize;
use std::{cell::Cell, io::BufReader, path::Path};

const ALLOWED: &str = "[stages, edges] of a DAG: stages are [instances, seconds] with 1 to 4294967295 instances and up to 1e12 s, edges [from, to] \
                       with numbers of stages from 0 on that make no circle";

const ADVICE: &str = "give a JSON file `{\"jobs\": [[[[1, 2.5], [8, 1]], [[0, 1]]]]}`, plain or packed with gzip";

/// Longest time that a stage can take, s.
const MOST_S: f64 = 1e12;

#[derive(Deserialize)]
struct File {
    jobs: Vec<Job>,
}

/// Stages and edges.
#[derive(Deserialize)]
struct Job(Vec<(u64, f64)>, Vec<[u32; 2]>);

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<DagLog, HistoryError> {
    let read = Cell::new(0);
    let (input, total) = open(path, &read)?;
    let parsed: Result<File, _> = serde_json::from_reader(BufReader::with_capacity(1 << 16, unmarked(input)));
    let file = parsed.map_err(|error| HistoryError::OtherForm {
        path: path.to_owned(),
        place: format!("line {}, column {}", error.line(), error.column()),
        found: printable(&error.to_string()),
        allowed: ALLOWED.to_owned(),
        advice: ADVICE.to_owned(),
    })?;
    progress(total, total);
    let (mut log, mut skips) = (DagLog::default(), Skips::default());
    for (at, Job(stages, edges)) in (1..).zip(file.jobs) {
        match dag(at, &stages, edges) {
            Ok(dag) => log.dags.push(dag),
            Err(problem) => skips.skip(problem, at, ""),
        }
    }
    if log.dags.is_empty() {
        return Err(skips.none(path, None, "DAG", ALLOWED, ADVICE));
    }
    log.skipped = skips.skipped;
    Ok(log)
}

/// The DAG at this place, from 1 on; else what is wrong with it.
fn dag(at: u64, stages: &[(u64, f64)], edges: Vec<[u32; 2]>) -> Result<Dag, &'static str> {
    let stage = |(place, &(instances, seconds)): (usize, &(u64, f64))| {
        let num_tasks =
            u32::try_from(instances).ok().filter(|&n| n > 0).ok_or("a stage has no instance, or too many")?;
        if !(0.0..=MOST_S).contains(&seconds) {
            return Err("a stage takes a time that is not in 0..=1e12 s");
        }
        let duration_ms = Some((1000.0 * seconds).round() as i64);
        Ok(Stage { name: place.to_string().into(), num_tasks, duration_ms, start_ms: None, cores: None })
    };
    let stages: Vec<Stage> = stages.iter().enumerate().map(stage).collect::<Result<_, _>>()?;
    match stages.len() as u64 {
        0 => return Err("it has no stage"),
        n if edges.iter().flatten().any(|&end| u64::from(end) >= n) => {
            return Err("an edge names a stage that is not there");
        }
        _ => {}
    }
    let (stages, edges) = order::ordered(stages, edges).ok_or("its stages wait for each other in a circle")?;
    Ok(Dag { id: format!("dag-{at}").into(), start_ms: None, stages, edges, is_complete: true })
}

/// Does a file begin like one of these?
pub(super) fn is_shapes(text: &str) -> bool {
    let behind = text.trim_start().strip_prefix('{').and_then(|text| Some(text.split_once("\"jobs\"")?.1));
    let begin = |text: &str| text.chars().filter(|char| !char.is_whitespace()).take(4).collect::<String>();
    behind.is_some_and(|text| begin(text) == ":[[[")
}
