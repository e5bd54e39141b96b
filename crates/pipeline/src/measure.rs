//! How faithful a student is on a trace.

use super::{Caller, KnownRule, PipelineError, known_rules, tables::each_level};
use sched_distill_core::{
    level::{LevelSpec, Values},
    model::{LevelModels, Student},
    scenario::ScenarioInfo,
};
use sched_distill_judge::evaluator::{
    Departures, DeparturesTally, FidelityRow, Lead, Role, Scorer, Tally, best_single_features,
};
use sched_distill_trace::{LevelTable, Sampler, Trace};

/// What a trace says of a student.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Of all its models on all levels, beside the named heuristics, chance, and the best single-feature rules.
    pub fidelity: Vec<FidelityRow>,
    /// How far the student is ahead of the best single-feature rule.
    pub leads: Vec<Lead>,
    /// Where whole decisions depart; `None` for a flat student and a teacher without probabilities.
    pub departures: Option<Departures>,
    /// Per level, choices to look for regions of disagreement in; empty unless asked for.
    pub samples: Vec<LevelTable>,
}

/// What is measured on a trace.
#[derive(Clone, Copy, Default)]
pub struct MeasureParams<'a> {
    /// The trace's scenario, for its named heuristics.
    pub scenario: Option<&'a ScenarioInfo>,
    /// A trace on which the best single-feature rules are chosen; without one there are none.
    pub selection: Option<&'a Trace>,
    /// Whether choices are drawn to look for regions in.
    pub sampled: bool,
    /// Seed of intervals and draws.
    pub seed: u64,
}

/// Choices per kind that rules and regions are chosen on at most.
const SAMPLE: usize = 50_000;

/// Refuses a trace of other features than a student's.
pub(super) fn check_features(student: &Student, trace: &Trace) -> Result<(), PipelineError> {
    match student.feature_set.difference(&trace.manifest.feature_set) {
        None => Ok(()),
        Some(difference) => Err(PipelineError::StudentOfOtherFeatures { trace: trace.dir.clone(), difference }),
    }
}

/// Measures a student on a trace, which is read once, piece by piece.
///
/// # Errors
///
/// A trace that cannot be read or has other features than the student.
pub fn measure(
    student: &Student,
    trace: &Trace,
    params: MeasureParams<'_>,
    caller: Caller<'_>,
) -> Result<Measured, PipelineError> {
    check_features(student, trace)?;
    let MeasureParams { scenario, selection, sampled, seed } = params;
    let known = known_rules(trace, scenario, &[])?;
    let scorers = scorers(student, (scenario, &known), selection, seed)?;
    let names: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
    let empty = names.iter().map(|n| Ok(trace.pieces(n)?.empty())).collect::<Result<Vec<_>, PipelineError>>()?;
    let mut tallies: Vec<Tally<'_>> = empty.iter().zip(&scorers).map(|(t, s)| Tally::new(t, s)).collect();
    let mut samplers: Vec<Sampler> =
        empty.iter().filter(|_| sampled).map(|t| Sampler::new(t.clone(), SAMPLE, seed)).collect();
    let mut departures = DeparturesTally::new(student.structure);
    let schedulers = schedulers(student);
    for tables in trace.pieces_together(&names)? {
        caller.check()?;
        let tables = tables?;
        tables.iter().zip(&mut tallies).for_each(|(table, tally)| tally.add(table));
        tables.iter().zip(&mut samplers).for_each(|(table, sampler)| sampler.add(table));
        departures.add(&tables.iter().zip(&schedulers).collect::<Vec<_>>());
    }
    let mut leads = Vec::new();
    for (tally, scorers) in tallies.iter().zip(&scorers) {
        let places = |wanted: &dyn Fn(&Scorer) -> bool| {
            scorers.iter().enumerate().filter(|(_, s)| wanted(s)).map(|(i, _)| i).collect::<Vec<usize>>()
        };
        let rules = places(&|s| s.role == Role::Baseline && s.name != "random");
        for mine in places(&|s| s.role == Role::Student) {
            leads.extend(tally.leads(mine, &rules, seed));
        }
    }
    Ok(Measured {
        fidelity: tallies.iter().flat_map(|t| t.rows(seed)).collect(),
        leads,
        departures: departures.departures(seed),
        samples: samplers.into_iter().map(|s| s.finish().weighted()).collect(),
    })
}

/// Who of a level's candidates has which quantity, as far as that is known.
pub(super) fn values_of(scenario: Option<&ScenarioInfo>, spec: &LevelSpec) -> Values {
    let words = scenario.map(|info| (info.words)());
    Values::new(spec, words.as_ref().and_then(|words| words.level(&spec.name)))
}

/// Whose fidelity is measured, level by level.
fn scorers(
    student: &Student,
    (scenario, known): (Option<&ScenarioInfo>, &[KnownRule]),
    selection: Option<&Trace>,
    seed: u64,
) -> Result<Vec<Vec<Scorer>>, PipelineError> {
    let of_level = |level: &LevelModels| {
        let mut of_level: Vec<Scorer> = level
            .models
            .iter()
            .map(|m| match m.name == level.used {
                true => Scorer::student(student, level, Role::Student),
                false => Scorer::model(m, Role::Surrogate).abstaining(student.abstains),
            })
            .collect();
        if let Some(selection) = selection {
            let table = selection.sample(&level.level, SAMPLE, seed)?.weighted();
            of_level.extend(best_single_features(&table, &values_of(scenario, &table.spec)));
        }
        if let Some(spec) = student.feature_set.level(&level.level) {
            of_level.extend(known.iter().filter(|k| k.rule.level == level.level).map(|k| k.scorer(spec)));
        }
        of_level.push(Scorer::random());
        Ok(of_level)
    };
    each_level(&student.levels, of_level)
}

/// What schedules at each level.
fn schedulers(student: &Student) -> Vec<Scorer> {
    student.levels.iter().map(|l| Scorer::student(student, l, Role::Student)).collect()
}

/// Where the student's decisions depart from the teacher's; `None` for a flat student and a teacher without
/// probabilities.
///
/// # Errors
///
/// A trace that cannot be read.
pub fn whole_decisions(student: &Student, trace: &Trace, seed: u64) -> Result<Option<Departures>, PipelineError> {
    let names: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
    let (schedulers, mut departures) = (schedulers(student), DeparturesTally::new(student.structure));
    for tables in trace.pieces_together(&names)? {
        departures.add(&tables?.iter().zip(&schedulers).collect::<Vec<_>>());
    }
    Ok(departures.departures(seed))
}
