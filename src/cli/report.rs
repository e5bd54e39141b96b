//! `distill report`: one HTML file, a model card and PNGs from a run directory.

use super::{
    common::{Common, Verdict},
    files::{check_folder, shown},
    inputs::Inputs,
    output::Output,
    progress::Watched,
};
use crate::{
    evaluator::VerdictGates,
    model::Student,
    pipeline::{Compared, Measurements, RunDir, beside, write_compared},
    report::{ReportParams, write_report_with},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Write the report of a run directory: one HTML page, and a model card
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill report runs/demo -o reports/demo\n  \
distill report runs/demo -o reports/demo --with runs/demo/augmented/student.json",
    after_long_help = "Examples:\n  distill report runs/demo -o reports/demo\n  \
distill report runs/demo -o reports/demo --with runs/demo/augmented/student.json\n  \
distill report runs/demo -o reports/demo --gate teacher=1.03 --gate elsewhere=1.2\n\n\
A run directory (docs/run-directory.md) is what `distill demo` leaves behind, and what `fit`, `evaluate` and `explain` write \
to with --run. The charts of the page lie beside it as PNGs, the figures as JSON."
)]
pub(super) struct ReportArgs {
    /// Run directory
    #[arg(help_heading = "Input")]
    run: PathBuf,
    /// Directory to write the report to
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Another student to compare with, repeatable
    ///
    /// It is measured on the episodes of the run, and what was measured is kept in the run directory.
    #[arg(long = "with", value_name = "STUDENT", help_heading = "Input")]
    others: Vec<PathBuf>,
    /// Trace to measure the fidelity of other students on [default: RUN/traces/test]
    #[arg(long, value_name = "TRACE", requires = "others", help_heading = "Input")]
    trace: Option<PathBuf>,
    /// Limit of a gate of the verdict, e.g. teacher=1.02, repeatable; fails if it is not kept
    ///
    /// The worst that the objective may be: `teacher`, against the teacher's with the whole interval (by default 5 % worse);
    /// `heuristic`, against that of the best heuristic (no worse); `elsewhere`, against the teacher's on other workloads (25 %
    /// worse). The report is written in any case; the exit code is 1 if a gate that is named is not kept or not measured.
    #[arg(long = "gate", value_name = "NAME=LIMIT", help_heading = "Output")]
    gates: Vec<String>,
    /// What the teacher is called on the page [default: the name that the run gives it, or its file's]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    teacher_name: Option<String>,
}

impl ReportArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().run_directory(&self.run).students(&self.others).traces(&self.trace)
    }
}

pub(super) fn run(args: &ReportArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    check_folder(&args.output)?;
    let mut gates = VerdictGates::default();
    for gate in &args.gates {
        gates = gates.with(gate).map_err(|reason| anyhow::anyhow!("--gate: {reason}"))?;
    }
    compare(args, common, output)?;
    let summary =
        write_report_with(&args.run, &args.output, &ReportParams { gates, teacher_name: args.teacher_name.clone() })?;
    output.text(&summary.verdict.text)?;
    output.text(summary.page.display())?;
    let named = args.gates.iter().filter_map(|gate| gate.split('=').next()).map(str::trim);
    let missed: Vec<&str> = named.filter(|name| summary.verdict.missed.contains(name)).collect();
    missed.iter().try_for_each(|name| output.text(format!("gate failed: {name}")))?;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect::<Vec<_>>();
    output.json(
        "report",
        &json!({"page": shown(&summary.page), "card": shown(&summary.card), "charts": all(&summary.charts),
                "data": all(&summary.data), "verdict": summary.verdict.text, "advice": summary.verdict.advice, "gates_missed": summary.verdict.missed}),
    )?;
    Ok(if missed.is_empty() { Verdict::Done } else { Verdict::GateFailed })
}

/// Measures the other students that have not been yet.
fn compare(args: &ReportArgs, common: &Common, output: &Output) -> Result<()> {
    if args.others.is_empty() {
        return Ok(());
    }
    let student = common.student(&args.run.join("student.json"))?;
    let others: Vec<Student> = args.others.iter().map(|path| common.student(path)).collect::<Result<_>>()?;
    let known = RunDir::known(&args.run, &student)?;
    let usual = args.run.join("traces").join("test");
    let trace = match &args.trace {
        Some(path) => Some(common.trace(path)?),
        None if usual.is_dir() => Some(common.trace(&usual)?),
        None => {
            output.note(
                "note: the fidelity of other students is not measured: there is no RUN/traces/test; give --trace",
            );
            None
        }
    };
    let scenario = common.scenario_of(&student.feature_set)?;
    let run =
        Measurements { student: &student, evaluation: &known.evaluation, trace: trace.as_ref(), seed: known.seed };
    let mut compared = known.compared;
    for (path, other) in args.others.iter().zip(&others) {
        let hash = other.hash();
        if hash == student.hash() {
            bail!("{}: this is the student of the run itself; give another one", path.display());
        }
        let is_known =
            |c: &Compared| c.evaluation.student == hash && (trace.is_none() || !c.evaluation.fidelity.is_empty());
        if let Some(place) = compared.iter().position(is_known) {
            compared[place].name = shown(path);
            continue;
        }
        compared.retain(|c| c.evaluation.student != hash);
        let found = beside(scenario, run, (&shown(path), other), Watched::new(output).caller())?;
        compared.push(found);
        // What was measured is kept, even if the next one fails.
        write_compared(&args.run, &compared)?;
    }
    Ok(write_compared(&args.run, &compared)?)
}
