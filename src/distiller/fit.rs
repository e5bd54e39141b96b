//! One student from the tables of all levels.

use super::{ChoiceLearner, FitError, FitParams, FrontModel, fit_level};
use crate::{
    evaluator::{Scorer, fidelity},
    level::FeatureSet,
    model::{LevelModels, NamedModel, Pick, Provenance, Student},
    trace::LevelTable,
};

/// Fits the models asked for at each level on `train`, and their temperatures on `validation`, which should hold
/// other episodes. Both tables have the levels of `feature_set` in order.
///
/// `provenance` says where the traces come from; parameters and figures are filled in here.
///
/// # Errors
///
/// A bad parameter, a level without choices, a feature that is not finite, and what a learner objects to.
pub fn fit_student(
    feature_set: &FeatureSet,
    abstains: bool,
    (train, validation): (&[LevelTable], &[LevelTable]),
    params: &FitParams,
    mut provenance: Provenance,
) -> Result<Student, FitError> {
    params.check()?;
    params.check_features(feature_set)?;
    let learners: Vec<Box<dyn ChoiceLearner>> = params.learners.iter().map(|l| l.with(params)).collect();
    let mut levels = Vec::with_capacity(train.len());
    for (table, validation) in train.iter().zip(validation) {
        let name = table.spec.name.as_str();
        let models = fit_level(table, validation, &learners)?;
        for m in &models {
            let scorer = Scorer::model(m, "student");
            for row in fidelity(validation, &[scorer], 0) {
                provenance.fidelity.insert(format!("{name}/{}/{}/top1", m.name, row.kind), row.top1.value);
            }
        }
        let used = models.iter().find(|m| m.name == params.used);
        let pick = used.map(|m| pick_like_teacher(m, validation)).unwrap_or_default();
        levels.push(LevelModels { pick, ..LevelModels::new(name, &params.used, models) });
    }
    Ok(finish(feature_set, abstains, levels, params, provenance))
}

/// A student of one model per level, chosen from a front; `params` and `provenance` as in [`fit_student`].
#[must_use]
pub fn assemble(
    feature_set: &FeatureSet,
    abstains: bool,
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
    finish(feature_set, abstains, levels, params, provenance)
}

/// What a model takes of its probabilities: at a level of amounts the median where that comes closer to the amounts executed
/// than the most probable amount does. So it is for a teacher that draws its amounts: its student can draw none, and the
/// most probable one may be far from all that it gives.
pub(super) fn pick_like_teacher(model: &NamedModel, table: &LevelTable) -> Pick {
    if !table.spec.is_amount() {
        return Pick::Mode;
    }
    let error = |pick| {
        let rows = fidelity(table, &[Scorer::model(model, "student").picking(pick)], 0);
        rows.iter().find(|r| r.kind == "all").and_then(|r| r.amount_error).map(|e| e.value)
    };
    if error(Pick::Median) < error(Pick::Mode) { Pick::Median } else { Pick::Mode }
}

fn finish(
    feature_set: &FeatureSet,
    abstains: bool,
    levels: Vec<LevelModels>,
    params: &FitParams,
    mut provenance: Provenance,
) -> Student {
    // Plain data serialises.
    provenance.parameters = serde_json::to_value(params).unwrap_or_default();
    provenance.crate_version = env!("CARGO_PKG_VERSION").to_owned();
    Student::new(feature_set.clone(), abstains, levels, provenance)
}
