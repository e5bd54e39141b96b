//! A distilled student as the scheduler.

use super::{Policy, PolicyError, Probabilities};
use crate::{
    feature::{Extractor, NO_JOB},
    model::{CompiledGuards, CompiledModel, NamedModel, Pick, ScoreCandidates, Student},
    scenario::dag,
    simulator::dag::{Decision, Observation},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One model per level, asked in turn: the best job, its best stage, the best amount; the first of equals among those
/// that the student's guards leave.
pub struct StudentPolicy {
    models: Arc<Models>,
    extractor: Extractor,
    x: Vec<f32>,
    scores: Vec<f64>,
    /// How often each guard has changed a choice: those of the job level, the stage level, the cluster level.
    firings: [Vec<u64>; 3],
}

struct Models {
    job: Scorer,
    stage: Scorer,
    amount: Scorer,
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
            path: path.to_owned(),
            abstains: student.abstains,
        };
        Ok(Self::with(Arc::new(models)))
    }

    fn with(models: Arc<Models>) -> Self {
        let firings = [&models.job, &models.stage, &models.amount].map(|s| vec![0; s.guards.len()]);
        let extractor = Extractor::limited([&models.job, &models.stage, &models.amount].map(|s| &s.columns[..]));
        Self { models, extractor, x: Vec::new(), scores: Vec::new(), firings }
    }

    /// How often each guard has changed what was chosen at its level since the policy was made: the guards of the job
    /// level in their order, then those of the stage level, then those of the cluster level.
    #[must_use]
    pub fn firings(&self) -> Vec<u64> {
        self.firings.concat()
    }
}

/// Index of the best of `n` candidates whose rows are in `x`, among those that the guards leave.
fn best(scorer: &Scorer, x: &[f32], n: usize, scores: &mut Vec<f64>, firings: &mut [u64]) -> usize {
    if n <= 1 {
        return 0;
    }
    let width = x.len() / n;
    scores.clear();
    scores.resize(n, 0.0);
    scorer.model.score_choice(x, width, scores);
    let mut best = scorer.pick.of(scores, scorer.temperature);
    for (guard, fired) in firings.iter_mut().enumerate() {
        scorer.guards.apply(guard, x, width, scores);
        let left = scorer.pick.of(scores, scorer.temperature);
        *fired += u64::from(left != best);
        best = left;
    }
    best
}

impl Policy for StudentPolicy {
    fn fresh(&self) -> Box<dyn Policy> {
        Box::new(Self::with(Arc::clone(&self.models)))
    }

    fn decide(&mut self, seen: &Observation<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        let Self { models, extractor, x, scores, firings } = self;
        let [job_firings, stage_firings, amount_firings] = firings;
        extractor.update(seen);
        x.clear();
        extractor.job_rows(seen, models.abstains, x);
        let jobs = extractor.snapshot().candidate_jobs().len();
        let candidate = best(&models.job, x, jobs + usize::from(models.abstains), scores, job_firings);
        if candidate == jobs {
            return Ok(Decision::Abstain);
        }
        x.clear();
        extractor.stage_rows(seen, candidate, x);
        let stages = extractor.snapshot().candidate_stages(candidate);
        let stage = stages[best(&models.stage, x, stages.len(), scores, stage_firings)];
        debug_assert_ne!(stage.job, NO_JOB);
        x.clear();
        extractor.amount_rows(seen, stage, x);
        let cap = Extractor::amount_cap(seen, stage);
        let executors = 1 + best(&models.amount, x, cap as usize, scores, amount_firings) as u32;
        Ok(Decision::Assign { stage, executors })
    }

    fn abstains(&self) -> bool {
        self.models.abstains
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.models.path.clone()]
    }
}
