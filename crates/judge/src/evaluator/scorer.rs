//! Who orders the candidates of a choice: models, students with their guards, single features, chance.

use super::Role;
use rayon::prelude::*;
use sched_distill_core::{
    level::{LevelSpec, Values, first_max, log_sum_exp},
    model::{CompiledGuards, CompiledModel, Guard, LevelModels, NamedModel, Pick, ScoreCandidates, Student},
};
use sched_distill_trace::{Choice, LevelTable};

/// The name of the scorer that takes any candidate alike, see [`Scorer::random`].
pub const RANDOM: &str = "random";

/// Something that orders the candidates of a choice.
#[derive(Clone, Debug)]
pub struct Scorer {
    /// Name for people.
    pub name: String,
    /// What it is here.
    pub role: Role,
    /// How it scores.
    rule: Rule,
    /// What it takes of the probabilities.
    pick: Pick,
    /// Whether it may take the candidate that gives nothing, where some policies may and others may not.
    abstains: bool,
    /// Whether what it takes counts as its first candidate, rather than the one with the highest score: they differ where it takes
    /// the median of its probabilities.
    pub(super) schedules: bool,
    /// The one row that it is meant for: a kind, or `Some(None)` for all kinds together; `None` for every row.
    pub(super) only: Option<Option<u8>>,
}

#[derive(Clone, Debug)]
enum Rule {
    Model {
        model: Box<CompiledModel>,
        /// What its scores are probabilities with; `None` if they are only an order.
        temperature: Option<f64>,
        /// Above the model; what they rule out comes last.
        guards: CompiledGuards,
    },
    /// One feature, smallest or largest first, and last who has no such quantity.
    Feature { column: usize, largest: bool, values: Values },
    /// What was carried out, whoever decided it.
    Executed,
    /// Every order equally likely; its figures are expectations, not draws.
    Random,
}

impl Scorer {
    /// A model with its temperature.
    #[must_use]
    pub fn model(model: &NamedModel, role: Role) -> Self {
        let guards = CompiledGuards::default();
        let compiled = Box::new(CompiledModel::new(&model.model));
        let rule = Rule::Model { model: compiled, temperature: Some(model.temperature), guards };
        Self { name: model.name.clone(), role, rule, pick: Pick::Mode, abstains: true, schedules: false, only: None }
    }

    /// The same, taking another candidate than the most probable one.
    #[must_use]
    pub fn picking(self, pick: Pick) -> Self {
        Self { pick, ..self }
    }

    /// The same, which may give nothing or, if `abstains` is false, always gives something.
    #[must_use]
    pub fn abstaining(self, abstains: bool) -> Self {
        Self { abstains, ..self }
    }

    /// A level of a student as it schedules: the model in use under the student's guards, and what it takes of the
    /// probabilities.
    #[must_use]
    pub fn student(student: &Student, level: &LevelModels, role: Role) -> Self {
        let scorer = match student.feature_set.level(&level.level) {
            Some(spec) => Self::guarded(level.scheduler(), &student.guards, spec, role),
            None => Self::model(level.scheduler(), role),
        };
        Self { schedules: true, ..scorer.picking(level.pick).abstaining(student.abstains) }
    }

    /// A model under those of the guards that are about its level.
    #[must_use]
    pub fn guarded(model: &NamedModel, guards: &[Guard], spec: &LevelSpec, role: Role) -> Self {
        let mut scorer = Self::model(model, role);
        if let Rule::Model { guards: compiled, .. } = &mut scorer.rule {
            *compiled = CompiledGuards::new(guards, spec);
        }
        scorer
    }

    /// A named rule: an order without probabilities, under guards.
    #[must_use]
    pub fn heuristic(model: &NamedModel, guards: &[Guard], spec: &LevelSpec) -> Self {
        let mut scorer = Self::guarded(model, guards, spec, Role::Heuristic);
        if let Rule::Model { temperature, .. } = &mut scorer.rule {
            *temperature = None;
        }
        scorer
    }

    /// A uniformly random choice.
    #[must_use]
    pub fn random() -> Self {
        Self {
            name: RANDOM.to_owned(),
            role: Role::Baseline,
            rule: Rule::Random,
            pick: Pick::Mode,
            abstains: true,
            schedules: false,
            only: None,
        }
    }

    /// What was carried out, as if somebody had scored it: a present scheduler of which nothing else is known. It has an answer
    /// where a candidate was executed.
    #[must_use]
    pub fn executed() -> Self {
        let name = "present scheduler".to_owned();
        Self {
            name,
            role: Role::Student,
            rule: Rule::Executed,
            pick: Pick::Mode,
            abstains: true,
            schedules: false,
            only: None,
        }
    }

    fn feature(table: &LevelTable, values: &Values, (column, largest): (usize, bool), kind: Option<u8>) -> Self {
        let direction = if largest { "largest" } else { "smallest" };
        let name = format!("{direction} {}", table.spec.features[column].name);
        let rule = Rule::Feature { column, largest, values: values.clone() };
        Self { name, role: Role::Baseline, rule, pick: Pick::Mode, abstains: true, schedules: false, only: Some(kind) }
    }

    /// Whether its scores have a temperature, so that they stand for probabilities.
    pub(super) fn has_temperature(&self) -> bool {
        !matches!(self.rule, Rule::Feature { .. } | Rule::Executed | Rule::Model { temperature: None, .. })
    }

    /// Scores the candidates of a choice into `scores`: the temperature of the scores (that of one feature is `None`), or
    /// `None` for a scorer that has no order, which leaves zeros.
    pub(super) fn score(&self, choice: &Choice<'_>, scores: &mut Vec<f64>) -> Option<Option<f64>> {
        scores.clear();
        scores.resize(choice.len(), 0.0);
        match &self.rule {
            Rule::Random => None,
            Rule::Executed => {
                scores.iter_mut().zip(choice.chosen).for_each(|(score, &chosen)| *score = f64::from(u8::from(chosen)));
                Some(None)
            }
            Rule::Model { model, temperature, guards } => {
                model.score_choice(choice.x, choice.width, scores);
                let barred = if self.abstains { None } else { choice.none() };
                if !guards.is_empty() || barred.is_some() {
                    restrict(guards, choice, barred, temperature.unwrap_or(1.0), scores);
                }
                Some(*temperature)
            }
            Rule::Feature { column, largest, values } => {
                let score = |row: usize| by_feature(values, choice, row, (*column, *largest));
                let least = (0..choice.len()).filter_map(score).fold(f64::INFINITY, f64::min);
                // Finite, as ranks and gains have it.
                scores.iter_mut().enumerate().for_each(|(row, s)| *s = score(row).unwrap_or(least.min(0.0) - 1.0));
                Some(None)
            }
        }
    }
}

impl Scorer {
    /// The candidate that it takes; the first one without an order. `scores` is room to work in.
    pub fn choose(&self, choice: &Choice<'_>, scores: &mut Vec<f64>) -> usize {
        let temperature = self.score(choice, scores).flatten();
        self.taken(scores, temperature)
    }

    /// Log-probabilities of the candidates, by the temperature of its scores; without one all are equally likely.
    #[must_use]
    pub fn log_probs(&self, choice: &Choice<'_>) -> Vec<f64> {
        let mut scores = Vec::new();
        let temperature = self.score(choice, &mut scores).flatten().unwrap_or(f64::INFINITY);
        scores.iter_mut().for_each(|s| *s /= temperature);
        let total = log_sum_exp(&scores);
        scores.iter().map(|s| s - total).collect()
    }

    /// The candidate that it takes for its scores and their temperature, as [`Self::score`] gives them.
    pub(super) fn taken(&self, scores: &[f64], temperature: Option<f64>) -> usize {
        self.pick.of(scores, temperature.unwrap_or(1.0))
    }
}

/// How far below the others a candidate stands that guards rule out, in units of the temperature: it has next to no
/// probability, yet a finite cross-entropy.
const RULED_OUT: f64 = 50.0;

/// Puts the candidates that guards rule out, and the one that is barred, behind all others.
fn restrict(guards: &CompiledGuards, choice: &Choice<'_>, barred: Option<usize>, temperature: f64, scores: &mut [f64]) {
    (0..guards.len()).for_each(|guard| guards.apply(guard, choice.x, choice.width, scores));
    if let Some(barred) = barred {
        scores[barred] = f64::NEG_INFINITY;
    }
    let least = scores.iter().copied().filter(|s| s.is_finite()).fold(f64::INFINITY, f64::min);
    for score in scores.iter_mut().filter(|s| !s.is_finite()) {
        *score = least - RULED_OUT * temperature;
    }
}

/// Per kind, the single-feature rule with the best top-1 agreement on `table`, which should not be the table that it is
/// then judged on. The last one is for all kinds together. `values` tells who has the quantity: what a column holds of others is not
/// what a rule goes by.
#[must_use]
pub fn best_single_features(table: &LevelTable, values: &Values) -> Vec<Scorer> {
    let rules: Vec<(usize, bool)> = (0..table.width()).flat_map(|column| [(column, false), (column, true)]).collect();
    let hits: Vec<Vec<f64>> = rules
        .par_iter()
        .map(|&rule| {
            let mut hits = vec![0.0; table.kinds.len()];
            for choice in table.iter().filter(|c| !c.is_forced()) {
                let score = |row| by_feature(values, &choice, row, rule).unwrap_or(f64::NEG_INFINITY);
                if first_max((0..choice.len()).map(score)) == choice.target() {
                    hits[choice.header.kind as usize] += f64::from(choice.header.weight);
                }
            }
            hits
        })
        .collect();
    let best = |kind: Option<u8>| {
        let score = |h: &Vec<f64>| kind.map_or_else(|| h.iter().sum(), |k| h[k as usize]);
        Scorer::feature(table, values, rules[first_max(hits.iter().map(score))], kind)
    };
    let by_kind = (0..table.kinds.len() as u8).map(|k| best(Some(k)));
    by_kind.chain([best(None)]).collect()
}

/// What a rule on one feature makes of a candidate, if it has the quantity.
fn by_feature(values: &Values, choice: &Choice<'_>, row: usize, (column, largest): (usize, bool)) -> Option<f64> {
    let row = choice.row(row);
    let value = f64::from(row[column]);
    values.has(row, column).then_some(if largest { value } else { -value })
}
