//! What `sacct --parsable2` of Slurm prints.
//!
//! `sacct --allusers --parsable2 --format=JobIDRaw,User,Partition,State,Submit,Start,End,ElapsedRaw,ReqTRES,AllocTRES`, with these columns
//! and others in any order. Lines of steps (`123.batch`, `123.0`) are left out, an element of an array (`123_4`) is a job. Jobs that never
//! started or have not ended are left out, too: how long they run is not known.

use super::{
    columns::whole,
    log::{Builder, JobLog, Row, State},
    table::{self, Header},
    time::{Unit, calendar_ms, elapsed_ms, is_none, number_ms},
};
use crate::{
    HistoryError,
    input::{Progress, Text},
};
use std::{cell::Cell, path::Path};

const ADVICE: &str = "write it with `sacct --allusers --parsable2 --format=JobIDRaw,User,Partition,State,Submit,Start,End,ElapsedRaw,ReqTRES,AllocTRES`";

/// Columns without which there is no log, besides the id.
const TIMES: [&str; 3] = ["Submit", "Start", "End"];

/// Columns of the id.
const IDS: [&str; 2] = ["JobID", "JobIDRaw"];

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    let read = Cell::new(0);
    let mut text = Text::open(path, &read, progress)?;
    let header = Header::read(&mut text, '|', path, ADVICE)?;
    let id = match header.any(&IDS) {
        Some(id) => id,
        None => header.require("JobID", path, ADVICE)?,
    };
    let mut times = [0; 3];
    for (place, name) in times.iter_mut().zip(TIMES) {
        *place = header.require(name, path, ADVICE)?;
    }
    let places = Places {
        id,
        times,
        elapsed: header.any(&["Elapsed"]),
        elapsed_raw: header.any(&["ElapsedRaw"]),
        user: header.any(&["User", "UID"]),
        partition: header.any(&["Partition"]),
        state: header.any(&["State"]),
        resources: [header.any(&["AllocTRES"]), header.any(&["ReqTRES"])],
        cpus: ["AllocCPUS", "NCPUS", "ReqCPUS"].map(|name| header.any(&[name])),
        nodes: ["AllocNodes", "NNodes", "ReqNodes"].map(|name| header.any(&[name])),
        restarts: header.any(&["Restarts"]),
    };
    let mut builder = Builder::default();
    builder.log.is_since_1970 = true;
    builder
        .log
        .cautions
        .push("times have no zone, and are taken for UTC: where clocks were changed, an hour is lost or twice there");
    while let Some((at, line)) = text.next() {
        let line = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            Err(problem) => {
                builder.skip(&problem, at);
                continue;
            }
        };
        // sacct puts nothing in quotes: a quote is one of a name.
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() != header.len() {
            builder.skip_shown("it has not as many cells as the first line", at, &line);
            continue;
        }
        match places.row(&cells) {
            Ok(row) => builder.take(row, at, path)?,
            Err((problem, text)) => builder.skip_shown(problem, at, text),
        }
    }
    builder.log.cut = text.cut;
    let mut log =
        builder.finish(path, "a line with as many cells as the first, with the times of a job that ended", ADVICE)?;
    // Where `AccountingStorageTRES` does not name gres/gpu, no line does.
    if log.jobs.iter().all(|job| job.gpus == Some(0)) {
        log.jobs.iter_mut().for_each(|job| job.gpus = None);
        log.cautions.push("no job has gres/gpu: there were no GPUs, or Slurm was not told to account for them");
    }
    Ok(log)
}

/// Places of the columns.
struct Places {
    id: usize,
    times: [usize; 3],
    elapsed: Option<usize>,
    elapsed_raw: Option<usize>,
    user: Option<usize>,
    partition: Option<usize>,
    state: Option<usize>,
    /// What it was given, and what it asked for.
    resources: [Option<usize>; 2],
    cpus: [Option<usize>; 3],
    nodes: [Option<usize>; 3],
    restarts: Option<usize>,
}

impl Places {
    /// A line as a job; else what is wrong, and where.
    fn row<'c>(&self, cells: &[&'c str]) -> Result<Row<'c>, (&'static str, &'c str)> {
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        let text = |column: Option<usize>| column.map_or("", cell);
        let id = cell(self.id);
        if id.contains('.') {
            return Err(("it is a step of a job", id));
        }
        if id.is_empty() {
            return Err(("it has no id", id));
        }
        let time = |column: usize| match cell(column) {
            none if is_none(none) => Ok(None),
            text => calendar_ms(text).map(Some).ok_or(("a time is not written as YYYY-MM-DDTHH:MM:SS", text)),
        };
        let [submit, start, end] = self.times;
        let (submit_ms, start_ms, end_ms) = (time(submit)?, time(start)?, time(end)?);
        let submit_ms = submit_ms.ok_or(("it is not known when it was submitted", id))?;
        let elapsed_ms = match (text(self.elapsed_raw), text(self.elapsed)) {
            ("", elapsed) if is_none(elapsed) => None,
            ("", elapsed) => Some(elapsed_ms(elapsed).ok_or(("`Elapsed` is not written as [days-]hh:mm:ss", elapsed))?),
            (raw, _) if is_none(raw) => None,
            (raw, _) => Some(number_ms(raw, Unit::Seconds).ok_or(("`ElapsedRaw` is no number of seconds", raw))?),
        };
        // What passed so far says nothing of a job that goes on.
        let duration_ms = start_ms.zip(end_ms).map(|(start, end)| elapsed_ms.unwrap_or(end - start));
        let resources = self.resources.map(text).into_iter().find(|text| !is_none(text)).map(resources);
        let resources = resources.transpose()?.unwrap_or_default();
        // 0 of a column is nothing that was given.
        let first = |columns: [Option<usize>; 3]| {
            columns.into_iter().filter_map(|column| whole(text(column))).find(|&count| count > 0)
        };
        Ok(Row {
            id,
            submit_ms,
            start_ms,
            end_ms,
            duration_ms,
            gpus: resources.gpus.or_else(|| self.resources.iter().any(Option::is_some).then_some(0)),
            cpus: resources.cpus.or_else(|| first(self.cpus)),
            nodes: resources.nodes.or_else(|| first(self.nodes)),
            user: text(self.user),
            queue: text(self.partition),
            state: State::of(text(self.state)),
            attempts: whole(text(self.restarts)).unwrap_or(0).saturating_add(1),
            ..Row::default()
        })
    }
}

/// What a job had of trackable resources.
#[derive(Clone, Copy, Default)]
struct Resources {
    gpus: Option<u32>,
    cpus: Option<u32>,
    nodes: Option<u32>,
}

/// `cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=16G,node=1`. GPUs of a type are among `gres/gpu` where that stands, too.
fn resources(text: &str) -> Result<Resources, (&'static str, &str)> {
    let mut found = Resources::default();
    let mut typed: Option<u32> = None;
    for part in text.split(',') {
        let count = |value| whole(value).map(Some).ok_or(("a count of AllocTRES or ReqTRES is no number", text));
        match part.split_once('=') {
            Some(("cpu", value)) => found.cpus = count(value)?,
            Some(("node", value)) => found.nodes = count(value)?,
            Some(("gres/gpu", value)) => found.gpus = count(value)?,
            Some((name, value)) if name.starts_with("gres/gpu:") => {
                typed = count(value)?.map(|count| typed.unwrap_or(0).saturating_add(count));
            }
            Some(_) => {}
            None => return Err(("AllocTRES or ReqTRES is not written as name=count,..", text)),
        }
    }
    found.gpus = found.gpus.or(typed);
    Ok(found)
}

/// Does a header look like one of sacct?
pub(super) fn is_sacct(header: &str) -> bool {
    let names = table::cells(header, '|').unwrap_or_default();
    let has = |name: &str| names.iter().any(|column| column.eq_ignore_ascii_case(name));
    IDS.iter().any(|id| has(id)) && TIMES.iter().all(|time| has(time))
}
