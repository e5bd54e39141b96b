//! SHAP interaction values.

use super::{
    super::error::{ExplainError, rows_of},
    game::PathGame,
    prepare,
    sum::{LeafSum, TABLE_ROOM},
};
use sched_distill_core::model::Tree;

/// SHAP interaction values of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapInteractions {
    /// Number of rows.
    pub rows: usize,
    /// Features per row.
    pub features: usize,
    /// Outputs of the tree.
    pub outputs: usize,
    /// Shape `(rows, features, features, outputs)`, row-major, symmetric in the features.
    pub values: Vec<f64>,
}

impl ShapInteractions {
    /// The matrix of one row, shape `(features, features, outputs)`.
    ///
    /// # Panics
    ///
    /// If there are not as many rows.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        let size = self.features * self.features * self.outputs;
        &self.values[row * size..][..size]
    }
}

/// Splits path-dependent SHAP values into main effects and interactions of two features (shap's
/// `shap_interaction_values`; Lundberg et al. 2020, after Fujimoto et al. 2006): the diagonal holds the main effects, each
/// place beside it half of the interaction, and the rows of the matrix add up to the SHAP values.
///
/// Exact up to rounding for any depth, and the same bytes for any number of threads.
#[derive(Debug)]
pub struct TreeInteractions {
    sum: LeafSum<PathGame>,
}

impl TreeInteractions {
    /// For rows of `width` columns.
    ///
    /// # Errors
    ///
    /// As for [`TreeShap::path_dependent`](super::TreeShap::path_dependent).
    pub fn new(tree: &Tree, width: usize) -> Result<Self, ExplainError> {
        let (edges, paths) = prepare(tree, width)?;
        let game = PathGame::pairs(&paths, width);
        Ok(Self { sum: LeafSum::new(game, tree, (paths, &edges), (width, width * width), TABLE_ROOM) })
    }

    /// Explains rows, shape `(rows, width)`, row-major.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width.
    pub fn explain(&self, x: &[f32]) -> Result<ShapInteractions, ExplainError> {
        let (features, outputs) = (self.sum.width(), self.sum.outputs());
        let rows = rows_of("x", x, features)?;
        let size = features * features * outputs;
        let mut values = vec![0.0; rows * size];
        self.sum.add(x, &mut values);
        // Pairs stand above the diagonal, SHAP values on it.
        for matrix in values.chunks_exact_mut(size) {
            for i in 0..features {
                for j in i + 1..features {
                    for k in 0..outputs {
                        let half = matrix[(i * features + j) * outputs + k];
                        matrix[(j * features + i) * outputs + k] = half;
                        matrix[(i * features + i) * outputs + k] -= half;
                        matrix[(j * features + j) * outputs + k] -= half;
                    }
                }
            }
        }
        Ok(ShapInteractions { rows, features, outputs, values })
    }
}
