//! From recorded choices to a student: targets, trees, linear surrogates, temperatures.
//!
//! Sees levels and choices only. Every level is fitted on its own: a model scores candidates, and is taught how probable
//! each candidate was to the teacher, relative to the best one. Class labels (chosen or not) distil badly, because a
//! teacher is often nearly indifferent.

mod back_end;
mod fit;
mod linear;
mod params;
mod target;
mod temperature;
mod tree;

pub use fit::fit_student;
pub use params::{BackEnd, FitError, FitParams, Target};
pub use tree::{
    Criterion, Engine, Leaf, Missing, MultiOutputTree, PruningStep, Targets, TreeClassifier, TreeData, TreeError,
    TreeParams, TreeRegressor, TreeTargets, ValidTreeParams, fit_tree, prune, pruning_path,
};
