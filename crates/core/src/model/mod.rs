//! Models that score candidates, as plain data: predict, save, load.
//!
//! A model sees the candidates of one choice and gives each a score; the best score wins, the first of equals. What is
//! scored (jobs, stages, amounts) is none of its business.

mod additive;
mod compiled;
mod compiled_additive;
mod earlier;
mod edit;
pub mod export;
mod guard;
mod pairwise;
mod phrase;
mod pick;
mod regime;
mod rule;
mod slot;
mod student;
mod tree;

pub use additive::{Additive, Factor, Shape, Term};
pub use compiled::{CompiledModel, CompiledTree};
pub use compiled_additive::CompiledAdditive;
pub use edit::{Change, EditError, Patch, Place};
pub use guard::{Action, CompiledGuards, Condition, Evidence, Guard, GuardError, Operator};
pub use pairwise::Pairwise;
pub use pairwise::pair_column;
pub use phrase::{candidate_in_words, candidate_with, conditions_in_words, guard_in_words, term_in_words};
pub use pick::Pick;
pub use regime::Regime;
pub use rule::{OrderKey, Rule, RuleError};
pub use slot::Slot;
pub use student::{LevelModels, NamedModel, Provenance, Structure, Student, StudentError};
pub use tree::{LEAF, LinearLeaves, Tree};

use serde::{Deserialize, Serialize};

/// Scores the candidates of one choice.
pub trait ScoreCandidates {
    /// Writes one score per candidate. `x` holds the features, shape `(candidates, width)`, row-major, and `scores` has one
    /// place per candidate. Higher is better. Allocates nothing.
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]);

    /// Size for a reader: leaves of a tree, non-zero coefficients of a sum of terms.
    fn size(&self) -> usize;
}

/// Any model that a student file may hold; those of earlier versions become what they are now when they are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "earlier::Stored")]
pub enum Model {
    /// A decision tree with one value per leaf.
    Tree(Tree),
    /// A sum of terms: a linear score, or one with steps, kinks and products.
    Additive(Additive),
    /// A tree that compares two candidates.
    Pairwise(Pairwise),
    /// Different models for different states of the cluster.
    Regime(Regime),
}

impl Model {
    /// Marks the columns that it reads of a row; `read` has one place per feature of the level.
    pub fn mark_columns(&self, read: &mut [bool]) {
        let mut mark = |column: u32| read[column as usize] = true;
        match self {
            Model::Tree(m) => m.columns().for_each(mark),
            Model::Additive(m) => {
                let used = m.terms.iter().filter(|t| t.coefficient != 0.0);
                used.flat_map(|t| &t.factors).for_each(|f| mark(f.feature));
            }
            // A pair's columns are a candidate's features, then the differences to its opponent's.
            Model::Pairwise(m) => {
                let width = read.len() as u32;
                m.tree.columns().for_each(|column| read[(column % width) as usize] = true);
            }
            Model::Regime(m) => {
                m.tree.columns().for_each(mark);
                m.models.iter().for_each(|m| m.mark_columns(read));
            }
        }
    }

    /// Checks a model that comes from a file: what is wrong, in words.
    fn check(&self, width: usize) -> Result<(), String> {
        match self {
            Model::Tree(m) => m.check(width),
            Model::Additive(m) => m.check(width),
            Model::Pairwise(m) => m.check(width),
            Model::Regime(m) => m.check(width),
        }
    }
}

impl ScoreCandidates for Model {
    fn score_choice(&self, x: &[f32], width: usize, scores: &mut [f64]) {
        match self {
            Model::Tree(m) => m.score_choice(x, width, scores),
            Model::Additive(m) => m.score_choice(x, width, scores),
            Model::Pairwise(m) => m.score_choice(x, width, scores),
            Model::Regime(m) => m.score_choice(x, width, scores),
        }
    }

    fn size(&self) -> usize {
        match self {
            Model::Tree(m) => m.size(),
            Model::Additive(m) => m.size(),
            Model::Pairwise(m) => m.size(),
            Model::Regime(m) => m.size(),
        }
    }
}
