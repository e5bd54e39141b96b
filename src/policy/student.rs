//! A distilled student as the scheduler.

use super::{Policy, PolicyError, Probabilities};
use crate::{
    feature::{Extractor, NO_JOB},
    level::log_sum_exp,
    model::{CompiledGuards, CompiledModel, NamedModel, Pick, ScoreCandidates, Structure, Student},
    scenario::dag,
    simulator::dag::{Decision, Observation, StageRef},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One model per level, asked in turn (the best job, its best stage, the best amount) or, of a flat student, the first two
/// at once (the best stage of all jobs); the first of equals among those that the student's guards leave.
pub struct StudentPolicy {
    models: Arc<Models>,
    extractor: Extractor,
    x: Vec<f32>,
    scores: Vec<f64>,
    /// The jobs' scores of a flat student, while its stages have theirs.
    job_scores: Vec<f64>,
}

struct Models {
    job: Scorer,
    stage: Scorer,
    amount: Scorer,
    structure: Structure,
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

impl StudentPolicy {
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
    pub fn new(student: &Student, path: &Path, model: Option<&str>) -> Result<Self, PolicyError> {
        let here = dag::feature_set();
        if let Some(difference) = student.feature_set.difference(here) {
            return Err(PolicyError::FeatureSet {
                path: path.to_owned(),
                found: student.feature_set.hash(),
                expected: here.hash(),
                difference,
            });
        }
        let level = |name: &str| -> Result<Scorer, PolicyError> {
            let NamedModel { model, temperature, .. } = student.model(name, model)?;
            let spec = student.feature_set.level(name);
            let guards = spec.map(|s| CompiledGuards::new(&student.guards, s)).unwrap_or_default();
            let mut columns = vec![false; spec.map_or(0, |s| s.features.len())];
            model.mark_columns(&mut columns);
            guards.mark_columns(&mut columns);
            Ok(Scorer {
                model: CompiledModel::new(model),
                temperature: *temperature,
                pick: student.level(name).map(|l| l.pick).unwrap_or_default(),
                guards,
                columns,
            })
        };
        let models = Models {
            job: level("job")?,
            stage: level("stage")?,
            amount: level("cluster")?,
            structure: student.structure,
            path: path.to_owned(),
            abstains: student.abstains,
        };
        Ok(Self::with(Arc::new(models)))
    }

    fn with(models: Arc<Models>) -> Self {
        let extractor = Extractor::limited([&models.job, &models.stage, &models.amount].map(|s| &s.columns[..]));
        Self { models, extractor, x: Vec::new(), scores: Vec::new(), job_scores: Vec::new() }
    }
}

/// Index of the best of `n` candidates whose rows are in `x`, among those that the guards leave; all their scores in `scores`.
fn best(scorer: &Scorer, x: &[f32], n: usize, scores: &mut Vec<f64>) -> usize {
    scores.clear();
    scores.resize(n, 0.0);
    if n <= 1 {
        return 0;
    }
    let width = x.len() / n;
    scorer.model.score_choice(x, width, scores);
    (0..scorer.guards.len()).for_each(|guard| scorer.guards.apply(guard, x, width, scores));
    scorer.pick.of(scores, scorer.temperature)
}

impl StudentPolicy {
    /// The best of the candidate jobs, in order of arrival, and perhaps of "none" behind them; their scores in `scores`.
    fn best_job(&mut self, seen: &Observation<'_>) -> usize {
        let Self { models, extractor, x, scores, .. } = self;
        x.clear();
        extractor.job_rows(seen, models.abstains, x);
        let n = extractor.snapshot().candidate_jobs().len() + usize::from(models.abstains);
        best(&models.job, x, n, scores)
    }

    /// The best stage of a candidate job; the scores of all of them in `scores`.
    fn best_stage(&mut self, seen: &Observation<'_>, candidate: usize) -> StageRef {
        let Self { models, extractor, x, scores, .. } = self;
        x.clear();
        extractor.stage_rows(seen, candidate, x);
        let stages = extractor.snapshot().candidate_stages(candidate);
        stages[best(&models.stage, x, stages.len(), scores)]
    }

    /// The stage that a hierarchical student takes: the best one of the best job; `None` if that is to give nothing.
    fn stage_of_best_job(&mut self, seen: &Observation<'_>) -> Option<StageRef> {
        let job = self.best_job(seen);
        let gives_nothing = job == self.extractor.snapshot().candidate_jobs().len();
        (!gives_nothing).then(|| self.best_stage(seen, job))
    }

    /// The stage that a flat student takes: the most probable one of all jobs; `None` if to give nothing is more probable.
    fn best_stage_of_all_jobs(&mut self, seen: &Observation<'_>) -> Option<StageRef> {
        let mut job = self.best_job(seen);
        std::mem::swap(&mut self.scores, &mut self.job_scores);
        let (mut most, mut stage) = self.path(seen, job);
        for other in 0..self.job_scores.len() {
            // No stage is more probable than its job: having begun with the best job, few are left whose stages must be looked at.
            if other == job || self.job_scores[other] / self.models.job.temperature < most {
                continue;
            }
            let (log_prob, its_stage) = self.path(seen, other);
            if log_prob > most || (log_prob == most && other < job) {
                (most, job, stage) = (log_prob, other, its_stage);
            }
        }
        stage
    }

    /// The best stage of a job, `None` for giving nothing, and its log-probability up to what all jobs have in common; the jobs'
    /// scores are in `job_scores`.
    fn path(&mut self, seen: &Observation<'_>, job: usize) -> (f64, Option<StageRef>) {
        let of_job = self.job_scores[job] / self.models.job.temperature;
        if job == self.extractor.snapshot().candidate_jobs().len() {
            return (of_job, None);
        }
        let stage = self.best_stage(seen, job);
        self.scores.iter_mut().for_each(|score| *score /= self.models.stage.temperature);
        let most = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (of_job - (log_sum_exp(&self.scores) - most), Some(stage))
    }
}

impl Policy for StudentPolicy {
    fn fresh(&self) -> Box<dyn Policy> {
        Box::new(Self::with(Arc::clone(&self.models)))
    }

    fn decide(&mut self, seen: &Observation<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        self.extractor.update(seen);
        let stage = match self.models.structure {
            Structure::Hierarchical => self.stage_of_best_job(seen),
            Structure::Flat => self.best_stage_of_all_jobs(seen),
        };
        let Some(stage) = stage else { return Ok(Decision::Abstain) };
        debug_assert_ne!(stage.job, NO_JOB);
        let Self { models, extractor, x, scores, .. } = self;
        x.clear();
        extractor.amount_rows(seen, stage, x);
        let cap = Extractor::amount_cap(seen, stage);
        let executors = 1 + best(&models.amount, x, cap as usize, scores) as u32;
        Ok(Decision::Assign { stage, executors })
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
        level::first_max,
        model::{Guard, LevelModels, Linear, Model, Provenance},
        rng::Stream,
        simulator::dag::Simulator,
        workload,
    };

    /// A student of random linear scores.
    fn student(seed: u64, abstains: bool) -> Student {
        let set = dag::feature_set().clone();
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
            let mut policy = StudentPolicy::new(&student, Path::new("student.json"), None).unwrap();
            let spec = "builtin,jobs=20,executors=8,rate=1e-4".parse().unwrap();
            let workload = workload::open(&spec).unwrap();
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
