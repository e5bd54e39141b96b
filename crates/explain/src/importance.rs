//! Global importance of features.

use sched_distill_core::{
    level::LevelSpec,
    model::{Additive, Model, Pairwise, Regime, Tree},
};
use serde::{Deserialize, Serialize};

/// A feature's share of what a model goes by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// Feature.
    pub feature: String,
    /// Share in `[0, 1]`; the shares of a model add up to 1, or all are 0 if it uses nothing.
    pub share: f64,
}

/// What a model goes by: [`tree_importance`] or [`additive_importance`]. A pairwise tree goes by features of one candidate and by
/// differences between two ([`Pairwise::level`]).
#[must_use]
pub fn importance(model: &Model, level: &LevelSpec) -> Vec<Importance> {
    match model {
        Model::Tree(tree) => tree_importance(tree, level),
        Model::Additive(additive) => additive_importance(additive, level),
        Model::Pairwise(pairwise) => tree_importance(&pairwise.tree, &Pairwise::level(level)),
        Model::Regime(regime) => regime_importance(regime, level),
    }
}

/// Importance for a choice of models, largest first: the mean of what its models go by.
fn regime_importance(regime: &Regime, level: &LevelSpec) -> Vec<Importance> {
    let mut shares: Vec<Importance> = Vec::new();
    for one in regime.models.iter().flat_map(|model| importance(model, level)) {
        let share = one.share / regime.models.len() as f64;
        match shares.iter_mut().find(|i| i.feature == one.feature) {
            Some(sum) => sum.share += share,
            None => shares.push(Importance { share, ..one }),
        }
    }
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

/// Impurity-based importance of a tree, largest first: the weighted squared error that a feature's splits take away, as a
/// share of what all splits take away (scikit-learn's definition, with weights).
#[must_use]
pub fn tree_importance(tree: &Tree, level: &LevelSpec) -> Vec<Importance> {
    let mut gain = vec![0.0; level.features.len()];
    let error = |node: usize| tree.weight[node] * tree.impurity[node];
    for node in (0..tree.nodes()).filter(|&node| !tree.is_leaf(node)) {
        let below = error(tree.left[node] as usize) + error(tree.right[node] as usize);
        gain[tree.feature[node] as usize] += (error(node) - below).max(0.0);
    }
    shares(&gain, level)
}

/// Importance of the features of a sum of terms, largest first: |coefficient| × the term's deviation within a choice, in equal
/// parts for a term's factors.
#[must_use]
pub fn additive_importance(additive: &Additive, level: &LevelSpec) -> Vec<Importance> {
    let mut moved = vec![0.0; level.features.len()];
    for term in &additive.terms {
        let part = (term.coefficient * term.sd).abs() / term.factors.len() as f64;
        term.factors.iter().for_each(|f| moved[f.feature as usize] += part);
    }
    shares(&moved, level)
}

fn shares(amount: &[f64], level: &LevelSpec) -> Vec<Importance> {
    let total: f64 = amount.iter().sum();
    let share = |a: &f64| if total > 0.0 { a / total } else { 0.0 };
    let named = level.features.iter().zip(amount);
    let mut list: Vec<Importance> =
        named.map(|(f, a)| Importance { feature: f.name.clone(), share: share(a) }).collect();
    list.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.feature.cmp(&b.feature)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::Term;
    use sched_distill_dag::feature::feature_set;
    use sched_distill_learn::{Targets, TreeData, TreeParams, fit_tree};

    #[test]
    fn a_product_counts_half_for_each_of_its_features() {
        let mut level = feature_set().levels[2].clone();
        level.features.truncate(3);
        let mut product = Term::linear(0, 2.0, 1.0);
        product.factors.extend(Term::linear(1, 0.0, 0.0).factors);
        let additive = Additive { intercept: 0.0, terms: vec![Term::linear(0, -1.0, 2.0), product] };
        let found: Vec<f64> = additive_importance(&additive, &level).iter().map(|i| i.share).collect();
        assert_eq!(found, [0.75, 0.25, 0.0]);
    }

    #[test]
    fn the_feature_that_explains_most_comes_first_and_shares_add_up() {
        let level = feature_set().levels[2].clone();
        let width = level.features.len();
        let x: Vec<f32> = (0..500).flat_map(|i| (0..width).map(move |f| ((i * (f + 3)) % (7 + f)) as f32)).collect();
        let y: Vec<f64> = x.chunks(width).map(|r| f64::from(10.0 * r[4] + r[1])).collect();
        let data = TreeData { x: &x, width, targets: Targets::Values(&y), weight: None };
        let tree = fit_tree(data, &TreeParams::default().max_leaf_nodes(20usize).min_samples_leaf(2usize)).unwrap();
        let importance = tree_importance(&tree, &level);
        assert_eq!(importance[0].feature, level.features[4].name);
        assert!((importance.iter().map(|i| i.share).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
