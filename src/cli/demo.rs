//! `distill demo`: the whole pipeline, from recording to the report.

mod advise;
mod choose;
mod extent;
mod gaming;
mod needs;
mod summary;

use super::{
    common::{Common, Verdict},
    files::{check_folder, shown, write_json},
    history,
    inputs::Inputs,
    interrupt::check_interrupt,
    output::Output,
    progress::Watched,
    table::paragraph,
};
use crate::{
    augment::{AugmentError, AugmentParams},
    distiller::{FitParams, Learner},
    evaluator::{EpisodeCount, Role},
    model::Student,
    pipeline::{
        self, AnyScenario, AugmentRequest, ClosedLoopParams, Contender, EvaluateParams, Evaluated, ExplainParams,
        FitPlan, FrontLoop, Lessons, Measurements, PipelineError, RecordParams, Resampling, RunInfo, SizeChoice,
        beside_in_loops, best_heuristic, command_line, evaluate, explain, prefer_the_best_schedule, resampled,
        with_edge_cases, write_compared,
    },
    recorder::RecordError,
    report::write_report,
    rng::Split,
    trace::{Shard, Trace, TraceError},
};
pub(super) use advise::{AdviseArgs, run as advise};
use anyhow::{Context, Result};
use choose::Chosen;
use clap::Args;
use extent::{Extent, affordable_choosing, affordable_episodes, affordable_search};
use needs::Needs;
use serde_json::json;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

/// Do all of it, from a scheduler to a report, on the built-in workload or on yours
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill demo\n  distill demo --fast",
    after_long_help = "Examples:\n  distill demo\n  distill demo --fast\n  \
distill demo -t decima:model.pt -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 -o runs/decima\n  \
distill demo --scenario training\n\n\
It takes a minute. The run directory then holds the traces, the student, an augmented student and all figures \
(docs/run-directory.md); the report is in its folder `report`."
)]
pub(super) struct DemoArgs {
    /// Policy to explain [default: the network that comes with the program]
    #[arg(short, long, value_name = "POLICY", help_heading = "Input")]
    teacher: Option<String>,
    /// What the teacher is called in the report [default: the name of the network that comes with the program, or of its file]
    #[arg(long, value_name = "TEXT", help_heading = "Input", hide_short_help = true)]
    teacher_name: Option<String>,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD", help_heading = "Input")]
    workload: String,
    /// Episodes to learn from [default: 40; 16 with --fast]
    ///
    /// A third as many more are recorded to choose on, and a quarter as many to measure and explain. In half as many others a
    /// first student decides and the teacher says what it would have done.
    ///
    /// Where 40 hold more than 100,000 decisions, by default fewer are learnt from, 16 at least, and as many as of 40 are measured on.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..), help_heading = "Input")]
    episodes: Option<u32>,
    /// Seconds instead of a minute
    ///
    /// Fewer episodes and choices, and no search for a better schedule or proofs.
    #[arg(long, help_heading = "Input")]
    fast: bool,
    /// Choices learnt from per level at most, and about as many to choose, measure and explain on: for less memory [default: 30000; 3000 with
    /// --fast]
    ///
    /// Fewer where these have more than 13 million numbers. With this option fewer episodes are recorded to choose and to measure on, and
    /// rules are not fitted again on other episodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Input", hide_short_help = true)]
    max_choices: Option<u32>,
    /// Run directory; the report goes to its `report` folder
    #[arg(short, long, default_value = "runs/demo", value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Replace a run that was made with other arguments
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// The history that the run is about, as it was named.
    #[arg(skip)]
    history: Option<String>,
}

/// Who is explained, on what, and where it goes.
struct Demo<'a> {
    args: &'a DemoArgs,
    extent: Extent,
    common: &'a Common,
    scenario: &'static dyn AnyScenario,
    teacher: &'a str,
    start: Instant,
    /// Seconds by step.
    timings: serde_json::Map<String, serde_json::Value>,
}

impl DemoArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().policies(&self.teacher).workloads([&self.workload])
    }
}

pub(super) fn run(args: &DemoArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    all_of_it(args, (common.scenario()?, common), &mut |_, _| Ok(()), output)
}

/// From a scheduler to a report; before that is written, `also` adds to the run directory what is to be known of the student.
fn all_of_it(
    args: &DemoArgs,
    (scenario, common): (&'static dyn AnyScenario, &Common),
    also: &mut dyn FnMut(&Student, &mut Output) -> Result<()>,
    output: &mut Output,
) -> Result<Verdict> {
    let mut demo = Demo {
        args,
        extent: Extent::of(args),
        common,
        scenario,
        teacher: args.teacher.as_deref().unwrap_or(scenario.teacher()),
        start: Instant::now(),
        timings: serde_json::Map::new(),
    };
    let dir = &args.output;
    check_folder(dir)?;
    if scenario.same_jobs(&args.workload)? {
        output.text(format!(
            "same jobs: every episode of {} has the same jobs, so the student is tested on those it learns from",
            args.workload
        ))?;
    }
    // With a file or parameters it is what the user names.
    let words = (scenario.info().words)();
    let called = words.network(demo.teacher).map_or(String::new(), |network| format!(" ({})", network.noun));
    output.text(format!("teacher {}{called}, workload {}", demo.teacher, args.workload))?;

    let [train, validation, test] = demo.record_all(output)?;
    demo.lap("record_s");
    Needs::of([&train, &validation, &test], &demo.extent)?.note().into_iter().for_each(|note| output.note(note));

    output.note("fitting");
    let own = demo.own_states(&train, &validation, output)?;
    let others: Vec<&Trace> = own.iter().collect();
    let lessons = Lessons::new(&train, &others)?;
    let mut fitted = pipeline::fit(lessons, Some(&validation), &demo.plan(), Watched::new(output).caller())?;
    let closed_loop = FrontLoop {
        teacher: demo.teacher.to_owned(),
        workload: args.workload.clone(),
        seed: common.seed,
        episodes: demo.extent.choosing,
    };
    for level in &fitted.skipped {
        output.note(format!("note: level {level}: no choice has two candidates; the student takes the first"));
    }
    prefer_the_best_schedule(scenario, &mut fitted, &closed_loop, Watched::new(output).caller())?;
    demo.lap("fit_s");

    let edited = demo.augment(&fitted.student, &train, output)?;
    let Chosen { student, beside } = demo.choose(fitted.student, edited, output)?;
    student.save(&dir.join("student.json"))?;
    save_fitted(dir, &beside)?;
    demo.lap("augment_s");

    output.note("measuring");
    let found = demo.evaluate(&student, beside.clone(), [&validation, &test], output)?;
    write_json(&dir.join("evaluation.json"), &found.evaluation)?;
    write_json(&dir.join("schedules.json"), &found.schedules)?;
    write_json(&dir.join("latency.json"), &found.latency)?;
    if let Some((role, other)) = &beside {
        let run =
            Measurements { student: &student, evaluation: &found.evaluation, trace: Some(&test), seed: common.seed };
        let caller = Watched::new(output);
        let compared = beside_in_loops(scenario, run, (role.name(), other), *role, caller.caller())?;
        write_compared(dir, &[compared])?;
    }
    demo.lap("evaluate_s");

    output.note("explaining");
    let fitted = beside.as_ref().filter(|(role, _)| *role == Role::Fitted).map_or(&student, |(_, fitted)| fitted);
    demo.explain(&student, fitted, (lessons, &test), output)?;
    demo.lap("explain_s");
    let traces = lessons.traces().chain([&validation, &test]);
    write_json(&dir.join("run.json"), &demo.run_info(traces)?)?;
    output.note("gaming");
    demo.game(&student, &test, output)?;
    demo.lap("game_s");
    also(&student, output)?;
    demo.lap("also_s");
    let report = write_report(dir, &dir.join("report"))?;
    demo.lap("report_s");
    write_json(&dir.join("timings.json"), &demo.timings)?;

    demo.summary(&student, &found.evaluation, output)?;
    if !report.verdict.history.is_empty() {
        output.text(paragraph("history    ", &report.verdict.history.join(" ")))?;
    }
    output.text(paragraph("verdict    ", &report.verdict.text))?;
    output.text(format!("report     {}", report.page.display()))?;
    demo.next_commands(&report.verdict, output)?;
    output.json(
        "summary",
        &json!({"run": shown(dir), "report": shown(&report.page), "student": student.hash(),
                "trace": student.provenance.trace_hash, "evaluation": found.evaluation,
                "history": report.verdict.history, "verdict": report.verdict.text}),
    )?;
    Ok(Verdict::Done)
}

impl Demo<'_> {
    /// Episodes that have about as many choices of a level as are learnt from, at least 2; all without `--max-choices`.
    fn few_episodes(&self, train: &Trace) -> Result<u32> {
        let Some(most) = self.args.max_choices else { return Ok(u32::MAX) };
        let levels = &train.manifest.feature_set.levels;
        let choices = levels.iter().map(|level| Ok(train.outlines(&level.name)?.len())).collect::<Result<Vec<_>>>()?;
        let each = choices.into_iter().max().unwrap_or(0) / train.manifest.episodes.max(1) as usize;
        Ok(u32::try_from(most as usize / each.max(1)).unwrap_or(u32::MAX).max(2))
    }

    fn lap(&mut self, what: &str) {
        let before: f64 = self.timings.values().filter_map(serde_json::Value::as_f64).sum();
        self.timings.insert(what.to_owned(), json!(self.start.elapsed().as_secs_f64() - before));
    }

    /// Records what is learnt from, chosen on and measured on.
    fn record_all(&mut self, output: &Output) -> Result<[Trace; 3]> {
        let by_teacher =
            |demo: &Self, split: Split, episodes| demo.record(split.name(), (split, 0, episodes), None, output);
        let measured = self.extent.episodes.div_ceil(4).max(2);
        let mut test = None;
        if self.args.max_choices.is_none() {
            let recorded = by_teacher(self, Split::Test, measured)?;
            // How long an episode is tells how many there are to learn from, unless that was said.
            if self.args.episodes.is_none() {
                self.extent.episodes = affordable_episodes(&recorded, self.extent.episodes)?;
                self.extent.own = self.extent.own.min(self.extent.episodes.div_ceil(2));
            }
            test = Some(recorded);
        }
        let episodes = self.extent.episodes;
        let train = by_teacher(self, Split::Train, episodes)?;
        self.extent.choosing = affordable_choosing(&train, self.extent.choosing)?;
        let few = self.few_episodes(&train)?;
        let validation = by_teacher(self, Split::Validation, episodes.div_ceil(3).min(few))?;
        let test = test.map_or_else(|| by_teacher(self, Split::Test, measured.min(few)), Ok)?;
        Ok([train, validation, test])
    }

    /// Records episodes of the teacher, or of a student beside which the teacher labels.
    fn record(
        &self,
        name: &str,
        (split, first_episode, episodes): (Split, u32, u32),
        student: Option<&str>,
        output: &Output,
    ) -> Result<Trace> {
        check_interrupt()?;
        let teacher = self.teacher.to_owned();
        let (policy, teacher) = match student {
            Some(path) => (format!("student:{path}"), Some(teacher)),
            None => (teacher, None),
        };
        let params = RecordParams {
            policy,
            teacher,
            workload: self.args.workload.clone(),
            seed: self.common.seed,
            split,
            first_episode,
            episodes,
            shard: Shard::WHOLE,
            force: self.args.force,
            dir: self.args.output.join("traces").join(name),
        };
        let recorded = self.scenario.record(&params, Watched::new(output).caller());
        recorded.map_err(|e| hint_force(e, self.args.force))?;
        Ok(Trace::open(&params.dir)?)
    }

    fn plan(&self) -> FitPlan {
        let FitPlan { mut params, size } = FitPlan::default().judged_by_schedules();
        // What takes longest and is seldom chosen.
        let spared = |l: &Learner| *l == Learner::PairwiseTree || (self.args.fast && *l == Learner::BoundedLogit);
        params.learners.retain(|learner| !spared(learner));
        // Nothing is said here of what other sizes would bring.
        let size = size.map(|size| SizeChoice { ladder: false, ..size });
        FitPlan { params: FitParams { max_choices: Some(self.extent.choices), ..params }, size }
    }

    /// What a student meets that was fitted in a hurry: a student that learnt from its teacher's states alone does not know
    /// where its own mistakes lead (DAgger). `None` of a teacher that may abstain, which cannot label what another one decides.
    fn own_states(&self, train: &Trace, validation: &Trace, output: &Output) -> Result<Option<Trace>> {
        if self.extent.own == 0 {
            return Ok(None);
        }
        let plan = self.plan();
        let learners = vec![Learner::BoundedLogit];
        let params = FitParams {
            used: learners[0].name().to_owned(),
            learners,
            max_choices: Some(self.extent.choices.min(4000)),
            ..plan.params
        };
        let hurried = FitPlan { params, ..plan };
        let first = pipeline::fit(train.into(), Some(validation), &hurried, Watched::new(output).caller())?.student;
        let path = self.args.output.join("first.json");
        first.save(&path)?;
        let Some(path) = path.to_str() else {
            output.note("note: the folder's name is no text and cannot name a policy: the student learns from its teacher's states alone");
            return Ok(None);
        };
        let m = &train.manifest;
        match self.record("own", (Split::Train, m.episodes, self.extent.own), Some(path), output) {
            Ok(trace) => Ok(Some(trace)),
            Err(e) if matches!(e.downcast_ref(), Some(PipelineError::Abstains(_))) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Searches a better schedule for a while; what was found.
    fn augment(&self, student: &Student, train: &Trace, output: &Output) -> Result<Option<Student>> {
        let Some(budget) = self.extent.search else { return Ok(None) };
        let budget = affordable_search(train, budget)?;
        let search = AugmentParams { seed: self.common.seed, ..AugmentParams::of_budget(budget) };
        if let Err(AugmentError::Budget { least, .. }) = search.check(student) {
            output.note(format!(
                "note: no better schedule is searched: episodes are so long that {budget} can be afforded, and one change takes {least}"
            ));
            return Ok(None);
        }
        let dir = self.args.output.join("augmented");
        check_folder(&dir)?;
        let request = AugmentRequest {
            under_attack: None,
            search,
            workloads: vec![self.args.workload.clone()],
            others: Vec::new(),
            // It is measured with all others.
            episodes: 1,
            trace: None,
            seed: self.common.seed,
            dir: dir.clone(),
            force: self.args.force,
        };
        let found = self.scenario.augment(student, &request, &mut (), Watched::new(output).caller());
        let found = found.map_err(|e| hint_force(e, self.args.force))?;
        Ok(Some(found.student))
    }

    /// Fidelity, and closed loops on the workload and its edge cases.
    fn evaluate(
        &self,
        student: &Student,
        beside: Option<(Role, Student)>,
        [validation, test]: [&Trace; 2],
        output: &Output,
    ) -> Result<Evaluated> {
        let best = best_heuristic(
            self.scenario,
            &self.args.workload,
            self.teacher,
            (self.common.seed, self.extent.tried),
            Watched::new(output).caller(),
        )?;
        let named = |id: &str, role| Contender::Named { id: id.to_owned(), role: Some(role) };
        let baselines = self.scenario.baselines();
        let best = best.as_deref().filter(|best| !baselines.contains(best));
        let heuristics = baselines.iter().copied().chain(best);
        let others = heuristics.map(|id| named(id, Role::Heuristic)).collect();
        let usual = vec![self.args.workload.clone()];
        let closed_loop = ClosedLoopParams {
            teacher: self.teacher.to_owned(),
            student: format!("student:{}", self.args.output.join("student.json").display()),
            beside,
            others,
            // A workload that is one of several cases has none of its own.
            workloads: with_edge_cases(self.scenario, &usual).unwrap_or(usual),
            split: Split::Test,
            episodes: EpisodeCount::UntilClear(self.extent.measured.clone()),
        };
        let params = EvaluateParams {
            trace: Some(test),
            selection: Some(validation),
            regions: Some(8),
            closed_loop: Some(closed_loop),
            seed: self.common.seed,
        };
        let mut go_on = |_: pipeline::Part<'_>| ControlFlow::Continue(());
        Ok(evaluate(Some(self.scenario), student, &params, &mut go_on, Watched::new(output).caller())?)
    }

    /// Explains a student; what other episodes would give is asked of the one that was `fitted`.
    fn explain(
        &self,
        student: &Student,
        fitted: &Student,
        (train, test): (Lessons<'_>, &Trace),
        output: &Output,
    ) -> Result<()> {
        let params = ExplainParams {
            scenario: Some(self.scenario.info()),
            choices: 1500,
            decisions: 300,
            seed: self.common.seed,
            ..ExplainParams::default()
        };
        let mut explained = explain(student, test, &params, Watched::new(output).caller())?;
        if self.extent.resamples > 0 {
            let params =
                Resampling { resamples: self.extent.resamples, choices: params.choices, seed: self.common.seed };
            explained.explanation.stability = resampled(fitted, train, test, params, Watched::new(output).caller())?;
        }
        Ok(explained.write(&self.args.output)?)
    }

    fn run_info<'a>(&self, traces: impl Iterator<Item = &'a Trace>) -> Result<RunInfo> {
        let Self { args, scenario, teacher, common, .. } = self;
        let episodes = args.episodes.map(|episodes| episodes.to_string());
        let (seed, output) = (common.seed.to_string(), args.output.display().to_string());
        if let Some(history) = &args.history {
            let words = ["advise", "--scenario", scenario.info().name, history, "--seed", &seed, "-o", &output];
            let words = words.into_iter().chain(args.fast.then_some("--fast")).map(str::to_owned);
            return self.noted(command_line(words), traces);
        }
        let words = ["demo", "--scenario", scenario.info().name, "--teacher", teacher, "--workload", &args.workload];
        let words = words.into_iter().chain(episodes.iter().flat_map(|episodes| ["--episodes", episodes]));
        let words = words.chain(args.fast.then_some("--fast"));
        let most = args.max_choices.map(|most| most.to_string());
        let words = words.chain(most.iter().flat_map(|most| ["--max-choices", most]));
        let words = words.chain(args.teacher_name.iter().flat_map(|name| ["--teacher-name", name]));
        let words = words.chain(["--seed", &seed, "-o", &output]);
        self.noted(command_line(words.map(str::to_owned)), traces)
    }

    /// What the run directory says of itself, with the command that makes it anew.
    fn noted<'a>(&self, command: String, traces: impl Iterator<Item = &'a Trace>) -> Result<RunInfo> {
        let Self { args, scenario, teacher, common, .. } = self;
        let info = RunInfo::new(Some(*scenario), teacher, &args.workload, common.seed);
        let mut info = info.calling_it(args.teacher_name.as_deref());
        if let Some(history) = &args.history {
            info.title = format!("Would another scheduler have served {} better?", history::name_of(history));
        }
        info.note(command);
        for trace in traces {
            info.describe(trace)?;
        }
        Ok(info)
    }
}

/// Keeps the student as it was fitted where another one has taken its place.
fn save_fitted(dir: &Path, beside: &Option<(Role, Student)>) -> Result<()> {
    let path = dir.join("fitted.json");
    match beside {
        Some((Role::Fitted, fitted)) => Ok(fitted.save(&path)?),
        // One of an earlier run would be another one's.
        _ => match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e).with_context(|| shown(&path)),
            _ => Ok(()),
        },
    }
}

fn hint_force(error: PipelineError, force: bool) -> anyhow::Error {
    let other_run = matches!(
        error,
        PipelineError::Record(RecordError::Trace(TraceError::PlanDiffers { .. }))
            | PipelineError::OtherSearch(_)
            | PipelineError::OtherAttack(_)
    );
    let error = anyhow::Error::from(error);
    match other_run && !force {
        true => error
            .context("the run directory holds another run; give --force to replace it, or -o for another directory"),
        false => error,
    }
}
