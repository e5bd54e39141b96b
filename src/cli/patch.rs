//! `distill patch`: an operator's edit, priced before it is written.

use super::{
    augmented::print_edits,
    common::{Common, Verdict},
    compare::{EpisodeArgs, departing, side_by_side, workload_or_own},
    fidelity::print_fidelity_change,
    files::{check_output, replace, shown},
    fit_options::structure,
    inputs::Inputs,
    output::Output,
};
use crate::model::{Guard, Structure, Student};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Edit a student by hand, and see what the edit costs before it is written
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill patch runs/demo/student.json --guard 'amount: held_after_of_fair_share > 4 never'\n  \
distill patch runs/demo/augmented/student.json --drop-guard 0 --gate 1.01 -o without.json",
    after_long_help = "Examples:\n  distill patch runs/demo/student.json --guard 'amount: held_after_of_fair_share > 4 never'\n  \
distill patch runs/demo/augmented/student.json --drop-guard 0 --gate 1.01 -o without.json\n  \
distill patch student.json --set 'job.node[5].threshold=30s' --trace test-trace -o patched.json\n  \
distill patch student.json --structure flat --trace test-trace -o flat.json\n\n\
Places: LEVEL.node[I].threshold, LEVEL.node[I].value, LEVEL.node[I].coefficient[FEATURE], LEVEL.coefficient[FEATURE], \
LEVEL.term[I].coefficient, LEVEL.term[I].threshold, guard[I].value. `distill export --to rules` shows the place behind each term, and the numbers of nodes.\n\n\
Guards: [LEVEL:] FEATURE OPERATOR VALUE [and ...] first|last|never. `distill list guards` has examples.",
    // An edit is chosen by its price, and figures are never reported on the episodes on which something was chosen.
    mut_arg("split", |split| split.default_value("validation"))
)]
pub(super) struct PatchArgs {
    /// Student to edit
    #[arg(help_heading = "Input")]
    student: PathBuf,
    /// Change a number of the rules, e.g. job.coefficient[age]=0, repeatable
    #[arg(long = "set", value_name = "PLACE=VALUE", help_heading = "Edits")]
    set: Vec<String>,
    /// Add a guard after the existing ones, repeatable
    #[arg(long = "guard", value_name = "GUARD", help_heading = "Edits")]
    guards: Vec<String>,
    /// Take out a guard, by its number from 0; repeatable
    ///
    /// Guards are taken out before others are added.
    #[arg(long = "drop-guard", value_name = "I", help_heading = "Edits")]
    drop_guards: Vec<usize>,
    /// Take the most probable stage of the most probable job (hierarchical) or of all jobs (flat) [default: as it is]
    #[arg(long, value_name = "STRUCTURE", value_parser = structure(), help_heading = "Edits", hide_short_help = true)]
    structure: Option<Structure>,
    /// Why, for whoever reads the student
    #[arg(long, default_value = "by hand", value_name = "TEXT", help_heading = "Edits")]
    reason: String,
    /// Trace on which the change of fidelity is measured [default: not measured]
    #[arg(long, value_name = "TRACE", help_heading = "Price")]
    trace: Option<PathBuf>,
    /// Worst objective against that before the edit [default: 2 % worse]
    ///
    /// Nothing is written if it is missed, and the exit code is 1.
    #[arg(long, value_name = "LIMIT", help_heading = "Price")]
    gate: Option<f64>,
    /// Workload [default: the one that the student was fitted on]
    #[arg(short, long, value_name = "WORKLOAD", help_heading = "Closed loop")]
    workload: Option<String>,
    #[command(flatten)]
    episodes: EpisodeArgs,
    /// File for the edited student [default: none is written]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write it whatever it costs, and in place of a file with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

/// How much worse an edit may make the objective unless another gate is given.
const DEAR: f64 = 0.02;

impl PatchArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().students([&self.student]).traces(&self.trace).workloads(&self.workload)
    }
}

pub(super) fn run(args: &PatchArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if args.set.is_empty() && args.guards.is_empty() && args.drop_guards.is_empty() && args.structure.is_none() {
        bail!("nothing to change: give --set, --guard, --drop-guard or --structure");
    }
    if let Some(path) = &args.output {
        check_output(path, [&*args.student].into_iter().chain(args.trace.as_deref()))?;
    }
    let before = common.student(&args.student)?;
    let after = edited(&before, args)?;
    let scenario = common.scenario_of(&before.feature_set)?;
    let workload_id = workload_or_own(args.workload.as_ref(), scenario, &before, output)?;
    priced(args, [&before, &after], workload_id, common, output)
}

/// Says what an edit costs, and writes it unless it costs too much.
fn priced(
    args: &PatchArgs,
    [before, after]: [&Student; 2],
    workload: String,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let scenario = common.scenario_of(&before.feature_set)?;
    let trace = args.trace.as_deref().map(|path| common.trace(path)).transpose()?;
    print_edits(after, output)?;
    if let Some(trace) = &trace {
        print_fidelity_change(before, after, trace, common.seed, output)?;
    }
    let which = args.episodes;
    let changed = departing(scenario, [after, before], &workload, which, common, output)?;
    let comparison = side_by_side(scenario, [("before", before), ("after", after)], workload, which, common, output)?;
    output.text(format!("\nthe edit changes {:.2} % of the decisions", 100.0 * changed))?;
    let objective = comparison.objective();
    let found = comparison.paired("after", "before");
    let limit = args.gate.unwrap_or_else(|| objective.worse_by(DEAR));
    let passed = found.is_some_and(|e| objective.passes(e.value, limit));
    if !passed {
        let comes_to = found.map_or("no number, since an episode stalled".to_owned(), |e| format!("{:.3}", e.value));
        let what = objective.against("before");
        output.warn(format!("warning: the edit costs too much: {what} is {comes_to}, and the gate is {limit:.3}"));
    }
    let written = passed || args.force;
    match (&args.output, written) {
        (Some(path), true) => {
            replace(path, after.to_json().as_bytes(), args.force)?;
            output.text(path.display())?;
        }
        (None, true) => output.text("nothing written; give -o FILE to keep it")?,
        (_, false) => output.text("nothing written; --force writes it anyway, --gate sets another limit")?,
    }
    output.json(
        "patch",
        &json!({"student": args.output.as_deref().map(shown), "written": written && args.output.is_some(), "hash": after.hash(),
                "changed_decisions": changed, "closed_loop": comparison}),
    )?;
    // Whoever asks for no gate and forces it has no gate that failed.
    Ok(if passed || args.force && args.gate.is_none() { Verdict::Done } else { Verdict::GateFailed })
}

fn edited(before: &Student, args: &PatchArgs) -> Result<Student> {
    let mut student = before.clone();
    let mut drop = args.drop_guards.clone();
    drop.sort_unstable();
    drop.dedup();
    for &guard in drop.iter().rev() {
        if guard >= student.guards.len() {
            bail!("there is no guard {guard}; the student has {} of them, counted from 0", before.guards.len());
        }
        student.guards.remove(guard);
    }
    student.structure = args.structure.unwrap_or(student.structure);
    for text in &args.set {
        student.edit(text, &args.reason)?;
    }
    for text in &args.guards {
        let mut guard = Guard::parse(text, &student.feature_set)?;
        guard.evidence.reason.clone_from(&args.reason);
        student.guards.push(guard);
    }
    Ok(student)
}
