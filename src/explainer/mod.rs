//! What a student goes by.

mod importance;

pub use importance::{Importance, importance, linear_importance, logit_importance, tree_importance};
