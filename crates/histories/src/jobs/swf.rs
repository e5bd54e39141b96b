//! The Standard Workload Format of the Parallel Workloads Archive.
//!
//! Lines that begin with `;` are the header, all others have 18 numbers: job, submission, wait, run time, processors, CPU time, memory,
//! processors asked for, time asked for, memory asked for, status, user, group, application, queue, partition, job before it, think time. Times
//! are seconds since `UnixStartTime`, and -1 is unknown. A job that was stopped and went on later has a line as a whole, and more of status
//! 2 to 4 for its parts, which are left out.

use super::{
    columns::whole,
    log::{Builder, JobLog, Row, State},
    time::{Unit, number_ms},
};
use crate::{
    HistoryError,
    input::{Progress, Text},
};
use std::{cell::Cell, path::Path};

/// Numbers in a line.
const FIELDS: usize = 18;

const ADVICE: &str = "give a file of the Standard Workload Format, plain or packed with gzip";

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    let read = Cell::new(0);
    let mut text = Text::open(path, &read, progress)?;
    let mut builder = Builder::default();
    let mut start_ms = None;
    while let Some((at, line)) = text.next() {
        match line {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => match line.trim_start().strip_prefix(';') {
                Some(comment) => header(comment, &mut builder.log, &mut start_ms),
                None => match row(&line) {
                    Ok(row) => builder.take(row, at, path)?,
                    Err(problem) => builder.skip_shown(problem, at, &line),
                },
            },
            Err(problem) => builder.skip(&problem, at),
        }
    }
    builder.log.cut = text.cut;
    let mut log = builder.finish(path, "a line with 18 numbers", ADVICE)?;
    log.origin_ms += start_ms.unwrap_or(0);
    log.is_since_1970 = start_ms.is_some();
    Ok(log)
}

/// Takes in a line of the header, `Label: value`.
fn header(comment: &str, log: &mut JobLog, start_ms: &mut Option<i64>) {
    let Some((label, value)) = comment.split_once(':') else { return };
    // Remarks may follow the number.
    let number = value.split_whitespace().next().unwrap_or_default();
    let size = || number.parse().ok().filter(|&size| size > 0);
    match label.trim() {
        "MaxNodes" => log.cluster_nodes = log.cluster_nodes.or_else(size),
        "MaxProcs" => log.cluster_cpus = log.cluster_cpus.or_else(size),
        "UnixStartTime" => {
            *start_ms = start_ms.or_else(|| number_ms(number, Unit::Seconds).filter(|&ms| ms > 0));
        }
        _ => {}
    }
}

fn row(line: &str) -> Result<Row<'_>, &'static str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.len() != FIELDS {
        return Err("it has not 18 numbers");
    }
    if !fields.iter().all(|field| field.parse().is_ok_and(f64::is_finite)) {
        return Err("not all of it are numbers");
    }
    // From 1 on, as the format counts them.
    let field = |number: usize| fields.get(number - 1).copied().unwrap_or_default();
    let is_known = |number: &usize| !field(*number).starts_with('-');
    let time = |number| {
        let known = Some(number).filter(is_known);
        known.map(|number| number_ms(field(number), Unit::Seconds).ok_or("a time is too large")).transpose()
    };
    let count = |number| match Some(number).filter(is_known) {
        Some(number) => whole(field(number)).map(Some).ok_or("a number of processors is not whole or too large"),
        None => Ok(None),
    };
    let name = |number| if is_known(&number) { field(number) } else { "" };
    let state = match field(11) {
        "0" => State::Failed,
        "1" => State::Completed,
        "2" | "3" | "4" => return Err("it is a part of a job that has a line as a whole"),
        "5" => State::Killed,
        _ => State::Other,
    };
    let submit_ms = time(2)?.ok_or("it is not known when it was submitted")?;
    let duration_ms = time(4)?;
    let start_ms = time(3)?.map(|wait| submit_ms + wait);
    let asked = count(8)?;
    Ok(Row {
        id: field(1),
        submit_ms,
        start_ms,
        end_ms: start_ms.zip(duration_ms).map(|(start, duration)| start + duration),
        duration_ms,
        cpus: count(5)?.or(asked),
        user: name(12),
        queue: name(15),
        state,
        attempts: 1,
        ..Row::default()
    })
}

/// Does a text look like this format? Its first line that is no comment has 18 numbers.
pub(super) fn is_swf(lines: &[&str]) -> bool {
    let first = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty() && !line.starts_with(';'));
    first.is_some_and(|line| {
        let mut fields = line.split_whitespace();
        line.split_whitespace().count() == FIELDS && fields.all(|field| field.parse::<f64>().is_ok())
    })
}
