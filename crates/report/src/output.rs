//! Writing a report: every file under a temporary name first, then renamed, the page last. What a report that stood there before
//! had beside its page, and this one has not, goes.

use super::{Report, ReportError, ReportSummary, svg};
use rayon::prelude::*;
use sched_distill_core::file::write_together;
use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
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
    let pictures: Vec<_> = report.charts.par_iter().map(|chart| svg::png(&chart.name, &chart.svg)).collect();
    for (chart, picture) in report.charts.iter().zip(pictures) {
        charts.push(out.join("charts").join(format!("{}.png", chart.name)));
        files.push((charts[charts.len() - 1].clone(), picture?));
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

    let mut stale = beside_the_page(out);
    for (path, _) in &files {
        stale.remove(path);
    }
    for folder in [out.join("charts"), out.join("data")] {
        fs::create_dir_all(&folder).map_err(|source| ReportError::Io { path: folder, source })?;
    }
    write_together(&files).map_err(|(path, source)| ReportError::Io { path, source })?;
    for path in stale {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => return Err(ReportError::Io { path, source }),
            _ => {}
        }
    }
    Ok(ReportSummary { page, card, charts, data, page_bytes: report.html.len(), verdict: report.verdict.clone() })
}

/// The charts and figures that the page in a folder names, if a report wrote that page: files of anybody else are not among them.
fn beside_the_page(out: &Path) -> BTreeSet<PathBuf> {
    let page = fs::read_to_string(out.join("report.html")).unwrap_or_default();
    if !page.contains("<meta name=\"generator\" content=\"sched-distill ") {
        return BTreeSet::new();
    }
    let of = |folder: &str, ending: &str| {
        let start = format!("href=\"{folder}/");
        let names = page.match_indices(&start).filter_map(|(at, _)| page[at + start.len()..].split('"').next());
        let plain = |name: &&str| {
            let stem = name.strip_suffix(ending).unwrap_or_default();
            !stem.is_empty() && stem.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
        };
        // A link leads to a folder of somebody else's.
        let own = out.join(folder).symlink_metadata().is_ok_and(|found| found.is_dir());
        names.filter(plain).filter(|_| own).map(|name| out.join(folder).join(name)).collect::<Vec<_>>()
    };
    of("charts", ".png").into_iter().chain(of("data", ".json")).collect()
}
