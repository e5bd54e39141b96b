//! Episodes as arrays: what environments of Gymnasium stand on.

use crate::{
    memory, running,
    running::{Episode, Open, Plays, Shape},
    scenario::with_scenario,
};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2,
    PyReadwriteArray3,
};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::PyDict,
};
use rayon::prelude::*;
use sched_distill::rng::Split;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An episode, and how many rows of the arrays that it is written to hold candidates: all others are 0.
struct Place {
    episode: Box<dyn Episode>,
    written: usize,
}

/// Episodes that a thread steps at least: a step takes microseconds, and so does waking a thread.
const TOGETHER: usize = 8;

/// Episodes that are stepped through side by side, each a choice at a time.
#[pyclass(frozen, module = "sched_distill._core")]
pub(super) struct Episodes {
    all: Vec<Arc<Mutex<Place>>>,
    shape: Shape,
    split: Split,
    /// Candidates that an observation has room for.
    rows: usize,
    width: usize,
}

fn split_named(name: &str) -> PyResult<Split> {
    let found = Split::ALL.into_iter().find(|split| split.name() == name);
    found.ok_or_else(|| {
        let names = Split::ALL.map(Split::name).join(", ");
        PyValueError::new_err(format!("split must be one of {names}, got `{name}`"))
    })
}

/// What one observation is written to.
struct Row<'a> {
    candidates: &'a mut [f32],
    mask: &'a mut [i8],
    cluster: &'a mut [f32],
}

impl Row<'_> {
    /// Writes an observation over one of `written` candidates; how many it has. What is 0 already is left alone: most rows are.
    fn write(self, open: &Open, width: usize, written: usize) -> usize {
        let rows = self.mask.len();
        let count = open.count.min(rows);
        let old = written.min(rows).max(count);
        self.candidates[count * width..old * width].fill(0.0);
        self.mask[..old].fill(0);
        if let Some(own) = open.rows.len().checked_div(open.count) {
            for (to, from) in self.candidates.chunks_exact_mut(width).zip(open.rows.chunks_exact(own)) {
                to[..own].copy_from_slice(from);
                to[own..].fill(0.0);
            }
            for (to, &allowed) in self.mask.iter_mut().zip(&open.allowed[..count]) {
                *to = i8::from(allowed);
            }
        }
        self.cluster.copy_from_slice(&open.cluster);
        count
    }
}

/// Candidates, mask, cluster, level, reward, whether it has ended, whether there are more candidates than rows, and whether the action
/// was none of those allowed.
type Step<'py> =
    (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<i8>>, Bound<'py, PyArray1<f32>>, usize, f64, bool, bool, bool);

/// An episode of a place. One whose thread has stopped for want of memory is never asked for again.
fn lock(one: &Mutex<Place>) -> MutexGuard<'_, Place> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Episodes {
    fn one(&self, index: usize) -> PyResult<&Arc<Mutex<Place>>> {
        memory::of_python();
        if let Some(error) = memory::error() {
            return Err(error);
        }
        let count = self.all.len();
        self.all.get(index).ok_or_else(|| PyIndexError::new_err(format!("there are {count} episodes")))
    }

    fn told<'py>(&self, py: Python<'py>, index: usize, reward: Option<f64>) -> Step<'py> {
        let mut one = lock(&self.all[index]);
        let open = one.episode.open();
        let mut candidates = vec![0.0; self.rows * self.width];
        let (mut mask, mut cluster) = (vec![0; self.rows], vec![0.0; open.cluster.len()]);
        let written =
            Row { candidates: &mut candidates, mask: &mut mask, cluster: &mut cluster }.write(open, self.width, 0);
        let candidates = candidates.into_pyarray(py).reshape([self.rows, self.width]);
        let candidates = candidates.unwrap_or_else(|_| PyArray2::zeros(py, [0, 0], false));
        let (level, ended, overflows) = (open.level, open.end.is_some(), open.count > self.rows);
        one.written = written;
        let (mask, cluster) = (mask.into_pyarray(py), cluster.into_pyarray(py));
        (candidates, mask, cluster, level, reward.unwrap_or(0.0), ended, overflows, reward.is_none())
    }
}

#[pymethods]
impl Episodes {
    /// ``count`` episodes of a workload at a time; ``rows`` is how many candidates an observation has room for, and ``plays`` says
    /// whether these are whole decisions, and whether to give nothing is one of them, and whether what
    /// may strand the cluster is ruled out.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &str,
        workload: &str,
        split: &str,
        count: usize,
        rows: usize,
        plays: (bool, bool, bool),
    ) -> PyResult<Self> {
        let plays = Plays { joint: plays.0, abstains: plays.1, safe: plays.2 };
        let split = split_named(split)?;
        let (scenario, workload) = (scenario.to_owned(), workload.to_owned());
        let named = scenario.clone();
        let unknown = move || Err(format!("unknown scenario `{named}`; there are {}", running::scenarios()));
        let work = move || with_scenario!(&*scenario, S => running::open::<S>(&workload, plays), unknown());
        let first = memory::apart(py, work)?.map_err(PyValueError::new_err)?;
        let shape = first.shape().clone();
        let others: Vec<_> = (1..count).map(|_| first.another()).collect();
        let all = std::iter::once(first)
            .chain(others)
            .map(|episode| Arc::new(Mutex::new(Place { episode, written: 0 })))
            .collect();
        Ok(Self { all, split, rows, width: shape.width(), shape })
    }

    /// How many candidates an observation has room for.
    #[getter]
    fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of an observation: those of the widest level.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// Names of what all candidates share.
    #[getter]
    fn cluster(&self) -> Vec<String> {
        self.shape.cluster.clone()
    }

    /// Begins an episode in the place of that index.
    fn begin<'py>(&self, py: Python<'py>, index: usize, seed: u64, episode: u32) -> PyResult<Step<'py>> {
        let split = self.split;
        let one = Arc::clone(self.one(index)?);
        memory::apart(py, move || lock(&one).episode.begin(seed, split, episode))?;
        Ok(self.told(py, index, Some(0.0)))
    }

    /// Takes a candidate in the first episode.
    fn step<'py>(&self, py: Python<'py>, action: i64) -> PyResult<Step<'py>> {
        let one = self.one(0)?;
        if lock(one).episode.open().count > self.rows {
            return Err(PyValueError::new_err("the episode was truncated; call reset"));
        }
        let reward = py.detach(|| lock(one).episode.take(action)).map_err(PyValueError::new_err)?;
        Ok(self.told(py, 0, reward))
    }

    /// Takes a candidate in every episode, or begins episode ``begins[i]`` where that is not negative, in threads and without the GIL.
    /// Observations, levels, rewards and ends are written to the arrays, which are the same each time: they hold what was observed last.
    #[expect(clippy::too_many_arguments, reason = "the arrays of a step")]
    fn step_all(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, i64>,
        begun: (PyReadonlyArray1<'_, u64>, PyReadonlyArray1<'_, i64>),
        mut candidates: PyReadwriteArray3<'_, f32>,
        mut mask: PyReadwriteArray2<'_, i8>,
        mut cluster: PyReadwriteArray2<'_, f32>,
        mut levels: PyReadwriteArray1<'_, i64>,
        mut rewards: PyReadwriteArray1<'_, f64>,
        ends: (PyReadwriteArray1<'_, bool>, PyReadwriteArray1<'_, bool>, PyReadwriteArray1<'_, bool>),
    ) -> PyResult<()> {
        let ((seeds, begins), (mut terminated, mut truncated, mut invalid)) = (begun, ends);
        let (count, rows, width, split) = (self.all.len(), self.rows, self.width, self.split);
        let shared = self.shape.cluster.len();
        memory::of_python();
        if let Some(error) = memory::error() {
            return Err(error);
        }
        let (actions, seeds, begins) = (actions.as_slice()?, seeds.as_slice()?, begins.as_slice()?);
        let (candidates, mask, cluster) = (candidates.as_slice_mut()?, mask.as_slice_mut()?, cluster.as_slice_mut()?);
        let (levels, rewards) = (levels.as_slice_mut()?, rewards.as_slice_mut()?);
        let (terminated, truncated) = (terminated.as_slice_mut()?, truncated.as_slice_mut()?);
        let invalid = invalid.as_slice_mut()?;
        let ends = [terminated.len(), truncated.len(), invalid.len()];
        let sizes = [actions.len(), seeds.len(), begins.len(), levels.len(), rewards.len()];
        let fits =
            candidates.len() == count * rows * width && mask.len() == count * rows && cluster.len() == count * shared;
        if !fits || sizes.iter().chain(&ends).any(|&size| size != count) {
            return Err(PyValueError::new_err(format!(
                "arrays for {count} episodes of {rows} rows of {width} columns are wanted"
            )));
        }
        let all = &self.all;
        let done: Result<(), String> = py.detach(|| {
            let observed = candidates.par_chunks_mut((rows * width).max(1)).zip(mask.par_chunks_mut(rows.max(1)));
            let observed = observed.zip(cluster.par_chunks_mut(shared.max(1)));
            let told = levels.par_iter_mut().zip(rewards).zip(terminated).zip(truncated).zip(invalid);
            let asked = actions.par_iter().zip(seeds).zip(begins);
            all.par_iter().zip(asked).zip(observed).zip(told).with_min_len(TOGETHER).try_for_each(
                |(
                    ((place, ((&action, &seed), &begin)), ((candidates, mask), cluster)),
                    ((((level, reward), ended), cut), invalid),
                )| {
                    let Place { episode, written } = &mut *lock(place);
                    let rewarded = match u32::try_from(begin) {
                        Ok(number) => {
                            episode.begin(seed, split, number);
                            Some(0.0)
                        }
                        Err(_) => episode.take(action)?,
                    };
                    (*reward, *invalid) = (rewarded.unwrap_or(0.0), rewarded.is_none());
                    let open = episode.open();
                    (*level, *ended, *cut) = (open.level as i64, open.end.is_some(), open.count > rows);
                    *written = Row { candidates, mask, cluster }.write(open, width, *written);
                    Ok(())
                },
            )
        });
        done.map_err(PyValueError::new_err)
    }

    /// The candidate that a policy of the program would take in the episode of that index; none if what it would decide is no candidate.
    fn advice(&self, py: Python<'_>, index: usize, policy: &str) -> PyResult<Option<usize>> {
        let one = self.one(index)?;
        py.detach(|| lock(one).episode.advice(policy)).map_err(PyValueError::new_err)
    }

    /// The same of all episodes, in threads; -1 where there is none.
    fn advice_all<'py>(&self, py: Python<'py>, policy: &str) -> PyResult<Bound<'py, PyArray1<i64>>> {
        memory::of_python();
        if let Some(error) = memory::error() {
            return Err(error);
        }
        let advised: Result<Vec<i64>, String> = py.detach(|| {
            let advised = self.all.par_iter().with_min_len(TOGETHER).map(|one| lock(one).episode.advice(policy));
            advised.map(|taken| taken.map(|taken| taken.map_or(-1, |taken| taken as i64))).collect()
        });
        Ok(advised.map_err(PyValueError::new_err)?.into_pyarray(py))
    }

    /// What is open in the episode of that index: numbers beside the arrays.
    fn info<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let one = lock(self.one(index)?);
        let open = one.episode.open();
        let info = PyDict::new(py);
        info.set_item("time_ms", open.time_ms)?;
        info.set_item("kind", open.kind)?;
        info.set_item("candidates", open.count)?;
        info.set_item("decisions", open.decisions)?;
        if let Some(end) = &open.end {
            let figures = PyDict::new(py);
            for (name, value) in &end.figures {
                figures.set_item(name, value)?;
            }
            info.set_item("figures", figures)?;
            info.set_item("stall", end.stall.map(|stall| stall.name()))?;
        }
        Ok(info)
    }
}
