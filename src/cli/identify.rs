//! `distill identify`: which known heuristic does the teacher act like, and where does it depart from it?

use super::{
    common::{Common, Verdict},
    files::{check_output, replace},
    inputs::Inputs,
    output::Output,
    parts::exception_words,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    distiller::ExceptionParams,
    pipeline::{
        Identities, KnownRule, LevelRule, RulesWithExceptions, identify, known_rules, regime_of, with_exceptions,
    },
    trace::Trace,
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Compare a teacher with named heuristics, or describe it as one with exceptions
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill identify runs/demo/traces/train\n  \
distill identify runs/demo/traces/train --exceptions best -o rules.json",
    after_long_help = "Examples:\n  distill identify runs/demo/traces/train\n  \
distill identify runs/demo/traces/train --exceptions best -o rules.json\n  \
distill identify trace --exceptions best --kind free --min-fidelity 0.6 -o rules.json\n  \
distill identify trace --rule 'mine=job: age > 300s first, smallest remaining_work_rank'\n\n\
`distill list rules` shows the heuristics. Exceptions are chosen on validation choices: measure the student that is written \
on a test trace (`distill evaluate rules.json test-trace`)."
)]
pub(super) struct IdentifyArgs {
    /// Recorded trace
    #[arg(help_heading = "Input")]
    trace: PathBuf,
    /// Feature by which decisions are divided into three regimes; the same for all candidates of a choice [default: the
    /// scenario's own, e.g. jobs_in_system]
    #[arg(long, value_name = "FEATURE", help_heading = "Rules", hide_short_help = true)]
    regime: Option<String>,
    /// One more rule, repeatable (see `distill list rules`)
    #[arg(long = "rule", value_name = "NAME=RULE", help_heading = "Rules")]
    rules: Vec<String>,
    /// Search exceptions to this rule; `best` for every level's best rule
    ///
    /// Repeatable.
    #[arg(long, value_name = "RULE", help_heading = "Exceptions")]
    exceptions: Vec<String>,
    /// Trace to choose exceptions on [default: the last fifth of TRACE]
    ///
    /// None of its episodes may be one of TRACE.
    #[arg(long, value_name = "TRACE", requires = "exceptions", help_heading = "Exceptions")]
    validation: Option<PathBuf>,
    /// Only choices of this kind count [default: all kinds alike]
    ///
    /// By default each kind has the same weight.
    #[arg(long, value_name = "KIND", requires = "exceptions", help_heading = "Exceptions")]
    kind: Option<String>,
    /// Exceptions per level at most
    #[arg(
        long, value_name = "N", default_value_t = ExceptionParams::default().max_exceptions, requires = "exceptions",
        help_heading = "Exceptions"
    )]
    max_exceptions: usize,
    /// Agreement that an exception must add on validation choices
    #[arg(
        long, value_name = "SHARE", default_value_t = ExceptionParams::default().min_gain, value_parser = share,
        requires = "exceptions", help_heading = "Exceptions", hide_short_help = true
    )]
    min_gain: f64,
    /// Agreement on validation choices that is enough
    #[arg(
        long, value_name = "SHARE", default_value_t = ExceptionParams::default().min_fidelity, value_parser = share,
        requires = "exceptions", help_heading = "Exceptions", hide_short_help = true
    )]
    min_fidelity: f64,
    /// Choices learnt from per level at most, drawn by their weights
    #[arg(
        long, value_name = "N", default_value_t = ExceptionParams::default().max_choices, requires = "exceptions",
        help_heading = "Exceptions", hide_short_help = true
    )]
    max_choices: usize,
    /// Write the rules with their exceptions as a student
    #[arg(short, long, value_name = "FILE", requires = "exceptions", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace a student file with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
    found.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

impl IdentifyArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().traces([&self.trace].into_iter().chain(&self.validation))
    }
}

pub(super) fn run(args: &IdentifyArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let Some(path) = &args.output {
        check_output(path, [&*args.trace].into_iter().chain(args.validation.as_deref()))?;
    }
    let trace = match args.exceptions.is_empty() {
        true => common.trace(&args.trace)?,
        false => common.learning_trace(&args.trace)?,
    };
    let scenario = common.known_scenario(&trace.manifest.feature_set).map(|scenario| scenario.info());
    let known = known_rules(&trace, scenario, &args.rules)?;
    if known.is_empty() {
        bail!("{}: the trace has the features of no known rule; give rules with --rule NAME=RULE", trace.dir.display());
    }
    if !args.exceptions.is_empty() {
        return exceptions(args, &trace, &known, common, output);
    }
    let regime = regime_of(args.regime.as_deref(), scenario);
    let found = identify(&trace, &known, regime, common.seed, Watched::new(output).caller())?;
    print_identities(&found, &trace, output)?;
    let fields = json!({"trace": trace.hash, "teacher": trace.manifest.labeller.id, "rows": found.rows});
    output.json("identity", &fields)?;
    Ok(Verdict::Done)
}

fn print_identities(found: &Identities, trace: &Trace, output: &mut Output) -> Result<()> {
    let names: Vec<&str> = found.regimes.iter().map(String::as_str).collect();
    let numbered: Vec<String> = (1..=names.len()).map(|i| format!("regime {i}")).collect();
    let short: Vec<&str> = numbered.iter().map(String::as_str).collect();
    let rows = &found.rows;
    for group in rows.chunk_by(|a, b| (&a.level, &a.kind) == (&b.level, &b.kind)) {
        let head = format!("{}, {} ({} choices)", group[0].level, group[0].kind, group[0].choices);
        let mut table = Table::new(&[&[head.as_str(), "agreement", "regret"], &short[..]].concat());
        for row in group {
            let mark = if row.best { "* " } else { "  " };
            let part = |name: &&str| {
                row.regimes
                    .iter()
                    .find(|p| p.regime == *name)
                    .map_or("-".to_owned(), |p| format!("{:.3}", p.agreement.value))
            };
            let first = [
                format!("{mark}{}", row.rule),
                interval(&row.agreement, 3),
                row.regret.map_or("-".to_owned(), |e| format!("{:.4}", e.value)),
            ];
            table.row(first.into_iter().chain(names.iter().map(part)));
        }
        output.text(format!("{table}\n"))?;
    }
    for (number, name) in numbered.iter().zip(&names) {
        output.text(format!("{number}: {name}"))?;
    }
    for group in rows.chunk_by(|a, b| (&a.level, &a.kind) == (&b.level, &b.kind)) {
        let chance = group.iter().find(|r| r.rule == "random").map_or(f64::NAN, |r| r.agreement.value);
        let Some(best) = group.iter().find(|r| r.best) else {
            output.text(format!("{}, {}: no rule is better than chance", group[0].level, group[0].kind))?;
            continue;
        };
        output.text(format!(
            "in {} of its {} choices of level {} it acts as {}: {} (chance: {}){}",
            percent(best.agreement.value),
            best.kind,
            best.level,
            best.rule,
            best.meaning,
            percent(chance),
            match group.iter().filter(|r| r.best).count() {
                1 => String::new(),
                n => format!("; {} more of the rules agree as often", n - 1),
            }
        ))?;
    }
    output.text(format!("teacher: {}; * marks the best of the rules on these same choices", trace.manifest.labeller.id))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn exceptions(
    args: &IdentifyArgs,
    trace: &Trace,
    known: &[KnownRule],
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let kinds = &trace.manifest.kinds;
    let kind = match &args.kind {
        None => None,
        Some(name) => match kinds.iter().position(|k| k == name) {
            None => bail!("--kind: the trace has no kind `{name}`, only {}", kinds.join(", ")),
            place => place.map(|k| k as u8),
        },
    };
    let params = ExceptionParams {
        kind,
        max_choices: args.max_choices.max(1),
        max_exceptions: args.max_exceptions,
        min_gain: args.min_gain,
        min_fidelity: args.min_fidelity,
        ..ExceptionParams::default()
    };
    let validation = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let watched = Watched::new(output);
    let of = &args.exceptions;
    let RulesWithExceptions { levels, student } =
        with_exceptions(trace, validation.as_ref(), known, of, &params, watched.caller())?;
    drop(watched);
    print_exceptions(&levels, args.kind.as_deref(), output)?;
    if let Some(path) = &args.output {
        replace(path, student.to_json().as_bytes(), args.force)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    let whole = json!({"student": args.output, "hash": student.hash(), "size": student.size(), "levels": levels});
    output.json("exceptions", &whole)?;
    Ok(Verdict::Done)
}

fn print_exceptions(levels: &[LevelRule], kind: Option<&str>, output: &mut Output) -> Result<()> {
    let what = kind.map_or("mean over kinds".to_owned(), |k| format!("{k} choices"));
    for level in levels {
        let head = format!("level {}, {what}", level.level);
        let mut table = Table::new(&[&head, "train", "validation", "adds"]);
        let mut before = None;
        for step in &level.steps {
            let name = match &step.exception {
                None => format!("{}: {}", level.rule, level.meaning),
                Some(guard) => format!("  {}", exception_words(guard, step.overrides)),
            };
            let adds = before.map_or(String::new(), |b: f64| format!("{:+.3}", step.validation - b));
            table.row([name, format!("{:.3}", step.train), format!("{:.3}", step.validation), adds]);
            before = Some(step.validation);
        }
        output.text(format!("{table}\n"))?;
    }
    output.text(
        "exceptions come before the rule's order, from the top; those above all come before its guards too (`distill list rules`); \
         all are chosen on these validation choices",
    )
}
