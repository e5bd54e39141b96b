//! Traces: the record of what a scheduler was asked and what it answered.

mod table;

pub use table::{Choice, ChoiceHeader, LevelTable};
