//! Direct search over numbers of a student at once by CMA-ES (Hansen and Ostermeier 2001), through the crate `cmaes`.

use super::{
    Arena, AugmentError,
    arena::{Key, key},
    numbers::{Coordinate, at},
};
use cmaes::{CMAESOptions, DVector};
use sched_distill_core::{model::Student, policy::StudentPolicy, rng::Split, simulation::Simulated};
use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

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
    /// No generation begins that would spend more episodes than so many in all.
    pub(super) until: u64,
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

/// What CMA-ES moves.
pub(super) struct Numbers<'a> {
    /// The student that candidates are patched versions of.
    pub(super) base: &'a Student,
    /// The numbers; at least one.
    pub(super) coordinates: &'a [Coordinate],
    /// Where it begins.
    pub(super) start: Vec<f64>,
    /// Whether the numbers are one patch.
    pub(super) together: bool,
}

/// Lets CMA-ES move numbers of a student at once. Calls `checkpoint` with the generation and the mean of the
/// distribution `every` so many generations and at the end, until that says that it is enough. Returns how many
/// generations were run.
///
/// Every generation meets new training episodes, the same for all of its candidates, so that there is no set of
/// episodes to overfit. Many candidates with few episodes each, as the mean of the better half averages their luck.
pub(super) fn polish<S: Simulated>(
    arena: &mut Arena<'_, S>,
    numbers: &Numbers<'_>,
    polish: Polish,
    every: u32,
    mut checkpoint: impl FnMut(&mut Arena<'_, S>, u32, &[f64]) -> Result<bool, AugmentError>,
) -> Result<u32, AugmentError> {
    let Numbers { base, coordinates, together, ref start } = *numbers;
    let shared = Mutex::new(Generation { arena, episodes: 0..0, done: Vec::new(), failed: None });
    // A thread that panics takes the process down, so that the lock is never found broken.
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let objective = |point: &DVector<f64>| -> f64 {
        let candidate = at(base, coordinates, point.as_slice(), together);
        match try_out(&candidate, &lock) {
            Ok(value) => value,
            Err(e) => {
                lock().failed.get_or_insert(e);
                f64::INFINITY
            }
        }
    };
    // Between generations the episodes change, so what looks like stagnation is none.
    let options = CMAESOptions::new(start.clone(), polish.step)
        .population_size(polish.population)
        .seed(polish.seed)
        .tol_fun(0.0)
        .tol_fun_hist(0.0)
        .tol_stagnation(100_000);
    let mut search = options.build(objective).map_err(|e| AugmentError::Search { problem: format!("{e:?}") })?;
    let of_a_generation = polish.population as u64 * u64::from(polish.episodes);
    let mut generation = 0;
    loop {
        if lock().arena.spent() + of_a_generation > polish.until {
            return Ok(generation);
        }
        let first = polish.first + generation * polish.episodes;
        lock().episodes = first..first + polish.episodes;
        generation += 1;
        let ended = search.next_parallel().is_some();
        let mut run = lock();
        let mut done = std::mem::take(&mut run.done);
        done.sort_unstable_by_key(|&(key, episode, _)| (key, episode));
        run.arena.remember(&done, Split::Train)?;
        if let Some(e) = run.failed.take() {
            return Err(e);
        }
        let last = ended || run.arena.spent() + of_a_generation > polish.until;
        if generation % every == 0 || last {
            let goes_on = checkpoint(run.arena, generation, search.mean().as_slice())?;
            if last || !goes_on {
                return Ok(generation);
            }
        }
    }
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
