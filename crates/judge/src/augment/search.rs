//! The search: guards, then a few numbers at once, then guards, patches and regimes; what brings nothing goes.

mod finish;

use super::{
    Arena, AugmentError, AugmentParams, Edits, Paired, Repertoire, Step, arena,
    edits::{self, Kept, measured},
    moves::{self, Move},
    numbers::{self, Coordinate, at},
    plan::{self, AGREEMENT},
    polish,
    race::{Course, race},
    screen::{self, Screening},
};
use sched_distill_core::{model::Student, rng::Split, scenario::TermTemplate, simulation::Simulated};
use std::collections::HashSet;

/// Generations of the direct search from one look at validation episodes to the next.
const CHECKPOINT: u32 = 12;

/// Looks without a gain after which a round of the direct search ends.
const PATIENCE: u32 = 3;

/// Generations without which a round of the direct search is not worth beginning.
const FEWEST_GENERATIONS: u64 = 4;

/// Episodes in which the spread of new terms is measured; it only scales first steps.
const SPREAD_EPISODES: u32 = 4;

/// Share of what the direct search may spend that goes into choosing its numbers, and most pairs of episodes for that.
const SCREENING: f64 = 0.3;
const MOST_PAIRS: u64 = 400;

/// Pairs without which slopes are not worth looking at.
const FEWEST_PAIRS: u32 = 20;

/// How many single numbers are tried in a race, and how far they go, each in its scale.
const SINGLE_NUMBERS: usize = 16;
const SINGLE_STEPS: [f64; 3] = [0.5, 1.0, 2.0];

/// How far numbers are moved to see which ones matter, in first steps of the direct search.
const SCREENING_STEPS: f64 = 1.5;

/// How many of a race get their chance on validation.
const HOPEFUL: usize = 3;

/// Most episodes of a race.
const LONGEST_RACE: u32 = 128;

/// How much of the way that the direct search went is tried where all of it would change too many decisions.
const FRACTIONS: [f64; 5] = [1.0, 0.8, 0.6, 0.4, 0.2];

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best student, with the evidence for each of its edits.
    pub student: Student,
    /// What was tried on validation episodes, in order.
    pub steps: Vec<Step>,
    /// Share of the decisions of the student to begin with, on its own episodes, that stay as they were.
    pub agreement: f64,
    /// Changes that were not tried on validation episodes, as fewer decisions would have stayed than asked for.
    pub too_far: usize,
    /// Episodes that were spent.
    pub spent: u64,
}

/// The search's state.
struct Search<'s, 'a, S: Simulated> {
    arena: &'s mut Arena<'a, S>,
    params: &'s AugmentParams,
    /// The student to begin with.
    before: &'s Student,
    best: Student,
    /// The changes that led from one to the other, in order.
    kept: Vec<Kept>,
    steps: Vec<Step>,
    /// Episodes used up in each split, so that every comparison meets new ones.
    next_train: u32,
    next_validation: u32,
    /// Changes of the best student that validation refused.
    refused: Vec<Student>,
    /// Changes that validation never saw, as they would change too many decisions.
    too_far: usize,
    on_step: &'s mut dyn FnMut(&Step),
}

/// Searches for a student that schedules better than `student`: guards, then a direct search over the numbers that
/// matter most, then guards, patches of single numbers and regimes. `on_step` hears of each step that reached
/// validation at once.
///
/// # Errors
///
/// See [`AugmentError`]. With a journal in the arena the same search goes on where it was stopped.
pub fn augment<S: Simulated>(
    arena: &mut Arena<'_, S>,
    student: &Student,
    repertoire: &Repertoire,
    params: &AugmentParams,
    on_step: &mut dyn FnMut(&Step),
) -> Result<Found, AugmentError> {
    params.check(student)?;
    let share = |share: f64| (params.budget as f64 * share) as u64;
    let mut search = Search {
        arena,
        params,
        before: student,
        best: student.clone(),
        kept: Vec::new(),
        steps: Vec::new(),
        next_train: 0,
        // The first ones tell how many decisions stay as they were.
        next_validation: AGREEMENT,
        refused: Vec::new(),
        too_far: 0,
        on_step,
    };
    // What the numbers can say better is left to the direct search, and regimes hide their models' numbers from it.
    let guards = |best: &Student| moves::guards(best, &repertoire.guards, params.max_guards);
    search.climb(&guards, &[], share(1.0 - params.polish))?;
    let until = search.arena.spent() + share(params.polish);
    search.move_numbers(&repertoire.terms, until)?;
    let all = |best: &Student| {
        let mut all = guards(best);
        all.extend(moves::patches(best, &repertoire.orders));
        all.extend(moves::regimes(best, &repertoire.orders, &repertoire.borders));
        all
    };
    search.climb(&all, &repertoire.terms, params.budget)?;
    search.prune()?;
    search.end()
}

/// Those that came out of a race best first, but for those within a standard error of the best: of these, who changes
/// fewest decisions comes first.
fn closest_of_equals(hopeful: &[(usize, Paired)], agreements: &[f64]) -> Vec<(usize, Paired, f64)> {
    let mut all: Vec<(usize, Paired, f64)> = hopeful.iter().zip(agreements).map(|(&(i, p), &a)| (i, p, a)).collect();
    let best = hopeful.first().map_or(0.0, |(_, best)| best.mean + best.se);
    let alike = all.iter().take_while(|(_, paired, _)| paired.mean <= best).count();
    all[..alike].sort_by(|a, b| b.2.total_cmp(&a.2));
    all
}

/// A changed student against the best one on validation episodes that were not used before: `block` of them, and up to
/// four times as many as long as the change looks better without being so for sure and the `budget` allows it.
fn validate<S: Simulated>(
    arena: &mut Arena<'_, S>,
    [changed, best]: [&Student; 2],
    next: &mut u32,
    block: u32,
    budget: u64,
) -> Result<Paired, AugmentError> {
    let (mut of_changed, mut of_best) = (Vec::new(), Vec::new());
    loop {
        let episodes = *next..*next + block;
        *next = episodes.end;
        let scores = arena.run(&[changed, best], Split::Validation, episodes)?;
        of_changed.extend_from_slice(&scores[0]);
        of_best.extend_from_slice(&scores[1]);
        let paired = Paired::new(&of_changed, &of_best);
        let open = paired.mean < 0.0 && !paired.is_better_at_a_look();
        let no_more = of_best.len() >= 4 * block as usize || arena.spent() + 2 * u64::from(block) > budget;
        if !open || no_more {
            return Ok(paired);
        }
    }
}

/// The share of the decisions of `before`, on its own episodes, that each of `others` leaves as they were.
fn agreements<S: Simulated>(
    arena: &mut Arena<'_, S>,
    before: &Student,
    others: &[&Student],
) -> Result<Vec<f64>, AugmentError> {
    let departures = arena.departures(before, others, Split::Validation, 0..AGREEMENT)?;
    Ok(departures.into_iter().map(|d| 1.0 - d).collect())
}

impl<S: Simulated> Search<'_, '_, S> {
    /// Up to where episodes may be spent on finding a change of so many edits, so that it can be confirmed and the end
    /// be paid.
    fn finding_until(&self, more: usize) -> u64 {
        let kept = plan::end(measured(&self.best) + more, self.params) + plan::confirming(self.params.validation);
        self.params.budget.saturating_sub(kept)
    }

    /// Up to where a change may be confirmed that leads to `changed`.
    fn confirming_until(&self, changed: &Student) -> u64 {
        self.params.budget.saturating_sub(plan::end(measured(changed), self.params))
    }

    /// How many edits there may still be.
    fn room(&self) -> usize {
        self.params.max_edits.saturating_sub(Edits::between(self.before, &self.best).total())
    }

    /// Adds the best of all small changes as long as one is confirmed: `moves`, and single numbers down the slope where
    /// there are `terms`. Once a change was kept, only those are raced again that did well at first.
    fn climb(
        &mut self,
        moves: &dyn Fn(&Student) -> Vec<Move>,
        terms: &[TermTemplate],
        until: u64,
    ) -> Result<(), AugmentError> {
        let mut promising: Option<HashSet<String>> = None;
        loop {
            let mut moves = moves(&self.best);
            if !terms.is_empty() {
                moves.extend(self.downhill(terms, until.min(self.finding_until(1)))?);
            }
            moves.retain(|m| {
                let few = Edits::between(self.before, &m.student).total() <= self.params.max_edits;
                let again = promising.as_ref().is_none_or(|p| p.contains(&m.what));
                again && few && m.student.size() <= self.params.max_size && !self.refused.contains(&m.student)
            });
            let students: Vec<Student> = moves.iter().map(|m| m.student.clone()).collect();
            let until = until.min(self.finding_until(1));
            let Some(course) = self.course(students.len(), until) else { return Ok(()) };
            let raced = race(self.arena, &self.best, &students, course, until)?;
            // The best that are left get their chance on validation; what fails there is not tried again.
            let hopeful: Vec<(usize, Paired)> =
                raced.ranked.into_iter().take(HOPEFUL).filter(|r| r.1.mean < 0.0).collect();
            if hopeful.is_empty() {
                // The others get another chance, if there is one to be had.
                if promising.take().is_some() {
                    continue;
                }
                return Ok(());
            }
            let of_hopeful: Vec<&Student> = hopeful.iter().map(|&(i, _)| &students[i]).collect();
            let agreements = agreements(self.arena, self.before, &of_hopeful)?;
            let mut kept = false;
            for (i, train, agreement) in closest_of_equals(&hopeful, &agreements) {
                let close = agreement >= self.params.min_agreement;
                self.too_far += usize::from(!close);
                kept = close && self.confirm(&moves[i].what, &students[i], Some(train), agreement)?;
                if kept {
                    break;
                }
                self.refused.push(students[i].clone());
            }
            promising = kept.then(|| raced.promising.iter().map(|&i| moves[i].what.clone()).collect());
        }
    }

    /// Single numbers moved down the slope, those that pull hardest.
    fn downhill(&mut self, terms: &[TermTemplate], until: u64) -> Result<Vec<Move>, AugmentError> {
        let left = until.saturating_sub(self.arena.spent());
        let pairs = ((left / 16).min(MOST_PAIRS / 2)) as u32;
        if pairs < FEWEST_PAIRS {
            return Ok(Vec::new());
        }
        let coordinates = self.coordinates(terms)?;
        let seed = self.params.seed.wrapping_add(u64::from(self.next_train));
        let step = SCREENING_STEPS * self.params.step;
        let screening = Screening { step, pairs, first: self.next_train, seed };
        self.next_train += pairs;
        let pulls = screen::pulls(self.arena, &self.best, &coordinates, screening)?;
        let steps = screen::strongest(&pulls, SINGLE_NUMBERS).into_iter().flat_map(|i| SINGLE_STEPS.map(|x| (i, x)));
        let single = |(i, x): (usize, f64)| {
            let coordinate = std::slice::from_ref(&coordinates[i]);
            let student = at(&self.best, coordinate, &[-x * pulls[i].signum()], false);
            let change = student.patches.get(self.best.patches.len()).and_then(|p| p.changes.first());
            let what = change.map_or("a guard's number".to_owned(), |c| {
                format!("{} {} -> {}", c.place, moves::short(c.was), moves::short(c.now))
            });
            Move { what, student }
        };
        Ok(steps.map(single).collect())
    }

    /// A race of so many candidates that can be expected to end in time: with fewer episodes at first where there are
    /// many.
    fn course(&mut self, candidates: usize, until: u64) -> Option<Course> {
        if candidates == 0 {
            return None;
        }
        let students = candidates as u64 + 1;
        // From round to round half as many candidates meet as many episodes as all rounds before together.
        let rounds = u64::from(students.ilog2() / 2 + 1);
        let block = (until.saturating_sub(self.arena.spent()) / (students * rounds)).min(4) as u32;
        let first = self.next_train;
        (block > 0).then(|| {
            self.next_train += LONGEST_RACE;
            Course { first, block, most: LONGEST_RACE }
        })
    }

    /// Keeps a changed student if it is better on validation episodes and these can still be paid.
    fn confirm(
        &mut self,
        what: &str,
        changed: &Student,
        train: Option<Paired>,
        agreement: f64,
    ) -> Result<bool, AugmentError> {
        let until = self.confirming_until(changed);
        let block = self.params.validation;
        if self.arena.spent() + 2 * u64::from(block) > until {
            return Ok(false);
        }
        let paired = validate(self.arena, [changed, &self.best], &mut self.next_validation, block, until)?;
        let kept = paired.is_better_at_a_look();
        self.step(what, train, paired, kept, agreement);
        if kept {
            self.kept.push(Kept::new(&self.best, changed, paired));
            self.keep(changed.clone());
        }
        Ok(kept)
    }

    fn keep(&mut self, mut changed: Student) {
        edits::merge(&mut changed, self.before.patches.len());
        self.best = changed;
        self.refused.clear();
    }

    fn step(&mut self, what: &str, train: Option<Paired>, validation: Paired, kept: bool, agreement: f64) {
        let gain = |p: Paired| S::INFO.objective().gain(p.mean);
        let step = Step {
            what: what.to_owned(),
            train_gain: train.map(gain),
            validation_gain: gain(validation),
            standard_error: validation.se,
            kept,
            agreement: Some(moves::round(agreement)),
            spent: self.arena.spent(),
        };
        (self.on_step)(&step);
        self.steps.push(step);
    }

    /// Moves numbers at once, in rounds: each begins from the best student, chooses the numbers that pull hardest, and
    /// ends when it no longer gains. The one after a round without a gain gives its candidates twice as many episodes,
    /// since smaller gains take more luck out to be seen.
    fn move_numbers(&mut self, terms: &[TermTemplate], until: u64) -> Result<(), AugmentError> {
        let params = self.params;
        let mut doublings = 0;
        for round in 0_u32.. {
            // Some room is left for guards; where there is room for all numbers, they are one patch.
            let room = self.room().min(params.max_edits * 5 / 6);
            let numbers = self.best.places().len() + terms.len();
            let until = until.min(self.finding_until(if numbers <= self.room() { 1 } else { room }));
            let episodes = params.polish_episodes.saturating_mul(1 << doublings.min(16));
            let of_a_generation = params.population as u64 * u64::from(episodes);
            let left = until.saturating_sub(self.arena.spent() + u64::from(SPREAD_EPISODES));
            if left < FEWEST_GENERATIONS * of_a_generation {
                return Ok(());
            }
            let coordinates = self.coordinates(terms)?;
            if coordinates.is_empty() {
                return Ok(());
            }
            let together = coordinates.len() <= self.room();
            let seed = params.seed.wrapping_add(u64::from(round));
            let (coordinates, start) = match together {
                true => (coordinates, None),
                false => self.chosen(&coordinates, room, (left, seed))?,
            };
            let moving = polish::Numbers {
                base: &self.best.clone(),
                start: start.unwrap_or_else(|| vec![0.0; coordinates.len()]),
                coordinates: &coordinates,
                together,
            };
            let Some(gained) = self.polish(&moving, (round, episodes, seed), until)? else { return Ok(()) };
            doublings = if gained { doublings } else { doublings + 1 };
        }
        Ok(())
    }

    /// The numbers of the best student and of the terms that it lacks, as many as there is room for.
    fn coordinates(&mut self, terms: &[TermTemplate]) -> Result<Vec<Coordinate>, AugmentError> {
        let mut grown = self.best.clone();
        let room = self.params.max_size.saturating_sub(grown.size());
        let new = moves::add_terms(&mut grown, terms, room);
        if !new.is_empty() {
            let first = self.next_train;
            self.arena.measure_spreads(&mut grown, &new, Split::Train, first..first + SPREAD_EPISODES)?;
        }
        Ok(numbers::coordinates(&self.best, &grown, &new))
    }

    /// The numbers that pull hardest, and a first step down the slope: those that were moved before, and others as far
    /// as there is room for more edits.
    fn chosen(
        &mut self,
        coordinates: &[Coordinate],
        room: usize,
        (left, seed): (u64, u64),
    ) -> Result<(Vec<Coordinate>, Option<Vec<f64>>), AugmentError> {
        let pairs = (((left as f64 * SCREENING) as u64) / 2).min(MOST_PAIRS) as u32;
        let step = SCREENING_STEPS * self.params.step;
        let screening = Screening { step, pairs, first: self.next_train, seed };
        self.next_train += pairs;
        let pulls = screen::pulls(self.arena, &self.best, coordinates, screening)?;
        let is_free: Vec<bool> = coordinates.iter().map(|c| !c.is_new() && c.is_moved(self.before)).collect();
        let others: Vec<f64> = pulls.iter().zip(&is_free).map(|(p, free)| if *free { 0.0 } else { *p }).collect();
        let mut chosen = screen::strongest(&others, room);
        chosen.extend((0..coordinates.len()).filter(|&i| is_free[i]));
        chosen.sort_unstable();
        chosen.dedup();
        let most = chosen.iter().map(|&i| pulls[i].abs()).fold(f64::MIN_POSITIVE, f64::max);
        let start = chosen.iter().map(|&i| -self.params.step * pulls[i] / most).collect();
        Ok((chosen.iter().map(|&i| coordinates[i].clone()).collect(), Some(start)))
    }

    /// A round of the direct search: whether it found something, `None` if there was nothing to run.
    fn polish(
        &mut self,
        moving: &polish::Numbers<'_>,
        (round, episodes, seed): (u32, u32, u64),
        until: u64,
    ) -> Result<Option<bool>, AugmentError> {
        let params = self.params;
        let first = self.next_train;
        let polish::Numbers { base, coordinates, together, .. } = *moving;
        let (step, population) = (params.step, params.population);
        let plan = polish::Polish { step, population, episodes, first, until, seed };
        let (mut idle, mut gained) = (0, false);
        let confirming_until = self.confirming_until(&at(base, coordinates, &vec![1.0; coordinates.len()], together));
        // The arena goes to the search and comes back at each checkpoint.
        let Search { arena, best, kept: all_kept, steps, next_validation, on_step, before, too_far, .. } = self;
        let ran = polish::polish(arena, moving, plan, CHECKPOINT, |arena, generation, mean| {
            idle += 1;
            let Some((candidate, agreement)) = nearest(arena, before, moving, mean, params.min_agreement)? else {
                *too_far += 1;
                return Ok(idle < PATIENCE);
            };
            if arena.spent() + 2 * u64::from(params.validation) > confirming_until {
                return Ok(false);
            }
            let students = [&candidate, &*best];
            let paired = validate(arena, students, next_validation, params.validation, confirming_until)?;
            let kept = paired.is_better_at_a_look();
            let step = Step {
                what: format!("{} numbers at once, round {}, generation {generation}", coordinates.len(), round + 1),
                train_gain: None,
                validation_gain: S::INFO.objective().gain(paired.mean),
                standard_error: paired.se,
                kept,
                agreement: Some(moves::round(agreement)),
                spent: arena.spent(),
            };
            on_step(&step);
            steps.push(step);
            if kept {
                all_kept.push(Kept::new(best, &candidate, paired));
                (*best, gained, idle) = (candidate, true, 0);
            }
            Ok(idle < PATIENCE)
        })?;
        self.next_train += ran * episodes;
        if gained {
            self.keep(self.best.clone());
        }
        Ok((ran > 0).then_some(gained))
    }
}

/// The student at a point of the direct search, or on the way there where that would change too many decisions, and the
/// share of decisions that stay; `None` where even a small part of the way changes too many, or nothing at all.
fn nearest<S: Simulated>(
    arena: &mut Arena<'_, S>,
    before: &Student,
    moving: &polish::Numbers<'_>,
    point: &[f64],
    least: f64,
) -> Result<Option<(Student, f64)>, AugmentError> {
    let on_the_way = |fraction: &f64| {
        let point: Vec<f64> = point.iter().map(|x| fraction * x).collect();
        at(moving.base, moving.coordinates, &point, moving.together)
    };
    let students: Vec<Student> = FRACTIONS.iter().map(on_the_way).collect();
    let agreements = agreements(arena, before, &students.iter().collect::<Vec<_>>())?;
    let found = students.into_iter().zip(agreements).find(|(_, agreement)| *agreement >= least);
    Ok(found.filter(|(student, _)| arena::key(student) != arena::key(moving.base)))
}
