//! Published traces of jobs that are DAGs.
//!
//! [`read`] takes in a file in one pass, plain or packed with gzip, and gives its DAGs in one form, whatever the [`Format`]. [`recognise`] tells
//! the format by what stands in the file.

mod alibaba;
mod order;
mod shapes;
mod wfcommons;

use crate::{HistoryError, input};
use std::path::Path;

pub use crate::{input::Progress, skips::Skipped};

/// How DAGs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `batch_task.csv` of the Alibaba cluster trace of 2018.
    AlibabaTasks,
    /// A workflow in WfFormat 1.5 of WfCommons.
    WfCommons,
    /// DAGs without arrivals: a JSON object whose `jobs` are `[stages, edges]`, with stages `[instances, seconds]` and edges `[from, to]`.
    Shapes,
}

/// A stage of a DAG: tasks that do the same on parts of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// What it is called.
    pub name: Box<str>,
    /// Tasks that it has; at least 1.
    pub num_tasks: u32,
    /// How long one of its tasks takes; `None` if that is not known.
    pub duration_ms: Option<i64>,
    /// When its first task started, ms since the first start in the log.
    pub start_ms: Option<i64>,
    /// Cores that one of its tasks has.
    pub cores: Option<f32>,
}

/// A job of stages that wait for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Dag {
    /// What it is called.
    pub id: Box<str>,
    /// When its first stage started, ms since the first start in the log. When it was submitted is in none of these traces.
    pub start_ms: Option<i64>,
    /// In an order in which edges lead from earlier to later ones.
    pub stages: Vec<Stage>,
    /// `[parent, child]` by place in `stages`, sorted.
    pub edges: Vec<[u32; 2]>,
    /// Whether all durations are known, and all stages that others wait for.
    pub is_complete: bool,
}

/// The DAGs of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DagLog {
    /// By their start; those of the same one, or of none, in the order of the file.
    pub dags: Vec<Dag>,
    /// What was left out, by reason, in the order in which the reasons came up.
    pub skipped: Vec<Skipped>,
    /// Where the file is cut or damaged, if it is.
    pub cut: Option<String>,
    /// Edges from or to stages that are not in the file, which are left out.
    pub missing_parents: u64,
    /// DAGs that are left out as their stages wait for each other in a circle.
    pub circular: u64,
    /// What has to be taken with care.
    cautions: Vec<&'static str>,
}

impl DagLog {
    /// What is missing, and what was left out, each in a sentence.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.cut.clone());
        notes.extend(self.cautions.iter().map(|&caution| caution.to_owned()));
        let incomplete = self.dags.iter().filter(|dag| !dag.is_complete).count();
        if incomplete > 0 {
            let n = self.dags.len();
            notes.push(format!("{incomplete} of {n} DAGs have stages whose duration or whose parents are not known"));
        }
        if self.missing_parents > 0 {
            notes.push(format!(
                "{} edges are left out, as they come from or lead to stages that are not there",
                self.missing_parents
            ));
        }
        if self.circular > 0 {
            notes.push(format!("{} DAGs are left out, as their stages wait for each other in a circle", self.circular));
        }
        notes.extend(self.skipped.iter().map(Skipped::to_string));
        notes
    }
}

/// Reads the DAGs of a file. `progress` is called every megabyte or so.
///
/// # Errors
///
/// A file that cannot be read, is packed in another way than with gzip, is of another form, or has no DAG. Single rows are no error.
///
/// # Examples
///
/// ```
/// use sched_distill_histories::dags::{self, Format};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("batch_task.csv");
/// std::fs::write(&path, "R2_1,3,j_1,1,Terminated,20,50,100,0.2\nM1,8,j_1,1,Terminated,10,20,100,0.2\n")?;
/// let log = dags::read(&path, Format::AlibabaTasks, &mut |_read, _of| {})?;
/// let dag = &log.dags[0];
/// assert_eq!((&*dag.stages[0].name, &*dag.stages[1].name, &*dag.edges), ("M1", "R2_1", &[[0, 1]][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, format: Format, progress: &mut Progress<'_>) -> Result<DagLog, HistoryError> {
    match format {
        Format::AlibabaTasks => alibaba::read(path, progress),
        Format::WfCommons => wfcommons::read(path, progress),
        Format::Shapes => shapes::read(path, progress),
    }
}

/// The format of a file by its first bytes, unpacked, and by its name if that has more to say. [`recognise_file`] takes the bytes from a file.
#[must_use]
pub fn recognise(head: &[u8], name: &str) -> Option<Format> {
    let text = String::from_utf8_lossy(input::without_mark(head));
    match () {
        () if text.trim_start().starts_with('{')
            && text.contains("\"workflow\"")
            && (text.contains("\"schemaVersion\"") || text.contains("\"specification\"")) =>
        {
            Some(Format::WfCommons)
        }
        () if shapes::is_shapes(&text) => Some(Format::Shapes),
        () if alibaba::is_tasks(text.lines().next().unwrap_or_default()) => Some(Format::AlibabaTasks),
        // It is said best by the reader what is wrong with it.
        () if name.starts_with("batch_task") && name.contains(".csv") => Some(Format::AlibabaTasks),
        () => None,
    }
}

/// The format of a file.
///
/// # Errors
///
/// A file that cannot be read, or is packed in another way than with gzip.
pub fn recognise_file(path: &Path) -> Result<Option<Format>, HistoryError> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(recognise(&input::head(path)?, &name))
}
