//! Which known rule a teacher acts like.

use super::{Caller, KnownRule, PipelineError};
use sched_distill_core::{level::LevelSpec, scenario::ScenarioInfo};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, Regimes, Role, Scorer, fidelity};
use sched_distill_trace::{LevelTable, Trace};
use serde::Serialize;

/// Agreement with one rule on the choices of one level and kind.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// Level.
    pub level: String,
    /// Kind of choice.
    pub kind: String,
    /// Name of the rule; `random` for chance.
    pub rule: String,
    /// What it does.
    pub meaning: String,
    /// Whether no rule agrees more.
    pub best: bool,
    /// Choices with two candidates or more.
    pub choices: usize,
    /// Top-1 agreement with the teacher.
    pub agreement: Estimate,
    /// Mean regret, where the teacher gives probabilities.
    pub regret: Option<Estimate>,
    /// The same regime by regime.
    pub regimes: Vec<InRegime>,
}

/// Agreement with a rule in one regime.
#[derive(Clone, Debug, Serialize)]
pub struct InRegime {
    /// Name of the regime.
    pub regime: String,
    /// Choices in it.
    pub choices: usize,
    /// Top-1 agreement.
    pub agreement: Estimate,
}

/// What rules agree with a teacher, and how much.
#[derive(Clone, Debug)]
pub struct Identities {
    /// By level and kind, the closest rule first.
    pub rows: Vec<Identity>,
    /// Names of the regimes; empty where there are none.
    pub regimes: Vec<String>,
}

/// Compares a recorded teacher with rules, also in three regimes by `regime`, a feature that is the same for all
/// candidates of a choice; a note says if it is none.
///
/// # Errors
///
/// A trace that cannot be read.
pub fn identify(
    trace: &Trace,
    known: &[KnownRule],
    regime: Option<&str>,
    seed: u64,
    caller: Caller<'_>,
) -> Result<Identities, PipelineError> {
    let levels = &trace.manifest.feature_set.levels;
    caller.watch.steps(levels.len());
    let mut regimes = None;
    let mut rows = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        caller.check()?;
        caller.watch.step(&level.name);
        let mut table = trace.level(&level.name)?;
        if i == 0 {
            regimes = terciles(&table, regime, caller);
        }
        rows.extend(of_level(level, &mut table, known, regimes.as_ref(), seed));
    }
    caller.watch.done();
    Ok(Identities { rows, regimes: regimes.map_or(Vec::new(), |regimes| regimes.names) })
}

fn of_level(
    level: &LevelSpec,
    table: &mut LevelTable,
    known: &[KnownRule],
    regimes: Option<&Regimes>,
    seed: u64,
) -> Vec<Identity> {
    let of_level: Vec<&KnownRule> = known.iter().filter(|k| k.rule.level == level.name).collect();
    let mut scorers: Vec<Scorer> = of_level.iter().map(|k| k.scorer(&table.spec)).collect();
    scorers.push(Scorer::random());
    let whole = fidelity(table, &scorers, seed);
    let kinds = table.kinds.clone();
    let parts = regimes.map_or(Vec::new(), |regimes| {
        regimes.divide(table);
        fidelity(table, &scorers, seed)
    });
    let in_regimes = |kind: &str, r: &FidelityRow| -> Vec<InRegime> {
        let part = |regime: &String| {
            let name = format!("{kind}, {regime}");
            let part = parts.iter().find(|p| p.kind == name && p.scorer == r.scorer)?;
            Some(InRegime { regime: regime.clone(), choices: part.choices, agreement: part.top1 })
        };
        regimes.iter().flat_map(|r| &r.names).filter_map(part).collect()
    };
    let meaning =
        |rule: &str| of_level.iter().find(|k| k.rule.name == rule).map_or("chance", |k| &k.meaning).to_owned();
    let mut identities = Vec::new();
    for kind in &kinds {
        let rows: Vec<&FidelityRow> = whole.iter().filter(|r| r.kind == *kind).collect();
        let most = rows.iter().map(|r| r.top1.value).fold(0.0, f64::max);
        let mut of_kind: Vec<Identity> = rows
            .iter()
            .map(|r| Identity {
                level: level.name.clone(),
                kind: kind.clone(),
                rule: r.scorer.clone(),
                meaning: meaning(&r.scorer),
                best: r.role == Role::Heuristic && r.top1.value >= most,
                choices: r.choices,
                agreement: r.top1,
                regret: r.regret,
                regimes: in_regimes(kind, r),
            })
            .collect();
        of_kind.sort_by(|a, b| b.agreement.value.total_cmp(&a.agreement.value));
        identities.extend(of_kind);
    }
    identities
}

/// Regimes by a feature of the cluster, or a note that it is none.
pub(super) fn terciles(table: &LevelTable, feature: Option<&str>, caller: Caller<'_>) -> Option<Regimes> {
    let feature = feature?;
    let regimes = Regimes::terciles(table, feature);
    if regimes.is_none() {
        caller.watch.note(&format!(
            "note: no regimes: level `{}` has no feature `{feature}` that is the same for all candidates of a choice",
            table.spec.name
        ));
    }
    regimes
}

/// The feature by which decisions are divided: the user's, or the scenario's own.
#[must_use]
pub fn regime_of<'a>(asked: Option<&'a str>, scenario: Option<&'a ScenarioInfo>) -> Option<&'a str> {
    asked.or_else(|| scenario.map(|info| info.regime))
}
