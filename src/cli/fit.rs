//! `distill fit`: from a trace to a student.

use super::{
    common::{Common, Verdict},
    compare::beside_teacher,
    fidelity::print_fidelity,
    files::{check_output, other_content, replace, shown},
    fit_options::{Asked, FitOptions, size},
    inputs::Inputs,
    output::Output,
    parts::count,
    progress::Watched,
    table::Table,
};
use crate::{
    distiller::{FitParams, Gate},
    evaluator::Estimate,
    model::{ScoreCandidates, Student},
    pipeline::{FitPlan, Fitted, Ladder, Lessons, RunDir, SizeChoice, USUAL_SIZE, fit, prefer_the_best_schedule},
    trace::Trace,
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Fit a student to a trace: rules that decide as the recorded scheduler does
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill fit runs/demo/traces/train -o student.json\n  \
distill fit runs/demo/traces/train -o small.json --max-size 8",
    after_long_help = "Examples:\n  distill fit runs/demo/traces/train -o student.json\n  \
distill fit runs/demo/traces/train -o small.json --max-size 8\n  \
distill fit trace -o tree.json --learner tree --max-leaves 16\n  \
distill fit trace -o student.json -t decima:model.pt\n  \
distill fit trace own --validation other -o student.json\n  \
distill fit trace -o logit.json --learner tree,logit,pairwise-tree --use logit\n  \
distill fit trace -o small.json --min-fidelity job/free/top1=0.7,stage/all/regret=0.02\n\n\
Level by level the learner and the size are chosen that cost the teacher's opinion least among those that agree with it as \
often as the best, up to noise, on the validation choices: by default the last fifth of the trace's episodes, which the \
models do not see. --learner names the models to fit instead."
)]
pub(super) struct FitArgs {
    /// Trace to learn from, or several with the same teacher
    ///
    /// Other workloads, other episodes, or what a student met when it decided (`distill record -p student:FILE -t TEACHER`).
    #[arg(value_name = "TRACE", required = true, help_heading = "Input")]
    traces: Vec<PathBuf>,
    /// Trace to choose and measure on [default: the last fifth of a single TRACE]
    ///
    /// None of its episodes may be one of TRACE.
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    validation: Option<PathBuf>,
    /// Student file to write; this or --run is needed
    #[arg(short, long, value_name = "FILE", required_unless_present = "run", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Run directory to put the student into, for `distill report`
    ///
    /// How it was made is noted beside it.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    run: Option<PathBuf>,
    /// Replace a student file with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Largest size over all levels, leaves and terms together [default: 32]
    ///
    /// Where --learner or --max-leaves names what is fitted, no size is chosen unless this is given.
    #[arg(long, value_name = "N", value_parser = size, conflicts_with = "used", help_heading = "Size")]
    max_size: Option<usize>,
    /// Fidelity that a level must reach with the smallest models that do, repeatable
    ///
    /// On the validation choices, e.g. job/free/top1=0.7. Figures are top1, top3, regret and cross-entropy.
    #[arg(
        long,
        value_name = "LEVEL/KIND/FIGURE=X",
        value_delimiter = ',',
        conflicts_with = "used",
        help_heading = "Size",
        hide_short_help = true
    )]
    min_fidelity: Vec<Gate>,
    /// Recorded scheduler: prefer the student that schedules best beside it
    ///
    /// Of students that are as faithful as the best, the one is taken that schedules best beside this policy.
    #[arg(short, long, value_name = "POLICY", conflicts_with_all = ["used", "min_fidelity"], help_heading = "Choice by schedules")]
    teacher: Option<String>,
    /// Workload for --teacher [default: that of the trace]
    #[arg(short, long, value_name = "WORKLOAD", requires = "teacher", help_heading = "Choice by schedules")]
    workload: Option<String>,
    /// Validation episodes for --teacher
    #[arg(
        short = 'n', long, default_value_t = 40, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        requires = "teacher", help_heading = "Choice by schedules"
    )]
    episodes: u32,
    #[command(flatten)]
    options: FitOptions,
}

impl FitArgs {
    fn plan(&self) -> Result<FitPlan> {
        let Asked { params, learners, used, leaves } = self.options.asked()?;
        params.check()?;
        let sized = self.max_size.is_some() || !self.min_fidelity.is_empty();
        if !sized && (learners || used || leaves) {
            if self.teacher.is_some() {
                bail!(
                    "--teacher: a student is chosen by its schedules only where its size is chosen; give --max-size too"
                );
            }
            return Ok(FitPlan { params, size: None });
        }
        if used {
            bail!("`use` in --params: with --max-size and --min-fidelity the models that schedule are chosen");
        }
        let any = !learners;
        let learners = if learners { params.learners.clone() } else { FitPlan::LEARNERS.to_vec() };
        let used = learners[0].name().to_owned();
        let max_choices = params.max_choices.or(Some(FitPlan::CHOICES));
        let most = if sized { self.max_size } else { Some(USUAL_SIZE) };
        let plan = FitPlan {
            params: FitParams { learners, used, max_choices, ..params },
            size: Some(SizeChoice { most, by: None, gates: self.min_fidelity.clone(), ladder: true }),
        };
        Ok(if any && self.teacher.is_some() { plan.judged_by_schedules() } else { plan })
    }
}

impl FitArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let traces = self.traces.iter().chain(&self.validation);
        let inputs = Inputs::default().traces(traces).files(self.options.params_file());
        inputs.policies(&self.teacher).workloads(&self.workload)
    }
}

pub(super) fn run(args: &FitArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let plan = args.plan()?;
    if let Some(path) = &args.output {
        let traces = args.traces.iter().chain(&args.validation).map(PathBuf::as_path);
        check_output(path, traces.chain(args.options.files()))?;
    }
    args.run.as_deref().map_or(Ok(()), RunDir::check_free)?;
    let traces = args.traces.iter().map(|path| common.learning_trace(path)).collect::<Result<Vec<_>>>()?;
    let others: Vec<&Trace> = traces[1..].iter().collect();
    let trace = &traces[0];
    let lessons = Lessons::new(trace, &others)?;
    // Known before the work begins: a student of another fit is not replaced.
    if let Some(path) = args.output.as_deref().filter(|path| !args.force && path.is_file()) {
        let parameters = serde_json::to_value(&plan.params)?;
        let fits = |size: usize| plan.size.as_ref().and_then(|choice| choice.most).is_none_or(|most| size <= most);
        let same = |there: Student| {
            there.provenance.trace_hash == lessons.hash()
                && there.provenance.parameters == parameters
                && fits(there.size())
        };
        if !Student::load(path).is_ok_and(same) {
            return Err(other_content(path));
        }
    }
    let validation_trace = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let beside = match &args.teacher {
        Some(teacher) => {
            let scenario = common.scenario_of(&trace.manifest.feature_set)?;
            let (episodes, of) = ((common.seed, args.episodes), (scenario, trace));
            Some((scenario, beside_teacher(teacher, args.workload.as_ref(), episodes, of, output)?))
        }
        None => None,
    };
    let mut fitted = fit(lessons, validation_trace.as_ref(), &plan, Watched::new(output).caller())?;
    if let Some((scenario, closed_loop)) = &beside {
        prefer_the_best_schedule(*scenario, &mut fitted, closed_loop, Watched::new(output).caller())?;
    }
    let Fitted { student, fidelity, left_out, skipped, ladder, .. } = fitted;
    if let Some(path) = &args.output {
        replace(path, student.to_json().as_bytes(), args.force)?;
    }
    if let Some(dir) = &args.run {
        let traces = traces.iter().chain(&validation_trace);
        RunDir::enter(dir, &student, traces, common.visit(&student, &common.command_line()))?;
    }
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
    note_left_out(&left_out, output);
    for level in &skipped {
        output.note(format!("note: level {level}: no choice has two candidates; the student takes the first"));
    }
    output.text("fidelity on the validation choices")?;
    print_fidelity(&fidelity, output)?;
    // One of the two is there.
    let path = args.output.clone().or_else(|| Some(args.run.as_ref()?.join("student.json"))).unwrap_or_default();
    output.text(format!("\n{} (trace {})", path.display(), student.provenance.trace_hash))?;
    if let Some(ladder) = &ladder {
        output.text(words_of(ladder, student.size()))?;
    }
    let rungs = ladder.as_ref().map(|l| {
        let rungs: Vec<_> = l.rungs.iter().map(|(size, top1)| json!({"size": size, "top1": top1})).collect();
        json!({"level": l.level, "kind": l.kind, "rungs": rungs})
    });
    output.json(
        "fit",
        &json!({"student": shown(&path), "hash": student.hash(), "size": student.size(), "fidelity": fidelity,
                "skipped": skipped, "sizes": rungs}),
    )?;
    Ok(Verdict::Done)
}

/// `agreement with the teacher by size (level job, kind free): 7 terms 69 %, 29 terms 79 % (this one); --max-size changes it`
fn words_of(ladder: &Ladder, size: usize) -> String {
    let rung = |(terms, top1): &(usize, Estimate)| {
        let this = if *terms == size { " (this one)" } else { "" };
        format!("{} {:.0} %{this}", count(*terms, "term"), 100.0 * top1.value)
    };
    let rungs: Vec<String> = ladder.rungs.iter().map(rung).collect();
    format!(
        "agreement with the teacher by size (level {}, kind {}): {}; --max-size changes it",
        ladder.level,
        ladder.kind,
        rungs.join(", ")
    )
}

/// Says which features logits could not judge, and how they can have a say.
fn note_left_out(left_out: &[(String, Vec<String>)], output: &Output) {
    for (level, names) in left_out.iter().filter(|(_, names)| !names.is_empty()) {
        let names = names.join(", ");
        output.note(format!(
            "note: level {level}: no part of the logit, since in every choice that it was fitted on they are the same for all \
             candidates (from choice to choice they may differ): {names}; `interactions` in --params multiplies them with others"
        ));
    }
}
