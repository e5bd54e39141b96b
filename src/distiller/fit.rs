//! One student from the tables of all levels.

use super::{
    BackEnd, FitError, FitParams, Target, Targets, TreeData, TreeError, TreeParams,
    back_end::fit_linfa_tree,
    linear::fit_linear,
    target::{self, Rows},
    temperature::fit_temperature,
    tree::fit_tree,
};
use crate::{
    evaluator::{Scorer, fidelity},
    level::FeatureSet,
    model::{LevelModels, Model, NamedModel, Provenance, Student, Tree},
    trace::LevelTable,
};

/// Fits a tree and a linear surrogate per level on `train`, and their temperatures on `validation`, which should hold
/// other episodes. Both have the levels of `feature_set` in order.
///
/// `provenance` says where the traces come from; parameters and figures are filled in here.
///
/// # Errors
///
/// A bad parameter, a level without choices, a feature that is not finite.
pub fn fit_student(
    feature_set: &FeatureSet,
    abstains: bool,
    (train, validation): (&[LevelTable], &[LevelTable]),
    params: &FitParams,
    mut provenance: Provenance,
) -> Result<Student, FitError> {
    params.check()?;
    let mut levels = Vec::with_capacity(train.len());
    for (table, validation) in train.iter().zip(validation) {
        let (name, width) = (table.spec.name.as_str(), table.width());
        let rows = target::rows(table, params.target, params.balance)?;
        let tree = match params.back_end {
            BackEnd::Own => {
                own_tree(&rows, width, params).map_err(|source| FitError::Tree { level: name.to_owned(), source })?
            }
            BackEnd::LinfaTrees => fit_linfa_tree(&rows, width, params, name)?,
        };
        let logs = match params.target {
            Target::LogRatio => rows,
            _ => target::rows(table, Target::LogRatio, params.balance)?,
        };
        let linear = fit_linear(&logs, width, name)?;
        let named = |name: &str, model: Model| {
            let temperature = fit_temperature(&model, validation);
            NamedModel { name: name.to_owned(), temperature, model }
        };
        let models = vec![named("tree", Model::Tree(tree)), named("linear", Model::Linear(linear))];
        for m in &models {
            let scorer = Scorer::model(m, "student");
            for row in fidelity(validation, &[scorer], 0) {
                provenance.fidelity.insert(format!("{name}/{}/{}/top1", m.name, row.kind), row.top1.value);
            }
        }
        levels.push(LevelModels { level: name.to_owned(), used: params.used.clone(), models });
    }
    // Plain data serialises.
    provenance.parameters = serde_json::to_value(params).unwrap_or_default();
    provenance.crate_version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Student::new(feature_set.clone(), abstains, levels, provenance))
}

fn own_tree(rows: &Rows, width: usize, params: &FitParams) -> Result<Tree, TreeError> {
    let data = TreeData { x: &rows.x, width, targets: Targets::Values(&rows.y), weight: Some(&rows.weight) };
    let recipe = TreeParams::default()
        .max_leaf_nodes(params.max_leaf_nodes)
        .min_samples_leaf(params.min_samples_leaf)
        .min_impurity_decrease(params.min_gain * rows.variance());
    fit_tree(data, &recipe)
}
