//! What a student goes by, and what would change its mind.
//!
//! | question | answer |
//! | --- | --- |
//! | What does it go by, all in all? | [`importance`](fn@importance), [`permutation_importance`], [`ShapValues::mean_absolute`] |
//! | What does a feature do to the score? | [`partial_dependence`], [`conditional_expectation`], [`accumulated_effects`] |
//! | Why this score, or this candidate rather than that? | [`TreeShap`], [`TreeInteractions`], [`Preference`] |
//! | Where does it depart from its teacher, and what does that cost? | [`disagreement`](fn@disagreement) |
//! | Which heuristic is it like, and with what exceptions? | [`likeness`](fn@likeness), [`exceptions`](fn@exceptions) |
//! | Would other episodes have given the same rules? | [`stability`](fn@stability) |
//! | What would have to be different? | [`counterfactual`](fn@counterfactual), [`choice_counterfactual`] |
//! | On which choices may a reader try changes? | [`what_if`](fn@what_if) |
//!
//! Everything is exact for a tree of one value per leaf, states its definition, and gives the same bytes for any number of
//! threads. Rows are row-major slices of f32 in the order of the level's features; NaN is a missing value.

mod accumulated;
mod counterfactual;
mod decision;
mod dependence;
mod direction;
mod disagreement;
mod error;
mod exceptions;
mod explanation;
mod family;
mod gradients;
mod importance;
mod level;
mod likeness;
mod path;
mod permutation;
mod preference;
mod shap;
mod stability;
#[cfg(test)]
#[path = "../../../tests/support/tiny.rs"]
#[allow(dead_code, reason = "each crate uses some of it")]
mod tiny;
mod what_if;

pub use accumulated::{AccumulatedEffects, accumulated_effects};
pub use counterfactual::{
    ChoiceChange, ChoiceColumns, ChoiceCounterfactual, ChoiceGoal, ChoiceSearch, Constraints, Counterfactual, Decider,
    Goal, choice_counterfactual, counterfactual,
};
pub use decision::{
    Candidate, ChoiceExplainer, DecisionLevel, Decisions, ExplainedChoice, PathStep, Selection, WhyNot, WhyNotChange,
    select,
};
pub use dependence::{PartialDependence, conditional_expectation, feature_grid, partial_dependence};
pub use direction::Direction;
pub use disagreement::disagreement;
pub use error::ExplainError;
pub use exceptions::exceptions;
pub use explanation::{
    Abstention, AbstentionTest, EXPLANATION_FORMAT, Effect, Explanation, Extent, FamilyStability, KindAgreement,
    KindStability, KindWeight, LevelExplanation, LevelStability, Likeness, NodeFacts, PROBABILITY_BORDERS, Points,
    RegimeLikeness, RuleException, RuleExceptions, Tendency, Weight,
};
pub use family::{Family, families};
pub use gradients::{InputGradient, QuestionGradients, TeacherGradients, empty_observation};
pub use importance::{Importance, additive_importance, importance, tree_importance};
pub use level::explain_level;
pub use likeness::likeness;
pub use permutation::{Metric, PermutationImportance, Shuffles, permutation_importance};
pub use preference::Preference;
pub use shap::{EnsembleShap, ShapInteractions, ShapValues, TreeInteractions, TreeShap};
pub use stability::stability;
pub use what_if::{Column, DRAWN, Number, Room, WhatIf, WhatIfChoice, WhatIfLevel, make_fit, what_if};
