//! What a student goes by.

mod error;
mod importance;
mod path;
mod shap;

pub use error::ExplainError;
pub use importance::{Importance, importance, linear_importance, tree_importance};
pub use shap::{ShapInteractions, ShapValues, TreeInteractions, TreeShap};
