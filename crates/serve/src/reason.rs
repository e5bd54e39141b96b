//! How a decision came about: who was there, how they were scored, and why the one that was taken was.

use sched_distill_core::{
    level::LevelSpec,
    model::{CompiledGuards, CompiledModel, Model, NamedModel, ScoreCandidates, Student, StudentError},
    scenario::{Answer, ChoiceRows, Questions, Said, Scenario},
};
use sched_distill_explain::PathStep;
use serde::Serialize;
use std::sync::Arc;

/// One level of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelScores {
    /// The level, e.g. `job`.
    pub level: &'static str,
    /// What the candidates are, e.g. `[7, 0]` for a stage of a job.
    pub candidates: Vec<Vec<u32>>,
    /// Scores of a student's model; null for those that a guard ruled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<Option<f64>>>,
    /// Log-probabilities of a policy that names some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_probs: Option<Vec<f32>>,
    /// Place of the candidate that was taken.
    pub taken: usize,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Why a student took a candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reason {
    /// Name of the model.
    pub model: String,
    /// What chose among several models, and which it chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<RegimeTaken>,
    /// Tests that lead the candidate to its leaf.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
    /// What a sum, or the linear function of a leaf, begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intercept: Option<f64>,
    /// Terms of a sum, or of the linear function of a leaf; with the intercept they add up to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<TermShare>,
    /// Of a model that compares pairs: the chances to win against the other candidates, in their order. They add up to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beats: Vec<f64>,
    /// Guards that ruled a candidate out, in the order in which they apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<GuardSpoke>,
}

/// A model that was chosen for the state of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegimeTaken {
    /// Tests on the way to it.
    pub path: Vec<PathStep>,
    /// Its place.
    pub model: usize,
}

/// What a term comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermShare {
    /// The term in words, e.g. `ln(1 + age)`.
    pub term: String,
    /// Its coefficient.
    pub coefficient: f64,
    /// Its value.
    pub value: f64,
    /// Their product.
    pub adds: f64,
}

/// A guard that ruled candidates out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuardSpoke {
    /// The guard, e.g. `job: age > 300000 first`.
    pub guard: String,
    /// Places of those that it ruled out.
    pub rules_out: Vec<usize>,
}

/// A student's levels, ready to say how they score.
#[derive(Clone, Debug)]
pub struct Scorers {
    levels: Vec<Scorer>,
    abstains: bool,
}

#[derive(Clone, Debug)]
struct Scorer {
    spec: LevelSpec,
    named: NamedModel,
    model: CompiledModel,
    guards: CompiledGuards,
    /// Words of the guards, in their order.
    words: Vec<String>,
    columns: Vec<bool>,
}

impl Scorers {
    /// Those of a student; `model` chooses one of several models per level by name.
    ///
    /// # Errors
    ///
    /// A level without a model of that name.
    pub fn new(student: &Student, model: Option<&str>) -> Result<Self, StudentError> {
        let level = |spec: &LevelSpec| {
            let named = student.model(&spec.name, model)?.clone();
            let guards = CompiledGuards::new(&student.guards, spec);
            let mut columns = vec![false; spec.features.len()];
            named.model.mark_columns(&mut columns);
            guards.mark_columns(&mut columns);
            let words = student.guards.iter().filter(|g| g.level == spec.name).map(ToString::to_string).collect();
            Ok(Scorer { spec: spec.clone(), model: CompiledModel::new(&named.model), named, guards, words, columns })
        };
        let levels = student.feature_set.levels.iter().map(level).collect::<Result<_, StudentError>>()?;
        Ok(Self { levels, abstains: student.abstains })
    }
}

/// Says how decisions came about. Keeps buffers.
pub(super) struct Teller<S: Scenario> {
    /// Of a student.
    scorers: Option<Arc<Scorers>>,
    questions: S::Questions,
    abstains: bool,
    rows: ChoiceRows,
    x: Vec<f32>,
    scores: Vec<f64>,
}

impl<S: Scenario> Teller<S> {
    pub(super) fn new(scorers: Option<Arc<Scorers>>, abstains: bool) -> Self {
        let columns: Vec<Vec<bool>> = match &scorers {
            Some(scorers) => scorers.levels.iter().map(|level| level.columns.clone()).collect(),
            None => (S::INFO.feature_set)().levels.iter().map(|level| vec![false; level.features.len()]).collect(),
        };
        let columns: Vec<&[bool]> = columns.iter().map(Vec::as_slice).collect();
        let abstains = scorers.as_ref().map_or(abstains, |scorers| scorers.abstains);
        let questions = S::Questions::limited(&columns);
        Self { scorers, questions, abstains, rows: ChoiceRows::default(), x: Vec::new(), scores: Vec::new() }
    }

    /// The levels of a decision. `why` asks for reasons, which only students have.
    pub(super) fn levels(
        &mut self,
        seen: &S::View<'_>,
        decision: S::Decision,
        said: &Said,
        why: bool,
    ) -> Vec<LevelScores> {
        let answer = Answer { decision, said };
        self.questions.update(seen);
        let (mut path, mut levels) = (Vec::new(), Vec::new());
        for (place, spec) in (S::INFO.feature_set)().levels.iter().enumerate() {
            if !self.questions.choice(seen, &path, &answer, self.abstains, &mut self.rows) {
                break;
            }
            let Some(taken) = self.rows.chosen else { break };
            let entities = spec.entities.len().max(1);
            let known = self.rows.log_prob.iter().all(|p| !p.is_nan());
            let mut level = LevelScores {
                level: &spec.name,
                candidates: self.rows.entity.chunks(entities).map(<[u32]>::to_vec).collect(),
                scores: None,
                log_probs: known.then(|| self.rows.log_prob.clone()),
                taken,
                reason: None,
            };
            if let Some(scorer) = self.scorers.as_ref().and_then(|scorers| scorers.levels.get(place)) {
                self.x.clear();
                let n = self.questions.rows(seen, &path, self.abstains, &mut self.x);
                self.scores.clear();
                self.scores.resize(n, 0.0);
                let (scores, reason) = scorer.scores(&self.x, &mut self.scores, taken, why);
                (level.scores, level.reason) = (Some(scores), reason);
            }
            levels.push(level);
            path.push(taken);
        }
        levels
    }
}

impl Scorer {
    fn scores(&self, x: &[f32], scores: &mut [f64], taken: usize, why: bool) -> (Vec<Option<f64>>, Option<Reason>) {
        let (n, width) = (scores.len(), self.spec.features.len());
        self.model.score_choice(x, width, scores);
        let mut spoke = Vec::new();
        // A lone candidate is taken without a question.
        for (guard, words) in self.words.iter().enumerate().filter(|_| n > 1) {
            let before = scores.to_vec();
            self.guards.apply(guard, x, width, scores);
            let out = |&i: &usize| scores[i] == f64::NEG_INFINITY && before[i] > f64::NEG_INFINITY;
            let rules_out: Vec<usize> = (0..n).filter(out).collect();
            if !rules_out.is_empty() {
                spoke.push(GuardSpoke { guard: words.clone(), rules_out });
            }
        }
        let finite = scores.iter().map(|score| score.is_finite().then_some(*score)).collect();
        let reason = why.then(|| {
            let reason = Reason { model: self.named.name.clone(), guards: spoke, ..Reason::default() };
            of_model(&self.named.model, &self.spec, x, taken, reason)
        });
        (finite, reason)
    }
}

/// Adds what a model says of the candidate that was taken.
fn of_model(model: &Model, spec: &LevelSpec, x: &[f32], taken: usize, reason: Reason) -> Reason {
    let width = spec.features.len();
    let row = &x[taken * width..][..width];
    match model {
        Model::Tree(tree) => {
            let (mut reason, leaf) = (Reason { path: PathStep::along(tree, spec, row), ..reason }, tree.apply(row));
            if let Some(linear) = &tree.linear {
                reason.intercept = Some(linear.intercept[leaf]);
                reason.terms = linear
                    .terms(leaf)
                    .map(|(column, coefficient)| {
                        share(spec.features[column].name.clone(), coefficient, f64::from(row[column]))
                    })
                    .collect();
            }
            reason
        }
        Model::Additive(sum) => Reason {
            intercept: Some(sum.intercept),
            terms: sum.terms.iter().map(|t| share(t.words(spec), t.coefficient, t.of(row))).collect(),
            ..reason
        },
        Model::Pairwise(pairwise) => {
            let opponents = x.chunks_exact(width).enumerate().filter(|(place, _)| *place != taken);
            Reason { beats: opponents.map(|(_, opponent)| pairwise.beats(row, opponent)).collect(), ..reason }
        }
        Model::Regime(regime) => {
            let first = &x[..width];
            let place = regime.tree.predict(first) as usize;
            let taken_by = RegimeTaken { path: PathStep::along(&regime.tree, spec, first), model: place };
            of_model(&regime.models[place], spec, x, taken, Reason { regime: Some(taken_by), ..reason })
        }
    }
}

fn share(term: String, coefficient: f64, value: f64) -> TermShare {
    TermShare { term, coefficient, value, adds: coefficient * value }
}
