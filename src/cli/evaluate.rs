//! `distill evaluate`: how faithful is a student, and how well does it schedule?

use super::{
    Common, Verdict,
    compare::{Shown, WorkloadArgs, unless_failed},
    disagreement::print_regions,
    files::{check_output, command, files_of, replace},
    output::Output,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    evaluator::{Departures, Evaluation, FidelityRow, Lead, Role},
    model::Student,
    pipeline::{AnyScenario, ClosedLoopParams, Contender, EvaluateParams, Gates, Part, RunDir, evaluate},
    rng::Split,
    trace::Trace,
};
use anyhow::{Result, bail};
use clap::Args;
use std::{ops::ControlFlow, path::PathBuf};

/// Measure a student's fidelity on a recorded trace, and its schedules against the teacher's
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill evaluate student.json test-trace\n  distill evaluate student.json -t decima:model.pt -w \
tpch:profiles.json.gz -n 60\n  distill evaluate student.json test-trace --min-fidelity 0.9     exit code 1 if the job level falls \
short\n  distill evaluate student.json test-trace --disagreement         where it departs from the teacher, and what that costs\n  distill evaluate student.json -t decima:model.pt -w builtin -w builtin,edge=giant --gate 1.05\n\nA trace gives fidelity; a teacher gives a closed-loop comparison on the same arrivals with the same luck."
)]
pub(super) struct EvaluateArgs {
    /// Student file
    student: PathBuf,
    /// Recorded trace to measure fidelity on; of another split than it was fitted on
    trace: Option<PathBuf>,
    /// Trace on which the best single-feature rule is chosen [default: none is shown]
    #[arg(long, value_name = "TRACE")]
    selection: Option<PathBuf>,
    /// Show where the student departs from the teacher: regions of choices found on half of the trace's episodes, and
    /// what the departures cost there, measured on the other half
    #[arg(long)]
    disagreement: bool,
    /// Largest number of regions per level
    #[arg(long, default_value_t = 8, value_name = "N", requires = "disagreement", value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_leaves: u32,
    /// Teacher to compare with in closed loop
    #[arg(short, long, value_name = "POLICY")]
    teacher: Option<String>,
    /// More policies to compare with, repeatable [default: fair; drf for training clusters]
    #[arg(short, long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    #[command(flatten)]
    workloads: WorkloadArgs,
    /// Episodes of the closed loop
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    episodes: u32,
    /// Use the seeds kept for closing figures instead of the test seeds
    #[arg(long = "final")]
    closing: bool,
    /// Run directory to write evaluation.json and schedules.json to, for `distill report`
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Write all figures to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an output file with other content
    #[arg(long)]
    force: bool,
    /// Gate: top-1 fidelity of the first level, all kinds
    #[arg(long, value_name = "SHARE")]
    min_fidelity: Option<f64>,
    /// Gate: the worst that the objective may be against the teacher's, e.g. a mean JCT of 1.05 times as much
    #[arg(long, alias = "max-jct-ratio", value_name = "LIMIT", requires = "teacher")]
    gate: Option<f64>,
}

pub(super) fn run(args: &EvaluateArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if args.trace.is_none() && args.teacher.is_none() {
        bail!("nothing to measure: give a trace for fidelity, or a teacher (-t) for a closed loop, or both");
    }
    if args.min_fidelity.is_some() && args.trace.is_none() {
        bail!("--min-fidelity needs a trace");
    }
    if args.disagreement && args.trace.is_none() {
        bail!("--disagreement needs a trace");
    }
    if let Some(path) = &args.output {
        let files = files_of(args.teacher.iter().chain(&args.policies).chain(args.workloads.names()));
        let traces = args.trace.iter().chain(&args.selection);
        check_output(path, [&args.student].into_iter().chain(traces).chain(&files).map(PathBuf::as_path))?;
    }
    let student = common.student(&args.student)?;
    let trace = args.trace.as_deref().map(|path| common.trace(path)).transpose()?;
    let selection = args.selection.as_deref().map(|path| common.trace(path)).transpose()?;
    let run = match &args.run {
        Some(dir) => {
            let visit_command = command();
            let traces = selection.iter().chain(&trace);
            Some(RunDir::enter(dir, &student, traces, common.visit(&student, &visit_command))?)
        }
        None => None,
    };
    if trace.as_ref().is_some_and(|trace| trace.hash == student.provenance.trace_hash) {
        output.note("note: the student was fitted on this very trace; record another split for an honest figure");
    }
    let (scenario, closed_loop) = match &args.teacher {
        Some(teacher) => {
            let scenario = common.scenario_of(&student.feature_set)?;
            (Some(scenario), Some(closed_loop(args, teacher, &student, scenario, output)?))
        }
        None => (common.known_scenario(&student.feature_set), None),
    };
    let params = EvaluateParams {
        trace: trace.as_ref(),
        selection: selection.as_ref(),
        regions: args.disagreement.then_some(args.max_leaves as usize),
        closed_loop,
        seed: common.seed,
    };
    let watched = Watched::new(output);
    let mut printed = Printed { trace: trace.as_ref(), shown: Shown::default(), failed: None };
    let found = evaluate(scenario, &student, &params, &mut |part| printed.next(part, output), watched.caller());
    drop(watched);
    let Printed { shown, failed, .. } = printed;
    failed.map_or(Ok(()), Err)?;
    let found = shown.end(found, output)?;
    if let Some(run) = &run {
        let path = run.write_evaluation(&found)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    if let Some(path) = &args.output {
        replace(path, (serde_json::to_string_pretty(&found.evaluation)? + "\n").as_bytes(), args.force)?;
    }
    output.json("evaluation", &found.evaluation)?;
    let gates = Gates { fidelity: args.min_fidelity, objective: args.gate };
    let missed = gates.missed(&found.evaluation);
    missed.iter().try_for_each(|what| output.text(format!("gate failed: {what}")))?;
    Ok(if missed.is_empty() { Verdict::Done } else { Verdict::GateFailed })
}

/// In which company the student schedules.
fn closed_loop(
    args: &EvaluateArgs,
    teacher: &str,
    student: &Student,
    scenario: &dyn AnyScenario,
    output: &mut Output,
) -> Result<ClosedLoopParams> {
    let usual: Vec<String> = scenario.baselines().iter().take(1).map(|&id| id.to_owned()).collect();
    let others = if args.policies.is_empty() { &usual } else { &args.policies };
    Ok(ClosedLoopParams {
        teacher: teacher.to_owned(),
        student: format!("student:{}", args.student.display()),
        augmented: None,
        others: others.iter().map(|id| Contender::named(id)).collect(),
        workloads: args.workloads.ids(scenario.info(), Some(student), output)?,
        split: if args.closing { Split::Final } else { Split::Test },
        episodes: args.episodes,
    })
}

/// Prints an evaluation as it comes.
struct Printed<'a> {
    trace: Option<&'a Trace>,
    shown: Shown,
    /// What went wrong with printing.
    failed: Option<anyhow::Error>,
}

impl Printed<'_> {
    fn next(&mut self, part: Part<'_>, output: &mut Output) -> ControlFlow<()> {
        let printed = match (part, self.trace) {
            (Part::Fidelity(found), Some(trace)) => print_on_trace(found, trace, output),
            (Part::Fidelity(_), None) => Ok(()),
            (Part::Regions(regions), _) => print_regions(regions, "the student", output),
            (Part::NoRegions(level), _) => {
                output.note(format!(
                    "note: level {level} has choices between candidates in fewer than two episodes: no regions can be found \
                     on one half and measured on the other"
                ));
                Ok(())
            }
            (Part::ClosedLoop(result), trace) => {
                let gap = trace.is_some() && self.shown.is_empty();
                match if gap { output.text("") } else { Ok(()) } {
                    Ok(()) => return self.shown.next(result, output),
                    failed => failed,
                }
            }
        };
        unless_failed(printed, &mut self.failed)
    }
}

/// What a trace says of the student.
fn print_on_trace(found: &Evaluation, trace: &Trace, output: &mut Output) -> Result<()> {
    output.text(format!("fidelity to {} on {}", trace.manifest.labeller.id, trace.dir.display()))?;
    print_fidelity(&found.fidelity, output)?;
    if !found.leads.is_empty() {
        print_leads(&found.leads, output)?;
    }
    match &found.departures {
        Some(departures) => print_departures(departures, output)?,
        None => output.note(
            "note: whole decisions of a flat student are compared with a teacher that gives probabilities; this one gives none",
        ),
    }
    Ok(())
}

fn print_leads(rows: &[Lead], output: &mut Output) -> Result<()> {
    output.text("\nahead of the best single-feature rule, on the same choices")?;
    let mut table = Table::new(&["level, kind", "candidates", "choices", "top-1", "top-3", "regret", "rule"]);
    for r in rows {
        table.row([
            format!("{}, {}", r.level, r.kind),
            format!("{} or more", r.candidates),
            r.choices.to_string(),
            interval(&r.top1, 3),
            interval(&r.top3, 3),
            r.regret.as_ref().map_or("-".to_owned(), |e| interval(e, 3)),
            r.over.clone(),
        ]);
    }
    output.text(table)
}

fn print_departures(departures: &Departures, output: &mut Output) -> Result<()> {
    let departing = 1.0 - departures.joint.value;
    output.text(format!("\n{} decisions, {}", departures.decisions, departures.structure.name()))?;
    output.text(format!("  {} take what was executed, amounts aside", interval(&departures.executed, 3)))?;
    output.text(format!(
        "  {} agree with the teacher's most probable decision at all levels; where the others depart first",
        interval(&departures.joint, 3)
    ))?;
    let mut table = Table::new(&["level, kind", "decisions", "depart", "of all decisions", "of all departures"]);
    for r in &departures.rows {
        table.row([
            format!("{}, {}", r.level, r.kind),
            r.decisions.to_string(),
            r.departures.to_string(),
            interval(&r.share, 3),
            format!("{:.0} %", 100.0 * r.share.value / departing.max(f64::MIN_POSITIVE)),
        ]);
    }
    output.text(table)
}

/// Fidelity as a table, of the heuristics the closest one of each kind.
pub(super) fn print_fidelity(rows: &[FidelityRow], output: &mut Output) -> Result<()> {
    let closer = |r: &FidelityRow, than: &FidelityRow| {
        r.role == Role::Heuristic && (&r.level, &r.kind) == (&than.level, &than.kind) && r.top1.value > than.top1.value
    };
    let mut table = Table::new(&[
        "level, kind",
        "scorer",
        "choices",
        "top-1",
        "top-2",
        "top-3",
        "regret",
        "cross-entropy",
        "tau-b",
        "amount off by",
    ]);
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for r in rows {
        if r.role == Role::Heuristic {
            if shown.contains(&(&r.level, &r.kind)) || rows.iter().any(|other| closer(other, r)) {
                continue;
            }
            shown.push((&r.level, &r.kind));
        }
        let optional = |e: &Option<_>| {
            e.as_ref().map_or("-".to_owned(), |e: &crate::evaluator::Estimate| format!("{:.3}", e.value))
        };
        table.row([
            format!("{}, {}", r.level, r.kind),
            r.scorer.clone(),
            r.choices.to_string(),
            interval(&r.top1, 3),
            format!("{:.3}", r.top2.value),
            format!("{:.3}", r.top3.value),
            optional(&r.regret),
            optional(&r.cross_entropy),
            optional(&r.kendall),
            optional(&r.amount_error),
        ]);
    }
    output.text(table)
}
