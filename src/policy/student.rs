//! A distilled student as the scheduler.

use super::{Policy, PolicyError, Probabilities};
use crate::{
    feature::{Extractor, NO_JOB},
    level::first_max,
    model::{CompiledModel, ScoreCandidates, Student},
    scenario::dag,
    simulator::dag::{Decision, Observation},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One model per level, asked in turn: the best job, its best stage, the best amount; the first of equals.
pub struct StudentPolicy {
    models: Arc<Models>,
    extractor: Extractor,
    x: Vec<f32>,
    scores: Vec<f64>,
}

struct Models {
    job: CompiledModel,
    stage: CompiledModel,
    amount: CompiledModel,
    path: PathBuf,
    abstains: bool,
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
        let level = |name: &str| student.model(name, model).map(|m| CompiledModel::new(&m.model));
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
        Self { models, extractor: Extractor::default(), x: Vec::new(), scores: Vec::new() }
    }
}

/// Index of the best of `n` candidates whose rows are in `x`.
fn best(model: &CompiledModel, x: &[f32], n: usize, scores: &mut Vec<f64>) -> usize {
    if n <= 1 {
        return 0;
    }
    scores.clear();
    scores.resize(n, 0.0);
    model.score_choice(x, x.len() / n, scores);
    first_max(scores.iter().copied())
}

impl Policy for StudentPolicy {
    fn fresh(&self) -> Box<dyn Policy> {
        Box::new(Self::with(Arc::clone(&self.models)))
    }

    fn decide(&mut self, seen: &Observation<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        let Self { models, extractor, x, scores } = self;
        extractor.update(seen);
        x.clear();
        extractor.job_rows(seen, models.abstains, x);
        let jobs = extractor.snapshot().candidate_jobs().len();
        let candidate = best(&models.job, x, jobs + usize::from(models.abstains), scores);
        if candidate == jobs {
            return Ok(Decision::Abstain);
        }
        x.clear();
        extractor.stage_rows(seen, candidate, x);
        let stages = extractor.snapshot().candidate_stages(candidate);
        let stage = stages[best(&models.stage, x, stages.len(), scores)];
        debug_assert_ne!(stage.job, NO_JOB);
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
