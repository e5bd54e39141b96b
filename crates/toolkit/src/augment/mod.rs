//! Students that schedule better than they were taught: a search over guards, patches and numbers by paired simulation.
//!
//! Every step is found on training episodes, by racing many small changes or by a direct search over all numbers at once,
//! and is kept only if it also makes validation episodes faster, new ones each time. Test episodes are never looked at.

mod arena;
mod moves;
mod polish;
mod race;

pub use arena::Arena;
pub use race::Paired;

use crate::recorder::EpisodeError;
use moves::Move;
use race::{Course, race};
use sched_distill_core::{
    level::FeatureSet,
    model::{Guard, GuardError, Student},
    policy::PolicyError,
    rng::Split,
    scenario::{Catalogue, TermTemplate},
    simulation::Simulated,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An order of the candidates of a level by one of its features: (level, feature, whether the largest comes first).
pub type Order = (&'static str, &'static str, bool);

/// Where a search may pass from one model to another: (level, a feature that all candidates share, values).
pub type Border = (&'static str, &'static str, &'static [f32]);

/// What a search may try besides what the student itself offers.
#[derive(Clone, Debug)]
pub struct Repertoire {
    /// Guards.
    pub guards: Vec<Guard>,
    /// Orders for candidates that share a leaf, and for regimes.
    pub orders: Vec<Order>,
    /// Borders of regimes.
    pub borders: Vec<Border>,
    /// Terms that sums of terms may get before the direct search.
    pub terms: Vec<TermTemplate>,
}

/// What a search may spend and try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AugmentParams {
    /// Episodes to run, in training and validation together. The last round, the removal of useless guards and the evidence come
    /// on top.
    pub budget: u64,
    /// Validation episodes in which a change is confirmed; up to four times as many where they leave it open.
    pub validation: u32,
    /// Most guards.
    pub max_guards: usize,
    /// Largest size of the student, see [`Student::size`]; no step may pass it.
    pub max_size: usize,
    /// Share of the budget for the direct search over all numbers.
    pub polish: f64,
    /// First step of that search, in the scale of each number.
    pub step: f64,
    /// Candidates per generation of that search.
    pub population: usize,
    /// Training episodes per candidate and generation of that search.
    pub polish_episodes: u32,
    /// Seed of that search.
    pub seed: u64,
}

impl Repertoire {
    /// All that there is for a scenario, about the features of `set`.
    ///
    /// # Errors
    ///
    /// A set that lacks features of the scenario.
    pub fn new(known: &Catalogue, set: &FeatureSet) -> Result<Self, GuardError> {
        let guards = known.guards.iter().map(|t| t.guards(set)).collect::<Result<Vec<_>, _>>()?.concat();
        let (orders, borders) = (known.orders.to_vec(), known.borders.to_vec());
        Ok(Self { guards, orders, borders, terms: known.terms.to_vec() })
    }
}

impl Default for AugmentParams {
    fn default() -> Self {
        Self {
            budget: 40_000,
            validation: 100,
            max_guards: 6,
            max_size: 64,
            polish: 0.7,
            step: 0.15,
            population: 40,
            polish_episodes: 4,
            seed: 0,
        }
    }
}

/// Why a search did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AugmentError {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// A student cannot schedule.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An episode failed.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// The journal cannot be read or opened.
    #[error("{path}: cannot use the journal of the search")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The journal cannot be written.
    #[error("cannot write the journal of the search")]
    Write(#[source] std::io::Error),
    /// A line of the journal is broken.
    #[error("{path}, line {line}: {problem}; take the line out, or give --force to begin anew")]
    Journal {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The direct search refused.
    #[error("the direct search cannot begin: {problem}")]
    Search {
        /// What it said.
        problem: String,
    },
    /// The user stopped it.
    #[error("interrupted; what was run is kept, the same command goes on from there")]
    Interrupted,
}

/// Generations of the direct search from one look at validation episodes to the next.
const CHECKPOINT: u32 = 12;

/// Looks without a gain after which a round of the direct search ends.
const PATIENCE: u32 = 3;

/// Episodes in which the spread of new terms is measured; it only scales first steps.
const SPREAD_EPISODES: u32 = 4;

/// A step of the search that was tried on validation episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What was tried.
    pub what: String,
    /// How much better the objective got on training episodes: a share of it, or in its unit.
    pub train_gain: Option<f64>,
    /// The same on validation episodes, and its standard error.
    pub validation_gain: f64,
    /// Standard error of that.
    pub standard_error: f64,
    /// Whether it was kept.
    pub kept: bool,
    /// Episodes spent so far.
    pub spent: u64,
}

/// The search's state.
struct Search<'s, 'a, S: Simulated> {
    arena: &'s mut Arena<'a, S>,
    params: &'s AugmentParams,
    best: Student,
    steps: Vec<Step>,
    /// Episodes used up in each split, so that every comparison meets new ones.
    next_train: u32,
    next_validation: u32,
    /// Changes of the best student that validation refused.
    refused: Vec<Student>,
    on_step: &'s mut dyn FnMut(&Step),
}

/// Searches for a student that schedules better than `student`: guards, then a direct search over all numbers, then guards,
/// patches of single numbers and regimes. Returns the best
/// student with the evidence for each of its edits, and all steps that reached validation. `on_step` hears of each at once.
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
) -> Result<(Student, Vec<Step>), AugmentError> {
    params.check(student)?;
    let edits_before = params.budget as f64 * (1.0 - params.polish) / 2.0;
    let mut search = Search {
        arena,
        params,
        best: student.clone(),
        steps: Vec::new(),
        next_train: 0,
        next_validation: 0,
        refused: Vec::new(),
        on_step,
    };
    // What the numbers can say better is left to the direct search, and regimes hide their models' numbers from it.
    let guards = |best: &Student| moves::guards(best, &repertoire.guards, params.max_guards);
    search.climb(&guards, edits_before as u64)?;
    let start = search.grown(&repertoire.terms)?;
    let polish_until = search.arena.spent() + (params.budget as f64 * params.polish) as u64;
    search.polish(&start, polish_until.min(params.budget))?;
    let all = |best: &Student| {
        let mut all = guards(best);
        all.extend(moves::patches(best, &repertoire.orders));
        all.extend(moves::regimes(best, &repertoire.orders, &repertoire.borders));
        all
    };
    search.climb(&all, params.budget)?;
    search.prune()?;
    search.give_evidence()?;
    Ok((search.best, search.steps))
}

impl AugmentParams {
    /// Checks the parameters for a student.
    ///
    /// # Errors
    ///
    /// The first bad one with its allowed range.
    pub fn check(&self, student: &Student) -> Result<(), AugmentError> {
        let bad = |name, found: String, allowed| Err(AugmentError::Param { name, found, allowed });
        match self {
            p if p.budget == 0 => bad("budget", "0".to_owned(), "at least 1 episode"),
            p if p.validation < 10 => bad("validation", p.validation.to_string(), "at least 10 episodes"),
            p if !(4..=10_000).contains(&p.population) => bad("population", p.population.to_string(), "in 4..=10000"),
            p if p.polish_episodes == 0 => bad("polish_episodes", "0".to_owned(), "at least 1"),
            p if !(0.0..=1.0).contains(&p.polish) => bad("polish", p.polish.to_string(), "in 0..=1"),
            p if !(p.step > 0.0 && p.step <= 10.0) => bad("step", p.step.to_string(), "above 0, at most 10"),
            p if student.size() > p.max_size => {
                bad("max_size", p.max_size.to_string(), "at least the size of the student to begin with")
            }
            p if student.guards.len() > p.max_guards => {
                bad("max_guards", p.max_guards.to_string(), "at least the number of guards to begin with")
            }
            _ => Ok(()),
        }
    }
}

/// A changed student against the best one on validation episodes that were not used before: `block` of them, and up to four
/// times as many as long as the change looks better without being so for sure.
fn validate<S: Simulated>(
    arena: &mut Arena<'_, S>,
    changed: &Student,
    best: &Student,
    next: &mut u32,
    block: u32,
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
        if !open || of_best.len() >= 4 * block as usize {
            return Ok(paired);
        }
    }
}

impl<S: Simulated> Search<'_, '_, S> {
    /// Adds the best of all small changes as long as one is confirmed.
    fn climb(&mut self, moves: &dyn Fn(&Student) -> Vec<Move>, until: u64) -> Result<(), AugmentError> {
        while self.arena.spent() < until {
            let mut moves = moves(&self.best);
            moves.retain(|m| m.student.size() <= self.params.max_size && !self.refused.contains(&m.student));
            let students: Vec<Student> = moves.iter().map(|m| m.student.clone()).collect();
            let course = Course { first: self.next_train, block: 4, most: 128 };
            self.next_train += course.most;
            let ranked = race(self.arena, &self.best, &students, course, until)?;
            // The best that are left get their chance on validation; what fails there is not tried again.
            let hopeful = ranked.iter().take(3).filter(|r| r.1.mean < 0.0);
            let mut tried = false;
            for &(i, train) in hopeful {
                tried = true;
                if self.confirm(&moves[i].what, students[i].clone(), Some(train))? {
                    break;
                }
                self.refused.push(students[i].clone());
            }
            if !tried {
                break;
            }
        }
        Ok(())
    }

    /// Keeps a changed student if it is better on validation episodes.
    fn confirm(&mut self, what: &str, changed: Student, train: Option<Paired>) -> Result<bool, AugmentError> {
        let paired = self.validate(&changed)?;
        let kept = paired.is_better_at_a_look();
        self.step(what, train, paired, kept);
        if kept {
            self.best = changed;
            self.refused.clear();
        }
        Ok(kept)
    }

    fn validate(&mut self, changed: &Student) -> Result<Paired, AugmentError> {
        validate(self.arena, changed, &self.best, &mut self.next_validation, self.params.validation)
    }

    fn step(&mut self, what: &str, train: Option<Paired>, validation: Paired, kept: bool) {
        let gain = |p: Paired| S::INFO.objective().gain(p.mean);
        let step = Step {
            what: what.to_owned(),
            train_gain: train.map(gain),
            validation_gain: gain(validation),
            standard_error: validation.se,
            kept,
            spent: self.arena.spent(),
        };
        (self.on_step)(&step);
        self.steps.push(step);
    }

    /// The best student with terms more, all with coefficient 0, as many as there is room for.
    fn grown(&mut self, terms: &[TermTemplate]) -> Result<Student, AugmentError> {
        let mut grown = self.best.clone();
        let room = self.params.max_size.saturating_sub(grown.size());
        let new = moves::add_terms(&mut grown, terms, room);
        if !new.is_empty() {
            self.arena.measure_spreads(&mut grown, &new, Split::Train, 0..SPREAD_EPISODES)?;
        }
        Ok(grown)
    }

    /// Moves all numbers at once, in rounds: each begins from the best student and ends when it no longer gains, and the next one
    /// gives its candidates twice as many episodes, since smaller gains take more luck out to be seen.
    fn polish(&mut self, base: &Student, until: u64) -> Result<(), AugmentError> {
        let params = self.params;
        // The numbers that a round begins with; what the rounds change together is one patch of `base`.
        let mut start = base.clone();
        for round in 0_u32.. {
            let episodes = params.polish_episodes.saturating_mul(1 << round.min(16));
            let of_a_generation = params.population as u64 * u64::from(episodes);
            let left = until.saturating_sub(self.arena.spent()) / of_a_generation;
            let generations = u32::try_from(left).unwrap_or(u32::MAX);
            if generations < CHECKPOINT / 2 {
                break;
            }
            let first = self.next_train;
            let seed = params.seed.wrapping_add(u64::from(round));
            let polish =
                polish::Polish { step: params.step, population: params.population, episodes, first, generations, seed };
            // The arena goes to the search and comes back at each checkpoint.
            let Search { arena, best, steps, next_validation, on_step, .. } = self;
            let (mut idle, mut gained) = (0, false);
            let ran = polish::polish(arena, (base, &start), polish, CHECKPOINT, |arena, generation, mean| {
                let paired = validate(arena, &mean, best, next_validation, params.validation)?;
                let kept = paired.is_better_at_a_look();
                let step = Step {
                    what: format!("direct search, round {}, generation {generation}", round + 1),
                    train_gain: None,
                    validation_gain: S::INFO.objective().gain(paired.mean),
                    standard_error: paired.se,
                    kept,
                    spent: arena.spent(),
                };
                on_step(&step);
                steps.push(step);
                idle = if kept { 0 } else { idle + 1 };
                if kept {
                    (*best, gained) = (mean, true);
                }
                Ok(idle < PATIENCE && arena.spent() < until)
            })?;
            self.next_train += ran * episodes;
            if ran == 0 {
                break;
            }
            if gained {
                start = self.best.clone();
            }
        }
        Ok(())
    }

    /// Takes out guards that no longer help.
    fn prune(&mut self) -> Result<(), AugmentError> {
        loop {
            let mut useless = None;
            for m in moves::without_guard(&self.best) {
                let paired = self.validate(&m.student)?;
                if !paired.is_worse() && paired.mean <= 0.0 {
                    self.step(&m.what, None, paired, true);
                    useless = Some(m.student);
                    break;
                }
            }
            match useless {
                Some(student) => self.best = student,
                None => return Ok(()),
            }
        }
    }

    /// Measures what each edit does: gain and firing rate.
    fn give_evidence(&mut self) -> Result<(), AugmentError> {
        let without = moves::without_each_edit(&self.best);
        let first = self.next_validation;
        self.next_validation += self.params.validation;
        let mut students: Vec<&Student> = vec![&self.best];
        students.extend(&without);
        let scores = self.arena.run(&students, Split::Validation, first..self.next_validation)?;
        let others: Vec<&Student> = without.iter().collect();
        let rates = self.arena.departures(&self.best, &others, Split::Validation, first..first + 10)?;
        let mut best = self.best.clone();
        for (i, evidence) in moves::evidence(&mut best).enumerate() {
            // A patch whose numbers were all changed again by later ones cannot be told from them.
            if arena::key(&without[i]) == arena::key(&self.best) {
                continue;
            }
            let gain = S::INFO.objective().gain(Paired::new(&scores[0], &scores[i + 1]).mean);
            evidence.gain = Some(moves::round(gain));
            evidence.firing_rate = Some(moves::round(rates[i]));
        }
        self.best = best;
        Ok(())
    }
}
