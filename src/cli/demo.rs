//! `distill demo`: the whole pipeline, from recording to the report.

use super::{
    Common, Verdict, check_interrupt,
    files::{check_folder, shown, write_json},
    output::Output,
    progress::Watched,
    table,
};
use crate::{
    distiller::FitParams,
    evaluator::{Estimate, Evaluation, Role, hardest_kind},
    level::ALL_KINDS,
    model::Student,
    pipeline::{
        self, AnyScenario, ClosedLoopParams, Contender, EvaluateParams, ExplainParams, FitPlan, Part, PipelineError,
        RecordParams, Resampling, RunInfo, evaluate, explain, resampled,
    },
    recorder::RecordError,
    report::write_report,
    rng::Split,
    trace::{Shard, Trace, TraceError},
};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::{ops::ControlFlow, path::PathBuf, time::Instant};

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

pub(super) fn run(args: &DemoArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let start = Instant::now();
    let scenario = common.scenario()?;
    let teacher = args.teacher.as_deref().unwrap_or(scenario.teacher());
    let mut timings = serde_json::Map::new();
    let dir = &args.output;
    check_folder(dir)?;
    output.note(format!("teacher {teacher}, workload {}", args.workload));

    let record = |split: Split, episodes: u32| -> Result<Trace> {
        check_interrupt()?;
        let params = RecordParams {
            policy: teacher.to_owned(),
            workload: args.workload.clone(),
            seed: common.seed,
            split,
            episodes,
            shard: Shard::WHOLE,
            force: args.force,
            dir: dir.join("traces").join(split.name()),
        };
        scenario.record(&params, Watched::new(output).caller()).map_err(|e| hint_force(e, args.force))?;
        Ok(Trace::open(&params.dir)?)
    };
    let train = record(Split::Train, args.episodes)?;
    let validation = record(Split::Validation, args.episodes / 4)?;
    let test = record(Split::Test, args.episodes / 2)?;
    lap(&mut timings, "record_s", start);

    let params = FitParams { max_leaf_nodes: args.max_leaves, ..FitParams::default() };
    let plan = FitPlan { params, size: None };
    let student = pipeline::fit(&train, Some(&validation), &plan, Watched::new(output).caller())?.student;
    let student_path = dir.join("student.json");
    student.save(&student_path)?;
    lap(&mut timings, "fit_s", start);

    let baselines = scenario.baselines().iter();
    let params = EvaluateParams {
        trace: Some(&test),
        selection: Some(&train),
        regions: Some(8),
        closed_loop: Some(ClosedLoopParams {
            teacher: teacher.to_owned(),
            student: format!("student:{}", student_path.display()),
            others: baselines.map(|&id| Contender::Named { id: id.to_owned(), role: Some(Role::Heuristic) }).collect(),
            workloads: vec![args.workload.clone()],
            split: Split::Test,
            episodes: args.episodes / 2,
        }),
        seed: common.seed,
    };
    let mut measured = |part: Part<'_>| {
        match part {
            Part::Fidelity(_) => lap(&mut timings, "fidelity_s", start),
            Part::ClosedLoop(_) => lap(&mut timings, "closed_loop_s", start),
            Part::Regions(_) | Part::NoRegions(_) => {}
        }
        ControlFlow::Continue(())
    };
    output.note("measuring fidelity");
    let found = evaluate(Some(scenario), &student, &params, &mut measured, Watched::new(output).caller())?;
    write_json(&dir.join("evaluation.json"), &found.evaluation)?;
    write_json(&dir.join("schedules.json"), &found.schedules)?;

    output.note("explaining");
    let params = ExplainParams {
        scenario: Some(scenario.info()),
        choices: 1500,
        decisions: 300,
        seed: common.seed,
        ..ExplainParams::default()
    };
    let mut explained = explain(&student, &test, &params, Watched::new(output).caller())?;
    lap(&mut timings, "explain_s", start);
    let params = Resampling { resamples: RESAMPLES, choices: params.choices, seed: common.seed };
    explained.explanation.stability = resampled(&student, &train, &test, params, Watched::new(output).caller())?;
    explained.write(dir)?;
    lap(&mut timings, "stability_s", start);
    let info = run_info(args, (scenario, teacher), common, &[train, validation, test])?;
    write_json(&dir.join("run.json"), &info)?;
    let report = write_report(dir, &dir.join("report"))?;
    lap(&mut timings, "report_s", start);
    write_json(&dir.join("timings.json"), &timings)?;

    summary(args, (scenario, teacher), &student, &found.evaluation, output)?;
    output.text(format!("\nreport: {}", report.page.display()))?;
    output.json(
        "summary",
        &json!({"run": shown(dir), "report": shown(&report.page), "student": student.hash(),
                "trace": student.provenance.trace_hash, "evaluation": found.evaluation}),
    )?;
    Ok(Verdict::Done)
}

fn lap(timings: &mut serde_json::Map<String, serde_json::Value>, what: &str, start: Instant) {
    let before: f64 = timings.values().filter_map(serde_json::Value::as_f64).sum();
    timings.insert(what.to_owned(), json!(start.elapsed().as_secs_f64() - before));
}

fn hint_force(error: PipelineError, force: bool) -> anyhow::Error {
    match error {
        PipelineError::Record(RecordError::Trace(TraceError::PlanDiffers { .. })) if !force => {
            anyhow::Error::from(error)
                .context("the run directory holds another run; give --force to replace it, or -o for another directory")
        }
        _ => error.into(),
    }
}

fn run_info(
    args: &DemoArgs,
    (scenario, teacher): (&dyn AnyScenario, &str),
    common: &Common,
    traces: &[Trace],
) -> Result<RunInfo> {
    let command = format!(
        "distill demo --scenario {} --teacher {teacher} --workload {} --episodes {} --max-leaves {} --seed {} -o {}",
        scenario.info().name,
        args.workload,
        args.episodes,
        args.max_leaves,
        common.seed,
        args.output.display()
    );
    let mut info = RunInfo::new(Some(scenario), teacher, &args.workload, common.seed);
    info.note(command);
    for trace in traces {
        info.describe(trace)?;
    }
    Ok(info)
}

/// Five lines that say what came out.
fn summary(
    args: &DemoArgs,
    (scenario, teacher): (&dyn AnyScenario, &str),
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
    let objective = scenario.info().objective();
    let against = |baseline: &str, called: &str| {
        let found = evaluation.closed_loop.as_ref().and_then(|closed_loop| closed_loop.student_to(baseline))?;
        let said = found.figure(&objective.name).map_or("stalled".to_owned(), |e| table::interval(e, 3));
        Some(format!("{} {said}", objective.against(called)))
    };
    let yardstick = scenario.baselines().first().copied();
    let said: Vec<String> =
        [against(teacher, "teacher"), yardstick.and_then(|id| against(id, id))].into_iter().flatten().collect();
    output.text(format!("schedule  {}", said.join(", ")))?;
    Ok(())
}
