//! What is learned from and what is chosen on.

use super::{Caller, PipelineError};
use crate::{
    distiller::{Draw, FitParams, is_usable},
    trace::{Choice, LevelTable, Trace},
};
use sched_distill_core::model::Provenance;

/// Where a student fitted on a trace comes from.
#[must_use]
pub fn provenance(trace: &Trace) -> Provenance {
    Provenance {
        trace_hash: trace.hash.clone(),
        teacher: trace.manifest.labeller.id.clone(),
        workload: trace.manifest.workload.id.clone(),
        ..Provenance::default()
    }
}

/// The tables of all levels to train on, and those to choose on: of `validation`, or of the last fifth of the episodes. With
/// the parameters of a fit, the former hold no more than the fit takes.
///
/// # Errors
///
/// A trace that cannot be read, traces of other features or the same episodes, a single episode without a validation trace.
pub fn tables(
    trace: &Trace,
    validation: Option<&Trace>,
    learning: Option<&FitParams>,
    caller: Caller<'_>,
) -> Result<[Vec<LevelTable>; 2], PipelineError> {
    let set = &trace.manifest.feature_set;
    if let Some(difference) = validation.and_then(|v| v.manifest.feature_set.difference(set)) {
        return Err(PipelineError::OtherFeatures(difference));
    }
    let drawn = |t: &Trace| (t.manifest.seed, t.manifest.split, t.manifest.workload.clone());
    let range = |t: &Trace| (t.manifest.first_episode, t.manifest.first_episode + t.manifest.episodes);
    let overlap = |v: &Trace| {
        let ((from, to), (first, end)) = (range(v), range(trace));
        drawn(v) == drawn(trace) && from < end && first < to
    };
    if validation.is_some_and(|v| v.hash == trace.hash || overlap(v)) {
        return Err(PipelineError::SameEpisodes(trace.manifest.split));
    }
    if validation.is_none() && trace.manifest.episodes < 2 {
        return Err(PipelineError::OneEpisode);
    }
    caller.watch.note(&format!("fitting {} levels on {}", set.levels.len(), trace.dir.display()));
    let manifest = &trace.manifest;
    let first_held_out = manifest.first_episode + manifest.episodes - manifest.episodes.div_ceil(5);
    let (mut train, mut held) = (Vec::new(), Vec::new());
    for level in &set.levels {
        let name = level.name.as_str();
        // Beside a trace to choose on, all of this one is to learn from.
        let first_held_out = if validation.is_some() { u32::MAX } else { first_held_out };
        train.push(to_learn_from(trace, name, first_held_out, learning, caller)?);
        let (held_out, from) = validation.map_or((trace, first_held_out), |other| (other, 0));
        held.push(kept(held_out, name, caller, |choice| choice.header.episode >= from)?);
    }
    Ok([train, held])
}

/// Rows of a level up to which choices are drawn from all of them in memory: reading them twice would take longer.
const FEW_ROWS: usize = 200_000;

/// The choices of a level before an episode, those alone that a fit with these parameters takes.
fn to_learn_from(
    trace: &Trace,
    level: &str,
    before: u32,
    learning: Option<&FitParams>,
    caller: Caller<'_>,
) -> Result<LevelTable, PipelineError> {
    let is_early = |choice: &Choice<'_>| choice.header.episode < before;
    let Some(params) = learning else { return kept(trace, level, caller, is_early) };
    if params.max_choices.is_none() || trace.rows_of(level) <= FEW_ROWS {
        return kept(trace, level, caller, |choice| is_early(choice) && is_usable(choice));
    }
    // Which choices are drawn shows when all are known: their weights are read first, and then the rows of those drawn.
    let mut draw = Draw::default();
    trace.outlines(level)?.iter().filter(|choice| choice.episode < before).for_each(|choice| draw.add(choice));
    let Some(weights) = draw.weights(params.balance, params.max_choices) else {
        return Ok(trace.pieces(level)?.empty());
    };
    let mut weight = weights.iter();
    let mut table = kept(trace, level, caller, |choice| is_early(choice) && weight.next().is_some_and(|&w| w > 0.0))?;
    table.drawn = Some(weights.into_iter().filter(|&w| w > 0.0).collect());
    Ok(table)
}

/// The choices of a level that are to be kept, asked in order.
fn kept(
    trace: &Trace,
    level: &str,
    caller: Caller<'_>,
    mut keep: impl FnMut(&Choice<'_>) -> bool,
) -> Result<LevelTable, PipelineError> {
    let pieces = trace.pieces(level)?;
    let mut table = pieces.empty();
    for piece in pieces {
        caller.check()?;
        let piece = piece?;
        piece.iter().filter(|choice| keep(choice)).for_each(|choice| table.push(&choice));
    }
    Ok(table)
}
