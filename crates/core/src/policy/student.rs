//! A distilled student as the scheduler.

use super::{Policy, PolicyError};
use crate::{
    elementary::exp,
    level::{LevelSpec, first_max, log_sum_exp},
    model::{CompiledGuards, CompiledModel, NamedModel, Pick, ScoreCandidates, Structure, Student},
    rng::Stream,
    scenario::{Questions, Said, Scenario},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Label of the random stream of choices that are left to chance.
const CHANCE: &str = "student by chance";

/// One model per level, asked in turn (the best job, its best stage, the best amount) or, of a flat student, those above the
/// amount at once (the best stage of all jobs); the first of equals among those that the student's guards leave.
///
/// A decision that would strand the cluster ([`Scenario::strands`]) is not taken: all levels are asked again, as if the
/// candidates that lead there ([`Questions::strands`]) were not there.
pub struct StudentPolicy<S: Scenario> {
    models: Arc<Models>,
    questions: S::Questions,
    x: Vec<f32>,
    /// Candidates taken so far, level by level.
    path: Vec<usize>,
    /// Scores of the candidates, by level.
    scores: Vec<Vec<f64>>,
    /// The most probable path found so far.
    best: Vec<usize>,
    /// Whether candidates that would strand the cluster are left out, and by level the places of those that are kept then.
    wary: bool,
    kept: Vec<Vec<usize>>,
    chance: Option<Chance>,
}

/// Choices that are left to chance: of one level, at questions of one kind.
struct Chance {
    level: usize,
    kind: u8,
    draws: Stream,
}

impl Chance {
    fn meets<S: Scenario>(&self, level: usize, seen: &S::View<'_>) -> bool {
        self.level == level && self.kind == S::kind(seen)
    }
}

struct Models {
    /// In the order of the questions.
    levels: Vec<Scorer>,
    structure: Structure,
    /// Levels above the amount.
    above: usize,
    path: PathBuf,
    abstains: bool,
}

/// How a level chooses.
struct Scorer {
    model: CompiledModel,
    temperature: f64,
    pick: Pick,
    guards: CompiledGuards,
    /// Which columns these read.
    columns: Vec<bool>,
}

impl<S: Scenario> StudentPolicy<S> {
    /// Loads a student file; `model` chooses one of several models per level by name.
    ///
    /// # Errors
    ///
    /// A file that is no valid student, or one fitted on other features than this build extracts.
    pub fn load(path: &Path, model: Option<&str>) -> Result<Self, PolicyError> {
        let student = Student::load(path)?;
        Self::new(&student, path, model)
    }

    /// Uses a student already in memory; `path` names it in errors.
    ///
    /// # Errors
    ///
    /// One fitted on other features than this build extracts, or without that model.
    pub fn new(student: &Student, path: &Path, model: Option<&str>) -> Result<Self, PolicyError> {
        let here = (S::INFO.feature_set)();
        if let Some(difference) = student.feature_set.difference(here) {
            return Err(PolicyError::FeatureSet {
                path: path.to_owned(),
                found: student.feature_set.hash(),
                expected: here.hash(),
                difference,
            });
        }
        let level = |spec: &LevelSpec| -> Result<Scorer, PolicyError> {
            let NamedModel { model, temperature, .. } = student.model(&spec.name, model)?;
            let guards = CompiledGuards::new(&student.guards, spec);
            let mut columns = vec![false; spec.features.len()];
            model.mark_columns(&mut columns);
            guards.mark_columns(&mut columns);
            Ok(Scorer {
                model: CompiledModel::new(model),
                temperature: *temperature,
                pick: student.level(&spec.name).map(|l| l.pick).unwrap_or_default(),
                guards,
                columns,
            })
        };
        let models = Models {
            levels: here.levels.iter().map(level).collect::<Result<_, _>>()?,
            structure: student.structure,
            above: here.levels.iter().take_while(|spec| !spec.is_amount()).count(),
            path: path.to_owned(),
            abstains: student.abstains,
        };
        Ok(Self::with(Arc::new(models)))
    }

    /// One for another thread.
    #[must_use]
    pub fn copy(&self) -> Self {
        let copy = Self::with(Arc::clone(&self.models));
        match &self.chance {
            Some(Chance { level, kind, .. }) => copy.by_chance(*level, *kind),
            None => copy,
        }
    }

    /// The same, but for the choices of one level at questions of one kind: of the candidates that guards leave, and that do not strand
    /// the cluster, any is taken alike.
    #[must_use]
    pub fn by_chance(self, level: usize, kind: u8) -> Self {
        Self { chance: Some(Chance { level, kind, draws: Stream::new(0, CHANCE) }), ..self }
    }

    fn with(models: Arc<Models>) -> Self {
        let columns: Vec<&[bool]> = models.levels.iter().map(|s| &s.columns[..]).collect();
        let (questions, levels) = (S::Questions::limited(&columns), models.levels.len());
        Self {
            models,
            questions,
            x: Vec::new(),
            path: Vec::new(),
            scores: vec![Vec::new(); levels],
            best: Vec::new(),
            wary: false,
            kept: vec![Vec::new(); levels],
            chance: None,
        }
    }

    /// Scores the candidates at the present path; their number, 0 if the path is a whole decision.
    fn score(&mut self, seen: &S::View<'_>) -> usize {
        let level = self.path.len();
        if level == self.models.levels.len() {
            return 0;
        }
        if self.questions.is_settled(seen, &self.path) {
            self.scores[level].clear();
            self.scores[level].push(0.0);
            self.kept[level].clear();
            self.kept[level].push(0);
            return 1;
        }
        self.x.clear();
        let mut n = self.questions.rows(seen, &self.path, self.models.abstains, &mut self.x);
        if self.wary {
            n = self.leave_out(seen, n);
        }
        let scorer = &self.models.levels[level];
        let scores = &mut self.scores[level];
        scores.clear();
        scores.resize(n, 0.0);
        if n > 1 {
            let width = self.x.len() / n;
            match self.chance.as_mut().filter(|chance| chance.meets::<S>(level, seen)) {
                Some(chance) => scores.iter_mut().for_each(|score| *score = chance.draws.uniform()),
                None => scorer.model.score_choice(&self.x, width, scores),
            }
            (0..scorer.guards.len()).for_each(|guard| scorer.guards.apply(guard, &self.x, width, scores));
        }
        n
    }

    /// Takes the rows of candidates that would strand the cluster out of the `n` of the present path; how many are left.
    fn leave_out(&mut self, seen: &S::View<'_>, n: usize) -> usize {
        let Self { questions, x, path, kept, .. } = self;
        let kept = &mut kept[path.len()];
        kept.clear();
        for candidate in 0..n {
            path.push(candidate);
            if !questions.strands(seen, path) {
                kept.push(candidate);
            }
            path.pop();
        }
        if kept.is_empty() {
            kept.extend(0..n);
        }
        let width = x.len() / n.max(1);
        for (to, &from) in kept.iter().enumerate() {
            x.copy_within(from * width..(from + 1) * width, to * width);
        }
        x.truncate(kept.len() * width);
        kept.len()
    }

    /// The place of a scored candidate of a level.
    fn place(&self, level: usize, candidate: usize) -> usize {
        if self.wary { self.kept[level][candidate] } else { candidate }
    }

    /// Asks all levels.
    fn answer(&mut self, seen: &S::View<'_>) -> S::Decision {
        self.path.clear();
        if self.models.structure == Structure::Flat {
            self.best.clear();
            self.search(seen, 0.0, f64::NEG_INFINITY);
            std::mem::swap(&mut self.path, &mut self.best);
        }
        self.descend(seen);
        self.questions.decision(seen, &self.path)
    }

    /// How probable each candidate of a level is, by the models' temperatures and level by level, all ways that lead there added up:
    /// `each` is told a decision that a candidate leads to, and its probability. What guards rule out is improbable.
    pub fn chances(&mut self, seen: &S::View<'_>, level: usize, each: &mut dyn FnMut(S::Decision, f64)) {
        self.questions.update(seen);
        self.path.clear();
        self.chances_below(seen, level, 1.0, each);
    }

    fn chances_below(&mut self, seen: &S::View<'_>, level: usize, so_far: f64, each: &mut dyn FnMut(S::Decision, f64)) {
        let at = self.path.len();
        let n = self.score(seen);
        let temperature = self.models.levels.get(at).map_or(1.0, |scorer| scorer.temperature);
        let scaled: Vec<f64> =
            self.scores.get(at).map_or(Vec::new(), |all| all.iter().map(|s| s / temperature).collect());
        let total = log_sum_exp(&scaled);
        for (candidate, score) in scaled.iter().enumerate().take(n) {
            let chance = so_far * exp(score - total);
            self.path.push(candidate);
            if at == level {
                let depth = self.path.len();
                self.descend(seen);
                each(self.questions.decision(seen, &self.path), chance);
                self.path.truncate(depth);
            } else {
                self.chances_below(seen, level, chance, each);
            }
            self.path.pop();
        }
    }

    /// Extends the path by the best candidate, level after level.
    fn descend(&mut self, seen: &S::View<'_>) {
        while self.score(seen) > 0 {
            let level = self.path.len();
            let scorer = &self.models.levels[level];
            let by_chance = self.chance.as_ref().is_some_and(|chance| chance.meets::<S>(level, seen));
            // The median of what is drawn would be no draw.
            let pick = if by_chance { Pick::Mode } else { scorer.pick };
            let best = pick.of(&self.scores[level], scorer.temperature);
            self.path.push(self.place(level, best));
        }
    }

    /// Finds the most probable continuation of the path through the levels above the amount, the first of equals, and leaves it in
    /// `best`; `so_far` is the path's log-probability and `most` that of the best found elsewhere, which is returned if none is better.
    fn search(&mut self, seen: &S::View<'_>, so_far: f64, mut most: f64) -> f64 {
        let level = self.path.len();
        let n = if level < self.models.above { self.score(seen) } else { 0 };
        if n == 0 {
            if so_far > most || (so_far == most && self.path < self.best) {
                self.best.clone_from(&self.path);
                return so_far;
            }
            return most;
        }
        let temperature = self.models.levels[level].temperature;
        self.scores[level].iter_mut().for_each(|score| *score /= temperature);
        let total = log_sum_exp(&self.scores[level]);
        let best = first_max(self.scores[level].iter().copied());
        // Having begun with the best candidate, few are left whose own candidates must be looked at: no path is more probable
        // than its beginning.
        for candidate in std::iter::once(best).chain((0..n).filter(|&c| c != best)) {
            let with = so_far + (self.scores[level][candidate] - total);
            if with >= most {
                self.path.push(self.place(level, candidate));
                most = self.search(seen, with, most);
                self.path.pop();
            }
        }
        most
    }
}

impl<S: Scenario> Policy<S> for StudentPolicy<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(self.copy())
    }

    fn reset(&mut self, episode_seed: u64) {
        if let Some(chance) = &mut self.chance {
            chance.draws = Stream::new(episode_seed, CHANCE);
        }
    }

    fn decide(&mut self, seen: &S::View<'_>, _: &mut Said) -> Result<S::Decision, PolicyError> {
        self.questions.update(seen);
        let mut decision = self.answer(seen);
        if S::strands(seen, decision) {
            self.wary = true;
            decision = self.answer(seen);
            self.wary = false;
        }
        Ok(decision)
    }

    fn forgets(&self) -> bool {
        self.chance.is_none()
    }

    fn abstains(&self) -> bool {
        self.models.abstains
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.models.path.clone()]
    }
}
