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

use crate::{
    model::{Guard, Student},
    policy::PolicyError,
    recorder::EpisodeError,
    rng::Split,
};
use moves::Move;
use race::race;
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
    /// Training episodes per candidate and generation of that search.
    pub polish_episodes: u32,
    /// Seed of that search.
    pub seed: u64,
}

impl Default for AugmentParams {
    fn default() -> Self {
        Self {
            budget: 40_000,
            validation: 100,
            max_guards: 6,
            max_size: 64,
            polish: 0.7,
            step: 0.2,
            polish_episodes: 16,
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

/// A step of the search that was tried on validation episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What was tried.
    pub what: String,
    /// Share of the completion time that it took away on training episodes.
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
struct Search<'s, 'a> {
    arena: &'s mut Arena<'a>,
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

/// Searches for a student that schedules better than `student`: guards, patches of single numbers,
/// regimes, and a direct search over all numbers. Returns the best
/// student with the evidence for each of its edits, and all steps that reached validation. `on_step` hears of each at once.
///
/// # Errors
///
/// See [`AugmentError`]. With a journal in the arena the same search goes on where it was stopped.
pub fn augment(
    arena: &mut Arena<'_>,
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
    search.climb(repertoire, edits_before as u64)?;
    let polish_until = search.arena.spent() + (params.budget as f64 * params.polish) as u64;
    search.polish(polish_until.min(params.budget))?;
    search.climb(repertoire, params.budget)?;
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
fn validate(
    arena: &mut Arena<'_>,
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

impl Search<'_, '_> {
    /// Adds the best of all small changes as long as one is confirmed.
    fn climb(&mut self, repertoire: &Repertoire, until: u64) -> Result<(), AugmentError> {
        while self.arena.spent() < until {
            let mut moves: Vec<Move> = moves::guards(&self.best, &repertoire.guards, self.params.max_guards);
            moves.extend(moves::patches(&self.best, &repertoire.orders));
            moves.extend(moves::regimes(&self.best, &repertoire.orders, &repertoire.borders));
            moves.retain(|m| m.student.size() <= self.params.max_size && !self.refused.contains(&m.student));
            let students: Vec<Student> = moves.iter().map(|m| m.student.clone()).collect();
            let episodes = (self.next_train, 4, 128);
            self.next_train += episodes.2;
            let ranked = race(self.arena, &self.best, &students, episodes, until)?;
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
        let gain = |p: Paired| 1.0 - p.mean.exp();
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

    /// Moves all numbers at once until validation no longer gains.
    fn polish(&mut self, until: u64) -> Result<(), AugmentError> {
        let params = self.params;
        let start = self.best.clone();
        let first = self.next_train;
        let population = polish::population(&start) as u64;
        let left = until.saturating_sub(self.arena.spent());
        let generations = (left / (population * u64::from(params.polish_episodes))) as u32;
        if generations == 0 {
            return Ok(());
        }
        self.next_train += (generations + 1) * params.polish_episodes;
        let polish = polish::Polish {
            step: params.step,
            episodes: params.polish_episodes,
            first,
            generations,
            seed: params.seed,
        };
        let every = (generations / 12).max(5);
        let mut checkpoints = 0;
        // The arena goes to the search and comes back at each checkpoint.
        let Search { arena, params, best, steps, next_validation, on_step, .. } = self;
        polish::polish(arena, &start, polish, every, |arena, mean| {
            checkpoints += 1;
            let paired = validate(arena, &mean, best, next_validation, params.validation)?;
            let kept = paired.is_better_at_a_look();
            let step = Step {
                what: format!("direct search, checkpoint {checkpoints}"),
                train_gain: None,
                validation_gain: 1.0 - paired.mean.exp(),
                standard_error: paired.se,
                kept,
                spent: arena.spent(),
            };
            on_step(&step);
            steps.push(step);
            if kept {
                *best = mean;
            }
            Ok(arena.spent() < until)
        })
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
            evidence.gain = Some(moves::round(1.0 - Paired::new(&scores[0], &scores[i + 1]).mean.exp()));
            evidence.firing_rate = Some(moves::round(rates[i]));
        }
        self.best = best;
        Ok(())
    }
}
