//! From recorded choices to a student: targets, trees, linear surrogates, models of choice, temperatures.
//!
//! Sees levels and choices only. Every level is fitted on its own: a model scores candidates, and is taught how probable
//! each candidate was to the teacher, relative to the best one. Class labels (chosen or not) distil badly, because a
//! teacher is often nearly indifferent.

/// Setters of a recipe that wraps its checked form: fields with their words after the recipe.
macro_rules! setters {
    ($recipe:ident: $($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        impl $recipe {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                    self.0.$name = $name.into();
                    self
                }
            )*
        }
    };
}
use setters;

mod back_end;
mod choice;
pub mod cholesky;
mod choose;
mod draw;
mod exceptions;
mod fit;
mod front;
mod front_file;
mod learner;
#[cfg(test)]
mod library_flaws;
mod linear;
mod loops;
mod params;
mod refit;
mod rows;
mod selection;
mod spline;
mod sums;
mod target;
mod temperature;
#[cfg(test)]
#[path = "../../../tests/support/tiny.rs"]
#[allow(dead_code, reason = "each crate uses some of it")]
mod tiny;
mod tree;

pub use choice::{
    ChoiceData, ChoiceTarget, Constant, LogitError, LogitParams, LogitScorer, ValidLogitParams, fit_logit,
};
pub use choose::{Combination, within_noise};
pub use draw::{Draw, is_usable};
pub use exceptions::{ExceptionParams, ExceptionStep, find_exceptions, guards_of, student_of_rules};
pub use fit::{Subject, assemble, fit_student};
pub use front::{By, FrontModel, Gate, best_within, front_models, pareto, smallest_passing};
pub use front_file::{FrontChoice, FrontEntry, FrontLevel, FrontTotal, SizeFront};
pub use learner::{ChoiceLearner, fit_level, left_out, logit_error};
pub use loops::{IterationResult, LoopError, LoopPlan, LoopResult, LoopSettings, Weighting, run_loop};
pub use params::{ALL_LEVELS, FitError, FitParams, Learner, Target};
pub use refit::{NoRefit, Refit, episodes};
pub use selection::{Contribution, Figures, Selection, SelectionParams, Spread, select_families};
pub use spline::{SplineParams, spline_path};
pub use sums::{
    ByPart, ClusterSums, Drawing, DrawnChoices, NewtonAt, NewtonSums, SoftnessSource, SoftnessSums, SpreadSums, Survey,
    TermSource, Terms, Weighing, fit_temperature_by_sums, fit_terms_by_sums,
};
pub use tree::{
    Cell, CodedRows, Coder, Criterion, Engine, FeatureBins, Finish, FinishSums, Layout, Leaf, Missing, MultiOutputTree,
    NodeSource, NodeSums, PruningStep, Sketch, Targets, TreeClassifier, TreeData, TreeError, TreeParams, TreeRegressor,
    TreeTargets, ValidTreeParams, fit_tree, fit_tree_in_bins, fit_tree_sizes, grow_by_sums, prune, pruning_path,
};
