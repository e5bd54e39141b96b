//! `distill demo`: the whole pipeline, from recording to the report.

mod gaming;
mod needs;
mod summary;

use super::{
    common::{Common, Verdict},
    files::{check_folder, shown, write_json},
    inputs::Inputs,
    interrupt::check_interrupt,
    output::Output,
    progress::Watched,
    table::paragraph,
};
use crate::{
    augment::AugmentParams,
    distiller::{FitParams, Learner},
    evaluator::{ClosedLoop, Role},
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
use anyhow::Result;
use clap::Args;
use needs::Needs;
use serde_json::json;
use std::{ops::ControlFlow, path::PathBuf, time::Instant};

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
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD", help_heading = "Input")]
    workload: String,
    /// Episodes to learn from [default: 40; 16 with --fast]
    ///
    /// A third as many more are recorded to choose on, and a quarter as many to measure and explain. In half as many others a
    /// first student decides and the teacher says what it would have done.
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
}

/// Decisions that a search for a better schedule takes at most: where an episode has thousands, it takes fewer episodes.
const DECISIONS_SEARCHED: u64 = 12_000_000;

/// How much of everything there is.
struct Extent {
    /// Training episodes.
    episodes: u32,
    /// Choices learnt from per level.
    choices: usize,
    /// Training episodes in which a first student decides and the teacher labels.
    own: u32,
    /// Validation episodes in which students that are equally faithful schedule for the choice of one.
    choosing: u32,
    /// Fits on draws of the training episodes.
    resamples: u32,
    /// Test episodes of the closed loop, and of every edge case.
    test: u32,
    edge: u32,
    /// Episodes of the search for a better schedule, if it can afford them; `None` for no search.
    search: Option<u64>,
    /// Test episodes in which users try to be served sooner, and how many in each.
    gamed: u32,
    targets: u32,
}

impl Extent {
    fn of(args: &DemoArgs) -> Self {
        let extent = Self::usual(args);
        match args.max_choices {
            Some(most) => Self { choices: most as usize, resamples: 0, ..extent },
            None => extent,
        }
    }

    fn usual(args: &DemoArgs) -> Self {
        match args.fast {
            false => Self {
                episodes: args.episodes.unwrap_or(40),
                choices: FitPlan::CHOICES,
                own: args.episodes.unwrap_or(40).div_ceil(2),
                choosing: 30,
                resamples: 3,
                test: 120,
                edge: 25,
                search: Some(5000),
                gamed: 20,
                targets: 3,
            },
            true => Self {
                episodes: args.episodes.unwrap_or(16),
                choices: 3000,
                own: 0,
                choosing: 12,
                resamples: 0,
                test: 30,
                edge: 10,
                search: None,
                gamed: 10,
                targets: 2,
            },
        }
    }
}

/// Numbers in the rows of a level that are learnt from at most: time and memory go by these more than by choices.
const NUMBERS: usize = 13_000_000;

/// Choices that may be learnt from per level, of those that should: fewer where choices have many candidates with many features.
fn affordable_choices(train: &Trace, choices: usize) -> Result<usize> {
    let mut affordable = choices;
    for level in &train.manifest.feature_set.levels {
        let numbers = train.rows_of(&level.name) * level.features.len();
        if numbers > NUMBERS {
            let there = train.outlines(&level.name)?.len();
            affordable = affordable.min((there as f64 * NUMBERS as f64 / numbers as f64) as usize);
        }
    }
    Ok(affordable)
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
    let scenario = common.scenario()?;
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
    output.text(format!("teacher {}, workload {}", demo.teacher, args.workload))?;

    let episodes = demo.extent.episodes;
    let train = demo.record(Split::Train.name(), (Split::Train, 0, episodes), None, output)?;
    demo.extent.choices = affordable_choices(&train, demo.extent.choices)?;
    let by_teacher = |split: Split, episodes| demo.record(split.name(), (split, 0, episodes), None, output);
    let few = demo.few_episodes(&train)?;
    let validation = by_teacher(Split::Validation, episodes.div_ceil(3).min(few))?;
    let test = by_teacher(Split::Test, episodes.div_ceil(4).max(2).min(few))?;
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
    prefer_the_best_schedule(scenario, &mut fitted, &closed_loop, Watched::new(output).caller())?;
    let student = fitted.student;
    let student_path = dir.join("student.json");
    student.save(&student_path)?;
    demo.lap("fit_s");

    let augmented = demo.augment(&student, &train, output)?;
    demo.lap("augment_s");

    output.note("measuring");
    let listed = augmented.as_ref().map(|(_, student)| ("augmented".to_owned(), student.clone()));
    let found = demo.evaluate(&student, listed, [&train, &test], output)?;
    write_json(&dir.join("evaluation.json"), &found.evaluation)?;
    write_json(&dir.join("schedules.json"), &found.schedules)?;
    write_json(&dir.join("latency.json"), &found.latency)?;
    if let Some((_, augmented)) = &augmented {
        let run =
            Measurements { student: &student, evaluation: &found.evaluation, trace: Some(&test), seed: common.seed };
        let caller = Watched::new(output);
        let compared = beside_in_loops(scenario, run, ("augmented", augmented), Role::Augmented, caller.caller())?;
        write_compared(dir, &[compared])?;
    }
    demo.lap("evaluate_s");

    output.note("explaining");
    demo.explain(&student, lessons, &test, output)?;
    demo.lap("explain_s");
    let traces = lessons.traces().chain([&validation, &test]);
    write_json(&dir.join("run.json"), &demo.run_info(traces)?)?;
    output.note("gaming");
    demo.game(&student, &test, output)?;
    demo.lap("game_s");
    let report = write_report(dir, &dir.join("report"))?;
    demo.lap("report_s");
    write_json(&dir.join("timings.json"), &demo.timings)?;

    demo.summary(&student, &found.evaluation, output)?;
    output.text(paragraph("verdict    ", &report.verdict.text))?;
    output.text(format!("report     {}", report.page.display()))?;
    // The commands are about the student that the verdict names.
    let take = augmented.as_ref().filter(|_| report.verdict.take.is_some());
    demo.next_commands(take.map(|(path, _)| path.as_path()), output)?;
    output.json(
        "summary",
        &json!({"run": shown(dir), "report": shown(&report.page), "student": student.hash(),
                "trace": student.provenance.trace_hash, "evaluation": found.evaluation,
                "verdict": report.verdict.text}),
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

    /// Episodes that a search may take, of those that it should.
    fn affordable(&self, train: &Trace, episodes: u64) -> Result<u64> {
        let Some(first) = train.manifest.feature_set.levels.first() else { return Ok(episodes) };
        let each = train.outlines(&first.name)?.len() as u64 / u64::from(train.manifest.episodes.max(1));
        Ok(episodes.min(DECISIONS_SEARCHED / each.max(1)).max(1))
    }

    /// Searches a better schedule for a while; what was found, and its file.
    fn augment(&self, student: &Student, train: &Trace, output: &Output) -> Result<Option<(PathBuf, Student)>> {
        let Some(budget) = self.extent.search else { return Ok(None) };
        let budget = self.affordable(train, budget)?;
        let dir = self.args.output.join("augmented");
        check_folder(&dir)?;
        let request = AugmentRequest {
            under_attack: None,
            search: AugmentParams { seed: self.common.seed, ..AugmentParams::of_budget(budget) },
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
        Ok(Some((dir.join("student.json"), found.student)))
    }

    /// Fidelity, and closed loops on the workload and its edge cases.
    fn evaluate(
        &self,
        student: &Student,
        augmented: Option<(String, Student)>,
        [train, test]: [&Trace; 2],
        output: &Output,
    ) -> Result<Evaluated> {
        let best = best_heuristic(
            self.scenario,
            &self.args.workload,
            self.teacher,
            (self.common.seed, self.extent.test / 4),
            Watched::new(output).caller(),
        )?;
        let named = |id: &str, role| Contender::Named { id: id.to_owned(), role: Some(role) };
        let baselines = self.scenario.baselines();
        let best = best.as_deref().filter(|best| !baselines.contains(best));
        let heuristics = baselines.iter().copied().chain(best);
        let others = heuristics.map(|id| named(id, Role::Heuristic)).collect();
        let closed_loop = ClosedLoopParams {
            teacher: self.teacher.to_owned(),
            student: format!("student:{}", self.args.output.join("student.json").display()),
            augmented,
            others,
            workloads: vec![self.args.workload.clone()],
            split: Split::Test,
            episodes: self.extent.test,
        };
        let elsewhere = with_edge_cases(self.scenario, &closed_loop.workloads).unwrap_or_default();
        let params = EvaluateParams {
            trace: Some(test),
            selection: Some(train),
            regions: Some(8),
            closed_loop: Some(closed_loop.clone()),
            seed: self.common.seed,
        };
        let mut go_on = |_: pipeline::Part<'_>| ControlFlow::Continue(());
        let mut found = evaluate(Some(self.scenario), student, &params, &mut go_on, Watched::new(output).caller())?;
        let elsewhere = elsewhere.into_iter().skip(1).collect();
        let edges = ClosedLoopParams { workloads: elsewhere, episodes: self.extent.edge, ..closed_loop };
        let mut keep = |result: &ClosedLoop| {
            found.evaluation.other_workloads.push(result.clone());
            ControlFlow::Continue(())
        };
        self.scenario.compare(&edges.with(student, self.common.seed), &mut keep, Watched::new(output).caller())?;
        Ok(found)
    }

    fn explain(&self, student: &Student, train: Lessons<'_>, test: &Trace, output: &Output) -> Result<()> {
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
            explained.explanation.stability = resampled(student, train, test, params, Watched::new(output).caller())?;
        }
        Ok(explained.write(&self.args.output)?)
    }

    fn run_info<'a>(&self, traces: impl Iterator<Item = &'a Trace>) -> Result<RunInfo> {
        let Self { args, scenario, teacher, common, .. } = self;
        let episodes = self.extent.episodes.to_string();
        let (seed, output) = (common.seed.to_string(), args.output.display().to_string());
        let words = ["demo", "--scenario", scenario.info().name, "--teacher", teacher, "--workload", &args.workload];
        let words = words.into_iter().chain(["--episodes", &episodes]).chain(args.fast.then_some("--fast"));
        let most = args.max_choices.map(|most| most.to_string());
        let words = words.chain(most.iter().flat_map(|most| ["--max-choices", most]));
        let words = words.chain(["--seed", &seed, "-o", &output]);
        let command = command_line(words.map(str::to_owned));
        let mut info = RunInfo::new(Some(*scenario), teacher, &args.workload, common.seed);
        info.note(command);
        for trace in traces {
            info.describe(trace)?;
        }
        Ok(info)
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
