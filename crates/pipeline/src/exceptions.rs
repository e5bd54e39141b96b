//! A teacher as rules with exceptions.

use super::{Caller, KnownRule, Lessons, PipelineError, tables};
use sched_distill_core::{
    level::first_max,
    model::{Rule, Student},
};
use sched_distill_judge::evaluator::fidelity;
use sched_distill_learn::{ExceptionParams, ExceptionStep, find_exceptions, student_of_rules};
use sched_distill_trace::{LevelTable, Trace};
use serde::Serialize;

/// A level's rule and its exceptions.
#[derive(Clone, Debug, Serialize)]
pub struct LevelRule {
    /// Level.
    pub level: String,
    /// Name of the rule.
    pub rule: String,
    /// What it does.
    pub meaning: String,
    /// The rule alone, and then with one exception after the other.
    pub steps: Vec<ExceptionStep>,
}

/// A teacher as rules with exceptions.
#[derive(Clone, Debug)]
pub struct RulesWithExceptions {
    /// Level by level.
    pub levels: Vec<LevelRule>,
    /// The same as a student.
    pub student: Student,
}

/// Finds exceptions to the rules named in `of`, or to every level's best one (`best`); a level of which no rule is
/// named keeps its best one as it is. They are chosen on the choices of `validation`, or of the last fifth of the
/// episodes.
///
/// # Errors
///
/// A rule that is not known or the second of its level, a level without rules, traces that cannot be used together.
pub fn with_exceptions(
    trace: &Trace,
    validation: Option<&Trace>,
    known: &[KnownRule],
    of: &[String],
    params: &ExceptionParams,
    caller: Caller<'_>,
) -> Result<RulesWithExceptions, PipelineError> {
    let refused = |why: String| PipelineError::parameter("exceptions", None, why);
    let names: Vec<&str> = known.iter().map(|k| k.rule.name.as_str()).collect();
    if let Some(unknown) = of.iter().find(|e| *e != "best" && !names.contains(&e.as_str())) {
        return Err(refused(format!("there is no rule `{unknown}` for this trace, only best, {}", names.join(", "))));
    }
    let [train, validation] = tables(trace.into(), validation, None, caller)?;
    caller.watch.steps(train.len());
    let mut chosen: Vec<(&KnownRule, Vec<ExceptionStep>)> = Vec::new();
    for (train, validation) in train.iter().zip(&validation) {
        caller.check()?;
        caller.watch.step(&format!("{}: exceptions", train.spec.name));
        let of_level: Vec<&KnownRule> = known.iter().filter(|k| k.rule.level == train.spec.name).collect();
        let named: Vec<&KnownRule> = of_level.iter().copied().filter(|k| of.contains(&k.rule.name)).collect();
        let (rule, search) = match named[..] {
            [] => (best_rule(&of_level, train, params.kind)?, of.iter().any(|e| e == "best")),
            [rule] => (rule, true),
            [a, b, ..] => {
                return Err(refused(format!(
                    "`{}` and `{}` are both of level `{}`",
                    a.rule.name, b.rule.name, a.rule.level
                )));
            }
        };
        let most = if search { params.max_exceptions } else { 0 };
        let params = ExceptionParams { max_exceptions: most, ..params.clone() };
        chosen.push((rule, find_exceptions(&rule.rule, train, validation, &params)?));
    }
    caller.watch.done();
    let level = |(known, steps): &(&KnownRule, Vec<ExceptionStep>)| LevelRule {
        level: known.rule.level.clone(),
        rule: known.rule.name.clone(),
        meaning: known.meaning.clone(),
        steps: steps.clone(),
    };
    let rules: Vec<(&Rule, &[ExceptionStep])> = chosen.iter().map(|(k, steps)| (&k.rule, &steps[..])).collect();
    let manifest = &trace.manifest;
    let student = student_of_rules(
        &manifest.feature_set,
        trace.abstains(),
        &rules,
        params,
        &validation,
        Lessons::from(trace).provenance(),
    )?;
    Ok(RulesWithExceptions { levels: chosen.iter().map(level).collect(), student })
}

/// The rule that agrees most, as the mean over the kinds of choice or on one kind.
fn best_rule<'a>(
    rules: &[&'a KnownRule],
    table: &LevelTable,
    kind: Option<u8>,
) -> Result<&'a KnownRule, PipelineError> {
    let kinds = &table.kinds;
    let mean = |known: &&&KnownRule| {
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
    let place = first_max(rules.iter().map(|k| mean(&k)));
    rules.get(place).copied().ok_or_else(|| PipelineError::NoRule(table.spec.name.clone()))
}
