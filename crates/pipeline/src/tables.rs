//! What is learned from and what is chosen on.

use super::{Caller, PipelineError};
use rayon::prelude::*;
use sched_distill_core::{level::LevelSpec, model::Provenance};
use sched_distill_learn::{Draw, FitParams, is_usable};
use sched_distill_trace::{Choice, LevelTable, Outline, Trace, TraceError, hash_of};

/// One or several traces that are learnt from together: other episodes, other workloads, states that other policies met.
#[derive(Clone, Copy, Debug)]
pub struct Lessons<'a> {
    first: &'a Trace,
    others: &'a [&'a Trace],
}

impl<'a> From<&'a Trace> for Lessons<'a> {
    fn from(first: &'a Trace) -> Self {
        Self { first, others: &[] }
    }
}

impl<'a> Lessons<'a> {
    /// Several traces with the same teacher and the same features.
    ///
    /// # Errors
    ///
    /// Other features, another teacher, the same trace twice.
    pub fn new(first: &'a Trace, others: &'a [&'a Trace]) -> Result<Self, PipelineError> {
        let set = &first.manifest.feature_set;
        for (i, other) in others.iter().enumerate() {
            let before = std::iter::once(&first).chain(&others[..i]).find(|t| t.hash == other.hash);
            let why = if let Some(difference) = other.manifest.feature_set.difference(set) {
                format!("the second has other features: {difference}")
            } else if other.manifest.labeller != first.manifest.labeller {
                let [a, b] = [first, other].map(|t| &t.manifest.labeller.id);
                format!("the first is labelled by {a}, the second by {b} or another file of this name")
            } else if before.is_some() {
                "they are the same trace".to_owned()
            } else {
                continue;
            };
            return Err(PipelineError::NotTogether { traces: [first.dir.clone(), other.dir.clone()], why });
        }
        Ok(Self { first, others })
    }

    /// All traces.
    pub fn traces(self) -> impl Iterator<Item = &'a Trace> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The first one, whose features, teacher and workload stand for all.
    #[must_use]
    pub fn first(self) -> &'a Trace {
        self.first
    }

    /// Their hash.
    #[must_use]
    pub fn hash(self) -> String {
        hash_of(&self.traces().map(|trace| trace.hash.clone()).collect::<Vec<_>>())
    }

    /// What the choices of a level are like in all traces, in order.
    pub(super) fn outlines(self, level: &str) -> Result<Vec<Outline>, TraceError> {
        let mut all = Vec::new();
        for trace in self.traces() {
            // What a file says of its choices is not how they are read where some is left out.
            if trace.leaves_out(level) {
                for piece in trace.pieces(level)? {
                    all.extend(piece?.iter().map(|choice| Outline::of(&choice)));
                }
            } else {
                all.extend(trace.outlines(level)?);
            }
        }
        Ok(all)
    }

    /// Where a student that is fitted on them comes from.
    #[must_use]
    pub fn provenance(self) -> Provenance {
        let manifest = &self.first.manifest;
        Provenance {
            trace_hash: self.hash(),
            teacher: manifest.labeller.id.clone(),
            workload: manifest.workload.id.clone(),
            ..Provenance::default()
        }
    }
}

/// The tables of all levels to train on, and those to choose on: of `validation`, or of the last fifth of the episodes of a
/// single trace. With the parameters of a fit, the former hold no more than the fit takes, and the latter, where the fit has a limit,
/// some [`NUMBERS_TO_CHOOSE_ON`] in the rows of a level.
///
/// # Errors
///
/// A trace that cannot be read, traces of other features or the same episodes, a single episode or several traces without a
/// validation trace.
pub fn tables(
    lessons: Lessons<'_>,
    validation: Option<&Trace>,
    learning: Option<&FitParams>,
    caller: Caller<'_>,
) -> Result<[Vec<LevelTable>; 2], PipelineError> {
    check_together(lessons, validation, learning)?;
    let (trace, set) = (lessons.first, &lessons.first.manifest.feature_set);
    let dirs: Vec<String> = lessons.traces().map(|trace| trace.dir.display().to_string()).collect();
    caller.watch.note(&format!("fitting {} levels on {}", set.levels.len(), dirs.join(", ")));
    let first_held_out = first_held_out(trace);
    let of_level = |level: &LevelSpec| {
        let name = level.name.as_str();
        // Beside a trace to choose on, all of this one is to learn from.
        let first_held_out = if validation.is_some() { u32::MAX } else { first_held_out };
        let mut table = to_learn_from(lessons, name, first_held_out, learning, caller)?;
        if let Some(params) = learning {
            params.hide_distrusted(&mut table);
        }
        let (held_out, from) = validation.map_or((trace, first_held_out), |other| (other, 0));
        let limited = learning.is_some_and(|params| params.max_choices.is_some());
        let most = if limited { NUMBERS_TO_CHOOSE_ON / level.features.len().max(1) } else { usize::MAX };
        Ok((table, to_choose_on(held_out, name, (from, most), caller)?))
    };
    let (train, held) = each_level(&set.levels, of_level)?.into_iter().unzip();
    Ok([train, held])
}

/// Checks that traces may be learnt from together and that what is chosen on is something else.
///
/// # Errors
///
/// As of [`tables`], but for traces that cannot be read.
pub fn check_together(
    lessons: Lessons<'_>,
    validation: Option<&Trace>,
    learning: Option<&FitParams>,
) -> Result<(), PipelineError> {
    let trace = lessons.first;
    let set = &trace.manifest.feature_set;
    if let Some(difference) = validation.and_then(|v| v.manifest.feature_set.difference(set)) {
        return Err(PipelineError::OtherFeatures(difference));
    }
    let drawn = |t: &Trace| (t.manifest.seed, t.manifest.split, t.manifest.workload.clone());
    let range = |t: &Trace| (t.manifest.first_episode, t.manifest.first_episode + t.manifest.episodes);
    let overlap = |v: &Trace, trace: &Trace| {
        let ((from, to), (first, end)) = (range(v), range(trace));
        v.hash == trace.hash || (drawn(v) == drawn(trace) && from < end && first < to)
    };
    if validation.is_some_and(|v| lessons.traces().any(|trace| overlap(v, trace))) {
        return Err(PipelineError::SameEpisodes(trace.manifest.split));
    }
    if validation.is_none() && !lessons.others.is_empty() {
        return Err(PipelineError::NoValidation(lessons.traces().count()));
    }
    if validation.is_none() && trace.manifest.episodes < 2 {
        return Err(PipelineError::OneEpisode);
    }
    learning.map_or(Ok(()), |params| params.check_features(set)).map_err(PipelineError::Params)
}

/// Number of the first episode of a trace that is chosen on where nothing else is: the last fifth.
#[must_use]
pub fn first_held_out(trace: &Trace) -> u32 {
    let manifest = &trace.manifest;
    manifest.first_episode + manifest.episodes - manifest.episodes.div_ceil(5)
}

/// What is found of each level, in order. Levels are read side by side, and the first one that cannot be is the one whose error is told.
pub(super) fn each_level<L: Sync, T: Send>(
    levels: &[L],
    found: impl Fn(&L) -> Result<T, PipelineError> + Sync + Send,
) -> Result<Vec<T>, PipelineError> {
    levels.par_iter().map(found).collect::<Vec<_>>().into_iter().collect()
}

/// Rows of a level up to which choices are drawn from all of them in memory: reading them twice would take longer.
const FEW_ROWS: usize = 200_000;

/// The choices of a level before an episode, those alone that a fit with these parameters takes.
fn to_learn_from(
    lessons: Lessons<'_>,
    level: &str,
    before: u32,
    learning: Option<&FitParams>,
    caller: Caller<'_>,
) -> Result<LevelTable, PipelineError> {
    let is_early = |choice: &Choice<'_>| choice.header.episode < before;
    let Some(params) = learning else { return kept(lessons, level, caller, is_early) };
    let few = lessons.traces().map(|trace| trace.rows_of(level)).sum::<usize>() <= FEW_ROWS;
    // What a file says of its choices is not how they are read where some is left out.
    if params.max_choices.is_none() || few || lessons.traces().any(|trace| trace.leaves_out(level)) {
        return kept(lessons, level, caller, |choice| is_early(choice) && is_usable(choice));
    }
    // Which choices are drawn shows when all are known: their weights are read first, and then the rows of those drawn.
    let none = lessons.first.pieces(level)?.empty();
    let mut draw = Draw::of_rows(none.width());
    for trace in lessons.traces() {
        trace.outlines(level)?.iter().filter(|choice| choice.episode < before).for_each(|choice| draw.add(choice));
    }
    let Some(weights) = draw.weights(params.balance, params.max_choices) else {
        return Ok(none);
    };
    let mut weight = weights.iter();
    let mut table = kept(lessons, level, caller, |choice| is_early(choice) && weight.next().is_some_and(|&w| w > 0.0))?;
    table.drawn = Some(weights.into_iter().filter(|&w| w > 0.0).collect());
    Ok(table)
}

/// Numbers in the rows of a level to choose on where a fit has a limit to what it learns from: about as many as it then takes. Every
/// model of every size is measured on them, and how far episodes differ among each other is known no better from more of their choices.
pub const NUMBERS_TO_CHOOSE_ON: usize = 10_000_000;

/// The choices of a level from an episode on. Where they have more rows than `most`, choices are drawn in proportion to their weights,
/// as those to learn from are, and weigh what they then stand for.
pub(super) fn to_choose_on(
    trace: &Trace,
    level: &str,
    (from, most): (u32, usize),
    caller: Caller<'_>,
) -> Result<LevelTable, PipelineError> {
    let is_late = |choice: &Choice<'_>| choice.header.episode >= from;
    let lessons = Lessons::from(trace);
    if trace.rows_of(level) <= most {
        return kept(lessons, level, caller, is_late);
    }
    let outlines = lessons.outlines(level)?;
    let late = || outlines.iter().filter(|choice| choice.episode >= from);
    let rows: usize = late().map(|choice| choice.candidates as usize).sum();
    if rows <= most {
        return kept(lessons, level, caller, is_late);
    }
    let none = trace.pieces(level)?.empty();
    let mut draw = Draw::of_rows(none.width());
    late().for_each(|choice| draw.add(choice));
    let share = most as f64 / rows as f64;
    let Some(weights) = draw.weights(0.0, Some((late().count() as f64 * share) as usize)) else {
        return Ok(none);
    };
    let mut weight = weights.iter();
    let mut table =
        kept(lessons, level, caller, |choice| is_late(choice) && weight.next().is_some_and(|&weight| weight > 0.0))?;
    let drawn = weights.iter().filter(|&&weight| weight > 0.0);
    table.choices.iter_mut().zip(drawn).for_each(|(choice, &weight)| choice.weight = weight as f32);
    Ok(table)
}

/// The choices of a level that are to be kept, asked in order.
pub(super) fn kept(
    lessons: Lessons<'_>,
    level: &str,
    caller: Caller<'_>,
    mut keep: impl FnMut(&Choice<'_>) -> bool,
) -> Result<LevelTable, PipelineError> {
    let mut table = lessons.first.pieces(level)?.empty();
    for trace in lessons.traces() {
        for piece in trace.pieces(level)? {
            caller.check()?;
            let piece = piece?;
            piece.iter().filter(|choice| keep(choice)).for_each(|choice| table.push(&choice));
        }
    }
    Ok(table)
}

/// Whether no choice of a level has two candidates that count.
pub(super) fn nothing_to_choose(table: &LevelTable) -> bool {
    !table.iter().any(|choice| is_usable(&choice))
}
