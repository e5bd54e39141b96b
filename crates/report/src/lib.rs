//! The explanation report: one page that a person can read, the charts as PNG, the numbers behind them as JSON.
//!
//! [`write_report`] draws from a run directory alone (`docs/run-directory.md`). Same files in, same bytes out. The page
//! loads nothing from anywhere, works from `file://`, without scripts, in light and dark and on paper. The reporter knows
//! levels, choices, students and schedules; it never simulates and never computes a figure that an evaluation should hold.

mod augmented;
mod closest;
mod coefficients;
mod decision;
mod departures;
mod dot_chart;
mod explanation_checks;
mod fidelity;
mod first_screen;
mod gaming;
mod glossary;
mod goal;
mod history;
mod holds_up;
mod lead;
mod learning_curve;
mod likeness;
mod line_chart;
mod live;
mod matters;
mod model_card;
mod outline;
mod output;
mod page;
mod plain;
mod rules;
mod run_checks;
mod run_dir;
mod scorecard;
mod size_front;
mod students;
mod summary;
mod svg;
mod tree;
mod what_if;
mod words;

pub use decision::{CandidateView, DecisionView};
pub use first_screen::RunVerdict;
pub use learning_curve::{CurvePoint, LearningCurve, learning_curve};
pub use page::decision_page;

use run_dir::RunDir;
use sched_distill_core::model::StudentError;
use sched_distill_judge::evaluator::VerdictGates;
use std::path::{Path, PathBuf};
use svg::Chart;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file of the run directory is not there.
    #[error("{}: no such file; `{command}` writes it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The command that makes it.
        command: &'static str,
    },
    /// A file of the run directory cannot be parsed.
    #[error("{}: not a valid file of a run directory; make it again with `{command}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The command that makes it.
        command: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A file of the run directory holds something that makes no sense.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where, what was found, what was expected.
        reason: String,
    },
    /// The student cannot be used.
    #[error("the student of the run cannot be loaded; make it again with `distill fit`")]
    Student {
        /// Why.
        #[source]
        source: Box<StudentError>,
    },
    /// A chart cannot be drawn.
    #[error("chart `{name}`: {reason}")]
    Chart {
        /// The chart's file name without ending.
        name: String,
        /// What the drawing library says.
        reason: String,
    },
    /// The page cannot be put together.
    #[error("the page cannot be put together")]
    Page {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file cannot be read or written.
    #[error("{}: cannot read or write", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// What [`write_report`] wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportSummary {
    /// The page.
    pub page: PathBuf,
    /// The model card.
    pub card: PathBuf,
    /// The charts, in the page's order.
    pub charts: Vec<PathBuf>,
    /// The numbers behind the charts and tables, in the page's order.
    pub data: Vec<PathBuf>,
    /// Size of the page in bytes.
    pub page_bytes: usize,
    /// May the student take the teacher's place?
    pub verdict: RunVerdict,
}

/// Writes the report of a run directory into `out`: `report.html`, `model_card.md`, `charts/*.png` and `data/*.json`.
///
/// Files of the same names are replaced, each in one step, the page last. Of a report that stood there before, charts and figures go
/// that its page names and this one has not; other files in `out` stay.
///
/// # Errors
///
/// [`ReportError`]: a file of the run directory is missing, malformed or makes no sense, or a file cannot be written.
pub fn write_report(run_dir: &Path, out: &Path) -> Result<ReportSummary, ReportError> {
    write_report_with(run_dir, out, &ReportParams::default())
}

/// What a report may be asked for besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportParams {
    /// What the student must keep to take the teacher's place.
    pub gates: VerdictGates,
    /// What the teacher is called on the page, for what the run directory calls it.
    pub teacher_name: Option<String>,
}

/// The same with other gates than the default ones, and another name for the teacher.
///
/// # Errors
///
/// As of [`write_report`].
pub fn write_report_with(run_dir: &Path, out: &Path, params: &ReportParams) -> Result<ReportSummary, ReportError> {
    let mut run = RunDir::load(run_dir)?;
    run.info = run.info.calling_it(params.teacher_name.as_deref());
    let report = page::compose(&run, params)?;
    output::write(&report, out)
}

/// A report in memory.
struct Report {
    html: String,
    card: String,
    charts: Vec<Chart>,
    verdict: RunVerdict,
    /// Numbers of tables without a picture of their own, by file stem.
    tables: Vec<(String, serde_json::Value)>,
}

/// Plain data as JSON for a chart's data file.
fn to_data<T: serde::Serialize + ?Sized>(name: &str, value: &T) -> Result<serde_json::Value, ReportError> {
    serde_json::to_value(value).map_err(|e| ReportError::Chart { name: name.to_owned(), reason: e.to_string() })
}
