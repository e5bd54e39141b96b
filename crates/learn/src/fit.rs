//! One student from the tables of all levels.

use super::{ChoiceLearner, FitError, FitParams, FrontModel, fit_level, is_usable};
use sched_distill_core::{
    level::{ALL_KINDS, FeatureSet},
    model::{Additive, LevelModels, Model, NamedModel, Pick, Provenance, Student},
};
use sched_distill_judge::evaluator::{Role, Scorer, fidelity};
use sched_distill_trace::{LevelTable, Manifest};

/// What a student is to answer.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The questions, and the features of their candidates.
    pub feature_set: &'a FeatureSet,
    /// Whether the teacher may give nothing to anybody at the first level.
    pub abstains: bool,
}

impl<'a> From<&'a Manifest> for Subject<'a> {
    fn from(manifest: &'a Manifest) -> Self {
        Self { feature_set: &manifest.feature_set, abstains: manifest.labels_none() }
    }
}

/// Fits the models asked for at each level on `train`, and their temperatures on `validation`, which should hold
/// other episodes. Both tables have the levels of the subject in order. At a level without choices of two candidates the
/// student takes the first.
///
/// `provenance` says where the traces come from; parameters and figures are filled in here.
///
/// # Errors
///
/// A bad parameter, a feature that is not finite, and what a learner objects to.
pub fn fit_student(
    subject: Subject<'_>,
    (train, validation): (&[LevelTable], &[LevelTable]),
    params: &FitParams,
    mut provenance: Provenance,
) -> Result<Student, FitError> {
    params.check()?;
    params.check_features(subject.feature_set)?;
    let learners: Vec<Box<dyn ChoiceLearner>> = params.learners.iter().map(|l| l.with(params)).collect();
    let mut levels = Vec::with_capacity(train.len());
    for (table, validation) in train.iter().zip(validation) {
        let name = table.spec.name.as_str();
        if !table.iter().any(|choice| is_usable(&choice)) {
            let first = take_the_first();
            levels.push(LevelModels::new(name, &first.name.clone(), vec![first]));
            continue;
        }
        let models = fit_level(table, validation, &learners)?;
        for m in &models {
            let scorer = Scorer::model(m, Role::Student);
            for row in fidelity(validation, &[scorer], 0) {
                provenance.fidelity.insert(format!("{name}/{}/{}/top1", m.name, row.kind), row.top1.value);
            }
        }
        let used = models.iter().find(|m| m.name == params.used);
        let pick = used.map(|m| pick_like_teacher(m, validation)).unwrap_or_default();
        levels.push(LevelModels { pick, ..LevelModels::new(name, &params.used, models) });
    }
    Ok(finish(subject, levels, params, provenance))
}

/// The model of a level at which there is nothing to choose: all candidates are worth the same, so that the first is taken.
pub(super) fn take_the_first() -> NamedModel {
    let model = Model::Additive(Additive { intercept: 0.0, terms: Vec::new() });
    NamedModel { name: "first".to_owned(), temperature: 1.0, model }
}

/// A student of one model per level, chosen from a front; `params` and `provenance` as in [`fit_student`].
#[must_use]
pub fn assemble(
    subject: Subject<'_>,
    chosen: &[(&str, &FrontModel)],
    params: &FitParams,
    mut provenance: Provenance,
) -> Student {
    let level = |(level, model): &(&str, &FrontModel)| {
        let name = &model.named.name;
        for row in &model.fidelity {
            provenance.fidelity.insert(format!("{level}/{name}/{}/top1", row.kind), row.top1.value);
        }
        LevelModels { pick: model.pick, ..LevelModels::new(level, name, vec![model.named.clone()]) }
    };
    let levels = chosen.iter().map(level).collect();
    finish(subject, levels, params, provenance)
}

/// What a model takes of its probabilities: at a level of amounts the median where that comes closer to the amounts executed
/// than the most probable amount does. So it is for a teacher that draws its amounts: its student can draw none, and the
/// most probable one may be far from all that it gives.
pub(super) fn pick_like_teacher(model: &NamedModel, table: &LevelTable) -> Pick {
    if !table.spec.is_amount() {
        return Pick::Mode;
    }
    let error = |pick| {
        let rows = fidelity(table, &[Scorer::model(model, Role::Student).picking(pick)], 0);
        rows.iter().find(|r| r.kind == ALL_KINDS).and_then(|r| r.amount_error).map(|e| e.value)
    };
    if error(Pick::Median) < error(Pick::Mode) { Pick::Median } else { Pick::Mode }
}

fn finish(subject: Subject<'_>, levels: Vec<LevelModels>, params: &FitParams, mut provenance: Provenance) -> Student {
    // Plain data serialises.
    provenance.parameters = serde_json::to_value(params).unwrap_or_default();
    provenance.crate_version = env!("CARGO_PKG_VERSION").to_owned();
    Student {
        structure: params.structure,
        ..Student::new(subject.feature_set.clone(), subject.abstains, levels, provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use sched_distill_core::rng::Stream;

    /// Amounts 1 to 9 in proportion to 1.2^amount: 9 is the most probable one, and half of the probability lies at 7 and above.
    #[test]
    fn a_teacher_that_draws_its_amounts_gets_a_student_that_takes_the_median() {
        let growth = 1.2_f64.ln();
        let linear = Model::Additive(Additive::linear(&[growth, 0.0], &[1.0, 0.0]));
        let model = NamedModel { name: "linear".to_owned(), temperature: 1.0, model: linear };
        let share: Vec<f64> = (0..9).map(|i| (growth * f64::from(i)).exp()).collect();
        let mut stream = Stream::new(2, "amounts");
        let mut table = |draws: bool| {
            let rows: Vec<[f32; 2]> = (1..=9_u8).map(|amount| [f32::from(amount), 0.0]).collect();
            let mut amount = || match draws {
                true => {
                    let mut left = stream.uniform() * share.iter().sum::<f64>();
                    let falls_here = |s: &f64| {
                        left -= s;
                        left < 0.0
                    };
                    share.iter().position(falls_here).unwrap_or(8)
                }
                false => 8,
            };
            let choices: Vec<_> = (0..400).map(|i| (i / 40, 0, rows.clone(), amount())).collect();
            let mut table = tiny::table("amount", &choices);
            table.spec.entities = vec!["amount".to_owned()];
            table
        };
        let (drawn, greedy) = (table(true), table(false));
        assert_eq!(pick_like_teacher(&model, &drawn), Pick::Median);
        assert_eq!(pick_like_teacher(&model, &greedy), Pick::Mode);
        let error = |table: &LevelTable, pick| {
            let rows = fidelity(table, &[Scorer::model(&model, Role::Student).picking(pick)], 0);
            rows.last().and_then(|r| r.amount_error).map(|e| e.value)
        };
        assert_eq!(error(&greedy, Pick::Mode), Some(0.0));
        assert_eq!(error(&greedy, Pick::Median), Some(2.0));
        let mean_distance = |from: usize| {
            let distances = drawn.iter().map(|c| c.target().abs_diff(from) as f64);
            distances.sum::<f64>() / drawn.choices.len() as f64
        };
        assert!((error(&drawn, Pick::Median).unwrap_or(f64::NAN) - mean_distance(6)).abs() < 1e-12);
        assert!((error(&drawn, Pick::Mode).unwrap_or(f64::NAN) - mean_distance(8)).abs() < 1e-12);
        // Candidates of other levels have no distance.
        let mut jobs = drawn.clone();
        jobs.spec.entities = vec!["job".to_owned()];
        assert_eq!((pick_like_teacher(&model, &jobs), error(&jobs, Pick::Mode)), (Pick::Mode, None));
    }
}
