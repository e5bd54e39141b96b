//! The learner as linfa knows learners: `Fit` on data sets, `Predict` on matrices.

use super::{Targets, TreeData, TreeError, ValidTreeParams, fit_valid};
use ::linfa::{
    DatasetBase,
    traits::{Fit, PredictInplace},
};
use ndarray::{Array1, Array2, ArrayBase, ArrayView1, ArrayView2, Axis, Data, Ix2};
use sched_distill_core::model::Tree;
use std::borrow::Cow;

/// A tree that predicts a number.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRegressor(
    /// The tree.
    pub Tree,
);

/// A tree that predicts classes.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeClassifier(
    /// The tree; its values are the shares of the classes.
    pub Tree,
);

/// A tree that predicts several numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiOutputTree(
    /// The tree.
    pub Tree,
);

/// Targets of a data set that a tree can learn: numbers (`f64`, one column or several), or classes (`usize`).
pub trait TreeTargets {
    /// The model that comes of them.
    type Model;

    /// Hands the targets over; classes are numbers from 0.
    ///
    /// # Errors
    ///
    /// What `fit` says.
    fn fit_with(&self, fit: &dyn Fn(Targets<'_>) -> Result<Tree, TreeError>) -> Result<Self::Model, TreeError>;
}

macro_rules! targets {
    ($($type:ty => $model:ident, |$this:ident, $fit:ident| $body:expr;)*) => {
        $(impl TreeTargets for $type {
            type Model = $model;

            fn fit_with(&self, $fit: &dyn Fn(Targets<'_>) -> Result<Tree, TreeError>) -> Result<$model, TreeError> {
                let $this = self.view();
                $body
            }
        })*
    };
}

targets! {
    Array1<f64> => TreeRegressor, |y, fit| fit(Targets::Values(&contiguous(&y))).map(TreeRegressor);
    ArrayView1<'_, f64> => TreeRegressor, |y, fit| fit(Targets::Values(&contiguous(&y))).map(TreeRegressor);
    Array1<usize> => TreeClassifier, |y, fit| fit_classes(&y, fit);
    ArrayView1<'_, usize> => TreeClassifier, |y, fit| fit_classes(&y, fit);
    Array2<f64> => MultiOutputTree, |y, fit| fit_outputs(&y, fit);
    ArrayView2<'_, f64> => MultiOutputTree, |y, fit| fit_outputs(&y, fit);
}

fn contiguous<'a>(y: &'a ArrayView1<'_, f64>) -> Cow<'a, [f64]> {
    y.as_slice().map_or_else(|| Cow::Owned(y.to_vec()), Cow::Borrowed)
}

fn fit_classes(
    y: &ArrayView1<'_, usize>,
    fit: &dyn Fn(Targets<'_>) -> Result<Tree, TreeError>,
) -> Result<TreeClassifier, TreeError> {
    let classes = y.iter().max().map_or(0, |&most| most.saturating_add(1));
    // More classes than fit into the cast are refused by their number.
    let class: Vec<u32> = y.iter().map(|&c| c as u32).collect();
    fit(Targets::Classes { class: &class, classes }).map(TreeClassifier)
}

fn fit_outputs(
    y: &ArrayView2<'_, f64>,
    fit: &dyn Fn(Targets<'_>) -> Result<Tree, TreeError>,
) -> Result<MultiOutputTree, TreeError> {
    let values = y.as_standard_layout();
    // An array in standard layout is a slice.
    let values = values.as_slice().unwrap_or(&[]);
    fit(Targets::Outputs { values, outputs: y.ncols() }).map(MultiOutputTree)
}

/// Records are `f32` features, shape `(rows, features)`; the data set's weights count, if it has any.
///
/// ```
/// use linfa::{Dataset, prelude::*};
/// use ndarray::{array, Array1};
/// use sched_distill_learn::TreeParams;
/// let data = Dataset::new(array![[0.0f32], [1.0], [2.0], [3.0]], array![0usize, 0, 1, 1])
///     .with_weights(array![1.0, 2.0, 1.0, 0.5]);
/// let tree = TreeParams::default().max_leaf_nodes(2usize).fit(&data)?;
/// assert_eq!(tree.predict(&data), array![0, 0, 1, 1]);
/// # Ok::<(), sched_distill_learn::TreeError>(())
/// ```
impl<D: Data<Elem = f32>, T: TreeTargets> Fit<ArrayBase<D, Ix2>, T, TreeError> for ValidTreeParams {
    type Object = T::Model;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<T::Model, TreeError> {
        let records = dataset.records.as_standard_layout();
        // An array in standard layout is a slice.
        let x = records.as_slice().unwrap_or(&[]);
        let weight: Option<Vec<f64>> = dataset.weights().map(|w| w.iter().map(|&w| f64::from(w)).collect());
        let width = dataset.records.ncols();
        dataset.targets.fit_with(&|targets| fit_valid(TreeData { x, width, targets, weight: weight.as_deref() }, self))
    }
}

/// Calls `visit` with the number of each row and its features as a slice.
fn each_row<D: Data<Elem = f32>>(x: &ArrayBase<D, Ix2>, mut visit: impl FnMut(usize, &[f32])) {
    for (i, row) in x.axis_iter(Axis(0)).enumerate() {
        match row.as_slice() {
            Some(row) => visit(i, row),
            None => visit(i, &row.to_vec()),
        }
    }
}

impl<D: Data<Elem = f32>> PredictInplace<ArrayBase<D, Ix2>, Array1<f64>> for TreeRegressor {
    fn predict_inplace<'a>(&'a self, x: &'a ArrayBase<D, Ix2>, y: &mut Array1<f64>) {
        each_row(x, |i, row| y[i] = self.0.predict(row));
    }

    fn default_target(&self, x: &ArrayBase<D, Ix2>) -> Array1<f64> {
        Array1::zeros(x.nrows())
    }
}

impl<D: Data<Elem = f32>> PredictInplace<ArrayBase<D, Ix2>, Array1<usize>> for TreeClassifier {
    fn predict_inplace<'a>(&'a self, x: &'a ArrayBase<D, Ix2>, y: &mut Array1<usize>) {
        each_row(x, |i, row| y[i] = self.0.predict_class(row));
    }

    fn default_target(&self, x: &ArrayBase<D, Ix2>) -> Array1<usize> {
        Array1::zeros(x.nrows())
    }
}

impl<D: Data<Elem = f32>> PredictInplace<ArrayBase<D, Ix2>, Array2<f64>> for MultiOutputTree {
    fn predict_inplace<'a>(&'a self, x: &'a ArrayBase<D, Ix2>, y: &mut Array2<f64>) {
        each_row(x, |i, row| {
            let values = self.0.predict_outputs(row).iter();
            y.row_mut(i).iter_mut().zip(values).for_each(|(y, value)| *y = *value);
        });
    }

    fn default_target(&self, x: &ArrayBase<D, Ix2>) -> Array2<f64> {
        Array2::zeros((x.nrows(), self.0.outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{
        TreeParams, fit_tree,
        tests::{leaves, rows, values},
    };

    #[test]
    fn data_sets_of_linfa_are_fitted_with_their_weights_and_layouts() {
        use ::linfa::{Dataset, DatasetView, prelude::*};
        use ndarray::{Array1, Array2, ShapeBuilder};
        let (x, y, _) = rows(4, 200, 3);
        let weights: Array1<f32> = (0..200).map(|i| 0.5 + (i % 4) as f32).collect();
        let as_f64: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let expected = fit_tree(values(&x, 3, &y, &as_f64), &leaves(9)).unwrap();
        let records = Array2::from_shape_vec((200, 3), x.clone()).unwrap();
        let by_column = Array2::from_shape_fn((200, 3).f(), |at| records[at]);
        let targets = Array1::from(y.clone());
        for records in [records.clone(), by_column] {
            let data = Dataset::new(records, targets.clone()).with_weights(weights.clone());
            let fitted = leaves(9).fit(&data).unwrap();
            assert_eq!(fitted.0, expected);
            let predicted: Array1<f64> = fitted.predict(&data);
            assert!(x.chunks(3).zip(&predicted).all(|(row, &p)| expected.predict(row) == p));
        }
        let view = DatasetView::new(records.view(), targets.view()).with_weights(weights.clone());
        assert_eq!(leaves(9).fit(&view).unwrap().0, expected);
        let outputs = Array2::from_shape_fn((200, 2), |(i, k)| y[i] * (k as f64 + 1.0));
        let tree = leaves(9).fit(&Dataset::new(records.clone(), outputs)).unwrap();
        assert_eq!(tree.predict(&records).dim(), (200, 2));
        let bad = leaves(9).max_depth(3usize).min_samples_leaf(0usize).fit(&Dataset::new(records, targets));
        assert!(bad.unwrap_err().to_string().contains("min_samples_leaf must be at least 1"));
    }

    #[test]
    fn recipes_and_models_are_plain_values() {
        fn is<T: Send + Sync + Unpin + Clone>() {}
        is::<TreeParams>();
        is::<ValidTreeParams>();
        is::<Tree>();
        is::<TreeRegressor>();
        is::<TreeClassifier>();
        is::<MultiOutputTree>();
    }
}
