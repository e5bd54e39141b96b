//! Direct search over all numbers of a student by CMA-ES (Hansen and Ostermeier 2001), through the crate `cmaes`.

use super::{
    Arena, AugmentError,
    arena::{Key, key},
    moves,
};
use cmaes::{CMAESOptions, DVector};
use sched_distill_core::{
    model::{Model, NamedModel, Operator, Place, Slot, Student},
    policy::StudentPolicy,
    rng::Split,
    simulation::Simulated,
};
use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A number under search: value = origin + scale · coordinate.
struct Coordinate {
    place: Place,
    origin: f64,
    scale: f64,
    /// What it is rounded to without changing what it does.
    whole: Option<fn(f64) -> f64>,
}

/// How a guard's number becomes whole where its feature is: `x > 2.7` and `x >= 2.3` say what `x > 2` and `x >= 3` say.
fn whole(student: &Student, place: &Place) -> Option<fn(f64) -> f64> {
    let Place::Guard { guard, condition } = *place else { return None };
    let guard = student.guards.get(guard)?;
    let condition = guard.when.get(condition)?;
    let feature = student.feature_set.level(&guard.level)?.features.iter().find(|f| f.name == condition.feature)?;
    let round: fn(f64) -> f64 = match condition.operator {
        Operator::Above | Operator::AtMost => f64::floor,
        Operator::AtLeast | Operator::Below => f64::ceil,
    };
    feature.whole.then_some(round)
}

/// How far a coefficient that does nothing moves scores at a step of 1, in units of the temperature.
const SMALL_EFFECT: f64 = 0.3;

/// The numbers under search, each with the scale on which it matters to the order of candidates: a coefficient with its
/// effect, a leaf's value with the spread of all leaves, a tree's threshold or a guard's number with itself. Where terms
/// bend is left as it is, and so is a number that a regime hides: every number more makes the search slower.
fn coordinates(student: &Student) -> Vec<Coordinate> {
    let scale = |place: &Place, number: f64| -> Option<f64> {
        let Place::Model { level, slot } = *place else { return Some(number.abs().max(1e-3)) };
        let NamedModel { model, temperature, .. } = student.levels[level].scheduler();
        match slot {
            Slot::Feature { .. } | Slot::Term { .. } => {
                let Model::Additive(additive) = model else { return None };
                let sd = additive.term_at(slot)?.sd;
                (sd > 0.0).then(|| number.abs() + SMALL_EFFECT * temperature / sd)
            }
            Slot::Value { .. } => moves::spread(model),
            Slot::LeafTerm { .. } | Slot::Threshold { .. } | Slot::Border { .. } => Some(number.abs().max(1e-3)),
            Slot::Knot { .. } => None,
        }
    };
    let places = student.places().into_iter().filter_map(|place| {
        let origin = student.number(&place)?;
        Some(Coordinate { scale: scale(&place, origin)?, origin, whole: whole(student, &place), place })
    });
    places.collect()
}

/// A student with the numbers of a point, rounded to what a person reads, as one patch.
fn at(student: &Student, coordinates: &[Coordinate], point: &[f64], reason: &str) -> Student {
    let mut changed = student.clone();
    let value = |(c, x): (&Coordinate, &f64)| {
        let value = moves::round(c.origin + c.scale * x);
        (c.place.clone(), c.whole.map_or(value, |whole| whole(value) + 0.0))
    };
    let changes: Vec<(Place, f64)> = coordinates.iter().zip(point).map(value).collect();
    changed.patch(&changes, reason);
    changed
}

/// What a search by CMA-ES is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polish {
    /// First step, in the scale of each number.
    pub(super) step: f64,
    /// Candidates per generation.
    pub(super) population: usize,
    /// Episodes per candidate; every generation has its own.
    pub(super) episodes: u32,
    /// Number of the first training episode.
    pub(super) first: u32,
    pub(super) generations: u32,
    pub(super) seed: u64,
}

/// A generation under way: its candidates run side by side.
struct Generation<'s, 'a, S: Simulated> {
    arena: &'s mut Arena<'a, S>,
    episodes: Range<u32>,
    /// What was run, in no order.
    done: Vec<(Key, u32, f64)>,
    failed: Option<AugmentError>,
}

/// Lets CMA-ES move all numbers of a student at once, beginning with those of `start`; students are patched versions of `base`,
/// which has the same numbers in the same places. Calls `checkpoint` with the generation and the mean of the distribution `every` so many
/// generations, until that says that it is enough. Returns how many generations were run.
///
/// Every generation meets new training episodes, the same for all of its candidates, so that there is no set of episodes to
/// overfit. Many candidates with few episodes each, as the mean of the better half averages their luck.
pub(super) fn polish<S: Simulated>(
    arena: &mut Arena<'_, S>,
    (base, start): (&Student, &Student),
    polish: Polish,
    every: u32,
    mut checkpoint: impl FnMut(&mut Arena<'_, S>, u32, Student) -> Result<bool, AugmentError>,
) -> Result<u32, AugmentError> {
    let coordinates = coordinates(start);
    if coordinates.is_empty() {
        return Ok(0);
    }
    let reason = format!("direct search of {} numbers", coordinates.len());
    let shared = Mutex::new(Generation { arena, episodes: 0..0, done: Vec::new(), failed: None });
    // A thread that panics takes the process down, so that the lock is never found broken.
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let objective = |point: &DVector<f64>| -> f64 {
        let candidate = at(base, &coordinates, point.as_slice(), &reason);
        match try_out(&candidate, &lock) {
            Ok(value) => value,
            Err(e) => {
                lock().failed.get_or_insert(e);
                f64::INFINITY
            }
        }
    };
    // Between generations the episodes change, so what looks like stagnation is none.
    let options = CMAESOptions::new(vec![0.0; coordinates.len()], polish.step)
        .population_size(polish.population)
        .seed(polish.seed)
        .tol_fun(0.0)
        .tol_fun_hist(0.0)
        .tol_stagnation(100_000);
    let mut search = options.build(objective).map_err(|e| AugmentError::Search { problem: format!("{e:?}") })?;
    for generation in 1..=polish.generations {
        let first = polish.first + (generation - 1) * polish.episodes;
        lock().episodes = first..first + polish.episodes;
        let ended = search.next_parallel().is_some();
        let mut run = lock();
        let mut done = std::mem::take(&mut run.done);
        done.sort_unstable_by_key(|&(key, episode, _)| (key, episode));
        run.arena.remember(&done, Split::Train)?;
        if let Some(e) = run.failed.take() {
            return Err(e);
        }
        if generation % every == 0 || ended || generation == polish.generations {
            let mean = at(base, &coordinates, search.mean().as_slice(), &reason);
            let goes_on = checkpoint(run.arena, generation, mean)?;
            if ended || !goes_on {
                return Ok(generation);
            }
        }
    }
    Ok(polish.generations)
}

/// Mean cost of a candidate in the generation's episodes.
fn try_out<'s, 'a: 's, 'm, S: Simulated>(
    candidate: &Student,
    lock: &(impl Fn() -> MutexGuard<'m, Generation<'s, 'a, S>> + Sync),
) -> Result<f64, AugmentError>
where
    's: 'm,
{
    let key = key(candidate);
    let (first, (runner, known)) = {
        let mut run = lock();
        let episodes = run.episodes.clone();
        (episodes.start, run.arena.runner_and_known(key, Split::Train, episodes))
    };
    let policy = StudentPolicy::new(candidate, "a candidate".as_ref(), None)?;
    let mut values = Vec::with_capacity(known.len());
    for (episode, known) in (first..).zip(known) {
        values.push(match known {
            Some(value) => value,
            None => {
                let value = runner.run(&policy, Split::Train, episode)?;
                lock().done.push((key, episode, value));
                value
            }
        });
    }
    // A candidate that strands the cluster is worse than all others, yet comparable.
    Ok(values.iter().map(|v| v.min(100.0)).sum::<f64>() / values.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{Guard, Provenance};
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn numbers_of_guards_are_whole_where_features_count() {
        let set = feature_set();
        let mut student = Student::new(set.clone(), false, Vec::new(), Provenance::default());
        let guards = [
            "stage: unfinished_parents > 0 last",
            "stage: children_unlocked >= 1 first",
            "job: ready_tasks < 4 last",
            "job: held_of_fair_share >= 2 last",
            "job: age > 60s first",
        ];
        student.guards = guards.iter().map(|text| Guard::parse(text, set).unwrap()).collect();
        let coordinates = coordinates(&student);
        let text = |point: [f64; 5]| -> Vec<String> {
            at(&student, &coordinates, &point, "test").guards.iter().map(ToString::to_string).collect()
        };
        let expected = [
            "stage: unfinished_parents > 0 last",
            "stage: children_unlocked >= 1 first",
            "job: ready_tasks < 5 last",
            "job: held_of_fair_share >= 2.5 last",
            "job: age > 75000 first",
        ];
        assert_eq!(text([0.9, -0.7, 0.1, 0.25, 0.25]), expected);
    }
}
