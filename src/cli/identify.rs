//! `distill identify`: which known heuristic does the teacher act like, and where does it depart from it?

use super::{
    Common, Verdict, check_interrupt,
    files::check_output,
    output::Output,
    progress::StepBar,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    distiller::{ExceptionParams, ExceptionStep, find_exceptions, student_of_rules},
    evaluator::{Estimate, FidelityRow, Regimes, Role, Scorer, fidelity},
    level::LevelSpec,
    model::{Guard, NamedModel, Rule},
    pipeline::{provenance, tables},
    registry,
    trace::{LevelTable, Trace},
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

/// Compare a recorded teacher with named heuristics, or describe it as a heuristic with exceptions
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill identify trace\n  distill identify trace --regime outstanding_work --rule 'mine=job: age > 300s first, smallest \
remaining_work_rank'\n  distill identify trace --exceptions shortest-job -o rules.json     the rule and where the teacher departs from it\n  \
distill identify trace --exceptions best --kind free --min-fidelity 0.6 -o rules.json\n\n\
`distill list rules` shows the heuristics. Exceptions are chosen on validation choices: measure the student that is written on a\n\
test trace (`distill evaluate rules.json test-trace`)."
)]
pub(super) struct IdentifyArgs {
    /// Recorded trace
    trace: PathBuf,
    /// Feature by which decisions are divided into three regimes; the same for all candidates of a choice [default: the
    /// scenario's own, e.g. jobs_in_system]
    #[arg(long, value_name = "FEATURE")]
    regime: Option<String>,
    /// One more rule, repeatable
    #[arg(long = "rule", value_name = "NAME=RULE")]
    rules: Vec<String>,
    /// Search exceptions to this rule, repeatable; `best` for every level's best rule
    #[arg(long, value_name = "RULE")]
    exceptions: Vec<String>,
    /// Write the rules with their exceptions as a student
    #[arg(short, long, value_name = "FILE", requires = "exceptions")]
    output: Option<PathBuf>,
    /// Trace with other episodes to choose exceptions on [default: the last fifth of TRACE]
    #[arg(long, value_name = "TRACE", requires = "exceptions")]
    validation: Option<PathBuf>,
    /// Only choices of this kind count in the search [default: all kinds, each with the same weight]
    #[arg(long, value_name = "KIND", requires = "exceptions")]
    kind: Option<String>,
    /// Exceptions per level at most
    #[arg(long, value_name = "N", default_value_t = ExceptionParams::default().max_exceptions, requires = "exceptions")]
    max_exceptions: usize,
    /// Agreement that an exception must add on validation choices
    #[arg(long, value_name = "SHARE", default_value_t = ExceptionParams::default().min_gain, value_parser = share, requires = "exceptions")]
    min_gain: f64,
    /// Agreement on validation choices that is enough
    #[arg(long, value_name = "SHARE", default_value_t = ExceptionParams::default().min_fidelity, value_parser = share, requires = "exceptions")]
    min_fidelity: f64,
    /// Choices learnt from per level at most, drawn in proportion to their weights
    #[arg(long, value_name = "N", default_value_t = ExceptionParams::default().max_choices, requires = "exceptions")]
    max_choices: usize,
}

fn share(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
    found.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// A rule with its meaning and its model.
pub(super) struct Known {
    pub(super) rule: Rule,
    pub(super) meaning: String,
    pub(super) model: NamedModel,
}

impl Known {
    pub(super) fn scorer<'a>(&'a self, spec: &LevelSpec) -> Scorer<'a> {
        Scorer::heuristic(&self.model, &self.rule.guards, spec)
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
    let known = known_rules(&trace, &args.rules)?;
    if known.is_empty() {
        bail!("{}: the trace has the features of no known rule; give rules with --rule NAME=RULE", trace.dir.display());
    }
    match args.exceptions.is_empty() {
        true => identify(args, &trace, &known, common.seed, output),
        false => with_exceptions(args, &trace, &known, common, output),
    }
}

/// The scenario's rules that the trace has the features for, and the user's.
pub(super) fn known_rules(trace: &Trace, more: &[String]) -> Result<Vec<Known>> {
    let set = &trace.manifest.feature_set;
    let known = registry::find(&set.scenario).map(|info| info.catalogue.rules(set, trace.manifest.abstains));
    let mut all: Vec<(Rule, String)> =
        known.into_iter().flatten().map(|(rule, meaning)| (rule, meaning.to_owned())).collect();
    for text in more {
        let Some((name, rule)) = text.split_once('=').filter(|(name, _)| !name.contains(':')) else {
            bail!("--rule `{text}`: expected NAME=RULE, e.g. mine='job: smallest remaining_work_rank'");
        };
        if name == "best" || all.iter().any(|(r, _)| r.name == name) {
            bail!("--rule `{text}`: there is a rule `{name}` already; choose another name");
        }
        all.push((Rule::parse(name, rule, set)?, rule.trim().to_owned()));
    }
    let model = |(rule, meaning): (Rule, String)| {
        // Rules are read against this very set, so their levels are in it.
        let spec = set.level(&rule.level).ok_or_else(|| anyhow::anyhow!("no level `{}`", rule.level))?;
        Ok(Known { model: rule.model(spec)?, rule, meaning })
    };
    all.into_iter().map(model).collect()
}

/// Regimes by a feature of the cluster, or a note that it is none.
pub(super) fn terciles(table: &LevelTable, feature: Option<&str>, output: &Output) -> Option<Regimes> {
    let feature = feature?;
    let regimes = Regimes::terciles(table, feature);
    if regimes.is_none() {
        output.note(format!(
            "note: no regimes: level `{}` has no feature `{feature}` that is the same for all candidates of a choice",
            table.spec.name
        ));
    }
    regimes
}

/// The feature by which decisions of a trace are divided where the user names none; `None` for a scenario that is not known.
pub(super) fn usual_regime(trace: &Trace) -> Option<&'static str> {
    registry::find(&trace.manifest.feature_set.scenario).map(|info| info.regime)
}

/// Agreement with one rule on the choices of one level and kind.
#[derive(Serialize)]
struct Identity {
    level: String,
    kind: String,
    rule: String,
    meaning: String,
    /// Whether no rule agrees more.
    best: bool,
    choices: usize,
    agreement: Estimate,
    regret: Option<Estimate>,
    regimes: Vec<InRegime>,
}

#[derive(Serialize)]
struct InRegime {
    regime: String,
    choices: usize,
    agreement: Estimate,
}

fn identify(args: &IdentifyArgs, trace: &Trace, known: &[Known], seed: u64, output: &mut Output) -> Result<Verdict> {
    let levels = &trace.manifest.feature_set.levels;
    let bar = StepBar::new(levels.len(), output);
    let mut regimes = None;
    let mut identities = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        check_interrupt()?;
        bar.begin(level.name.clone());
        let mut table = trace.level(&level.name)?;
        if i == 0 {
            regimes = terciles(&table, args.regime.as_deref().or(usual_regime(trace)), output);
        }
        let of_level: Vec<&Known> = known.iter().filter(|k| k.rule.level == level.name).collect();
        let mut scorers: Vec<Scorer<'_>> = of_level.iter().map(|k| k.scorer(&table.spec)).collect();
        scorers.push(Scorer::random());
        let whole = fidelity(&table, &scorers, seed);
        let kinds = table.kinds.clone();
        let parts = regimes.as_ref().map_or(Vec::new(), |regimes| {
            regimes.divide(&mut table);
            fidelity(&table, &scorers, seed)
        });
        for kind in &kinds {
            let rows: Vec<&FidelityRow> = whole.iter().filter(|r| r.kind == *kind).collect();
            let most = rows.iter().map(|r| r.top1.value).fold(0.0, f64::max);
            let regimes = |r: &FidelityRow| {
                let names = regimes.iter().flat_map(|r| &r.names);
                let part = |regime: &String| {
                    let name = format!("{kind}, {regime}");
                    let part = parts.iter().find(|p| p.kind == name && p.scorer == r.scorer)?;
                    Some(InRegime { regime: regime.clone(), choices: part.choices, agreement: part.top1 })
                };
                names.filter_map(part).collect()
            };
            let mut of_kind: Vec<Identity> = rows
                .iter()
                .map(|r| Identity {
                    level: level.name.clone(),
                    kind: kind.clone(),
                    rule: r.scorer.clone(),
                    meaning: of_level
                        .iter()
                        .find(|k| k.rule.name == r.scorer)
                        .map_or("chance", |k| &k.meaning)
                        .to_owned(),
                    best: r.role == Role::Heuristic && r.top1.value >= most,
                    choices: r.choices,
                    agreement: r.top1,
                    regret: r.regret,
                    regimes: regimes(r),
                })
                .collect();
            of_kind.sort_by(|a, b| b.agreement.value.total_cmp(&a.agreement.value));
            identities.extend(of_kind);
        }
        bar.step();
    }
    drop(bar);
    print_identities(&identities, regimes.as_ref(), trace, output)?;
    output
        .json("identity", &json!({"trace": trace.hash, "teacher": trace.manifest.labeller.id, "rows": identities}))?;
    Ok(Verdict::Done)
}

fn print_identities(rows: &[Identity], regimes: Option<&Regimes>, trace: &Trace, output: &mut Output) -> Result<()> {
    let names: Vec<&str> = regimes.iter().flat_map(|r| r.names.iter().map(String::as_str)).collect();
    for group in rows.chunk_by(|a, b| (&a.level, &a.kind) == (&b.level, &b.kind)) {
        let head = format!("{}, {} ({} choices)", group[0].level, group[0].kind, group[0].choices);
        let mut table = Table::new(&[&[head.as_str(), "agreement", "regret"], &names[..]].concat());
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

/// A level's rule and its exceptions.
#[derive(Serialize)]
struct LevelRule {
    level: String,
    rule: String,
    meaning: String,
    steps: Vec<ExceptionStep>,
}

fn with_exceptions(
    args: &IdentifyArgs,
    trace: &Trace,
    known: &[Known],
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let names: Vec<&str> = known.iter().map(|k| k.rule.name.as_str()).collect();
    if let Some(unknown) = args.exceptions.iter().find(|e| *e != "best" && !names.contains(&e.as_str())) {
        bail!("--exceptions: there is no rule `{unknown}` for this trace, only best, {}", names.join(", "));
    }
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
    let [train, validation] = tables(trace, validation.as_ref(), None, Watched::new(output).caller())?;
    let bar = StepBar::new(train.len(), output);
    let mut chosen: Vec<(&Known, Vec<ExceptionStep>)> = Vec::new();
    for (train, validation) in train.iter().zip(&validation) {
        check_interrupt()?;
        bar.begin(format!("{}: exceptions", train.spec.name));
        let of_level: Vec<&Known> = known.iter().filter(|k| k.rule.level == train.spec.name).collect();
        let named: Vec<&Known> = of_level.iter().copied().filter(|k| args.exceptions.contains(&k.rule.name)).collect();
        let (rule, search) = match named[..] {
            [] => (best_rule(&of_level, train, kind)?, args.exceptions.iter().any(|e| e == "best")),
            [rule] => (rule, true),
            [a, b, ..] => {
                bail!("--exceptions: `{}` and `{}` are both of level `{}`", a.rule.name, b.rule.name, a.rule.level)
            }
        };
        let most = if search { params.max_exceptions } else { 0 };
        let params = ExceptionParams { max_exceptions: most, ..params.clone() };
        chosen.push((rule, find_exceptions(&rule.rule, train, validation, &params)?));
        bar.step();
    }
    drop(bar);
    let levels: Vec<LevelRule> = chosen
        .iter()
        .map(|(known, steps)| LevelRule {
            level: known.rule.level.clone(),
            rule: known.rule.name.clone(),
            meaning: known.meaning.clone(),
            steps: steps.clone(),
        })
        .collect();
    print_exceptions(&levels, args.kind.as_deref(), output)?;
    let rules: Vec<(&Rule, &[ExceptionStep])> = chosen.iter().map(|(k, steps)| (&k.rule, &steps[..])).collect();
    let manifest = &trace.manifest;
    let student =
        student_of_rules(&manifest.feature_set, manifest.abstains, &rules, &params, &validation, provenance(trace))?;
    if let Some(path) = &args.output {
        student.save(path)?;
        output.text(format!("\nwritten to {}", path.display()))?;
    }
    let whole = json!({"student": args.output, "hash": student.hash(), "size": student.size(), "levels": levels});
    output.json("exceptions", &whole)?;
    Ok(Verdict::Done)
}

/// The rule that agrees most, as the mean over the kinds of choice or on one kind.
fn best_rule<'a>(rules: &[&'a Known], table: &LevelTable, kind: Option<u8>) -> Result<&'a Known> {
    let kinds = &table.kinds;
    let mean = |known: &&&Known| {
        let rows = fidelity(table, &[known.scorer(&table.spec)], 0);
        let counted: Vec<f64> = rows
            .iter()
            .filter(|r| {
                kinds.iter().position(|k| *k == r.kind).is_some_and(|k| kind.is_none_or(|only| only as usize == k))
            })
            .map(|r| r.top1.value)
            .collect();
        counted.iter().sum::<f64>() / counted.len().max(1) as f64
    };
    let place = crate::level::first_max(rules.iter().map(|k| mean(&k)));
    match rules.get(place) {
        Some(rule) => Ok(rule),
        None => bail!("no rule is known for level `{}`; give one with --rule NAME=RULE", table.spec.name),
    }
}

/// `but age > 300000 first`.
pub(super) fn exception_words(guard: &Guard, overrides: bool) -> String {
    let but = if overrides { "but above all" } else { "but" };
    format!("{but} {}", guard.to_string().split_once(": ").map_or("", |(_, rest)| rest))
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
