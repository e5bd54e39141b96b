//! `distill explain`: what does a student go by, why did it decide as it did, and what would have changed that?

use super::{
    common::{Common, Verdict},
    files::{check_output, replace},
    gradients,
    inputs::Inputs,
    output::Output,
    parts::exception_words,
    progress::Watched,
    stability,
    table::{Table, interval},
};
use crate::{
    explainer::{KindAgreement, LevelExplanation, RuleExceptions},
    model::Student,
    pipeline::{ExplainParams, Lessons, OneChoice, Resampling, RunDir, explain, explain_choice, resampled},
    report::{DecisionView, decision_page},
    trace::Trace,
};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// Say what a student goes by, why it took a decision, and what would have changed it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill explain runs/demo/student.json runs/demo/traces/test\n  \
distill explain runs/demo/student.json runs/demo/traces/test --choice 4294967301",
    after_long_help = "What matters, and which heuristic it is like:\n  \
distill explain runs/demo/student.json runs/demo/traces/test\n\n\
The same, kept for `distill report runs/mine`:\n  distill explain student.json test-trace --run runs/mine\n\n\
Would other training episodes have given the same rules?\n  \
distill explain student.json test-trace --train train-trace\n\n\
What the network itself goes by:\n  distill explain student.json test-trace --gradients 300\n\n\
One decision, and why job 7 was not taken:\n  \
distill explain student.json test-trace --choice job:4294967301 --why-not 7 --html decision.html\n\n\
A choice's number stands in the trace (column `choice`) and beside every decision in the report. Figures are of a sample of \
choices, weighted so that it stands for all; --choices sets its size."
)]
pub(super) struct ExplainArgs {
    /// Student file
    #[arg(help_heading = "Input")]
    student: PathBuf,
    /// Trace to explain it on; of another split than it was fitted on
    #[arg(help_heading = "Input")]
    trace: PathBuf,
    /// Choices per level and kind that are looked at, drawn at random
    #[arg(
        long, default_value_t = 1500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "What it goes by", hide_short_help = true
    )]
    choices: u32,
    /// Decisions that are kept one by one for the report
    #[arg(long, default_value_t = 300, value_name = "N", help_heading = "What it goes by", hide_short_help = true)]
    decisions: usize,
    /// Feature by which the agreement with heuristics is divided into three regimes [default: the scenario's own, e.g.
    /// jobs_in_system]
    #[arg(long, value_name = "FEATURE", help_heading = "What it goes by", hide_short_help = true)]
    regime: Option<String>,
    /// One more rule to compare with, repeatable (see `distill list rules`)
    #[arg(long = "rule", value_name = "NAME=RULE", conflicts_with = "choice", help_heading = "What it goes by")]
    rules: Vec<String>,
    /// Its training trace, repeatable: would other episodes have given the same rules?
    ///
    /// The student is fitted again on draws of the trace's episodes, to say how alike the rules come out.
    #[arg(long, value_name = "TRACE", conflicts_with = "choice", help_heading = "What it goes by")]
    train: Vec<PathBuf>,
    /// How often it is fitted again for --train
    #[arg(
        long, default_value_t = 8, value_name = "N", requires = "train", value_parser = clap::value_parser!(u32).range(2..=1000),
        help_heading = "What it goes by", hide_short_help = true
    )]
    resamples: u32,
    /// Attribute this many of the network's own decisions to its inputs (needs libtorch)
    ///
    /// By integrated gradients.
    #[arg(
        long, value_name = "N", conflicts_with = "choice", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "What it goes by", hide_short_help = true
    )]
    gradients: Option<u32>,
    /// Explain this choice alone
    #[arg(long, value_name = "[LEVEL:]ID", help_heading = "One decision")]
    choice: Option<String>,
    /// What would have made this candidate (a job's number) the student's?
    ///
    /// A candidate with several numbers (a job's and a stage's) goes by the last one.
    #[arg(long, value_name = "ENTITY", requires = "choice", help_heading = "One decision")]
    why_not: Option<u32>,
    /// Write the explanation of the choice as a page of its own
    #[arg(long, value_name = "FILE", requires = "choice", help_heading = "One decision")]
    html: Option<PathBuf>,
    /// Run directory to write the explanation to, for `distill report`
    ///
    /// It gets explanation.json, decisions.json and what_if.json.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    run: Option<PathBuf>,
    /// Replace a page with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

impl ExplainArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().students([&self.student]).traces([&self.trace].into_iter().chain(&self.train))
    }
}

pub(super) fn run(args: &ExplainArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let Some(path) = &args.html {
        check_output(path, [&*args.student, &args.trace])?;
    }
    let student = common.student(&args.student)?;
    let trace = common.trace(&args.trace)?;
    match &args.choice {
        Some(id) => one_choice(args, id, &student, &trace, common, output),
        None => everything(args, &student, &trace, common, output),
    }
}

fn everything(
    args: &ExplainArgs,
    student: &Student,
    trace: &Trace,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let train = args.train.iter().map(|path| common.trace(path)).collect::<Result<Vec<_>>>()?;
    let scenario = common.known_scenario(&student.feature_set);
    let run = match &args.run {
        Some(dir) => {
            let command = common.command_line();
            Some(RunDir::enter(dir, student, train.iter().chain([trace]), common.visit(student, &command))?)
        }
        None => None,
    };
    let params = ExplainParams {
        scenario: scenario.map(|scenario| scenario.info()),
        choices: args.choices as usize,
        decisions: args.decisions,
        regime: args.regime.as_deref(),
        rules: &args.rules,
        seed: common.seed,
    };
    let mut found = explain(student, trace, &params, Watched::new(output).caller())?;
    let explanation = &mut found.explanation;
    for level in &explanation.levels {
        print_level(level, output)?;
    }
    if let [first, others @ ..] = &train[..] {
        let others: Vec<&Trace> = others.iter().collect();
        let params = Resampling { resamples: args.resamples, choices: params.choices, seed: common.seed };
        explanation.stability =
            resampled(student, Lessons::new(first, &others)?, trace, params, Watched::new(output).caller())?;
        stability::print(&explanation.stability, output)?;
    }
    if let Some(decisions) = args.gradients {
        explanation.gradients = Some(gradients::gradients(trace, scenario, decisions as usize)?);
    }
    if let Some(found) = &explanation.gradients {
        gradients::print(found, output)?;
    }
    if let Some(run) = &run {
        if let Some(before) = run.explained_before(explanation) {
            if train.is_empty() {
                explanation.stability = before.stability;
            }
            explanation.gradients = explanation.gradients.take().or(before.gradients);
        }
        run.write_explanation(&found)?;
        let dir = args.run.as_deref().unwrap_or_else(|| Path::new(""));
        output.text(format!("\nwritten to {}: explanation.json, decisions.json, what_if.json", dir.display()))?;
    }
    output.json("explanation", &found.explanation)?;
    Ok(Verdict::Done)
}

fn print_level(level: &LevelExplanation, output: &mut Output) -> Result<()> {
    let of_all: usize = level.sample.iter().map(|k| k.choices).sum();
    let sampled: usize = level.sample.iter().map(|k| k.sampled).sum();
    output.text(format!("\nlevel {} ({}), on {sampled} of {of_all} choices", level.level, level.model))?;
    let total: f64 = level.families.iter().filter_map(|f| f.by_kind.last()).map(|k| k.share).sum();
    let mut table = Table::new(&[
        "what it goes by",
        "share",
        "agreement lost without",
        "teacher's stands at",
        "student's stands at",
    ]);
    for family in &level.families {
        let Some(all) = family.by_kind.last().filter(|k| k.share > 0.0) else { continue };
        table.row([
            family.name.clone(),
            format!("{:.0} %", 100.0 * all.share / total.max(f64::MIN_POSITIVE)),
            all.drop.as_ref().map_or("-".to_owned(), |e| interval(e, 3)),
            format!("{:+.2} sd", all.teacher),
            format!("{:+.2} sd", all.student),
        ]);
    }
    output.text(table)?;
    let kinds: Vec<&str> = level.likeness.chunk_by(|a, b| a.kind == b.kind).map(|c| c[0].kind.as_str()).collect();
    for kind in kinds {
        let Some(best) = level.likeness.iter().find(|l| l.kind == kind) else { continue };
        output.text(format!(
            "  {kind}: most like {} ({}),\n    as the teacher in {} and as the student in {} of {} choices",
            best.rule,
            best.meaning,
            interval(&best.teacher, 3),
            interval(&best.student, 3),
            best.choices
        ))?;
    }
    level.exceptions.as_ref().map_or(Ok(()), |found| print_exceptions(found, output))
}

fn print_exceptions(found: &RuleExceptions, output: &mut Output) -> Result<()> {
    if found.exceptions.is_empty() {
        return output.text(format!("  no single exception brings {} closer to the teacher", found.rule));
    }
    let head = format!("  {} with exceptions, on held-out choices", found.rule);
    let kinds: Vec<&str> = found.agreement.iter().map(|k| k.kind.as_str()).collect();
    let mut table = Table::new(&[&[head.as_str()], &kinds[..]].concat());
    let mut row = |name: String, kinds: &[KindAgreement]| {
        table.row([name].into_iter().chain(kinds.iter().map(|k| interval(&k.teacher, 3))));
    };
    row("  alone".to_owned(), &found.agreement);
    for exception in &found.exceptions {
        row(format!("  {}", exception_words(&exception.guard, exception.overrides)), &exception.agreement);
    }
    output.text(table)
}

fn one_choice(
    args: &ExplainArgs,
    id: &str,
    student: &Student,
    trace: &Trace,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let (level, number) = id.rsplit_once(':').map_or((None, id), |(level, number)| (Some(level), number));
    let number: u64 =
        number.parse().with_context(|| format!("--choice {id}: expected a number, or LEVEL:NUMBER, e.g. job:12"))?;
    let scenario = common.known_scenario(&student.feature_set).map(|scenario| scenario.info());
    let OneChoice { choice, level, spec } =
        explain_choice(student, (scenario, trace), (level, number), args.why_not, common.seed)?;
    let words = scenario.map(|info| (info.words)()).unwrap_or_default();
    let view = DecisionView::new(&choice, &level, &spec, student, &words);
    print_choice(&view, args.why_not.is_some(), output)?;
    if let Some(path) = &args.html {
        replace(path, decision_page(&view)?.as_bytes(), args.force)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    output.json("decision", &choice)?;
    Ok(Verdict::Done)
}

fn print_choice(view: &DecisionView, asked: bool, output: &mut Output) -> Result<()> {
    output.text(format!("{} of level {}, kind {}\n{}\n", view.place, view.level, view.kind, view.verdict))?;
    let mut header = vec!["", "teacher", "student", "score"];
    header.extend(view.columns.iter().take(4).map(String::as_str));
    let mut table = Table::new(&header);
    for (i, c) in view.candidates.iter().enumerate() {
        let mark = match (i == view.taken, i == view.best) {
            (true, true) => "* ",
            (true, false) => "> ",
            (false, true) => "T ",
            (false, false) => "  ",
        };
        let head = [
            format!("{mark}{}", c.name),
            c.teacher.map_or("-".to_owned(), |p| format!("{:.1} %", 100.0 * p)),
            format!("{:.1} %", 100.0 * c.student),
            format!("{:.4}", c.score),
        ];
        table.row(head.into_iter().chain(c.values.iter().take(4).cloned()));
    }
    output.text(table)?;
    output.text("* both take it, > the student alone, T the teacher alone")?;
    let (taken, rival) = (&view.candidates[view.taken], &view.candidates[view.rival]);
    if view.taken != view.rival {
        output.text(format!("\nwhy {} rather than {}: what adds to the score", taken.name, rival.name))?;
        let mut table = Table::new(&["", "adds", "its value", "the other's"]);
        for (i, name) in view.columns.iter().enumerate() {
            let by = taken.shares[i] - rival.shares[i];
            if by != 0.0 {
                table.row([name.clone(), format!("{by:+.4}"), taken.values[i].clone(), rival.values[i].clone()]);
            }
        }
        table.row(["difference of the scores".to_owned(), format!("{:+.4}", taken.score - rival.score)]);
        output.text(table)?;
    }
    if !view.path.is_empty() {
        output.text(format!("\npath of {}", taken.name))?;
        for (i, step) in view.path.iter().enumerate() {
            let parts = if view.parts_after == Some(i + 1) {
                format!("   <- {} goes the other way", rival.name)
            } else {
                String::new()
            };
            output.text(format!("  {step}{parts}"))?;
        }
    }
    for guard in &view.guards {
        output.text(format!("\nguard {guard}"))?;
    }
    output.text("")?;
    let most = if asked { 2 } else { 3 };
    for (_, sentence) in view.why_not.iter().take(most) {
        output.text(sentence)?;
    }
    Ok(())
}
