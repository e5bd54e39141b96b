//! `distill evaluate`: how faithful is a student, and how well does it schedule?

use super::{
    common::{Common, Verdict},
    compare::{Shown, SplitArgs, WorkloadArgs, unless_failed},
    disagreement::print_regions,
    fidelity::print_fidelity,
    files::{check_output, files_of, replace},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::{Table, interval},
    verdict,
};
use crate::{
    evaluator::{Departures, EpisodeCount, Evaluation, Lead, Stake, Stopping, VerdictGates},
    figure::Figure,
    model::Student,
    pipeline::{
        AnyScenario, ClosedLoopParams, Contender, EvaluateParams, Gates, Part, RunDir, best_heuristic, evaluate,
    },
    trace::Trace,
};
use anyhow::{Result, bail};
use clap::Args;
use std::{ops::ControlFlow, path::PathBuf};

/// Measure how faithful a student is, and how it schedules beside the teacher
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill evaluate runs/demo/student.json runs/demo/traces/test\n  \
distill evaluate runs/demo/student.json -t decima -n 100 --edge-cases",
    after_long_help = "Examples:\n  distill evaluate runs/demo/student.json runs/demo/traces/test\n  \
distill evaluate runs/demo/student.json -t decima -n 100 --edge-cases\n  \
distill evaluate student.json -t decima:model.pt -w tpch:profiles.json.gz -n 60\n  \
distill evaluate student.json -t decima:model.pt -w builtin -w builtin,edge=giant --gate 1.05\n\n\
Where the student departs from the teacher, and what that costs:\n  \
distill evaluate student.json test-trace --disagreement\n\n\
Exit code 1 if the first level falls short:\n  \
distill evaluate student.json test-trace --min-fidelity 0.9\n\n\
A trace gives fidelity; a teacher gives a closed-loop comparison on the same arrivals with the same luck."
)]
pub(super) struct EvaluateArgs {
    /// Student file
    #[arg(help_heading = "Input")]
    student: PathBuf,
    /// Trace to measure fidelity on; of another split than it was fitted on
    #[arg(help_heading = "Input")]
    trace: Option<PathBuf>,
    /// Trace on which the best single-feature rule is chosen [default: none is shown]
    #[arg(long, value_name = "TRACE", help_heading = "Fidelity", hide_short_help = true)]
    selection: Option<PathBuf>,
    /// Show where the student departs from the teacher
    ///
    /// Regions of choices are found on half of the trace's episodes; what the departures cost there is measured on the
    /// other half.
    #[arg(long, help_heading = "Fidelity")]
    disagreement: bool,
    /// Most regions that are shown per level
    #[arg(
        long, default_value_t = 8, value_name = "N", requires = "disagreement",
        value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Fidelity", hide_short_help = true
    )]
    max_regions: u32,
    /// Teacher to compare with in closed loop
    #[arg(short, long, value_name = "POLICY", help_heading = "Closed loop")]
    teacher: Option<String>,
    /// Another policy to compare with, repeatable [default: fair, or drf]
    ///
    /// The default is fair for jobs of stages, drf for training clusters.
    #[arg(short, long = "policy", value_name = "POLICY", help_heading = "Closed loop")]
    policies: Vec<String>,
    #[command(flatten)]
    workloads: WorkloadArgs,
    /// Number of episodes in closed loop [default: as many as it takes]
    ///
    /// Without it, it is looked at the figures after 40, 80, 160 and 320 episodes of the first workload and after 20, 40 and 80 of each
    /// further one, and stopped when no interval has a limit, or equality, inside. Intervals then hold at all looks and for all gates
    /// together. Limits are those of the report's verdict and --gate.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Closed loop")]
    episodes: Option<u32>,
    #[command(flatten)]
    split: SplitArgs,
    /// Write all figures to this file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Run directory to write the figures to, for `distill report`
    ///
    /// It gets evaluation.json and schedules.json.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    run: Option<PathBuf>,
    /// Replace an output file with other content
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    force: bool,
    /// Least top-1 fidelity of the first level, over all kinds
    #[arg(long, value_name = "SHARE", help_heading = "Gates (exit code 1 if missed)")]
    min_fidelity: Option<f64>,
    /// Worst objective against the teacher's, e.g. 1.05 times its mean JCT
    #[arg(long, value_name = "LIMIT", requires = "teacher", help_heading = "Gates (exit code 1 if missed)")]
    gate: Option<f64>,
}

impl EvaluateArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let inputs = Inputs::default().students([&self.student]).traces(self.trace.iter().chain(&self.selection));
        inputs.policies(self.teacher.iter().chain(&self.policies)).workloads(self.workloads.names())
    }
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
            let visit_command = common.command_line();
            let traces = selection.iter().chain(&trace);
            Some(RunDir::enter(dir, &student, traces, common.visit(&student, &visit_command))?)
        }
        None => None,
    };
    let same = seen_before(args, &student, trace.as_ref(), common);
    same.iter().try_for_each(|line| output.text(line))?;
    let (scenario, closed_loop) = match &args.teacher {
        Some(teacher) => {
            let scenario = common.scenario_of(&student.feature_set)?;
            (Some(scenario), Some(closed_loop(args, teacher, &student, scenario, common.seed, output)?))
        }
        None => (common.known_scenario(&student.feature_set), None),
    };
    let params = EvaluateParams {
        trace: trace.as_ref(),
        selection: selection.as_ref(),
        regions: args.disagreement.then_some(args.max_regions as usize),
        closed_loop,
        seed: common.seed,
    };
    output.hold();
    let watched = Watched::new(output);
    let mut printed = Printed { trace: trace.as_ref(), shown: Shown::default(), failed: None };
    let found = evaluate(scenario, &student, &params, &mut |part| printed.next(part, output), watched.caller());
    drop(watched);
    let Printed { shown, failed, .. } = printed;
    let ended = failed.map_or(Ok(()), Err).and_then(|()| shown.end(found, output));
    let found = match ended {
        Ok(found) => found,
        Err(e) => {
            // What was measured before is worth reading all the same.
            output.release([])?;
            return Err(e);
        }
    };
    output.release(verdict::lines(&found.evaluation).into_iter().chain([String::new()]))?;
    if let Some(run) = &run {
        let path = run.write_evaluation(&found)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    if let Some(path) = &args.output {
        replace(path, (serde_json::to_string_pretty(&found.evaluation)? + "\n").as_bytes(), args.force)?;
    }
    let mut whole = serde_json::to_value(&found.evaluation)?;
    whole["same_jobs"] = same.is_some().into();
    output.json("evaluation", &whole)?;
    let gates = Gates { fidelity: args.min_fidelity, objective: args.gate };
    let missed = gates.missed(&found.evaluation);
    missed.iter().try_for_each(|what| output.text(format!("gate failed: {what}")))?;
    Ok(if missed.is_empty() { Verdict::Done } else { Verdict::GateFailed })
}

/// Says so where the student is measured on what it was fitted on: the same choices, or a workload whose episodes all
/// have the same jobs.
fn seen_before(args: &EvaluateArgs, student: &Student, trace: Option<&Trace>, common: &Common) -> Option<String> {
    let made = &student.provenance;
    if trace.is_some_and(|trace| trace.hash == made.trace_hash) {
        return Some(
            "same choices: the student was fitted on this very trace; record another split for honest figures"
                .to_owned(),
        );
    }
    let scenario = common.known_scenario(&student.feature_set)?;
    let named = args.workloads.names();
    let schedules = args.teacher.is_some() && (named.is_empty() || named.contains(&made.workload));
    let on_its_own = schedules || trace.is_some_and(|trace| trace.manifest.workload.id == made.workload);
    // Whoever opens the workload says what is wrong with it.
    let same = on_its_own && scenario.same_jobs(&made.workload).unwrap_or(false);
    same.then(|| format!("same jobs: every episode of {} has the jobs that the student was fitted on", made.workload))
}

/// Until figures are clear of the verdict's limits, and of one that was asked for.
fn until_clear(gate: Option<f64>) -> Stopping {
    Stopping { gates: VerdictGates { teacher: gate, ..VerdictGates::default() }, ..Stopping::default() }
}

/// In which company the student schedules.
fn closed_loop(
    args: &EvaluateArgs,
    teacher: &str,
    student: &Student,
    scenario: &dyn AnyScenario,
    seed: u64,
    output: &mut Output,
) -> Result<ClosedLoopParams> {
    let workloads = args.workloads.ids(scenario, Some(student), output)?;
    let mut others = args.policies.clone();
    if others.is_empty() {
        others.extend(scenario.baselines().iter().take(1).map(|&id| id.to_owned()));
        // Tried on fewer episodes, of another split: its figures are not those that it was chosen by.
        let episodes = (seed, args.episodes.map_or(30, |n| n.div_ceil(4).clamp(4, 40)));
        let watched = Watched::new(output);
        let best = best_heuristic(scenario, &workloads[0], teacher, episodes, watched.caller())?;
        others.extend(best.filter(|best| scenario.baselines().first().is_none_or(|usual| usual != best)));
    }
    Ok(ClosedLoopParams {
        teacher: teacher.to_owned(),
        student: format!("student:{}", args.student.display()),
        beside: None,
        others: others.iter().map(|id| Contender::named(id)).collect(),
        workloads,
        split: args.split.into(),
        episodes: args.episodes.map_or_else(|| EpisodeCount::UntilClear(until_clear(args.gate)), EpisodeCount::from),
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
            (Part::Stakes(stakes, objective), _) => print_stakes(stakes, objective, output),
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
    if trace.manifest.episodes > 1 && found.fidelity.iter().all(|row| row.top1.is_exact()) {
        output.text(format!("no intervals: the {} episodes of the trace say the same", trace.manifest.episodes))?;
    }
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
    let mut table = Table::new(&["level, kind", "candidates", "choices", "top-1", "top-3", "regret", "rule"])
        .without_if_wide(&["top-3"]);
    for r in rows {
        table.row([
            format!("{}, {}", r.level, r.kind),
            format!("{} or more", r.candidates),
            r.choices.to_string(),
            interval(&r.top1, 3),
            interval(&r.top3, 3),
            r.regret.as_ref().map_or("-".to_owned(), |e| format!("{:.3}", e.value)),
            r.over.clone(),
        ]);
    }
    output.text(table)
}

/// What it costs to leave each kind of choice to chance.
fn print_stakes(stakes: &[Stake], objective: &Figure, output: &mut Output) -> Result<()> {
    let Some(first) = stakes.first() else { return Ok(()) };
    output.text(format!("\nwhat a choice is worth: left to chance, in the first {} episodes", first.episodes))?;
    let mut table = Table::new(&["level, kind", &objective.against("the student's")]);
    for stake in stakes {
        table.row([
            format!("{}, {}", stake.level, stake.kind),
            stake.objective.as_ref().map_or_else(|| "stalled".to_owned(), |e| interval(e, 3)),
        ]);
    }
    output.text(table)
}

fn print_departures(departures: &Departures, output: &mut Output) -> Result<()> {
    let departing = 1.0 - departures.joint.value;
    output.text(format!("\n{} decisions, {}", departures.decisions, departures.structure.name()))?;
    output.text(format!("  {} take what was executed, amounts aside", interval(&departures.executed, 3)))?;
    output.text(format!(
        "  {} agree with the teacher's most probable decision at all levels",
        interval(&departures.joint, 3)
    ))?;
    output.text("where the others depart first")?;
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
