//! `distill demo`: the whole pipeline, from recording to the report.

use super::{
    Common, Verdict, check_interrupt,
    compare::{Contender, EpisodeArgs, SplitArg, closed_loop},
    disagreement::disagreement,
    evaluate::measure,
    explain::{self, ExplainParams},
    files::{check_folder, shown, write_json},
    output::Output,
    progress::Watched,
    record::record_trace,
    run_dir,
    stability::{Resampling, resampled},
    table,
};
use crate::{
    distiller::FitParams,
    evaluator::{Estimate, Evaluation, Role, hardest_kind},
    level::ALL_KINDS,
    model::Student,
    pipeline::{self, FitPlan},
    registry::Policies,
    report::{RunInfo, write_report},
    trace::Trace,
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::{path::PathBuf, time::Instant};

/// Fits on draws of the training episodes.
const RESAMPLES: u32 = 5;

/// Record, fit, evaluate, explain: the whole pipeline on the built-in workload, or on yours
#[derive(Args)]
#[command(after_help = "Examples:\n  distill demo\n  distill demo --teacher decima:model.pt --workload \
tpch:tpch_profiles.json.gz,executors=10,jobs=50 -o runs/decima")]
pub(super) struct DemoArgs {
    /// Policy to explain [default: the network that comes with the program]
    #[arg(short, long, value_name = "POLICY")]
    teacher: Option<String>,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD")]
    workload: String,
    /// Run directory; the report goes to its `report` folder
    #[arg(short, long, default_value = "runs/demo", value_name = "DIR")]
    output: PathBuf,
    /// Episodes to learn from; a quarter as many to choose on, half as many to judge on
    #[arg(short = 'n', long, default_value_t = 40, value_name = "N", value_parser = clap::value_parser!(u32).range(4..))]
    episodes: u32,
    /// Largest number of leaves per level
    #[arg(long, default_value_t = FitParams::default().max_leaf_nodes, value_name = "N")]
    max_leaves: usize,
    /// Replace a run that was made with other arguments
    #[arg(long)]
    force: bool,
}

pub(super) fn run<S: Policies>(args: &DemoArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let start = Instant::now();
    let teacher = args.teacher.as_deref().unwrap_or(S::TEACHER);
    let mut timings = serde_json::Map::new();
    let dir = &args.output;
    check_folder(dir)?;
    output.note(format!("teacher {teacher}, workload {}", args.workload));

    let splits = [
        (SplitArg::Train, args.episodes),
        (SplitArg::Validation, args.episodes / 4),
        (SplitArg::Test, args.episodes / 2),
    ];
    let mut traces = Vec::new();
    for (split, episodes) in splits {
        check_interrupt()?;
        let which = EpisodeArgs { episodes, split };
        let folder = dir.join("traces").join(crate::rng::Split::from(split).name());
        record_trace::<S>(teacher, &args.workload, which, &folder, args.force, common, output)
            .map_err(|e| hint_force(e, args.force))?;
        traces.push(Trace::open(&folder)?);
    }
    let [train, validation, test] = traces.as_slice() else { bail!("three traces were recorded") };
    lap(&mut timings, "record_s", start);

    let params = FitParams { max_leaf_nodes: args.max_leaves, ..FitParams::default() };
    let plan = FitPlan { params, size: None };
    let student = pipeline::fit(train, Some(validation), &plan, Watched::new(output).caller())?.student;
    let student_path = dir.join("student.json");
    student.save(&student_path)?;
    lap(&mut timings, "fit_s", start);

    output.note("measuring fidelity");
    let measured = measure(&student, test, Some(train), true, common.seed)?;
    let regions = disagreement(&student, test, &measured.samples, 8, common.seed, &mut Output::silent())?;
    lap(&mut timings, "fidelity_s", start);
    let mut contenders = vec![Contender::<S>::open(teacher, Some(Role::Teacher))?, Contender::student(&student_path)?];
    for id in S::BASELINES.iter().filter(|&&id| id != teacher) {
        contenders.push(Contender::open(id, Some(Role::Heuristic))?);
    }
    let which = EpisodeArgs { episodes: args.episodes / 2, split: SplitArg::Test };
    let mut result = closed_loop(&contenders, &args.workload, which, common, output)?;
    lap(&mut timings, "closed_loop_s", start);
    // The first two schedules are the teacher's and the student's.
    result.schedules.truncate(2);
    let evaluation = Evaluation {
        student: student.hash(),
        fidelity: measured.fidelity,
        leads: measured.leads,
        departures: measured.departures,
        disagreement: regions,
        closed_loop: Some(result.comparison),
        other_workloads: Vec::new(),
    };
    write_json(&dir.join("evaluation.json"), &evaluation)?;
    write_json(&dir.join("schedules.json"), &result.schedules)?;
    output.note("explaining");
    let params =
        ExplainParams { choices: 1500, decisions: 300, regime: Some(S::INFO.regime), rules: &[], seed: common.seed };
    let (mut explanation, decisions) = explain::explain(&student, test, &params, output)?;
    lap(&mut timings, "explain_s", start);
    let params = Resampling { resamples: RESAMPLES, choices: params.choices, seed: common.seed };
    explanation.stability = resampled(&student, train, test, params, output)?;
    explain::write(dir, &explanation, &decisions)?;
    lap(&mut timings, "stability_s", start);
    write_json(&dir.join("run.json"), &run_info::<S>(args, teacher, common, &[train, validation, test])?)?;
    let report = write_report(dir, &dir.join("report"))?;
    lap(&mut timings, "report_s", start);
    write_json(&dir.join("timings.json"), &timings)?;

    summary::<S>(args, teacher, &student, &evaluation, output)?;
    output.text(format!("\nreport: {}", report.page.display()))?;
    output.json(
        "summary",
        &json!({"run": shown(dir), "report": shown(&report.page), "student": student.hash(), "trace": train.hash, "evaluation": evaluation}),
    )?;
    Ok(Verdict::Done)
}

fn lap(timings: &mut serde_json::Map<String, serde_json::Value>, what: &str, start: Instant) {
    let before: f64 = timings.values().filter_map(serde_json::Value::as_f64).sum();
    timings.insert(what.to_owned(), json!(start.elapsed().as_secs_f64() - before));
}

fn hint_force(error: anyhow::Error, force: bool) -> anyhow::Error {
    match error.downcast_ref::<crate::recorder::RecordError>() {
        Some(crate::recorder::RecordError::Trace(crate::trace::TraceError::PlanDiffers { .. })) if !force => error
            .context("the run directory holds another run; give --force to replace it, or -o for another directory"),
        _ => error,
    }
}

fn run_info<S: Policies>(args: &DemoArgs, teacher: &str, common: &Common, traces: &[&Trace]) -> Result<RunInfo> {
    let command = format!(
        "distill demo --scenario {} --teacher {teacher} --workload {} --episodes {} --max-leaves {} --seed {} -o {}",
        S::INFO.name,
        args.workload,
        args.episodes,
        args.max_leaves,
        common.seed,
        args.output.display()
    );
    let mut info = run_dir::new(S::INFO.name, teacher, &args.workload, common.seed);
    info.commands.push(command);
    for trace in traces {
        run_dir::describe(&mut info, trace)?;
    }
    Ok(info)
}

/// Five lines that say what came out.
fn summary<S: Policies>(
    args: &DemoArgs,
    teacher: &str,
    student: &Student,
    evaluation: &Evaluation,
    output: &mut Output,
) -> Result<()> {
    let share = |e: &Estimate| format!("{:.0} % [{:.0}, {:.0}]", 100.0 * e.value, 100.0 * e.low, 100.0 * e.high);
    let sizes: Vec<String> = student
        .levels
        .iter()
        .map(|l| format!("{} {}", l.level, crate::model::ScoreCandidates::size(&l.scheduler().model)))
        .collect();
    output.text(format!("\nteacher   {teacher} on {}", args.workload))?;
    output.text(format!("student   {} leaves ({})", student.size(), sizes.join(", ")))?;
    let first_level = &student.levels[0].level;
    let of_level: Vec<_> = evaluation.fidelity.iter().filter(|r| r.level == *first_level).collect();
    let of_kind = |kind: &str, role: Role| {
        let found = of_level.iter().find(|r| r.kind == kind && r.role == role);
        found.map(|r| (share(&r.top1), r.scorer.clone()))
    };
    let of_student: Vec<_> =
        of_level.iter().filter(|r| r.role == Role::Student && r.kind != ALL_KINDS && r.choices > 0).collect();
    let kinds: Vec<String> = of_student.iter().map(|r| format!("{} on {} choices", share(&r.top1), r.kind)).collect();
    output
        .text(format!("fidelity  the {first_level} tree names the teacher's first choice in {}", kinds.join(", ")))?;
    if let Some(kind) = hardest_kind(of_student.iter().map(|r| r.kind.as_str()), &of_level, |_| 0.0)
        && let (Some(student), Some((rule, name))) = (of_kind(kind, Role::Student), of_kind(kind, Role::Baseline))
    {
        output.text(format!(
            "          on {kind} choices {} against {rule} for the best single rule, {name}",
            student.0
        ))?;
    }
    let objective = S::INFO.objective();
    let against = |baseline: &str, called: &str| {
        let found = evaluation.closed_loop.as_ref().and_then(|closed_loop| closed_loop.student_to(baseline))?;
        let said = found.figure(&objective.name).map_or("stalled".to_owned(), |e| table::interval(e, 3));
        Some(format!("{} {said}", objective.against(called)))
    };
    let yardstick = S::BASELINES[0];
    let said: Vec<String> =
        [against(teacher, "teacher"), against(yardstick, yardstick)].into_iter().flatten().collect();
    output.text(format!("schedule  {}", said.join(", ")))?;
    Ok(())
}
