//! Learners of numpy arrays: trees and models of choice. What people call is `estimators.py`, in scikit-learn's terms.

use crate::memory;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use rayon::prelude::*;
use sched_distill::{
    distiller::{
        ChoiceData, Constant, Criterion, Engine, Leaf, LogitParams, Missing, SplineParams, Targets, TreeData,
        TreeParams, fit_logit, fit_tree, spline_path,
    },
    model::{Additive, Model, ScoreCandidates},
};
use std::{ops::Deref, sync::Arc};

/// Rows that a thread predicts at a time.
const ROWS: usize = 1 << 12;

pub(super) fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Numbers of a contiguous array that a thread reads without the GIL. The array lives as long as this does, and nobody must write to it
/// meanwhile, as with numpy's own functions.
pub(super) struct Held<T> {
    _array: Py<PyAny>,
    first: *const T,
    len: usize,
}

// SAFETY: the numbers are only read, and the array is kept by a reference that any thread may hold.
unsafe impl<T: Sync> Send for Held<T> {}

impl<T: numpy::Element> Held<T> {
    pub(super) fn new<D: numpy::ndarray::Dimension>(array: &PyReadonlyArray<'_, T, D>) -> PyResult<Self> {
        let numbers = array.as_slice().map_err(|_| refuse("arrays must be contiguous (numpy.ascontiguousarray)"))?;
        Ok(Self { _array: array.as_any().clone().unbind(), first: numbers.as_ptr(), len: numbers.len() })
    }
}

impl<T> Deref for Held<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: they are what `as_slice` gave for the array, which is kept.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

/// A tree, or a sum of terms, for rows of so many features.
#[pyclass(frozen, module = "sched_distill._core")]
pub(super) struct ModelCore {
    pub(super) model: Arc<Model>,
    pub(super) width: usize,
}

/// What a tree is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct TreeRecipe {
    criterion: String,
    /// Bins of a feature; none for every gap between values.
    max_bins: Option<usize>,
    max_leaf_nodes: Option<usize>,
    max_depth: Option<usize>,
    min_samples_leaf: usize,
    min_weight_leaf: f64,
    min_impurity_decrease: f64,
    ccp_alpha: f64,
    monotone: Vec<i8>,
    round_thresholds: bool,
    /// Penalty of linear leaves; none for constant ones.
    ridge: Option<f64>,
}

impl TreeRecipe {
    fn params(self) -> PyResult<TreeParams> {
        let criterion = match self.criterion.as_str() {
            "gini" => Criterion::Gini,
            "entropy" => Criterion::Entropy,
            "squared_error" => Criterion::SquaredError,
            "absolute_error" => Criterion::AbsoluteError,
            other => return Err(refuse(format!("criterion: there is no `{other}`"))),
        };
        Ok(TreeParams::default()
            .criterion(criterion)
            .engine(self.max_bins.map_or(Engine::Exact, |max_bins| Engine::Histogram { max_bins }))
            .max_leaf_nodes(self.max_leaf_nodes.unwrap_or(usize::MAX))
            .max_depth(self.max_depth.unwrap_or(usize::MAX))
            .min_samples_leaf(self.min_samples_leaf)
            .min_weight_leaf(self.min_weight_leaf)
            .min_impurity_decrease(self.min_impurity_decrease)
            .ccp_alpha(self.ccp_alpha)
            .monotone(self.monotone)
            .missing(if self.ridge.is_some() { Missing::Refuse } else { Missing::Learn })
            .round_thresholds(self.round_thresholds)
            .leaf(self.ridge.map_or(Leaf::Constant, |ridge| Leaf::Linear { ridge })))
    }
}

/// What a model of choice is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ChoiceRecipe {
    ridge: f64,
    /// Of a logit.
    interactions: Vec<[u32; 2]>,
    leave_out_constant: bool,
    /// Most terms of a sum that is searched for; none for a logit.
    max_terms: Option<usize>,
    products: bool,
    bounded: bool,
    knots: usize,
    sharpness: f64,
}

type Weights<'py> = Option<PyReadonlyArray1<'py, f64>>;

fn held(weight: &Weights<'_>) -> PyResult<Option<Held<f64>>> {
    weight.as_ref().map(Held::new).transpose()
}

#[pymethods]
impl ModelCore {
    /// Reads what ``json`` gives.
    #[new]
    fn new(json: &str, width: usize) -> PyResult<Self> {
        let model: Model = serde_json::from_str(json).map_err(refuse)?;
        match &model {
            Model::Tree(tree) => tree.check(width).map_err(|e| refuse(format!("the tree {e}")))?,
            Model::Additive(additive) => {
                let mut columns = additive.terms.iter().flat_map(|term| &term.factors).map(|f| f.feature as usize);
                if columns.any(|column| column >= width) || additive.terms.iter().any(|t| t.factors.is_empty()) {
                    return Err(refuse("a term is of a feature that there is not, or of none"));
                }
            }
            Model::Pairwise(_) | Model::Regime(_) => return Err(refuse("neither a tree nor a sum of terms")),
        }
        Ok(Self { model: Arc::new(model), width })
    }

    fn __getnewargs__(&self) -> PyResult<(String, usize)> {
        Ok((self.json()?, self.width))
    }

    /// It as text, every digit of it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.model).map_err(refuse)
    }

    /// Grows a tree for classes ``0..classes``.
    #[staticmethod]
    fn classify(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        class: PyReadonlyArray1<'_, u32>,
        classes: usize,
        weight: Weights<'_>,
        recipe: TreeRecipe,
    ) -> PyResult<Self> {
        let (width, params) = (x.as_array().ncols(), recipe.params()?);
        let (x, class, weight) = (Held::new(&x)?, Held::new(&class)?, held(&weight)?);
        let tree = memory::apart(py, move || {
            let targets = Targets::Classes { class: &class, classes };
            fit_tree(TreeData { x: &x, width, targets, weight: weight.as_deref() }, &params)
        });
        Ok(Self { model: Arc::new(Model::Tree(tree?.map_err(refuse)?)), width })
    }

    /// Grows a tree for numbers, one or several of each row.
    #[staticmethod]
    fn regress(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        y: PyReadonlyArray2<'_, f64>,
        weight: Weights<'_>,
        recipe: TreeRecipe,
    ) -> PyResult<Self> {
        let (width, outputs, params) = (x.as_array().ncols(), y.as_array().ncols(), recipe.params()?);
        let (x, y, weight) = (Held::new(&x)?, Held::new(&y)?, held(&weight)?);
        let tree = memory::apart(py, move || {
            let targets = if outputs == 1 { Targets::Values(&y) } else { Targets::Outputs { values: &y, outputs } };
            fit_tree(TreeData { x: &x, width, targets, weight: weight.as_deref() }, &params)
        });
        Ok(Self { model: Arc::new(Model::Tree(tree?.map_err(refuse)?)), width })
    }

    /// Fits a model of choice. Rows of a choice stand together, and ``bounds`` says where each begins, and the end.
    #[staticmethod]
    fn choose(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        probability: PyReadonlyArray1<'_, f64>,
        bounds: PyReadonlyArray1<'_, u64>,
        weight: PyReadonlyArray1<'_, f64>,
        cluster: PyReadonlyArray1<'_, u64>,
        recipe: ChoiceRecipe,
    ) -> PyResult<Self> {
        let width = x.as_array().ncols();
        let bounds: Vec<usize> = bounds.as_array().iter().map(|&bound| bound as usize).collect();
        let (x, probability) = (Held::new(&x)?, Held::new(&probability)?);
        let (weight, cluster) = (Held::new(&weight)?, Held::new(&cluster)?);
        let fitted = memory::apart(py, move || {
            let (bounds, probability, weight, cluster) = (&bounds, &probability, &weight, &cluster);
            let data = ChoiceData { x: &x, width, bounds, probability, weight, cluster };
            let ChoiceRecipe { ridge, products, bounded, knots, sharpness, .. } = recipe;
            let Some(max_terms) = recipe.max_terms else {
                let constant = if recipe.leave_out_constant { Constant::LeaveOut } else { Constant::Refuse };
                let params = LogitParams::default().ridge(ridge).interactions(recipe.interactions).constant(constant);
                return fit_logit(&data, &params);
            };
            let usual = SplineParams::default();
            let params = SplineParams { max_terms, products, bounded, knots, ridge, sharpness, ..usual };
            let mut path = spline_path(&data, &params, &[max_terms])?;
            // Where no term says anything, there is no model of any size.
            Ok(path.pop().unwrap_or(Additive { intercept: 0.0, terms: Vec::new() }))
        });
        Ok(Self { model: Arc::new(Model::Additive(fitted?.map_err(refuse)?)), width })
    }

    /// What it says about rows: (rows, outputs).
    fn predict<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, x, model, width) = (x.as_array().nrows(), self.rows(&x)?, Arc::clone(&self.model), self.width);
        let (values, outputs) = memory::apart(py, move || {
            let outputs = if let Model::Tree(tree) = &*model { tree.outputs } else { 1 };
            let mut values = vec![0.0; rows * outputs];
            let pieces = values.par_chunks_mut(ROWS * outputs).zip(x.par_chunks((ROWS * width).max(1)));
            pieces.for_each(|(values, x)| match &*model {
                Model::Tree(tree) if outputs > 1 => {
                    for (values, row) in values.chunks_exact_mut(outputs).zip(x.chunks_exact(width)) {
                        values.copy_from_slice(tree.predict_outputs(row));
                    }
                }
                model => model.score_choice(x, width, values),
            });
            (values, outputs)
        })?;
        values.into_pyarray(py).reshape([rows, outputs])
    }

    /// The leaf that each row comes to.
    fn apply<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (x, model, width) = (self.rows(&x)?, Arc::clone(&self.model), self.width);
        let leaves = memory::apart(py, move || match &*model {
            Model::Tree(tree) => x.par_chunks_exact(width).map(|row| tree.apply(row) as i64).collect(),
            _ => Vec::new(),
        })?;
        Ok(leaves.into_pyarray(py))
    }
}

impl ModelCore {
    /// Rows of as many features as it has.
    pub(super) fn rows(&self, x: &PyReadonlyArray2<'_, f32>) -> PyResult<Held<f32>> {
        match x.as_array().ncols() == self.width && self.width > 0 {
            true => Held::new(x),
            false => Err(refuse(format!("rows have {} features; the model has {}", x.as_array().ncols(), self.width))),
        }
    }
}
