//! Which log does a spec name, and how is it written?

use super::{Cut, Log, Table, WorkloadError, note_reading};
use crate::spec::{Args, Spec, SpecError};
use sched_distill_histories::{
    HistoryError,
    jobs::{self, Columns, Deadline, Format, Times, Unit},
};
use std::path::{Path, PathBuf};

/// A log as a spec names it.
#[derive(Clone, Debug)]
pub struct LogSpec {
    path: PathBuf,
    format: Format,
    queue: Option<String>,
    cut: Cut,
    /// Whether it is the flat table of Philly.
    is_flat: bool,
    /// Whether nothing is said of how it is cut, nor how large its cluster was.
    is_whole: bool,
}

/// Parameters of a log as a history: those that cut it by time, the first of which also says that it is not cut, and how large its cluster
/// was.
const OF_HISTORY: [&str; 6] = ["split", "window", "stride", "gap", "rate", "size"];

impl LogSpec {
    /// The log of a spec whose name says its format, `philly:FILE`, `helios:FILE`, `swf:FILE`, `sacct:FILE`, `chronus:FILE` or `csv:FILE`, with
    /// `vc=NAME`, for one queue, and how it is cut ([`Cut::of_log`]).
    ///
    /// # Errors
    ///
    /// No file, one of `philly` that cannot be read, or a parameter that is not allowed.
    pub fn from_args(spec: &Spec, args: &mut Args<'_>) -> Result<Self, WorkloadError> {
        let path = spec.require_file("the log of a cluster, docs/histories.md")?.to_owned();
        let is_flat = spec.name == "philly" && !is_log_of_philly(&path)?;
        let format = match &*spec.name {
            "philly" if is_flat => Format::Columns(Box::new(flat())),
            "philly" => Format::Philly,
            "helios" => Format::Helios,
            "swf" => Format::Swf,
            "sacct" => Format::Sacct,
            "chronus" => Format::Chronus,
            _ => Format::Columns(Box::new(columns(args)?)),
        };
        let queue = args.text("vc");
        let is_whole = OF_HISTORY.iter().all(|key| !spec.params.contains_key(*key));
        Ok(Self { path, format, queue, cut: Cut::of_log(args)?, is_flat, is_whole })
    }

    /// Whether what stands in a file is a log of the format that workloads of this name read; of tables only that of Philly is known.
    #[must_use]
    pub fn reads(name: &str, path: &Path) -> bool {
        let found = path.is_file().then(|| jobs::recognise_file(path).ok().flatten()).flatten();
        let format = match found {
            Some(Format::Philly) => "philly",
            Some(Format::Helios) => "helios",
            Some(Format::Swf) => "swf",
            Some(Format::Sacct) => "sacct",
            Some(Format::Chronus) => "chronus",
            None if path.is_file() && Table::has_columns(path, &["submit_s", "duration_s", "num_gpus", "vc"]) => {
                "philly"
            }
            _ => return false,
        };
        format == name
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is cut.
    #[must_use]
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// Whether it is that table, and the spec does not cut it: its episodes are drawn then ([`super::RecordedJobs`]).
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.is_flat && self.is_whole
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or has no job that can be used; no job of that queue.
    pub fn read(&self) -> Result<Log, WorkloadError> {
        let log = jobs::read(&self.path, &self.format, &mut note_reading);
        // Also where it could not be read to its end.
        note_reading(0, 0);
        let log = log.map_err(history)?;
        Log::new(log, &self.path, self.queue.as_deref())
    }
}

fn history(error: HistoryError) -> WorkloadError {
    match error {
        HistoryError::Io { path, source } => WorkloadError::Io { path, source },
        error => WorkloadError::History(Box::new(error)),
    }
}

/// Whether a file is the published log, a JSON array, and not the flat table made of it.
fn is_log_of_philly(path: &Path) -> Result<bool, WorkloadError> {
    Ok(jobs::recognise_file(path).map_err(history)? == Some(Format::Philly))
}

/// The flat table of Philly.
fn flat() -> Columns {
    let name = |name: &str| Some(name.to_owned());
    Columns {
        gpus: name("num_gpus"),
        queue: name("vc"),
        ..Columns::new("submit_s", "duration_s", Times::Since(Unit::Seconds), Unit::Seconds)
    }
}

/// The columns of `csv:FILE`.
fn columns(args: &mut Args<'_>) -> Result<Columns, SpecError> {
    let Some(submit) = args.text("submit") else {
        return Err(args.conflict("submit", "", "the name of the column that says when jobs were submitted"));
    };
    let [start, end, duration] = ["start", "end", "duration"].map(|key| args.text(key));
    let [gpus, cpus, user, queue] = ["gpus", "cpus", "user", "queue"].map(|key| args.text(key));
    let deadline = match ["deadline", "within"].map(|key| args.text(key)) {
        [Some(_), Some(within)] => return Err(args.conflict("within", &within, "left out with deadline=COLUMN")),
        [at, after] => at.map(Deadline::At).or(after.map(Deadline::After)),
    };
    let time = args.word("time", &["s", "ms", "min", "h", "date"])?;
    let unit = args.word("unit", &["", "s", "ms", "min", "h"])?;
    // Words that are allowed are units, but for the calendar and what is not said.
    let unit_of = |word: &str| word.parse().unwrap_or(Unit::Seconds);
    let times = if time == "date" { Times::Calendar } else { Times::Since(unit_of(time)) };
    let unit = unit_of(if unit.is_empty() { time } else { unit });
    if duration.is_none() && (start.is_none() || end.is_none()) {
        let advice = "the name of the column that says how long jobs ran, or `start` and `end` those of when they did";
        return Err(args.conflict("duration", "", advice));
    }
    Ok(Columns { start, end, duration, gpus, cpus, user, queue, deadline, ..Columns::new(&submit, "", times, unit) })
}
