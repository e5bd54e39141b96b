//! `distill evaluate`: how faithful is a student, and how well does it schedule?

use super::{
    Common, Verdict, check_interrupt,
    compare::{Contender, EpisodeArgs, SplitArg, WorkloadArgs, closed_loops},
    disagreement::disagreement,
    files::{check_output, files_of, write_json},
    identify::known_rules,
    output::Output,
    run_dir,
    scenario::with_scenario,
    table::{Table, interval},
};
use crate::{
    evaluator::{
        ClosedLoop, Departures, DeparturesTally, Evaluation, FidelityRow, Lead, Role, Schedule, Scorer, Tally,
        best_single_features,
    },
    level::ALL_KINDS,
    model::Student,
    registry::Policies,
    trace::{LevelTable, Sampler, Trace},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};

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
    /// Show where the student departs from the teacher: regions of choices found on half of the trace's episodes, and what the
    /// departures cost there, measured on the other half
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
    let mut evaluation = Evaluation { student: student.hash(), ..Evaluation::default() };
    let trace = args.trace.as_deref().map(|path| common.trace(path)).transpose()?;
    let selection = args.selection.as_deref().map(|path| common.trace(path)).transpose()?;
    if let Some(dir) = &args.run {
        run_dir::enter(dir, &student, selection.iter().chain(&trace), common.seed)?;
    }
    if let Some(trace) = &trace {
        if trace.hash == student.provenance.trace_hash {
            output.note("note: the student was fitted on this very trace; record another split for an honest figure");
        }
        let measured = measure(&student, trace, selection.as_ref(), args.disagreement, common.seed)?;
        (evaluation.fidelity, evaluation.leads) = (measured.fidelity, measured.leads);
        output.text(format!("fidelity to {} on {}", trace.manifest.labeller.id, trace.dir.display()))?;
        print_fidelity(&evaluation.fidelity, output)?;
        if !evaluation.leads.is_empty() {
            print_leads(&evaluation.leads, output)?;
        }
        evaluation.departures = measured.departures;
        match &evaluation.departures {
            Some(departures) => print_departures(departures, output)?,
            None => output.note(
                "note: whole decisions of a flat student are compared with a teacher that gives probabilities; this one gives none",
            ),
        }
        if args.disagreement {
            evaluation.disagreement =
                disagreement(&student, trace, &measured.samples, args.max_leaves as usize, common.seed, output)?;
        }
    }
    if let Some(teacher) = &args.teacher {
        if !evaluation.fidelity.is_empty() {
            output.text("")?;
        }
        let scenario = common.scenario_of(&student.feature_set)?;
        let (results, schedules) = with_scenario!(scenario, S => in_closed_loops::<S>(args, teacher, common, output))?;
        let mut results = results.into_iter();
        evaluation.closed_loop = results.next();
        evaluation.other_workloads = results.collect();
        if let Some(dir) = &args.run {
            write_json(&dir.join("schedules.json"), &schedules)?;
        }
    }
    if let Some(dir) = &args.run {
        let path = dir.join("evaluation.json");
        write_json(&path, &joined(evaluation.clone(), &student, &path)?)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    if let Some(path) = &args.output {
        write_json(path, &evaluation)?;
    }
    output.json("evaluation", &evaluation)?;
    gates(args, &evaluation, output)
}

/// Lets teacher, student and other policies schedule.
fn in_closed_loops<S: Policies>(
    args: &EvaluateArgs,
    teacher: &str,
    common: &Common,
    output: &mut Output,
) -> Result<(Vec<ClosedLoop>, Vec<Schedule>)> {
    let mut contenders = vec![Contender::<S>::open(teacher, Some(Role::Teacher))?, Contender::student(&args.student)?];
    let usual = [S::BASELINES[0].to_owned()];
    let others = if args.policies.is_empty() { &usual[..] } else { &args.policies };
    for id in others.iter().filter(|&id| id != teacher) {
        contenders.push(Contender::open(id, None)?);
    }
    let split = if args.closing { SplitArg::Final } else { SplitArg::Test };
    let which = EpisodeArgs { episodes: args.episodes, split };
    closed_loops(&contenders, &args.workloads.ids::<S>()?, which, common, output)
}

/// An evaluation with what an earlier one of the same student measured and this one did not, so that fidelity and closed loop
/// may come from two commands.
fn joined(mut now: Evaluation, student: &Student, path: &Path) -> Result<Evaluation> {
    let Ok(text) = std::fs::read(path) else { return Ok(now) };
    let before: Evaluation =
        student.feature_set.read(&text).with_context(|| format!("{}: not an evaluation", path.display()))?;
    if !student.has_hash(&before.student) {
        return Ok(now);
    }
    if now.fidelity.is_empty() {
        (now.fidelity, now.leads, now.departures) = (before.fidelity, before.leads, before.departures);
    }
    if now.disagreement.is_empty() {
        now.disagreement = before.disagreement;
    }
    if now.closed_loop.is_none() {
        (now.closed_loop, now.other_workloads) = (before.closed_loop, before.other_workloads);
    }
    Ok(now)
}

/// What a trace says of a student.
pub(super) struct Measured {
    pub(super) fidelity: Vec<FidelityRow>,
    pub(super) leads: Vec<Lead>,
    pub(super) departures: Option<Departures>,
    /// Per level, choices to look for regions of disagreement in; empty unless asked for.
    pub(super) samples: Vec<LevelTable>,
}

/// Choices per kind that rules and regions are chosen on at most.
const SAMPLE: usize = 50_000;

/// Fidelity of all models of a student on all levels of a trace, beside the named heuristics, random and, if there is a trace
/// to choose them on, the best single-feature rules; how far the student is ahead of these; and where whole decisions depart.
/// The trace is read once, piece by piece.
pub(super) fn measure(
    student: &Student,
    trace: &Trace,
    selection: Option<&Trace>,
    sampled: bool,
    seed: u64,
) -> Result<Measured> {
    if let Some(difference) = student.feature_set.difference(&trace.manifest.feature_set) {
        bail!("{}: the trace has other features than the student was fitted on: {difference}", trace.dir.display());
    }
    let known = known_rules(trace, &[])?;
    let mut scorers: Vec<Vec<Scorer<'_>>> = Vec::new();
    for level in &student.levels {
        let mut of_level: Vec<Scorer<'_>> = level
            .models
            .iter()
            .map(|m| match m.name == level.used {
                true => Scorer::student(student, level, Role::Student),
                false => Scorer::model(m, Role::Surrogate),
            })
            .collect();
        if let Some(selection) = selection {
            of_level.extend(best_single_features(&selection.sample(&level.level, SAMPLE, seed)?.weighted()));
        }
        if let Some(spec) = student.feature_set.level(&level.level) {
            of_level.extend(known.iter().filter(|k| k.rule.level == level.level).map(|k| k.scorer(spec)));
        }
        of_level.push(Scorer::random());
        scorers.push(of_level);
    }
    let names: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
    let empty = names.iter().map(|n| Ok(trace.pieces(n)?.empty())).collect::<Result<Vec<_>>>()?;
    let mut tallies: Vec<Tally<'_>> = empty.iter().zip(&scorers).map(|(t, s)| Tally::new(t, s)).collect();
    let mut samplers: Vec<Sampler> =
        empty.iter().filter(|_| sampled).map(|t| Sampler::new(t.clone(), SAMPLE, seed)).collect();
    let mut departures = DeparturesTally::new(student.structure);
    let schedulers = schedulers(student);
    for tables in trace.pieces_together(&names)? {
        check_interrupt()?;
        let tables = tables?;
        tables.iter().zip(&mut tallies).for_each(|(table, tally)| tally.add(table));
        tables.iter().zip(&mut samplers).for_each(|(table, sampler)| sampler.add(table));
        departures.add(&tables.iter().zip(&schedulers).collect::<Vec<_>>());
    }
    let mut leads = Vec::new();
    for (tally, scorers) in tallies.iter().zip(&scorers) {
        let places = |wanted: &dyn Fn(&Scorer<'_>) -> bool| {
            scorers.iter().enumerate().filter(|(_, s)| wanted(s)).map(|(i, _)| i).collect::<Vec<usize>>()
        };
        let rules = places(&|s| s.role == Role::Baseline && s.name != "random");
        for mine in places(&|s| s.role == Role::Student) {
            leads.extend(tally.leads(mine, &rules, seed));
        }
    }
    Ok(Measured {
        fidelity: tallies.iter().flat_map(|t| t.rows(seed)).collect(),
        leads,
        departures: departures.departures(seed),
        samples: samplers.into_iter().map(|s| s.finish().weighted()).collect(),
    })
}

/// What schedules at each level.
fn schedulers(student: &Student) -> Vec<Scorer<'_>> {
    student.levels.iter().map(|l| Scorer::student(student, l, Role::Student)).collect()
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

/// Where the student's decisions depart from the teacher's.
pub(super) fn whole_decisions(student: &Student, trace: &Trace, seed: u64) -> Result<Option<Departures>> {
    let names: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
    let (schedulers, mut departures) = (schedulers(student), DeparturesTally::new(student.structure));
    for tables in trace.pieces_together(&names)? {
        departures.add(&tables?.iter().zip(&schedulers).collect::<Vec<_>>());
    }
    Ok(departures.departures(seed))
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

fn gates(args: &EvaluateArgs, evaluation: &Evaluation, output: &mut Output) -> Result<Verdict> {
    let mut verdict = Verdict::Done;
    if let Some(least) = args.min_fidelity {
        let first = evaluation.fidelity.iter().find(|r| r.role == Role::Student && r.kind == ALL_KINDS);
        let found = first.map_or(0.0, |r| r.top1.value);
        if found.is_nan() || least.is_nan() || found < least {
            output.text(format!("gate failed: fidelity {found:.3} is below {least}"))?;
            verdict = Verdict::GateFailed;
        }
    }
    for closed_loop in evaluation.closed_loop.iter().chain(&evaluation.other_workloads) {
        let Some(limit) = args.gate else { break };
        let objective = closed_loop.objective();
        let pair = closed_loop.first(Role::Teacher).and_then(|teacher| closed_loop.student_to(&teacher.policy));
        match pair.and_then(|pair| pair.figure(&objective.name)) {
            Some(e) if objective.passes(e.value, limit) => {}
            Some(e) => {
                let (against, workload) = (objective.against("teacher"), &closed_loop.workload);
                output
                    .text(format!("gate failed: {against} is {:.3}, the limit is {limit}, on {workload}", e.value))?;
                verdict = Verdict::GateFailed;
            }
            None => {
                output.text(format!("gate failed: the student or the teacher stalled on {}", closed_loop.workload))?;
                verdict = Verdict::GateFailed;
            }
        }
    }
    Ok(verdict)
}
