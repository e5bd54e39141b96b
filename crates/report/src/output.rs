//! Writing a report: every file under a temporary name first, then renamed, the page last.

use super::{Report, ReportError, ReportSummary, svg};
use sched_distill_core::file::write_together;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Writes page, model card, charts and data into `out`.
///
/// # Errors
///
/// [`ReportError::Chart`] if a picture cannot be drawn as PNG, [`ReportError::Io`] if a file cannot be written. Nothing is
/// renamed before everything is drawn and written.
pub(super) fn write(report: &Report, out: &Path) -> Result<ReportSummary, ReportError> {
    let mut charts = Vec::new();
    let mut data = Vec::new();
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for chart in &report.charts {
        charts.push(out.join("charts").join(format!("{}.png", chart.name)));
        files.push((charts[charts.len() - 1].clone(), svg::png(&chart.name, &chart.svg)?));
    }
    let tables = report.tables.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in report.charts.iter().map(|c| (c.name.as_str(), &c.data)).chain(tables) {
        let mut text = serde_json::to_vec_pretty(value)
            .map_err(|e| ReportError::Chart { name: name.to_owned(), reason: e.to_string() })?;
        text.push(b'\n');
        data.push(out.join("data").join(format!("{name}.json")));
        files.push((data[data.len() - 1].clone(), text));
    }
    let card = out.join("model_card.md");
    files.push((card.clone(), report.card.clone().into_bytes()));
    let page = out.join("report.html");
    files.push((page.clone(), report.html.clone().into_bytes()));

    for folder in [out.join("charts"), out.join("data")] {
        fs::create_dir_all(&folder).map_err(|source| ReportError::Io { path: folder, source })?;
    }
    write_together(&files).map_err(|(path, source)| ReportError::Io { path, source })?;
    Ok(ReportSummary { page, card, charts, data, page_bytes: report.html.len(), verdict: report.verdict.clone() })
}
