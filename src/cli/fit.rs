//! `distill fit`: from a trace to a student.

use super::{Verdict, check_interrupt, check_parent, evaluate::print_fidelity, output::Output, table::Table};
use crate::{
    distiller::{BackEnd, FitParams, Target, fit_student},
    evaluator::{Scorer, fidelity},
    model::{Provenance, ScoreCandidates, Student},
    trace::{LevelTable, Trace},
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;

/// Fit a decision tree and a linear surrogate per level of a trace
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill fit trace -o student.json\n  distill fit trace -o small.json --max-leaves 16\n  \
distill fit trace -o student.json --validation other-trace\n\nTemperatures are fitted, and the printed fidelity measured, on the \
validation choices: by default the last fifth of the\ntrace's episodes, which the models do not see."
)]
pub(super) struct FitArgs {
    /// Trace to learn from
    trace: PathBuf,
    /// Student file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Trace with other episodes to choose and measure on [default: the last fifth of TRACE]
    #[arg(long, value_name = "TRACE")]
    validation: Option<PathBuf>,
    /// Largest number of leaves per level
    #[arg(long, default_value_t = FitParams::default().max_leaf_nodes, value_name = "N")]
    max_leaves: usize,
    /// Fewest rows in a leaf
    #[arg(long, default_value_t = FitParams::default().min_samples_leaf, value_name = "N")]
    min_samples_leaf: usize,
    /// What the tree is taught about each candidate
    #[arg(long, value_enum, default_value_t = TargetArg::RelativeProbability)]
    target: TargetArg,
    /// Least share of a level's squared error that a split must take away
    #[arg(long, default_value_t = FitParams::default().min_gain, value_name = "SHARE")]
    min_gain: f64,
    /// How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight
    #[arg(long, default_value_t = FitParams::default().balance, value_name = "X")]
    balance: f64,
    /// Who grows the tree; linfa-trees is there for comparison only
    #[arg(long, value_enum, default_value_t = BackEndArg::Own)]
    back_end: BackEndArg,
    /// Which model schedules
    #[arg(long = "use", value_name = "MODEL", default_value = "tree", value_parser = ["tree", "linear"])]
    used: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum TargetArg {
    Probability,
    RelativeProbability,
    LogRatio,
}

#[derive(Clone, Copy, ValueEnum)]
enum BackEndArg {
    Own,
    LinfaTrees,
}

impl FitArgs {
    fn params(&self) -> FitParams {
        FitParams {
            max_leaf_nodes: self.max_leaves,
            min_samples_leaf: self.min_samples_leaf,
            target: match self.target {
                TargetArg::Probability => Target::Probability,
                TargetArg::RelativeProbability => Target::RelativeProbability,
                TargetArg::LogRatio => Target::LogRatio,
            },
            balance: self.balance,
            min_gain: self.min_gain,
            back_end: match self.back_end {
                BackEndArg::Own => BackEnd::Own,
                BackEndArg::LinfaTrees => BackEnd::LinfaTrees,
            },
            used: self.used.clone(),
        }
    }
}

pub(super) fn run(args: &FitArgs, output: &mut Output) -> Result<Verdict> {
    let params = args.params();
    params.check()?;
    check_parent(&args.output)?;
    let trace = Trace::open(&args.trace)?;
    let validation = args.validation.as_deref().map(Trace::open).transpose()?;
    let (student, validation) = fit_traces(&trace, validation.as_ref(), &params, output)?;
    student.save(&args.output)?;
    let mut table = Table::new(&["level", "model", "size", "temperature"]);
    for level in &student.levels {
        for m in &level.models {
            table.row([
                level.level.clone(),
                m.name.clone(),
                m.model.size().to_string(),
                format!("{:.3}", m.temperature),
            ]);
        }
    }
    output.text(format!("{}\n", table))?;
    let mut rows = Vec::new();
    for (level, table) in student.levels.iter().zip(&validation) {
        let scorers: Vec<Scorer<'_>> = level.models.iter().map(|m| Scorer::model(m, "student")).collect();
        rows.extend(fidelity(table, &scorers, 0));
    }
    output.text("fidelity on the validation choices")?;
    print_fidelity(&rows, output)?;
    output.text(format!("\n{} (trace {})", args.output.display(), trace.hash))?;
    output.json(
        "fit",
        &json!({"student": args.output, "hash": student.hash(), "size": student.size(), "fidelity": rows}),
    )?;
    Ok(Verdict::Done)
}

/// Fits on a trace; returns the student and the validation tables.
pub(super) fn fit_traces(
    trace: &Trace,
    validation: Option<&Trace>,
    params: &FitParams,
    output: &Output,
) -> Result<(Student, Vec<LevelTable>)> {
    let set = &trace.manifest.feature_set;
    if let Some(difference) = validation.and_then(|v| v.manifest.feature_set.difference(set)) {
        bail!("the validation trace has other features than the training trace: {difference}");
    }
    let drawn = |t: &Trace| (t.manifest.seed, t.manifest.split, t.manifest.workload.clone());
    if validation.is_some_and(|v| v.hash == trace.hash || drawn(v) == drawn(trace)) {
        bail!("the validation trace has the same episodes as the training trace; record another split");
    }
    if validation.is_none() && trace.manifest.episodes < 2 {
        bail!("one episode cannot be divided into training and validation; record more, or give --validation");
    }
    output.note(format!("fitting {} levels on {}", set.levels.len(), trace.dir.display()));
    let first_held_out = trace.manifest.episodes - trace.manifest.episodes.div_ceil(5);
    let (mut train_tables, mut validation_tables) = (Vec::new(), Vec::new());
    for level in &set.levels {
        check_interrupt()?;
        let table = trace.level(&level.name)?;
        match validation {
            Some(other) => {
                validation_tables.push(other.level(&level.name)?);
                train_tables.push(table);
            }
            None => {
                validation_tables.push(table.select(|episode| episode >= first_held_out));
                train_tables.push(table.select(|episode| episode < first_held_out));
            }
        }
    }
    let provenance = Provenance {
        trace_hash: trace.hash.clone(),
        teacher: trace.manifest.labeller.id.clone(),
        workload: trace.manifest.workload.id.clone(),
        ..Provenance::default()
    };
    let abstains = trace.manifest.abstains;
    let student = fit_student(set, abstains, (&train_tables, &validation_tables), params, provenance)
        .with_context(|| format!("{}: cannot fit", trace.dir.display()))?;
    Ok((student, validation_tables))
}
