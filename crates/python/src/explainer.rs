//! Shapley values of trees, and why one candidate and not another. What people call is `explainers.py`.

use crate::{
    estimators::{Held, ModelCore, refuse},
    memory,
};
use numpy::{IntoPyArray, PyArray3, PyArrayMethods as _, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;
use sched_distill::{
    explainer::{EnsembleShap, ExplainError, Preference},
    model::{Model, Tree},
};
use std::sync::Arc;

/// Trees that are added up, each with the output that it adds to; none for all.
type Parts<'py> = Vec<(Bound<'py, ModelCore>, Option<usize>)>;

fn shared(parts: Parts<'_>) -> Vec<(Arc<Model>, Option<usize>)> {
    parts.into_iter().map(|(part, output)| (Arc::clone(&part.get().model), output)).collect()
}

/// The explainer of a sum of trees.
#[pyclass(frozen, module = "sched_distill._core")]
pub(super) struct ShapCore {
    shap: Arc<EnsembleShap>,
}

#[pymethods]
impl ShapCore {
    #[new]
    fn new(
        py: Python<'_>,
        parts: Parts<'_>,
        outputs: usize,
        width: usize,
        background: Option<PyReadonlyArray2<'_, f32>>,
    ) -> PyResult<Self> {
        let background = background.as_ref().map(Held::new).transpose()?;
        let parts = shared(parts);
        let shap = memory::apart(py, move || {
            let tree = |(model, output): &(Arc<Model>, _)| match &**model {
                Model::Tree(tree) => Some((tree.clone(), *output)),
                _ => None,
            };
            let trees: Vec<(Tree, Option<usize>)> = parts.iter().filter_map(tree).collect();
            let trees: Vec<(&Tree, Option<usize>)> = trees.iter().map(|(tree, output)| (tree, *output)).collect();
            EnsembleShap::new(&trees, outputs, width, background.as_deref())
        });
        Ok(Self { shap: Arc::new(shap?.map_err(refuse)?) })
    }

    /// What the trees say when nothing is known, a number for each output.
    #[getter]
    fn base_value(&self) -> Vec<f64> {
        self.shap.base_value().to_vec()
    }

    /// Values of rows: (rows, features, outputs).
    fn explain<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (shap, x) = (Arc::clone(&self.shap), Held::new(&x)?);
        let found = memory::apart(py, move || shap.explain(&x))?.map_err(refuse)?;
        found.values.into_pyarray(py).reshape([found.rows, found.features, found.outputs])
    }
}

/// Values of rows against background rows, by walks down to the leaves that a mixture of two rows can reach: (rows, features, outputs).
/// Exact for trees of any leaves and for sums of terms.
#[pyfunction]
pub(super) fn explain_against<'py>(
    py: Python<'py>,
    parts: Parts<'py>,
    outputs: usize,
    x: PyReadonlyArray2<'py, f32>,
    background: PyReadonlyArray2<'py, f32>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (rows, width) = (x.as_array().nrows(), x.as_array().ncols());
    let (x, background, parts) = (Held::new(&x)?, Held::new(&background)?, shared(parts));
    let values = memory::apart(py, move || -> Result<Vec<f64>, ExplainError> {
        let models: Vec<(usize, Model)> = parts.iter().flat_map(|(model, output)| single(model, *output)).collect();
        let games = models.iter().map(|(output, model)| Ok((*output, Preference::new(model, width)?)));
        let games = games.collect::<Result<Vec<_>, ExplainError>>()?;
        let (x, background): (&[f32], &[f32]) = (&x, &background);
        let mut values = vec![0.0; x.len() * outputs];
        let explain = |(values, row): (&mut [f64], &[f32])| {
            // The row is the first candidate of a choice, and the background the others.
            let choice = [row, background].concat();
            let others = background.len() / width;
            for (output, game) in &games {
                for other in 1..=others {
                    let shares = game.between(&choice, 0, other)?;
                    let places = values.iter_mut().skip(*output).step_by(outputs);
                    places.zip(&shares).for_each(|(value, share)| *value += share / others as f64);
                }
            }
            Ok(())
        };
        values.par_chunks_mut(width * outputs).zip(x.par_chunks(width)).try_for_each(explain)?;
        Ok(values)
    })?;
    values.map_err(refuse)?.into_pyarray(py).reshape([rows, width, outputs])
}

/// A model for each output that a part adds to, with the output's place.
fn single(model: &Arc<Model>, output: Option<usize>) -> Vec<(usize, Model)> {
    match &**model {
        Model::Tree(tree) if tree.outputs > 1 => {
            let value = |output| tree.value.iter().skip(output).step_by(tree.outputs).copied().collect();
            let of = |output| (output, Model::Tree(Tree { outputs: 1, value: value(output), ..tree.clone() }));
            (0..tree.outputs).map(of).collect()
        }
        one => vec![(output.unwrap_or(0), one.clone())],
    }
}
