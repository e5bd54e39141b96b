//! What would have to be different for another answer: exact counterfactuals of a tree.
//!
//! A tree has finitely many leaves, each a box of feature values, so the nearest row with another answer can be found by
//! looking at every box (Wachter et al., *Counterfactual Explanations Without Opening the Black Box*, 2018, ask for it;
//! Carreira-Perpiñán and Hada, *Counterfactual Explanations for Oblique Decision Trees*, 2021, for the way). Distance is
//! Σ |change| ÷ scale; among equals the one with fewer changed features is taken, then the leftmost leaf.

mod choice;
mod constraint;
mod decider;
mod derived;
mod row;

pub use choice::{ChoiceChange, ChoiceCounterfactual, ChoiceGoal, ChoiceSearch, choice_counterfactual};
pub use constraint::Constraints;
pub use decider::Decider;
pub use derived::ChoiceColumns;
pub use row::{Counterfactual, Goal, counterfactual};
