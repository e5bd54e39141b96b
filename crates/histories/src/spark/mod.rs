//! Event logs of Apache Spark: what an application ran, task by task.
//!
//! A driver with `spark.eventLog.enabled` writes a line of JSON for all that happens, and the history server shows it. [`read`] takes in such
//! a log in one pass: Spark 2.2 to 4.x and the variants of cloud providers, plain or compressed, one file or many. What it keeps is in
//! [`Application`]; what it does not know it skips.
//!
//! [`Application::queries`] makes the DAGs of it that were scheduled ([`DagJob`]), which is not what is written there: with adaptive
//! execution a query is several jobs, and stages stand in them again under other ids.
//!
//! Logs come from anywhere. Lines that cannot be read are counted and left out, a log that ends early or is damaged gives what comes before,
//! and [`SparkLog::notes`] and [`Rebuilding::notes`] say so.

mod block;
mod codec;
mod collect;
mod dag;
mod event;
mod files;
mod log;
mod order;
mod rebuild;
mod resolve;
mod tasks;
mod totals;
mod wave;
mod write;

use crate::{
    HistoryError,
    input::{Counted, STEP, shown},
    lines::{LONGEST, Line, Lines},
};
use collect::{Collector, MOST_TASKS};
use files::Log;
use std::{
    cell::Cell,
    fs::{self, File},
    path::Path,
};

pub use crate::input::Progress;
pub use dag::{DagJob, DagStage, Queries, Rebuilding, Run};
pub use log::{
    Application, Change, Executor, Job, JobResult, Locality, Malformed, Reading, SparkLog, SqlExecution, Stage, Task,
    TaskEnd,
};
pub use tasks::Tasks;
pub use totals::Totals;
pub use wave::{Wave, Waves};
pub use write::{Ran, RanJob, RanTask, write};

/// Reads the event log of an application, or a folder of them:
///
/// * a file, plain or compressed: `.zstd`, `.lz4`, `.snappy` as Spark writes them, or `.gz`;
/// * a folder `eventlog_v2_*` of a rolling log with `events_1_*`, `events_2_*`, ..;
/// * a folder with `eventlog-2024-08-13--18-10.gz`, .., `eventlog`, as Databricks rolls them;
/// * a folder with any of these: each is an application, or an attempt of one.
///
/// It takes some 14 bytes a task in memory, and up to 64 MiB for the longest line. `progress` is called every megabyte or so.
///
/// # Errors
///
/// A file or folder that cannot be read, is packed in a way that is not read (lzf), or has no event of Spark; of a folder of applications,
/// only if none can be used. Single lines are no error, nor is a log that is cut or damaged.
///
/// # Examples
///
/// ```
/// use sched_distill_histories::spark;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("local-1");
/// let lines = [
///     r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}"#,
///     r#"{"Event":"SparkListenerApplicationStart","App Name":"pi","App ID":"local-1","Timestamp":5,"User":"me"}"#,
///     r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6,"Stage IDs":[0],"Stage Infos":[]}"#,
/// ];
/// std::fs::write(&path, lines.join("\n"))?;
/// let log = spark::read(&path, &mut |_read, _of| {})?;
/// assert_eq!(log.applications[0].name.as_deref(), Some("pi"));
/// assert_eq!(log.notes(), ["\"local-1\": the log ends before the application did, with 1 jobs running"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, progress: &mut Progress<'_>) -> Result<SparkLog, HistoryError> {
    let found = files::find(path)?;
    let size_of =
        |log: &Log| log.files.iter().filter_map(|file| fs::metadata(file).ok()).map(|meta| meta.len()).sum::<u64>();
    let mut reader = Reader { read: Cell::new(0), told: 0, total: found.logs.iter().map(size_of).sum(), progress };
    let mut log = SparkLog { left_out: found.left_out, ..SparkLog::default() };
    let mut first_error = None;
    for part in &found.logs {
        match reader.application(part) {
            Ok(application) => log.applications.push(application),
            Err(error) if found.is_one => return Err(error),
            Err(error) => {
                log.left_out.push((part.path.clone(), chain(&error, &part.path)));
                first_error.get_or_insert(error);
            }
        }
    }
    (reader.progress)(reader.read.get(), reader.total.max(reader.read.get()));
    match log.applications.is_empty() {
        false => Ok(log),
        // Of one log among others it says best what is wrong with it.
        true => Err(first_error.filter(|_| log.left_out.len() == 1).unwrap_or_else(|| HistoryError::NoLogs {
            path: path.to_owned(),
            found: match log.left_out.first() {
                Some((file, reason)) => {
                    let n = log.left_out.len();
                    format!(
                        "is a folder in which none of {n} entries is an event log (the first: {}: {reason})",
                        file.display()
                    )
                }
                None => "is a folder without files".to_owned(),
            },
        })),
    }
}

/// Whether there is an event log at a path, or a folder with one among its first files, by what their first line says.
#[must_use]
pub fn is_log(path: &Path) -> bool {
    /// Files of a folder that are looked at.
    const LOOKED_AT: usize = 8;
    let begins_so = |path: &Path| {
        let file = File::open(path).ok()?;
        let mut lines = Lines::new(codec::unpacked(path, file).ok()?);
        match lines.next() {
            Ok(Some(Line::Whole(line, _))) => {
                let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
                Some(line.starts_with(br#"{"Event":"#) && event::read(line).is_ok())
            }
            _ => Some(false),
        }
    };
    let first = |log: &Log| log.files.first().and_then(|file| begins_so(file)).unwrap_or(false);
    files::find(path).is_ok_and(|found| found.logs.iter().take(LOOKED_AT).any(first))
}

/// An error with its causes, without the path that it begins with.
fn chain(error: &HistoryError, path: &Path) -> String {
    let mut text = error.to_string();
    if let Some(rest) = text.strip_prefix(&format!("{}: ", path.display())) {
        text = rest.to_owned();
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What reads logs and tells how far it is.
struct Reader<'a, 'p> {
    read: Cell<u64>,
    told: u64,
    total: u64,
    progress: &'a mut Progress<'p>,
}

impl Reader<'_, '_> {
    fn application(&mut self, log: &Log) -> Result<Application, HistoryError> {
        let mut collector = Collector::default();
        collector.application().reading.cuts.clone_from(&log.gaps);
        let mut first_line = None;
        for file in &log.files {
            collector.application().files.push(file.clone());
            if !collector.is_over {
                self.file(file, &mut collector, &mut first_line)?;
            }
        }
        let reading = &collector.application().reading;
        if reading.events == 0 {
            let cut = reading.cuts.first().map_or(String::new(), |cut| format!(" ({cut})"));
            let found = match (first_line, reading.lines) {
                (None, 0) if reading.bytes == 0 && reading.cuts.is_empty() => "is empty".to_owned(),
                (Some(first), n) => format!("has no event of Spark in {n} lines, of which the first is {first}"),
                (None, n) => format!("has no event of Spark in {n} lines{cut}"),
            };
            return Err(HistoryError::NoEvents { path: log.path.clone(), found });
        }
        Ok(collector.finish())
    }

    /// Reads a file to its end, or to where it is damaged.
    fn file(
        &mut self,
        path: &Path,
        collector: &mut Collector,
        first_line: &mut Option<String>,
    ) -> Result<(), HistoryError> {
        let file = File::open(path).map_err(|source| HistoryError::Io { path: path.to_owned(), source })?;
        let read = Cell::new(self.read.get());
        let mut lines = Lines::new(codec::unpacked(path, Counted { input: file, read: &read })?);
        let mut number = 0;
        loop {
            if read.get() - self.told >= STEP {
                self.told = read.get();
                (self.progress)(self.told.min(self.total), self.total);
            }
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    cut(collector, path, number, &error.to_string());
                    break;
                }
            };
            number += 1;
            match line {
                Line::Whole(line, ended) => {
                    collector.application().reading.bytes += line.len() as u64 + u64::from(ended);
                    take(line, ended, path, number, collector, first_line);
                }
                Line::TooLong(length) => {
                    collector.application().reading.bytes += length;
                    collector.application().reading.lines += 1;
                    malformed(collector, path, number, format!("has {length} bytes; at most {LONGEST} are read"));
                }
            }
            if collector.is_over {
                let problem =
                    format!("line {number}: another application begins, which is left out: give each its own file");
                collector.application().reading.cuts.push(format!("{}: {problem}", path.display()));
                break;
            }
            if collector.num_tasks() > MOST_TASKS {
                return Err(HistoryError::TooMuch { path: path.to_owned(), most: MOST_TASKS, what: "tasks" });
            }
        }
        self.read.set(read.get());
        Ok(())
    }
}

/// Takes in a line of a file.
fn take(
    line: &[u8],
    ended: bool,
    path: &Path,
    number: u64,
    collector: &mut Collector,
    first_line: &mut Option<String>,
) {
    let line = if number == 1 { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line }.trim_ascii();
    if line.is_empty() {
        return;
    }
    collector.application().reading.lines += 1;
    match event::read(line) {
        Ok(event) => {
            if collector.take(event) {
                collector.application().reading.events += 1;
            } else {
                first_line.get_or_insert_with(|| shown(line));
            }
        }
        Err(problem) => {
            first_line.get_or_insert_with(|| shown(line));
            if ended || collector.application().reading.events == 0 {
                malformed(collector, path, number, problem);
            } else {
                cut(collector, path, number - 1, "it ends within a line");
            }
        }
    }
}

fn malformed(collector: &mut Collector, path: &Path, line: u64, problem: String) {
    let reading = &mut collector.application().reading;
    reading.malformed += 1;
    reading.first_malformed.get_or_insert_with(|| Malformed { file: path.to_owned(), line, problem });
}

fn cut(collector: &mut Collector, path: &Path, lines: u64, problem: &str) {
    let text = format!("{}: is cut or damaged after line {lines}, and read up to there: {problem}", path.display());
    collector.application().reading.cuts.push(text);
}
