//! `distill explain`: what does a student go by, why did it decide as it did, and what would have changed that?

use super::{
    Common, Verdict, check_interrupt,
    files::{check_output, write_file, write_json},
    gradients,
    identify::{Known, exception_words, known_rules, terciles, usual_regime},
    output::Output,
    progress::StepBar,
    run_dir,
    stability::{self, Resampling},
    table::{Table, interval},
};
use crate::{
    evaluator::{Role, Scorer},
    explainer::{
        ChoiceExplainer, Decisions, EXPLANATION_FORMAT, ExplainedChoice, Explanation, KindAgreement, LevelExplanation,
        RuleExceptions, Selection, exceptions, explain_level, likeness, select,
    },
    model::{LevelModels, Student},
    report::{DecisionView, decision_page},
    trace::{LevelTable, Sample, Trace},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};

/// Say what a student goes by, why it took one decision, and what would have changed it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill explain student.json test-trace                        what matters, and which heuristic it is like\n  \
distill explain student.json test-trace --run runs/mine        the same, kept for `distill report runs/mine`\n  \
distill explain student.json test-trace --train train-trace    also: would other training episodes have given the same rules?\n  \
distill explain student.json test-trace --gradients 300        also: what the network itself goes by\n  \
distill explain student.json test-trace --choice 4294967301    one decision of the first level\n  \
distill explain student.json test-trace --choice job:4294967301 --why-not 7 --html decision.html\n\n\
A choice's number stands in the trace (column `choice`) and beside every decision in the report. Figures are of a sample of\nchoices, \
weighted so that it stands for all; --choices sets its size."
)]
pub(super) struct ExplainArgs {
    /// Student file
    student: PathBuf,
    /// Recorded trace to explain it on; of another split than it was fitted on
    trace: PathBuf,
    /// Choices per level and kind that are looked at, drawn at random
    #[arg(long, default_value_t = 1500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    choices: u32,
    /// Decisions that are kept one by one for the report
    #[arg(long, default_value_t = 300, value_name = "N")]
    decisions: usize,
    /// Feature by which the agreement with heuristics is divided into three regimes [default: the scenario's own, e.g. jobs_in_system]
    #[arg(long, value_name = "FEATURE")]
    regime: Option<String>,
    /// One more rule to compare with, repeatable (see `distill list rules`)
    #[arg(long = "rule", value_name = "NAME=RULE", conflicts_with = "choice")]
    rules: Vec<String>,
    /// Trace that the student was fitted on: fit it again on draws of its episodes, and say how alike the rules come out
    #[arg(long, value_name = "TRACE", conflicts_with = "choice")]
    train: Option<PathBuf>,
    /// How often it is fitted again
    #[arg(long, default_value_t = 8, value_name = "N", requires = "train", value_parser = clap::value_parser!(u32).range(2..=1000))]
    resamples: u32,
    /// Attribute so many of the network's own decisions to its inputs, by integrated gradients (needs libtorch)
    #[arg(long, value_name = "N", conflicts_with = "choice", value_parser = clap::value_parser!(u32).range(1..))]
    gradients: Option<u32>,
    /// Run directory to write explanation.json and decisions.json to
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Explain this choice alone
    #[arg(long, value_name = "[LEVEL:]ID")]
    choice: Option<String>,
    /// Ask what would have made this candidate the student's; by its last entity, e.g. the job's number
    #[arg(long, value_name = "ENTITY", requires = "choice")]
    why_not: Option<u32>,
    /// Write the explanation of the choice as a page of its own
    #[arg(long, value_name = "FILE", requires = "choice")]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &ExplainArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let Some(path) = &args.html {
        check_output(path, [&*args.student, &args.trace])?;
    }
    let student = common.student(&args.student)?;
    let trace = common.trace(&args.trace)?;
    if let Some(difference) = student.feature_set.difference(&trace.manifest.feature_set) {
        bail!("{}: the trace has other features than the student was fitted on: {difference}", args.trace.display());
    }
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
    let train = args.train.as_deref().map(|path| common.trace(path)).transpose()?;
    if let Some(dir) = &args.run {
        run_dir::enter(dir, student, train.iter().chain([trace]), common.seed)?;
    }
    let params = ExplainParams {
        choices: args.choices as usize,
        decisions: args.decisions,
        regime: args.regime.as_deref().or(usual_regime(trace)),
        rules: &args.rules,
        seed: common.seed,
    };
    let (mut explanation, decisions) = explain(student, trace, &params, output)?;
    for level in &explanation.levels {
        print_level(level, output)?;
    }
    if let Some(train) = &train {
        let params = Resampling { resamples: args.resamples, choices: params.choices, seed: common.seed };
        explanation.stability = stability::resampled(student, train, trace, params, output)?;
        stability::print(&explanation.stability, output)?;
    }
    if let Some(decisions) = args.gradients {
        explanation.gradients = Some(gradients::gradients(trace, decisions as usize)?);
    }
    if let Some(found) = &explanation.gradients {
        gradients::print(found, output)?;
    }
    if let Some(dir) = &args.run
        && let Some(before) = measured_before(dir, student, &explanation)
    {
        if train.is_none() {
            explanation.stability = before.stability;
        }
        explanation.gradients = explanation.gradients.or(before.gradients);
    }
    if let Some(dir) = &args.run {
        write(dir, &explanation, &decisions)?;
        output.text(format!("\nwritten to {}: explanation.json, decisions.json", dir.display()))?;
    }
    output.json("explanation", &explanation)?;
    Ok(Verdict::Done)
}

/// An earlier explanation of the same student on the same trace, for what is not measured every time.
fn measured_before(dir: &Path, student: &Student, now: &Explanation) -> Option<Explanation> {
    let before = std::fs::read(dir.join("explanation.json")).ok();
    let before: Option<Explanation> = before.and_then(|text| student.feature_set.read(&text).ok());
    before.filter(|b| student.has_hash(&b.student) && b.trace == now.trace)
}

/// Writes both files into a run directory.
pub(super) fn write(dir: &Path, explanation: &Explanation, decisions: &Decisions) -> Result<()> {
    write_json(&dir.join("explanation.json"), explanation)?;
    write_json(&dir.join("decisions.json"), decisions)
}

/// How a student is explained.
pub(super) struct ExplainParams<'a> {
    pub(super) choices: usize,
    pub(super) decisions: usize,
    pub(super) regime: Option<&'a str>,
    pub(super) rules: &'a [String],
    pub(super) seed: u64,
}

/// Explains all levels on samples of a trace, and some decisions one by one.
pub(super) fn explain(
    student: &Student,
    trace: &Trace,
    params: &ExplainParams<'_>,
    output: &Output,
) -> Result<(Explanation, Decisions)> {
    let (manifest, seed) = (&trace.manifest, params.seed);
    let bar = StepBar::new(student.levels.len(), output);
    let known = known_rules(trace, params.rules)?;
    let mut regimes = None;
    let (mut levels, mut decision_levels, mut choices) = (Vec::new(), Vec::new(), Vec::new());
    for (i, level) in student.levels.iter().enumerate() {
        check_interrupt()?;
        bar.begin(format!("explaining level {}", level.level));
        let sample = trace.sample(&level.level, params.choices, seed)?;
        // Without heuristics there is nothing to divide.
        if i == 0 && !known.is_empty() {
            regimes = terciles(&sample.table, params.regime, output);
        }
        let scorer = Scorer::student(student, level, Role::Student);
        let rules: Vec<&Known> = known.iter().filter(|k| k.rule.level == level.level).collect();
        let named: Vec<_> = rules.iter().map(|k| (&k.rule, &k.model, k.meaning.as_str())).collect();
        let exceptions = exceptions(&sample, &named, seed)?;
        let rules: Vec<_> = rules.iter().map(|k| (k.scorer(&sample.table.spec), k.meaning.as_str())).collect();
        // Levels below the first have other choices, whose decisions need not be in the sample.
        let of_level = regimes.as_ref().filter(|_| i == 0);
        let likeness = likeness(&sample, &scorer, &rules, of_level, seed);
        let explained = explain_level(student, level, &sample, likeness, seed)?;
        levels.extend(explained.map(|level| LevelExplanation { exceptions, ..level }));
        let most = params.decisions / student.levels.len();
        let (of_level, explained) = some_decisions(student, level, &sample, (most, seed))?;
        decision_levels.push(of_level);
        choices.extend(explained);
        bar.step();
    }
    if levels.is_empty() {
        bail!("{}: there is no choice between two candidates at any level: nothing to explain", trace.dir.display());
    }
    let (hash, trace_hash) = (student.hash(), trace.hash.clone());
    let decisions = Decisions {
        format_version: EXPLANATION_FORMAT,
        student: hash.clone(),
        trace: trace_hash.clone(),
        levels: decision_levels,
        choices,
    };
    let explanation = Explanation {
        format_version: EXPLANATION_FORMAT,
        student: hash,
        trace: trace_hash,
        teacher: manifest.labeller.id.clone(),
        workload: manifest.workload.id.clone(),
        split: manifest.split.name().to_owned(),
        seed,
        levels,
        stability: Vec::new(),
        gradients: None,
    };
    Ok((explanation, decisions))
}

fn some_decisions(
    student: &Student,
    level: &LevelModels,
    sample: &Sample,
    (most, seed): (usize, u64),
) -> Result<(crate::explainer::DecisionLevel, Vec<ExplainedChoice>)> {
    use rayon::prelude::*;
    let table = &sample.table;
    let explainer = ChoiceExplainer::new(student, level, &table.spec, table)?;
    let chosen = select(sample, &Scorer::student(student, level, Role::Student), most, seed);
    let explained: Result<Vec<ExplainedChoice>, _> = chosen
        .par_iter()
        .map(|&(place, why)| {
            let choice = table.choice(place);
            explainer.explain(&choice, &table.kinds[choice.header.kind as usize], why, None)
        })
        .collect();
    Ok((explainer.level(), explained?))
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
            "  {kind}: most like {} ({}), which agrees with the teacher in {} and with the student in {} of {} choices",
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
    let (level, number) = id.rsplit_once(':').map_or((student.levels[0].level.as_str(), id), |(level, n)| (level, n));
    let number: u64 =
        number.parse().with_context(|| format!("--choice {id}: expected a number, or LEVEL:NUMBER, e.g. job:12"))?;
    let level = student.level(level).with_context(|| {
        let known: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
        format!("--choice {id}: the student has no level `{level}`, only {}", known.join(", "))
    })?;
    let table = find(trace, &level.level, number)?;
    let choice = table.choice(0);
    // The spread of features tells a small change from a large one.
    let sample = trace.sample(&level.level, 500, common.seed)?;
    let explainer = ChoiceExplainer::new(student, level, &table.spec, &sample.table)?;
    let ask = args.why_not.map(|entity| candidate(&table, entity)).transpose()?;
    let explained = explainer.explain(&choice, &table.kinds[choice.header.kind as usize], Selection::Asked, ask)?;
    let view = DecisionView::new(&explained, &explainer.level(), &table.spec, &student.guards);
    print_choice(&view, ask.is_some(), output)?;
    if let Some(path) = &args.html {
        write_file(path, decision_page(&view)?.as_bytes())?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    output.json("decision", &explained)?;
    Ok(Verdict::Done)
}

/// The choice of that number as a table of its own.
fn find(trace: &Trace, level: &str, number: u64) -> Result<LevelTable> {
    let mut range: Option<(u64, u64)> = None;
    for piece in trace.pieces(level)? {
        let piece = piece?;
        let found = piece.filter(|c| c.header.id == number);
        if !found.choices.is_empty() {
            return Ok(found);
        }
        for id in [piece.choices.first(), piece.choices.last()].into_iter().flatten().map(|c| c.id) {
            range = Some(range.map_or((id, id), |(first, last)| (first.min(id), last.max(id))));
        }
    }
    let (first, last) = range.unwrap_or_default();
    bail!(
        "{}: level {level} has no choice {number}; numbers run from {first} to {last}, with gaps (column `choice`)",
        trace.dir.display()
    )
}

/// The candidate whose last entity is that number.
fn candidate(table: &LevelTable, entity: u32) -> Result<usize> {
    let width = table.spec.entities.len();
    let last: Vec<u32> = table.entity.chunks_exact(width.max(1)).filter_map(|e| e.last().copied()).collect();
    let name = table.spec.entities.last().map_or("candidate", String::as_str);
    last.iter().position(|&e| e == entity).with_context(|| {
        let known: Vec<String> = last.iter().map(u32::to_string).collect();
        format!("--why-not {entity}: no candidate of this choice is {name} {entity}, only {}", known.join(", "))
    })
}

fn print_choice(view: &DecisionView, asked: bool, output: &mut Output) -> Result<()> {
    output.text(format!("{} of level {}, kind {}\n{}\n", view.place, view.level, view.kind, view.verdict))?;
    let mut header = vec!["", "teacher", "student", "score"];
    header.extend(view.features.iter().take(4).map(String::as_str));
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
        for (i, name) in view.features.iter().enumerate() {
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
