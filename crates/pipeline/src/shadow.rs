//! What a shadow's log says: does the policy agree with the present scheduler, where does it not, and does the cluster look like
//! the one that the policy was made for?

use super::{Caller, PipelineError};
use sched_distill_core::{
    level::{NONE_FLAG, Values},
    model::{CompiledGuards, Pairwise, Structure, Student, StudentError},
};
use sched_distill_explain::{disagreement, importance};
use sched_distill_judge::evaluator::{
    Departures, DeparturesTally, Disagreement, Drift, DriftTally, FidelityRow, Read, Scorer, Tally, drift,
};
use sched_distill_trace::{Choice, LevelTable, Sampler, Trace};

/// Choices of a level by which regions and tenths are found.
const SAMPLE: usize = 20_000;

/// What a log says.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShadowReport {
    /// Whole decisions: how many of the present scheduler's are those of the policy, and at which level others part first.
    pub decisions: Option<Departures>,
    /// By level and kind: how often the present scheduler took the policy's candidate (`top1`), among choices in which there was
    /// one to be made.
    pub agreement: Vec<FidelityRow>,
    /// By level, in which regions of choices it took another one.
    pub regions: Vec<Disagreement>,
    /// How far states are from those of training; `None` without a training trace.
    pub drift: Option<Drift>,
}

/// Reads a log of `distill serve --shadow`, and compares its states with those of a training trace.
///
/// # Errors
///
/// A log without labels, a training trace of other features, a trace that cannot be read.
pub fn shadow_report(
    log: &Trace,
    training: Option<&Trace>,
    max_regions: usize,
    seed: u64,
    caller: Caller<'_>,
) -> Result<ShadowReport, PipelineError> {
    let (set, done) = (&log.manifest.feature_set, log.as_executed());
    if let Some(difference) = training.and_then(|training| set.difference(&training.manifest.feature_set)) {
        return Err(PipelineError::OtherFeatures(difference));
    }
    let names: Vec<&str> = set.levels.iter().map(|level| level.name.as_str()).collect();
    let empty = names.iter().map(|n| Ok(done.pieces(n)?.empty())).collect::<Result<Vec<_>, PipelineError>>()?;
    let present = [Scorer::executed()];
    let mut tallies: Vec<Tally<'_>> = empty.iter().map(|table| Tally::new(table, &present)).collect();
    let mut samplers: Vec<Sampler> = empty.iter().map(|table| Sampler::new(table.clone(), SAMPLE, seed)).collect();
    let mut departures = DeparturesTally::new(Structure::Hierarchical);
    for tables in done.pieces_together(&names)? {
        caller.check()?;
        let tables = tables?;
        departures.add(&tables.iter().map(|table| (table, &present[0])).collect::<Vec<_>>());
        for ((table, tally), sampler) in tables.iter().zip(&mut tallies).zip(&mut samplers) {
            let open = table.filter(|choice| is_open(choice, table));
            tally.add(&open);
            sampler.add(&open);
        }
    }
    let mut regions = Vec::new();
    for sampler in samplers.into_iter().filter(|_| max_regions > 0) {
        caller.check()?;
        let table = sampler.finish().weighted();
        let values = Values::new(&table.spec, None);
        regions.extend(disagreement((&table, &values), &present[0], max_regions, seed)?);
    }
    let drift = match training {
        Some(training) => Some(drift_against(log, training, &names, seed, caller)?),
        None => None,
    };
    let agreement = tallies.iter().flat_map(|tally| tally.rows(seed)).collect();
    Ok(ShadowReport { decisions: departures.departures(seed), agreement, regions, drift })
}

/// The features that a student reads, in its guards too, and how much of what each level goes by they are: what drift is told by
/// ([`Drift::in_words`]). `model` chooses one of several models per level by name.
///
/// # Errors
///
/// If a level has no such model.
pub fn reads(student: &Student, model: Option<&str>) -> Result<Vec<Read>, StudentError> {
    let mut all = Vec::new();
    for spec in &student.feature_set.levels {
        let named = student.model(&spec.name, model)?;
        let (mut read, mut shares) = (vec![false; spec.features.len()], vec![0.0; spec.features.len()]);
        named.model.mark_columns(&mut read);
        CompiledGuards::new(&student.guards, spec).mark_columns(&mut read);
        // What a pairwise tree goes by may be a difference of a feature between two candidates.
        let columns = Pairwise::level(spec).features;
        for goes_by in importance(&named.model, spec) {
            if let Some(column) = columns.iter().position(|f| f.name == goes_by.feature) {
                shares[column % spec.features.len()] += goes_by.share;
            }
        }
        let of_level = spec.features.iter().zip(read).zip(shares).filter(|((_, read), _)| *read);
        all.extend(of_level.map(|((feature, _), share)| Read {
            level: spec.name.clone(),
            feature: feature.name.clone(),
            share,
        }));
    }
    Ok(all)
}

/// Whether there was something to choose, and something was: to give nothing is no alternative to a lone candidate unless that is
/// what was done.
fn is_open(choice: &Choice<'_>, table: &LevelTable) -> bool {
    let none = table.spec.features.iter().position(|f| f.name == NONE_FLAG);
    let is_none = |candidate: usize| none.is_some_and(|column| choice.row(candidate)[column] > 0.5);
    let real = (0..choice.len()).filter(|&candidate| !is_none(candidate)).count();
    choice.chosen.iter().position(|&chosen| chosen).is_some_and(|chosen| real > 1 || is_none(chosen))
}

fn drift_against(
    log: &Trace,
    training: &Trace,
    names: &[&str],
    seed: u64,
    caller: Caller<'_>,
) -> Result<Drift, PipelineError> {
    let mut tallies = Vec::new();
    for name in names {
        let mut tally = DriftTally::new(&training.sample(name, SAMPLE, seed)?.table);
        for piece in training.pieces(name)? {
            caller.check()?;
            tally.add_training(&piece?);
        }
        for piece in log.pieces(name)? {
            caller.check()?;
            tally.add(&piece?);
        }
        tallies.push(tally);
    }
    Ok(drift(&tallies, seed))
}
