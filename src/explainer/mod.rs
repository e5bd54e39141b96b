//! What a student goes by.

mod accumulated;
mod counterfactual;
mod dependence;
mod error;
mod family;
mod importance;
mod path;
mod permutation;
mod shap;

pub use accumulated::{AccumulatedEffects, accumulated_effects};
pub use counterfactual::{
    ChoiceChange, ChoiceColumns, ChoiceCounterfactual, ChoiceGoal, ChoiceSearch, Constraints, Counterfactual, Goal,
    choice_counterfactual, counterfactual,
};
pub use dependence::{PartialDependence, conditional_expectation, feature_grid, partial_dependence};
pub use error::ExplainError;
pub use family::{Family, families};
pub use importance::{Importance, importance, linear_importance, tree_importance};
pub use permutation::{Metric, PermutationImportance, Shuffles, permutation_importance};
pub use shap::{ShapInteractions, ShapValues, TreeInteractions, TreeShap};
