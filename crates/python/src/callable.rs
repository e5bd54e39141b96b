//! Callables of Python that are schedulers, and what they are asked.

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sched_distill::{
    contract::{Inputs, Scores, Values},
    level::LevelSpec,
};
use std::{
    cell::Cell,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a callable is asked, and what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A [`Choice`] at a time; an array with a number per candidate.
    Choice,
    /// All choices of a level of a question in one [`Choice`]; the same.
    Batch,
    /// A [`Question`] in the tables of the scenario's contract; a dictionary of arrays.
    Tables,
}

/// A callable under its name.
pub(super) struct Callable {
    pub(super) name: String,
    pub(super) function: Py<PyAny>,
    pub(super) asked: Asked,
    /// Whether it answers with probabilities, not with scores.
    pub(super) says_probabilities: bool,
    /// SHA-256 of what defines it, as far as that can be told.
    pub(super) hash: String,
}

static CALLABLES: Mutex<Option<HashMap<String, Arc<Callable>>>> = Mutex::new(None);

/// The first exception of a callable in the command at hand.
static ERROR: Mutex<Option<PyErr>> = Mutex::new(None);

thread_local! {
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the thread at hand does what a command has asked of Python.
pub(super) fn is_calling() -> bool {
    CALLING.get()
}

/// Does what a command asks of Python.
pub(super) fn calling<T>(work: impl FnOnce() -> T) -> T {
    // A thread of the pool that waits within a call takes other work up, and that may call as well.
    let before = CALLING.replace(true);
    let done = work();
    CALLING.set(before);
    done
}

pub(super) fn forget_error() {
    lock(&ERROR).take();
}

pub(super) fn take_error() -> Option<PyErr> {
    lock(&ERROR).take()
}

/// Keeps a callable under a name, or under that with a number if another one has it; the name, as which it is a policy: `python:NAME`.
#[pyfunction]
pub(super) fn keep_policy(
    name: &str,
    function: Py<PyAny>,
    asked: &str,
    says_probabilities: bool,
    hash: String,
) -> PyResult<String> {
    let asked = match asked {
        "choice" => Asked::Choice,
        "batch" => Asked::Batch,
        "tables" => Asked::Tables,
        other => return Err(PyValueError::new_err(format!("asked must be choice, batch or tables, got {other}"))),
    };
    let mut all = lock(&CALLABLES);
    let all = all.get_or_insert_default();
    let mut names = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    // There are more names than callables.
    let name = names.find(|name| !all.contains_key(name)).unwrap_or_default();
    let callable = Callable { name: name.clone(), function, asked, says_probabilities, hash };
    all.insert(name.clone(), Arc::new(callable));
    Ok(name)
}

/// Forgets a callable.
#[pyfunction]
pub(super) fn forget_policy(name: &str) {
    lock(&CALLABLES).get_or_insert_default().remove(name);
}

/// The callable of that name, or the names there are.
pub(super) fn find(name: &str) -> Result<Arc<Callable>, Vec<String>> {
    let all = lock(&CALLABLES);
    let all = all.as_ref();
    all.and_then(|all| all.get(name)).cloned().ok_or_else(|| {
        let mut names: Vec<String> = all.map_or(Vec::new(), |all| all.keys().cloned().collect());
        names.sort();
        names
    })
}

/// Calls something of Python's; its exception is kept for the one who began the command, and told in words.
pub(super) fn call<T>(work: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>) -> Result<T, String> {
    let attached = |py: Python<'_>| {
        work(py).map_err(|error| {
            let words = error.to_string();
            lock(&ERROR).get_or_insert(error);
            words
        })
    };
    calling(|| Python::attach(attached))
}

/// Numbers of Python's, whatever their type: an array, a list, a tensor.
pub(super) fn numbers(py: Python<'_>, answer: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    // Most answers are such arrays, and need no conversion.
    if let Ok(array) = answer.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(array.as_array().to_vec());
    }
    if let Ok(array) = answer.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(array.as_array().iter().map(|&x| x as f32).collect());
    }
    let array = py.import("numpy")?.call_method1("asarray", (answer, "float32"))?.call_method0("ravel")?;
    Ok(array.extract::<PyReadonlyArray1<'_, f32>>()?.as_array().to_vec())
}

/// A choice that a policy is asked about: candidates of a level, a row of features each.
///
/// ``choice["work_left_ms"]`` is a column. A policy that is asked in batches gets all choices of the level of a question in one of these, and
/// ``starts`` says where each begins.
#[pyclass(frozen, module = "sched_distill")]
pub(super) struct Choice {
    level: &'static LevelSpec,
    /// The scenario.
    #[pyo3(get)]
    scenario: &'static str,
    /// The kind of the question.
    #[pyo3(get)]
    kind: &'static str,
    /// Simulated time, ms.
    #[pyo3(get)]
    time_ms: f64,
    /// Features: (candidates, features), 32-bit floats.
    #[pyo3(get)]
    features: Py<PyAny>,
    /// Which candidates may be taken: after the others nothing need happen any more although jobs are unfinished. (candidates,), booleans.
    #[pyo3(get)]
    allowed: Py<PyArray1<bool>>,
    /// Where each of the choices begins, and the number of candidates: (choices + 1,), 64-bit integers.
    #[pyo3(get)]
    starts: Py<PyArray1<i64>>,
}

impl Choice {
    /// Rows of candidates, which are moved to where Python sees them: nothing is copied.
    pub(super) fn new(
        py: Python<'_>,
        level: &'static LevelSpec,
        (scenario, kind, time_ms): (&'static str, &'static str, f64),
        rows: Vec<f32>,
        allowed: Vec<bool>,
        starts: Vec<i64>,
    ) -> PyResult<Self> {
        let width = level.features.len();
        let candidates = rows.len() / width.max(1);
        let features = rows.into_pyarray(py).reshape([candidates, width])?.into_any().unbind();
        let (allowed, starts) = (allowed.into_pyarray(py).unbind(), starts.into_pyarray(py).unbind());
        Ok(Self { level, scenario, kind, time_ms, features, allowed, starts })
    }
}

#[pymethods]
impl Choice {
    /// The level that is asked about: `job`, `stage`, ...
    #[getter]
    fn level(&self) -> &str {
        &self.level.name
    }

    /// Names of the features, in the order of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.level.features.iter().map(|feature| feature.name.as_str()).collect()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.features.bind(py).len()
    }

    /// The column of a feature.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.level.features.iter().position(|feature| feature.name == name).ok_or_else(|| {
            let names = self.names().join(", ");
            PyKeyError::new_err(format!("the level `{}` has no feature `{name}`; it has {names}", self.level.name))
        })?;
        let all = pyo3::types::PySlice::full(py);
        self.features.bind(py).get_item((all, column))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let candidates = self.__len__(py)?;
        Ok(format!(
            "<Choice: level {}, {candidates} candidates, {} features>",
            self.level.name,
            self.level.features.len()
        ))
    }
}

/// A question in the tables of the scenario's contract, as networks see it (docs/foreign-policies.md): ``question["nodes"]``.
#[pyclass(frozen, module = "sched_distill")]
pub(super) struct Question {
    /// The tables by name.
    #[pyo3(get)]
    tables: Py<PyDict>,
}

fn array<'py, T: Element + Clone>(
    py: Python<'py>,
    values: &[T],
    shape: impl ExactSizeIterator<Item = usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_slice(py, values);
    let shape: Vec<usize> = shape.collect();
    Ok(match shape[..] {
        [rows, columns] => flat.reshape([rows, columns])?.into_any(),
        _ => flat.into_any(),
    })
}

impl Question {
    /// The tables of a question: one copy of each.
    pub(super) fn new(py: Python<'_>, inputs: &Inputs) -> PyResult<Self> {
        let tables = PyDict::new(py);
        for (input, values) in inputs.contract().inputs.iter().zip(inputs.values()) {
            let shape = inputs.shape(input);
            let value = match values {
                Values::F32(values) => array(py, values, shape)?,
                Values::I64(values) => array(py, values, shape)?,
                Values::Bool(values) => array(py, values, shape)?,
            };
            tables.set_item(input.name, value)?;
        }
        Ok(Self { tables: tables.unbind() })
    }

    /// Takes scores out of the dictionary that was answered.
    pub(super) fn take(py: Python<'_>, answer: &Bound<'_, PyAny>, out: &mut Scores) -> PyResult<()> {
        let names = out.contract().outputs_named("`", ", ");
        let answer = answer.cast::<PyDict>().map_err(|_| {
            PyTypeError::new_err(format!(
                "a policy that is asked in tables answers with a dictionary of arrays: {names}"
            ))
        })?;
        let numpy = py.import("numpy")?;
        let outputs = out.contract().outputs;
        for (output, tensor) in outputs.iter().zip(out.outputs_mut()) {
            let value = answer.get_item(output.name)?;
            let value = value
                .ok_or_else(|| PyKeyError::new_err(format!("the answer lacks `{}`; it needs {names}", output.name)))?;
            let value = numpy.call_method1("asarray", (value, "float32"))?;
            tensor.shape.extend(value.getattr("shape")?.extract::<Vec<usize>>()?);
            tensor.values = numbers(py, &value.call_method0("ravel")?)?;
        }
        Ok(())
    }
}

#[pymethods]
impl Question {
    /// A table.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let tables = self.tables.bind(py);
        match tables.get_item(name)? {
            Some(table) => Ok(table),
            None => Err(PyKeyError::new_err(format!("a question has no table `{name}`; it has {}", tables.keys()))),
        }
    }
}
