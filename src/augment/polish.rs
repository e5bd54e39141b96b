//! Direct search over all numbers of a student by CMA-ES (Hansen and Ostermeier 2001), through the crate `cmaes`.

use super::{Arena, AugmentError, moves};
use crate::{
    model::{Model, Place, Slot, Student},
    rng::Split,
};
use cmaes::{CMAESOptions, DVector};
use std::cell::RefCell;

/// A number under search: value = origin + scale · coordinate.
struct Coordinate {
    place: Place,
    origin: f64,
    scale: f64,
}

/// The numbers that matter to the order of candidates, each with the scale on which it does.
fn coordinates(student: &Student) -> Vec<Coordinate> {
    // The largest effect of a coefficient at the level: coefficient × deviation within choices.
    let effects = |model: &Model| -> Vec<f64> {
        let effects =
            |coefficient: &[f64], sd: &[f64]| coefficient.iter().zip(sd).map(|(c, sd)| (c * sd).abs()).collect();
        match model {
            Model::Linear(m) => effects(&m.coefficient, &m.feature_sd),
            Model::ChoiceLogit(m) => effects(&m.coefficient, &m.feature_sd),
            Model::SplineLogit(m) => m.terms.iter().map(|t| (t.coefficient * t.sd).abs()).collect(),
            Model::Tree(_) | Model::Pairwise(_) | Model::Regime(_) => Vec::new(),
        }
    };
    let scale = |place: &Place, number: f64| -> Option<f64> {
        let Place::Model { level, slot } = *place else { return Some(number.abs().max(1e-3)) };
        let model = &student.levels[level].scheduler().model;
        match slot {
            Slot::Term { term } => {
                let effects = effects(model);
                let most = effects.iter().copied().fold(0.0, f64::max);
                let sd = effects[term] / number.abs();
                (sd > 0.0).then_some(most / sd)
            }
            Slot::Value { .. } => moves::spread(model),
            Slot::LeafTerm { .. } | Slot::Threshold { .. } | Slot::Knot { .. } | Slot::Border { .. } => {
                Some(number.abs().max(1e-3))
            }
        }
    };
    let places = student.places().into_iter().filter_map(|place| {
        let origin = student.number(&place)?;
        Some(Coordinate { scale: scale(&place, origin)?, origin, place })
    });
    places.collect()
}

/// Candidates per generation for a student.
pub(super) fn population(student: &Student) -> usize {
    4 + (3.0 * (coordinates(student).len().max(1) as f64).ln()) as usize
}

/// A student with the numbers of a point, rounded to what a person reads, as one patch.
fn at(student: &Student, coordinates: &[Coordinate], point: &[f64], reason: &str) -> Student {
    let mut changed = student.clone();
    let value = |(c, x): (&Coordinate, &f64)| (c.place.clone(), moves::round(c.origin + c.scale * x));
    let changes: Vec<(Place, f64)> = coordinates.iter().zip(point).map(value).collect();
    changed.patch(&changes, reason);
    changed
}

/// What a search by CMA-ES is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polish {
    /// First step, in the scale of each number.
    pub(super) step: f64,
    /// Episodes per candidate; every generation has its own.
    pub(super) episodes: u32,
    /// Number of the first training episode.
    pub(super) first: u32,
    pub(super) generations: u32,
    pub(super) seed: u64,
}

/// Lets CMA-ES move all numbers of `student` at once; calls `checkpoint` with the mean of its distribution every so many
/// generations, until that says that it is enough.
///
/// Every generation meets new training episodes, the same for all of its candidates, so that there is no set of episodes to
/// overfit.
pub(super) fn polish(
    arena: &mut Arena<'_>,
    student: &Student,
    polish: Polish,
    every: u32,
    mut checkpoint: impl FnMut(&mut Arena<'_>, Student) -> Result<bool, AugmentError>,
) -> Result<(), AugmentError> {
    let coordinates = coordinates(student);
    if coordinates.is_empty() {
        return Ok(());
    }
    let population = population(student);
    let reason = format!("direct search of {} numbers", coordinates.len());
    let shared = RefCell::new((arena, 0usize, None::<AugmentError>));
    let objective = |point: &DVector<f64>| -> f64 {
        let (arena, evaluations, failed) = &mut *shared.borrow_mut();
        if failed.is_some() {
            return f64::INFINITY;
        }
        let generation = (*evaluations / population) as u32;
        *evaluations += 1;
        let first = polish.first + generation * polish.episodes;
        let candidate = at(student, &coordinates, point.as_slice(), &reason);
        match arena.run(&[&candidate], Split::Train, first..first + polish.episodes) {
            // A candidate that strands the cluster is worse than all others, yet comparable.
            Ok(result) => result[0].iter().map(|v| v.min(100.0)).sum::<f64>() / f64::from(polish.episodes),
            Err(e) => {
                *failed = Some(e);
                f64::INFINITY
            }
        }
    };
    // Between generations the episodes change, so what looks like stagnation is none.
    let options = CMAESOptions::new(vec![0.0; coordinates.len()], polish.step)
        .population_size(population)
        .seed(polish.seed)
        .tol_fun(0.0)
        .tol_fun_hist(0.0)
        .tol_stagnation(100_000);
    let mut search = options.build(objective).map_err(|e| AugmentError::Search { problem: format!("{e:?}") })?;
    for generation in 1..=polish.generations {
        let ended = search.next().is_some();
        if let Some(e) = shared.borrow_mut().2.take() {
            return Err(e);
        }
        if generation % every == 0 || ended || generation == polish.generations {
            let mean = at(student, &coordinates, search.mean().as_slice(), &reason);
            let goes_on = checkpoint(&mut *shared.borrow_mut().0, mean)?;
            if ended || !goes_on {
                break;
            }
        }
    }
    Ok(())
}
