//! SHAP values of a tree, exact.
//!
//! The SHAP value of a feature is its Shapley value in the game "which features of this row are known?" (Lundberg and Lee,
//! *A Unified Approach to Interpreting Model Predictions*, 2017). Two meanings of "not known" are offered, those of
//! Lundberg et al., *From Local Explanations to Global Understanding with Explainable AI for Trees*, 2020:
//! [path-dependent](TreeShap::path_dependent) and [interventional](TreeShap::interventional). The way they are computed here
//! is neither theirs nor an approximation: one leaf at a time, by quadrature (see the sources), which neither cancels
//! digits nor grows with the depth squared.

mod ensemble;
mod game;
mod interactions;
mod quadrature;
mod sum;

pub use ensemble::EnsembleShap;
pub use interactions::{ShapInteractions, TreeInteractions};

use super::{
    error::{ExplainError, expect_length, rows_of, total_weight},
    path::{self, Paths},
};
use game::{BackgroundGame, PathGame};
use sched_distill_core::model::Tree;
use sum::{LeafSum, TABLE_ROOM};

/// SHAP values of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapValues {
    /// Number of rows.
    pub rows: usize,
    /// Features per row.
    pub features: usize,
    /// Outputs of the tree.
    pub outputs: usize,
    /// What the tree says when nothing is known, one number per output, in units of the output.
    pub base_value: Vec<f64>,
    /// What each feature adds to that, shape `(rows, features, outputs)`, row-major.
    pub values: Vec<f64>,
}

impl ShapValues {
    /// What the features of a row add to each output, shape `(features, outputs)`.
    ///
    /// # Panics
    ///
    /// If there are not as many rows.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.features * self.outputs..][..self.features * self.outputs]
    }

    /// What one feature adds to one output.
    ///
    /// # Panics
    ///
    /// If there are not as many rows, features or outputs.
    #[must_use]
    pub fn value(&self, row: usize, feature: usize, output: usize) -> f64 {
        assert!(feature < self.features && output < self.outputs);
        self.row(row)[feature * self.outputs + output]
    }

    /// The largest difference, over rows and outputs, between a prediction and base value plus SHAP values: rounding only,
    /// if `tree` and `x` (shape `(rows, features)`) are those of the explanation.
    #[must_use]
    pub fn additivity_error(&self, tree: &Tree, x: &[f32]) -> f64 {
        let mut worst = 0.0f64;
        for (row, x) in x.chunks_exact(self.features).enumerate() {
            let prediction = tree.predict_outputs(x);
            for (output, prediction) in prediction.iter().enumerate() {
                let parts = self.row(row).iter().skip(output).step_by(self.outputs);
                worst = worst.max((self.base_value[output] + parts.sum::<f64>() - prediction).abs());
            }
        }
        worst
    }

    /// Mean absolute SHAP value of each feature, shape `(features, outputs)`: the usual global summary.
    #[must_use]
    pub fn mean_absolute(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.features * self.outputs];
        for row in 0..self.rows {
            for (mean, value) in mean.iter_mut().zip(self.row(row)) {
                *mean += value.abs();
            }
        }
        mean.iter_mut().for_each(|m| *m /= self.rows.max(1) as f64);
        mean
    }
}

/// Explains rows by the SHAP values of a tree; made once, used for any number of rows.
///
/// Values are exact up to rounding for any depth: no two numbers of different sign are added before the last sum over
/// leaves. All outputs are explained at once. Missing values (NaN) go where the tree sends them. Results are the same bytes
/// for any number of threads.
///
/// Leaves with at most 12 features on their way keep a table of all patterns, up to 32 MiB for a tree; making it takes some
/// milliseconds for 200 leaves.
///
/// ```
/// use sched_distill_explain::TreeShap;
/// use sched_distill_core::model::{LEAF, Tree};
///
/// // One test: x0 <= 0.5 gives 0, else 4; three quarters of the training weight went left.
/// let tree = Tree {
///     feature: vec![0, 0, 0],
///     threshold: vec![0.5, 0.0, 0.0],
///     left: vec![1, LEAF, LEAF],
///     right: vec![2, LEAF, LEAF],
///     default_left: vec![true; 3],
///     value: vec![1.0, 0.0, 4.0],
///     impurity: vec![3.0, 0.0, 0.0],
///     n_samples: vec![4, 3, 1],
///     weight: vec![4.0, 3.0, 1.0],
///     ..Tree::leaf(0.0, 0.0, 0, 0.0)
/// };
/// let shap = TreeShap::path_dependent(&tree, 2)?.explain(&[0.0, 7.0, 1.0, 7.0])?;
/// assert_eq!(shap.base_value, [1.0]);
/// assert_eq!(shap.values, [-1.0, 0.0, 3.0, 0.0]); // two rows of two features
/// # Ok::<(), sched_distill_explain::ExplainError>(())
/// ```
#[derive(Debug)]
pub struct TreeShap {
    sum: Sum,
    base_value: Vec<f64>,
}

#[derive(Debug)]
enum Sum {
    Path(LeafSum<PathGame>),
    Background(LeafSum<BackgroundGame>),
}

impl TreeShap {
    /// Values in which a feature that is not known is averaged over by the training weight of the branches (shap's
    /// `tree_path_dependent`). Needs no data. Rows will have `width` columns.
    ///
    /// A node without weight counts as one whose weight is split evenly.
    ///
    /// # Errors
    ///
    /// If the tree has linear leaves, bad weights, or tests a feature beyond `width`.
    pub fn path_dependent(tree: &Tree, width: usize) -> Result<Self, ExplainError> {
        Self::by_paths(tree, width, TABLE_ROOM)
    }

    fn by_paths(tree: &Tree, width: usize, room: usize) -> Result<Self, ExplainError> {
        let (edges, paths) = prepare(tree, width)?;
        let mut base_value = vec![0.0; tree.outputs];
        for leaf in 0..paths.len() {
            let share: f64 = paths.sides(leaf).iter().map(|s| s.share).product();
            for (base, value) in base_value.iter_mut().zip(tree.node_value(paths.leaf[leaf] as usize)) {
                *base += share * value;
            }
        }
        let game = PathGame::new(&paths);
        Ok(Self { sum: Sum::Path(LeafSum::new(game, tree, (paths, &edges), (width, width), room)), base_value })
    }

    /// Values in which a feature that is not known takes the value of a background row, averaged over the background
    /// (shap's `interventional`): features that the tree does not test get nothing, whatever they are correlated with.
    ///
    /// `background` has the shape `(rows, width)`; some 100 rows are usual. `weight` has one entry per row, and `None` counts
    /// each once. A row to explain costs the same for any background where leaves have tables.
    ///
    /// # Errors
    ///
    /// If the tree has linear leaves, bad weights, or tests a feature beyond `width`; if the background is empty or its
    /// length or weights are wrong.
    pub fn interventional(
        tree: &Tree,
        width: usize,
        background: &[f32],
        weight: Option<&[f64]>,
    ) -> Result<Self, ExplainError> {
        Self::against(tree, width, (background, weight), TABLE_ROOM)
    }

    fn against(
        tree: &Tree,
        width: usize,
        (background, weight): (&[f32], Option<&[f64]>),
        room: usize,
    ) -> Result<Self, ExplainError> {
        let (edges, paths) = prepare(tree, width)?;
        let rows = rows_of("background", background, width)?;
        let total = total_weight(weight, rows, "background")?;
        let share: Vec<f64> = (0..rows).map(|row| weight.map_or(1.0, |w| w[row]) / total).collect();
        let mut base_value = vec![0.0; tree.outputs];
        for (row, share) in background.chunks_exact(width).zip(&share) {
            for (base, value) in base_value.iter_mut().zip(tree.predict_outputs(row)) {
                *base += share * value;
            }
        }
        let game = BackgroundGame::new(&paths, background, width, &share);
        Ok(Self { sum: Sum::Background(LeafSum::new(game, tree, (paths, &edges), (width, width), room)), base_value })
    }

    /// What the tree says when nothing is known, one number per output.
    #[must_use]
    pub fn base_value(&self) -> &[f64] {
        &self.base_value
    }

    fn shape(&self) -> (usize, usize) {
        match &self.sum {
            Sum::Path(sum) => (sum.width(), sum.outputs()),
            Sum::Background(sum) => (sum.width(), sum.outputs()),
        }
    }

    /// Explains rows, shape `(rows, width)`, row-major.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width.
    pub fn explain(&self, x: &[f32]) -> Result<ShapValues, ExplainError> {
        let (features, outputs) = self.shape();
        let rows = rows_of("x", x, features)?;
        let mut values = vec![0.0; rows * features * outputs];
        self.add(x, &mut values);
        Ok(ShapValues { rows, features, outputs, base_value: self.base_value.clone(), values })
    }

    /// Writes the values of rows, shape `(rows, width)`, to `out`, shape `(rows, width, outputs)`.
    ///
    /// # Errors
    ///
    /// If a length is wrong.
    pub fn explain_into(&self, x: &[f32], out: &mut [f64]) -> Result<(), ExplainError> {
        let (features, outputs) = self.shape();
        let rows = rows_of("x", x, features)?;
        expect_length("out", out.len(), rows * features * outputs)?;
        out.fill(0.0);
        self.add(x, out);
        Ok(())
    }

    fn add(&self, x: &[f32], out: &mut [f64]) {
        match &self.sum {
            Sum::Path(sum) => sum.add(x, out),
            Sum::Background(sum) => sum.add(x, out),
        }
    }

    /// Why one candidate of a choice was preferred to another: what each feature adds to the difference between the
    /// prediction for row `chosen` and that for row `alternative`, shape `(width, outputs)`. The values add up to the
    /// difference; base values cancel.
    ///
    /// # Errors
    ///
    /// If a row does not have `width` columns.
    pub fn explain_preference(&self, chosen: &[f32], alternative: &[f32]) -> Result<Vec<f64>, ExplainError> {
        let (features, outputs) = self.shape();
        expect_length("chosen", chosen.len(), features)?;
        expect_length("alternative", alternative.len(), features)?;
        let mut values = vec![0.0; 2 * features * outputs];
        let (ours, theirs) = values.split_at_mut(features * outputs);
        self.add(chosen, ours);
        self.add(alternative, theirs);
        Ok(ours.iter().zip(theirs).map(|(a, b)| a - *b).collect())
    }
}

fn prepare(tree: &Tree, width: usize) -> Result<(Vec<path::Edge>, Paths), ExplainError> {
    path::check(tree, width)?;
    let edges = path::edges(tree);
    let paths = Paths::new(tree, &edges);
    Ok((edges, paths))
}
