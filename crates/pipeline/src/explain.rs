//! What a student goes by, why it took one decision, what would have changed that, and on which choices readers may try changes.

use super::{
    Caller, KnownRule, PipelineError,
    files::{write_compact, write_json},
    identify::terciles,
    known_rules,
    measure::{check_features, values_of},
    regime_of,
    tables::each_level,
};
use rayon::prelude::*;
use sched_distill_core::{
    level::{LevelSpec, Values},
    model::{LevelModels, Student},
    scenario::ScenarioInfo,
};
use sched_distill_explain::{
    ChoiceExplainer, DecisionLevel, Decisions, EXPLANATION_FORMAT, ExplainedChoice, Explanation, LevelExplanation,
    Room, Selection, WhatIf, exceptions, explain_level, likeness, make_fit, select, what_if,
};
use sched_distill_judge::evaluator::{Role, Scorer};
use sched_distill_trace::{LevelTable, Sample, Trace};
use serde::{Serialize, de::DeserializeOwned};
use std::path::Path;

/// How a student is explained.
#[derive(Clone, Copy, Default)]
pub struct ExplainParams<'a> {
    /// The trace's scenario, for its rules and its regimes.
    pub scenario: Option<&'a ScenarioInfo>,
    /// Choices per level and kind that are looked at, drawn at random.
    pub choices: usize,
    /// Decisions that are explained one by one.
    pub decisions: usize,
    /// Feature by which the agreement with rules is divided into three regimes; the scenario's own unless another is
    /// named.
    pub regime: Option<&'a str>,
    /// More rules to compare with, `NAME=RULE`.
    pub rules: &'a [String],
    /// Seed of draws and intervals.
    pub seed: u64,
}

/// All that is found out about a student.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// What it goes by.
    pub explanation: Explanation,
    /// Decisions one by one.
    pub decisions: Decisions,
    /// Choices on which readers may try changes.
    pub what_if: WhatIf,
}

impl Explained {
    /// Writes `explanation.json`, `decisions.json` and `what_if.json`.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), PipelineError> {
        write_json(&dir.join("explanation.json"), &self.explanation)?;
        write_json(&dir.join("decisions.json"), &self.decisions)?;
        write_compact(&dir.join("what_if.json"), &self.what_if)
    }
}

/// Explains all levels on samples of a trace, and some decisions one by one; keeps choices on which readers may try changes.
///
/// # Errors
///
/// A trace that cannot be read or has other features, a rule that cannot be used, a model that cannot be explained.
pub fn explain(
    student: &Student,
    trace: &Trace,
    params: &ExplainParams<'_>,
    caller: Caller<'_>,
) -> Result<Explained, PipelineError> {
    check_features(student, trace)?;
    let trace = &trace.asked_of(student.abstains);
    let (manifest, seed) = (&trace.manifest, params.seed);
    let known = known_rules(trace, params.scenario, params.rules)?;
    caller.watch.steps(student.levels.len());
    let of_level = |level: &LevelModels| {
        caller.check()?;
        caller.watch.step(&format!("explaining level {}", level.level));
        let sample = trace.sample(&level.level, params.choices, seed)?;
        let rules: Vec<&KnownRule> = known.iter().filter(|k| k.rule.level == level.level).collect();
        let named: Vec<_> = rules.iter().map(|k| (&k.rule, &k.model, k.meaning.as_str())).collect();
        let exceptions = exceptions(&sample, &named, seed)?;
        // Levels below the first have other choices, whose decisions need not be in the sample. Without heuristics there is nothing to
        // divide.
        let is_first = student.levels.first().is_some_and(|first| first.level == level.level);
        let regimes = match is_first && !known.is_empty() {
            true => terciles(&sample.table, regime_of(params.regime, params.scenario), caller),
            false => None,
        };
        let scorer = Scorer::student(student, level, Role::Student);
        let rules: Vec<_> = rules.iter().map(|k| (k.scorer(&sample.table.spec), k.meaning.as_str())).collect();
        let likeness = likeness(&sample, &scorer, &rules, regimes.as_ref(), seed);
        let values = values_of(params.scenario, &sample.table.spec);
        let explained = explain_level(student, level, (&sample, &values), likeness, seed)?;
        let most = params.decisions / student.levels.len();
        let (of_level, choices) = some_decisions(student, level, (&sample, &values), (most, seed))?;
        let shown = choices.iter().map(|c| c.choice).collect();
        let to_try = what_if(student, level, &sample, &shown, seed);
        Ok((explained.map(|level| LevelExplanation { exceptions, ..level }), (of_level, choices), to_try))
    };
    let (mut levels, mut decision_levels, mut choices, mut to_try) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (explained, (of_level, explained_choices), what_if) in each_level(&student.levels, of_level)? {
        levels.extend(explained);
        decision_levels.push(of_level);
        choices.extend(explained_choices);
        to_try.push(what_if);
    }
    make_fit(&mut to_try, Room::default(), seed);
    caller.watch.done();
    if levels.is_empty() {
        return Err(PipelineError::NothingToExplain(trace.dir.clone()));
    }
    let (hash, trace_hash) = (student.hash(), trace.hash.clone());
    let decisions = Decisions {
        format_version: EXPLANATION_FORMAT,
        student: hash.clone(),
        trace: trace_hash.clone(),
        levels: decision_levels,
        choices,
    };
    let what_if = WhatIf {
        format_version: EXPLANATION_FORMAT,
        student: hash.clone(),
        trace: trace_hash.clone(),
        seed,
        levels: to_try,
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
    can_be_written(&explanation)?;
    can_be_written(&decisions)?;
    Ok(Explained { explanation, decisions, what_if })
}

/// Refuses what holds a number that is infinite or none: files have no such numbers, and nobody could read anything from them.
fn can_be_written<T: Serialize + DeserializeOwned>(found: &T) -> Result<(), PipelineError> {
    let text = serde_json::to_string(found).unwrap_or_default();
    if text.contains("null") && serde_json::from_str::<T>(&text).is_err() {
        return Err(PipelineError::Refused(
            "the student cannot be explained: its scores, or what is made of them, are beyond what a 64-bit float holds; look for numbers \
             like 1e300 in its file (coefficients, leaves, temperatures), or for sums of them that cancel each other"
                .to_owned(),
        ));
    }
    Ok(())
}

fn some_decisions(
    student: &Student,
    level: &LevelModels,
    (sample, values): (&Sample, &Values),
    (most, seed): (usize, u64),
) -> Result<(DecisionLevel, Vec<ExplainedChoice>), PipelineError> {
    let table = &sample.table;
    let explainer = ChoiceExplainer::new(student, level, (&table.spec, values), table)?;
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

/// One choice of a trace, explained.
#[derive(Clone, Debug)]
pub struct OneChoice {
    /// What was found.
    pub choice: ExplainedChoice,
    /// What the student's level is like.
    pub level: DecisionLevel,
    /// The level's features.
    pub spec: LevelSpec,
}

/// Choices by which the spread of features is judged, which tells a small change from a large one.
const SPREAD: usize = 500;

/// Explains the choice of that number, and what would have made the candidate whose last entity is `why_not` the
/// student's.
///
/// # Errors
///
/// A level, choice or candidate that there is not; as of [`explain`].
pub fn explain_choice(
    student: &Student,
    (scenario, trace): (Option<&ScenarioInfo>, &Trace),
    (level, number): (Option<&str>, u64),
    why_not: Option<u32>,
    seed: u64,
) -> Result<OneChoice, PipelineError> {
    check_features(student, trace)?;
    let trace = &trace.asked_of(student.abstains);
    let found = level.map_or_else(|| student.levels.first(), |name| student.level(name));
    let level = found.ok_or_else(|| {
        let known: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
        let (level, known) = (level.unwrap_or_default(), known.join(", "));
        PipelineError::parameter("choice", None, format!("the student has no level `{level}`, only {known}"))
    })?;
    let table = find(trace, &level.level, number)?;
    let choice = table.choice(0);
    let sample = trace.sample(&level.level, SPREAD, seed)?;
    let values = values_of(scenario, &table.spec);
    let explainer = ChoiceExplainer::new(student, level, (&table.spec, &values), &sample.table)?;
    let ask = why_not.map(|entity| candidate(&table, entity)).transpose()?;
    let kind = &table.kinds[choice.header.kind as usize];
    let explained = explainer.explain(&choice, kind, Selection::Asked, ask)?;
    Ok(OneChoice { choice: explained, level: explainer.level(), spec: table.spec.clone() })
}

/// The choice of that number as a table of its own.
fn find(trace: &Trace, level: &str, number: u64) -> Result<LevelTable, PipelineError> {
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
    Err(PipelineError::Refused(format!(
        "{}: level {level} has no choice {number}; numbers run from {first} to {last}, with gaps (column `choice`)",
        trace.dir.display()
    )))
}

/// The candidate whose last entity is that number.
fn candidate(table: &LevelTable, entity: u32) -> Result<usize, PipelineError> {
    let width = table.spec.entities.len();
    let last: Vec<u32> = table.entity.chunks_exact(width.max(1)).filter_map(|e| e.last().copied()).collect();
    let name = table.spec.entities.last().map_or("candidate", String::as_str);
    last.iter().position(|&e| e == entity).ok_or_else(|| {
        let known: Vec<String> = last.iter().map(u32::to_string).collect();
        let why = format!("no candidate of this choice is {name} {entity}, only {}", known.join(", "));
        PipelineError::parameter("why_not", Some(entity.to_string()), why)
    })
}
