//! Episodes as arrays: what environments of Gymnasium stand on.

use crate::{
    memory::{self, Apart},
    running::{self, Episode, Open, Plays, Shape},
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

/// Episodes that a thread is woken for at least: a step takes microseconds, waking a thread tens of them.
const AT_LEAST: usize = 32;

/// Episodes that a thread takes at a time.
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
    fn write(&mut self, open: &Open, width: usize, written: usize) -> usize {
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

/// What is done with one of many episodes, and where what comes of it goes.
struct Step<'a> {
    place: &'a Mutex<Place>,
    row: Row<'a>,
    action: Option<i64>,
    is_begun: bool,
    level: &'a mut i64,
    reward: &'a mut f64,
    ended: &'a mut bool,
    cut: &'a mut bool,
    invalid: &'a mut bool,
}

impl Step<'_> {
    /// Takes the candidate, if one is named.
    fn take(&mut self, width: usize) -> Result<(), String> {
        if let Some(action) = self.action {
            let rewarded = lock(self.place).episode.take(action)?;
            self.tell(width, rewarded);
        }
        Ok(())
    }

    /// Writes what is open.
    fn tell(&mut self, width: usize, reward: Option<f64>) {
        let Place { episode, written } = &mut *lock(self.place);
        let open = episode.open();
        (*self.reward, *self.invalid) = (reward.unwrap_or(0.0), reward.is_none());
        (*self.level, *self.ended) = (open.level as i64, open.end.is_some());
        *self.cut = open.count > self.row.mask.len();
        *written = self.row.write(open, width, *written);
    }
}

/// Does something with each, in threads where there are enough of them. This thread works too: a step of some episodes takes no longer
/// than it takes to wake another thread.
fn in_threads<T: Send>(all: &mut [T], work: impl Fn(&mut T) -> Result<(), String> + Sync) -> Result<(), String> {
    let helpers = (all.len() / AT_LEAST).min(rayon::current_num_threads()).saturating_sub(1);
    let (parts, failed) = (Mutex::new(all.chunks_mut(TOGETHER)), Mutex::new(None));
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        while let Some(part) = next() {
            if let Err(e) = part.iter_mut().try_for_each(&work) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        }
    };
    match helpers {
        0 => some(),
        _ => rayon::in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| some()));
            some();
        }),
    }
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Candidates, mask, cluster, level, reward, whether it has ended, whether there are more candidates than rows, and whether the action
/// was none of those allowed.
type Told<'py> =
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

    fn told<'py>(&self, py: Python<'py>, index: usize, reward: Option<f64>) -> Told<'py> {
        let mut one = lock(&self.all[index]);
        let open = one.episode.open();
        let mut candidates = vec![0.0; self.rows * self.width];
        let (mut mask, mut cluster) = (vec![0; self.rows], vec![0.0; open.cluster.len()]);
        let mut row = Row { candidates: &mut candidates, mask: &mut mask, cluster: &mut cluster };
        let written = row.write(open, self.width, 0);
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
        let work = move || {
            let first = with_scenario!(&*scenario, S => running::open::<S>(&workload, plays), unknown())?;
            let others: Vec<_> = (1..count).map(|_| first.another()).collect();
            let shape = first.shape().clone();
            let all = std::iter::once(first).chain(others);
            Ok((all.map(|episode| Arc::new(Mutex::new(Place { episode, written: 0 }))).collect(), shape))
        };
        let opened: Result<(Vec<_>, Shape), String> = memory::apart(py, work)?;
        let (all, shape) = opened.map_err(PyValueError::new_err)?;
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
    fn begin<'py>(&self, py: Python<'py>, index: usize, seed: u64, episode: u32) -> PyResult<Told<'py>> {
        let split = self.split;
        let one = Arc::clone(self.one(index)?);
        memory::apart(py, move || lock(&one).episode.begin(seed, split, episode))?;
        Ok(self.told(py, index, Some(0.0)))
    }

    /// Takes a candidate in the first episode. One with more candidates than rows stays where it is, and says so again.
    fn step<'py>(&self, py: Python<'py>, action: i64) -> PyResult<Told<'py>> {
        let one = self.one(0)?;
        if lock(one).episode.open().count > self.rows {
            return Ok(self.told(py, 0, Some(0.0)));
        }
        let reward = py.detach(|| lock(one).episode.take(action)).map_err(PyValueError::new_err)?;
        Ok(self.told(py, 0, reward))
    }

    /// Begins the episodes of `begins` (place, seed, episode), and takes a candidate in all others if there are actions, in threads and
    /// without the GIL. Observations, levels, rewards and ends are written to the arrays, which are the same each time: they hold what was
    /// observed last. Gives the places whose episode is over, and whether any action was none of those allowed.
    #[expect(clippy::too_many_arguments, reason = "the arrays of a step")]
    fn step_all(
        &self,
        py: Python<'_>,
        actions: Option<PyReadonlyArray1<'_, i64>>,
        begins: Vec<(usize, u64, u32)>,
        mut candidates: PyReadwriteArray3<'_, f32>,
        mut mask: PyReadwriteArray2<'_, i8>,
        mut cluster: PyReadwriteArray2<'_, f32>,
        mut levels: PyReadwriteArray1<'_, i64>,
        mut rewards: PyReadwriteArray1<'_, f64>,
        ends: (PyReadwriteArray1<'_, bool>, PyReadwriteArray1<'_, bool>, PyReadwriteArray1<'_, bool>),
    ) -> PyResult<(Vec<usize>, bool)> {
        let (mut terminated, mut truncated, mut invalid) = ends;
        let (count, rows, width, split) = (self.all.len(), self.rows, self.width, self.split);
        let shared = self.shape.cluster.len();
        memory::of_python();
        if let Some(error) = memory::error() {
            return Err(error);
        }
        let actions = actions.as_ref().map(|actions| actions.as_slice()).transpose()?;
        let (candidates, mask, cluster) = (candidates.as_slice_mut()?, mask.as_slice_mut()?, cluster.as_slice_mut()?);
        let (levels, rewards) = (levels.as_slice_mut()?, rewards.as_slice_mut()?);
        let (terminated, truncated) = (terminated.as_slice_mut()?, truncated.as_slice_mut()?);
        let invalid = invalid.as_slice_mut()?;
        let ends = [terminated.len(), truncated.len(), invalid.len()];
        let sizes = [actions.map_or(count, <[i64]>::len), levels.len(), rewards.len()];
        let fits =
            candidates.len() == count * rows * width && mask.len() == count * rows && cluster.len() == count * shared;
        if !fits || sizes.iter().chain(&ends).any(|&size| size != count) || begins.iter().any(|b| b.0 >= count) {
            return Err(PyValueError::new_err(format!(
                "arrays for {count} episodes of {rows} rows of {width} columns are wanted"
            )));
        }
        let mut steps = Vec::with_capacity(count);
        let mut observed = candidates.chunks_mut((rows * width).max(1)).zip(mask.chunks_mut(rows.max(1)));
        let mut clusters = cluster.chunks_mut(shared.max(1));
        let told = levels.iter_mut().zip(rewards).zip(terminated).zip(truncated).zip(invalid);
        for ((place, ((((level, reward), ended), cut), invalid)), index) in self.all.iter().zip(told).zip(0..) {
            let (candidates, mask) = observed.next().unwrap_or_default();
            let row = Row { candidates, mask, cluster: clusters.next().unwrap_or_default() };
            let action = actions.map(|actions| actions[index]);
            steps.push(Step { place, row, action, is_begun: false, level, reward, ended, cut, invalid });
        }
        for (index, ..) in &begins {
            (steps[*index].is_begun, steps[*index].action) = (true, None);
        }
        let begins: Vec<_> =
            begins.into_iter().map(|(i, seed, number)| (Arc::clone(&self.all[i]), seed, number)).collect();
        py.detach(|| {
            // An episode takes memory as it begins, and next to none afterwards.
            let begin = move || {
                begins.par_iter().for_each(|(place, seed, number)| lock(place).episode.begin(*seed, split, *number));
            };
            let begun = if steps.iter().any(|step| step.is_begun) { Some(Apart::begin(begin)?) } else { None };
            let done = in_threads(&mut steps, |step| step.take(width));
            begun.map_or(Ok(()), Apart::end)?;
            done.map_err(PyValueError::new_err)?;
            steps.iter_mut().filter(|step| step.is_begun).for_each(|step| step.tell(width, Some(0.0)));
            let over = steps.iter().zip(0..).filter(|(step, _)| *step.ended || *step.cut);
            Ok((over.map(|(_, index)| index).collect(), steps.iter().any(|step| *step.invalid)))
        })
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
        let mut advised: Vec<_> = self.all.iter().map(|place| (place, -1)).collect();
        let done = py.detach(|| {
            in_threads(&mut advised, |(place, taken)| {
                *taken = lock(place).episode.advice(policy)?.map_or(-1, |taken| taken as i64);
                Ok(())
            })
        });
        done.map_err(PyValueError::new_err)?;
        Ok(advised.into_iter().map(|(_, taken)| taken).collect::<Vec<_>>().into_pyarray(py))
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
