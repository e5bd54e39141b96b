//! `distill report`: one HTML file, a model card and PNGs from a run directory.

use super::{
    Verdict,
    files::{check_folder, shown},
    output::Output,
};
use crate::report::write_report;
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Write the explanation report of a run directory: one self-contained HTML file, a model card, and PNGs beside them
#[derive(Args)]
#[command(
    after_help = "Example:\n  distill report runs/demo -o reports/demo\n\nA run directory (docs/run-directory.md) is what \
`distill demo` leaves behind."
)]
pub(super) struct ReportArgs {
    /// Run directory
    run: PathBuf,
    /// Directory to write the report to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &ReportArgs, output: &mut Output) -> Result<Verdict> {
    check_folder(&args.output)?;
    let summary = write_report(&args.run, &args.output)?;
    output.text(summary.page.display())?;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect::<Vec<_>>();
    output.json(
        "report",
        &json!({"page": shown(&summary.page), "card": shown(&summary.card), "charts": all(&summary.charts),
                "data": all(&summary.data)}),
    )?;
    Ok(Verdict::Done)
}
