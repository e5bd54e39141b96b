//! A distilled student as the scheduler.

use super::{Policy, PolicyError};
use crate::{
    level::{LevelSpec, first_max, log_sum_exp},
    model::{CompiledGuards, CompiledModel, NamedModel, Pick, ScoreCandidates, Structure, Student},
    scenario::{Dag, Decision, Observation, Questions, Scenario},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One model per level, asked in turn (the best job, its best stage, the best amount) or, of a flat student, those above the
/// amount at once (the best stage of all jobs); the first of equals among those that the student's guards leave.
pub struct StudentPolicy<S: Scenario = Dag> {
    models: Arc<Models>,
    questions: S::Questions,
    x: Vec<f32>,
    /// Candidates taken so far, level by level.
    path: Vec<usize>,
    /// Scores of the candidates, by level.
    scores: Vec<Vec<f64>>,
    /// The most probable path found so far.
    best: Vec<usize>,
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

    fn with(models: Arc<Models>) -> Self {
        let columns: Vec<&[bool]> = models.levels.iter().map(|s| &s.columns[..]).collect();
        let (questions, scores) = (S::Questions::limited(&columns), vec![Vec::new(); models.levels.len()]);
        Self { models, questions, x: Vec::new(), path: Vec::new(), scores, best: Vec::new() }
    }

    /// Scores the candidates at the present path; their number, 0 if the path is a whole decision.
    fn score(&mut self, seen: &Observation<'_, S>) -> usize {
        let level = self.path.len();
        let Some(scorer) = self.models.levels.get(level) else { return 0 };
        self.x.clear();
        let n = self.questions.rows(seen, &self.path, self.models.abstains, &mut self.x);
        let scores = &mut self.scores[level];
        scores.clear();
        scores.resize(n, 0.0);
        if n > 1 {
            let width = self.x.len() / n;
            scorer.model.score_choice(&self.x, width, scores);
            (0..scorer.guards.len()).for_each(|guard| scorer.guards.apply(guard, &self.x, width, scores));
        }
        n
    }

    /// Extends the path by the best candidate, level after level.
    fn descend(&mut self, seen: &Observation<'_, S>) {
        while self.score(seen) > 0 {
            let level = self.path.len();
            let scorer = &self.models.levels[level];
            self.path.push(scorer.pick.of(&self.scores[level], scorer.temperature));
        }
    }

    /// Finds the most probable continuation of the path through the levels above the amount, the first of equals, and leaves it in
    /// `best`; `so_far` is the path's log-probability and `most` that of the best found elsewhere, which is returned if none is better.
    fn search(&mut self, seen: &Observation<'_, S>, so_far: f64, mut most: f64) -> f64 {
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
                self.path.push(candidate);
                most = self.search(seen, with, most);
                self.path.pop();
            }
        }
        most
    }
}

impl<S: Scenario> Policy<S> for StudentPolicy<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self::with(Arc::clone(&self.models)))
    }

    fn decide(&mut self, seen: &Observation<'_, S>, _: &mut S::Probabilities) -> Result<Decision<S>, PolicyError> {
        self.questions.update(seen);
        self.path.clear();
        if self.models.structure == Structure::Flat {
            self.best.clear();
            self.search(seen, 0.0, f64::NEG_INFINITY);
            std::mem::swap(&mut self.path, &mut self.best);
        }
        self.descend(seen);
        Ok(self.questions.decision(seen, &self.path))
    }

    fn abstains(&self) -> bool {
        self.models.abstains
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.models.path.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        feature::dag::{Extractor, feature_set},
        model::{Guard, LevelModels, Linear, Model, Provenance},
        rng::Stream,
        scenario::dag::Probabilities,
        simulator::dag::{Decision, Simulator},
        workload,
    };

    /// A student of random linear scores.
    fn student(seed: u64, abstains: bool) -> Student {
        let set = feature_set().clone();
        let mut stream = Stream::new(seed, "student");
        let mut level = |name: &str| {
            let width = set.level(name).unwrap().features.len();
            // Ranks and flags stay small; times and work are left out.
            let named = |i: usize| {
                set.level(name).unwrap().features[i].name.ends_with("_rank")
                    || set.level(name).unwrap().features[i].unit == "0/1"
            };
            let coefficient = (0..width).map(|i| if named(i) { stream.normal() } else { 0.0 }).collect();
            let linear = Linear { coefficient, intercept: 0.0, feature_sd: vec![0.0; width] };
            let temperature = stream.uniform_in(0.2, 2.0);
            let named = NamedModel { name: "linear".to_owned(), temperature, model: Model::Linear(linear) };
            LevelModels::new(name, "linear", vec![named])
        };
        let levels = ["job", "stage", "cluster"].map(&mut level).to_vec();
        Student { structure: Structure::Flat, ..Student::new(set, abstains, levels, Provenance::default()) }
    }

    /// Log-probabilities of a level by the definition.
    fn log_probs(student: &Student, level: &str, x: &[f32], n: usize) -> Vec<f64> {
        let (named, width) = (student.model(level, None).unwrap(), x.len() / n);
        let mut scores = vec![0.0; n];
        named.model.score_choice(x, width, &mut scores);
        let guards = CompiledGuards::new(&student.guards, student.feature_set.level(level).unwrap());
        (0..guards.len()).for_each(|guard| guards.apply(guard, x, width, &mut scores));
        scores.iter_mut().for_each(|s| *s /= named.temperature);
        let total = log_sum_exp(&scores);
        scores.iter().map(|s| s - total).collect()
    }

    #[test]
    fn a_flat_student_takes_the_most_probable_path_by_brute_force() {
        let (mut questions, mut not_of_the_best_job, mut nothing) = (0, 0, 0);
        for seed in 0..12 {
            let mut student = student(seed, seed % 3 == 2);
            if seed % 2 == 1 {
                for text in
                    ["job: is_source first", "job: remaining_work_rank > 2 last", "stage: unfinished_parents > 0 last"]
                {
                    student.guards.push(Guard::parse(text, &student.feature_set).unwrap());
                }
            }
            let mut policy = StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap();
            let spec = "builtin,jobs=20,executors=8,rate=1e-4".parse().unwrap();
            let workload = workload::dag::open(&spec).unwrap();
            let mut sim = Simulator::new(workload.cluster(), workload.jobs(seed), seed);
            let mut extractor = Extractor::default();
            while let Some(seen) = sim.observation() {
                let decision = policy.decide(&seen, &mut Probabilities::default()).unwrap();
                extractor.update(&seen);
                let (mut x, jobs) = (Vec::new(), extractor.snapshot().candidate_jobs().len());
                extractor.job_rows(&seen, student.abstains, &mut x);
                let of_job = log_probs(&student, "job", &x, jobs + usize::from(student.abstains));
                let mut paths = Vec::new();
                for (job, of_job) in of_job.iter().take(jobs).enumerate() {
                    x.clear();
                    extractor.stage_rows(&seen, job, &mut x);
                    let stages = extractor.snapshot().candidate_stages(job);
                    let of_stage = log_probs(&student, "stage", &x, stages.len());
                    paths.extend(stages.iter().zip(of_stage).map(|(&s, p)| (of_job + p, Some(s))));
                }
                paths.extend(of_job.get(jobs).map(|&p| (p, None)));
                let (most, expected) = paths[first_max(paths.iter().map(|p| p.0))];
                let taken = match decision {
                    Decision::Assign { stage, .. } => Some(stage),
                    Decision::Abstain => None,
                };
                let p = paths.iter().find(|p| p.1 == taken).unwrap().0;
                assert!(taken == expected || (p - most).abs() < 1e-12, "{taken:?} with {p}, {expected:?} with {most}");
                questions += 1;
                let best_job = extractor.snapshot().candidate_jobs().nth(first_max(of_job.iter().copied()));
                not_of_the_best_job += u32::from(taken.is_some() && taken.map(|s| s.job) != best_job);
                nothing += u32::from(taken.is_none());
                // Who gives nothing for ever would strand the cluster.
                let (stage, executors) = (seen.schedulable()[0], 1);
                sim.step(if taken.is_some() { decision } else { Decision::Assign { stage, executors } }).unwrap();
            }
        }
        let counts = [questions, not_of_the_best_job, nothing];
        assert!(questions > 2_000 && not_of_the_best_job > 20 && nothing > 20, "{counts:?}");
    }
}
