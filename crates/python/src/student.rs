//! Students: scores of candidates, decisions at a state of a cluster, reasons, and changes.

use crate::{
    memory,
    scenario::{Hosted, with_scenario},
};
use numpy::{PyArray1, PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    exceptions::{PyKeyError, PyValueError},
    prelude::*,
};
use rayon::prelude::*;
use sched_distill::{
    explainer::Preference,
    level::LevelSpec,
    model::{CompiledGuards, CompiledModel, Model, ScoreCandidates, Student},
    policy::{Policy, StudentPolicy},
    scenario::{Said, State},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Rows that a thread scores at a time, where candidates need not be scored together.
const ROWS: usize = 1 << 14;

/// A student as the extension has it.
#[pyclass(frozen, module = "sched_distill._core")]
pub(super) struct StudentCore {
    student: Student,
    path: PathBuf,
    /// By level, in the order of the feature set; none of levels without a model.
    levels: Vec<Option<Scorer>>,
}

struct Scorer {
    model: CompiledModel,
    guards: CompiledGuards,
    temperature: f64,
    /// Whether a candidate's score depends on no other candidate.
    is_apart: bool,
}

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl StudentCore {
    fn with(student: Student, path: PathBuf) -> Self {
        let scorer = |spec: &LevelSpec| {
            let named = student.model(&spec.name, None).ok()?;
            Some(Scorer {
                model: CompiledModel::new(&named.model),
                guards: CompiledGuards::new(&student.guards, spec),
                temperature: named.temperature,
                is_apart: matches!(named.model, Model::Tree(_) | Model::Additive(_)),
            })
        };
        let levels = student.feature_set.levels.iter().map(scorer).collect();
        Self { levels, student, path }
    }

    /// A level with its place.
    fn spec(&self, level: &str) -> PyResult<(usize, &LevelSpec)> {
        let all = &self.student.feature_set.levels;
        all.iter().enumerate().find(|(_, spec)| spec.name == level).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|spec| spec.name.as_str()).collect();
            PyKeyError::new_err(format!("the student has no level `{level}`; it has {}", names.join(", ")))
        })
    }

    fn scorer(&self, level: &str) -> PyResult<(&LevelSpec, &Scorer)> {
        let (place, spec) = self.spec(level)?;
        let scorer = self.levels[place].as_ref();
        Ok((spec, scorer.ok_or_else(|| refuse(format!("the student has no model for the level `{level}`")))?))
    }
}

fn check_width(spec: &LevelSpec, columns: usize) -> PyResult<()> {
    match columns == spec.features.len() {
        true => Ok(()),
        false => Err(refuse(format!(
            "features have {columns} columns; the level `{}` has {}: {}",
            spec.name,
            spec.features.len(),
            spec.features.iter().map(|feature| feature.name.as_str()).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Where choices begin, checked: ascending from 0 to the number of rows.
fn ends(starts: Option<&PyReadonlyArray1<'_, i64>>, rows: usize) -> PyResult<Option<Vec<usize>>> {
    let Some(starts) = starts else { return Ok(None) };
    let ends: Option<Vec<usize>> = starts.as_array().iter().map(|&start| usize::try_from(start).ok()).collect();
    let ascend = |ends: &Vec<usize>| {
        ends.first() == Some(&0) && ends.last() == Some(&rows) && ends.windows(2).all(|pair| pair[0] <= pair[1])
    };
    match ends.filter(ascend) {
        Some(ends) => Ok(Some(ends)),
        None => Err(refuse(format!("starts must ascend from 0 to the number of rows, {rows}"))),
    }
}

#[pymethods]
impl StudentCore {
    /// Reads a student file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self::with(Student::load(&path).map_err(refuse)?, path))
    }

    /// Reads what a student file holds.
    #[staticmethod]
    fn read(text: &str) -> PyResult<Self> {
        Ok(Self::with(Student::read(text.as_bytes(), Path::new("student")).map_err(refuse)?, PathBuf::from("student")))
    }

    /// What a student file holds; equal students have equal text.
    fn json(&self) -> String {
        self.student.to_json()
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.student.save(&path).map_err(refuse)
    }

    #[getter]
    fn hash(&self) -> String {
        self.student.hash()
    }

    #[getter]
    fn size(&self) -> usize {
        self.student.size()
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.student.feature_set.scenario
    }

    /// Names of the levels.
    #[getter]
    fn levels(&self) -> Vec<&str> {
        self.student.feature_set.levels.iter().map(|level| level.name.as_str()).collect()
    }

    /// Names of the features of a level, in the order of the columns.
    fn features(&self, level: &str) -> PyResult<Vec<&str>> {
        Ok(self.spec(level)?.1.features.iter().map(|feature| feature.name.as_str()).collect())
    }

    /// A copy in which a number is another one, as ``distill patch --set`` changes it.
    fn edited(&self, change: &str, reason: &str) -> PyResult<Self> {
        let mut student = self.student.clone();
        student.edit(change, reason).map_err(refuse)?;
        Ok(Self::with(student, self.path.clone()))
    }

    /// Scores of candidates, 64-bit floats; with ``guards`` those that guards rule out have minus infinity. ``starts`` says where choices
    /// begin; without it all rows are one choice.
    fn score<'py>(
        &self,
        py: Python<'py>,
        level: &str,
        features: PyReadonlyArray2<'py, f32>,
        starts: Option<PyReadonlyArray1<'py, i64>>,
        guards: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (spec, scorer) = self.scorer(level)?;
        let (rows, width) = (features.as_array().nrows(), spec.features.len());
        check_width(spec, features.as_array().ncols())?;
        let ends = ends(starts.as_ref(), rows)?;
        let x = features
            .as_slice()
            .map_err(|_| refuse("features must be contiguous, row by row (numpy.ascontiguousarray)"))?;
        memory::of_python();
        if let Some(error) = memory::forked() {
            return Err(error);
        }
        // Of numpy, whose pages are not touched before the threads write to them; or it raises the exception.
        let told = py.import("numpy")?.call_method1("zeros", (rows,))?.cast_into::<PyArray1<f64>>()?;
        let mut writable = told.try_readwrite()?;
        let scores = writable.as_slice_mut()?;
        py.detach(|| {
            let guarded = guards && !scorer.guards.is_empty();
            let score = |x: &[f32], scores: &mut [f64]| {
                scorer.model.score_choice(x, width, scores);
                if guarded {
                    (0..scorer.guards.len()).for_each(|guard| scorer.guards.apply(guard, x, width, scores));
                }
            };
            if scorer.is_apart && !guarded {
                let pieces = scores.par_chunks_mut(ROWS).zip(x.par_chunks((ROWS * width).max(1)));
                pieces.for_each(|(scores, x)| scorer.model.score_choice(x, width, scores));
            } else {
                for pair in ends.unwrap_or_else(|| vec![0, rows]).windows(2) {
                    score(&x[pair[0] * width..pair[1] * width], &mut scores[pair[0]..pair[1]]);
                }
            }
        });
        drop(writable);
        Ok(told)
    }

    /// By how much each feature speaks for the best candidate against another one, whose differences add up to that of the scores: the
    /// places of both, and ``(feature, value of the best, value of the other, share)``, the largest first, as JSON.
    fn why(&self, level: &str, features: PyReadonlyArray2<'_, f32>, against: Option<i64>) -> PyResult<String> {
        let (spec, scorer) = self.scorer(level)?;
        check_width(spec, features.as_array().ncols())?;
        let x = features
            .as_slice()
            .map_err(|_| refuse("features must be contiguous, row by row (numpy.ascontiguousarray)"))?;
        let (rows, width) = (features.as_array().nrows(), spec.features.len());
        if rows < 2 {
            return Err(refuse(format!("a choice of {rows} candidates has none to hold the best one against")));
        }
        let place = |other: i64| {
            let found = usize::try_from(other).ok().filter(|&place| place < rows);
            found.ok_or_else(|| {
                refuse(format!("against must be the place of a candidate, from 0 to {}, got {other}", rows - 1))
            })
        };
        let against = against.map(place).transpose()?;
        let mut scores = vec![0.0; rows];
        scorer.model.score_choice(x, width, &mut scores);
        (0..scorer.guards.len()).for_each(|guard| scorer.guards.apply(guard, x, width, &mut scores));
        let best_of = |left_out: Option<usize>| {
            let rest = (0..rows).filter(|&row| Some(row) != left_out);
            rest.max_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a))).unwrap_or(0)
        };
        let taken = best_of(None);
        let other = against.unwrap_or_else(|| best_of(Some(taken)));
        let named = self.student.model(level, None).map_err(refuse)?;
        let shares =
            Preference::new(&named.model, width).and_then(|preference| preference.within(x)).map_err(refuse)?;
        let share = |column: usize| shares[taken * width + column] - shares[other * width + column];
        let mut terms: Vec<(usize, f64)> =
            (0..width).map(|c| (c, share(c))).filter(|(_, share)| *share != 0.0).collect();
        terms.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        let term = |&(column, share): &(usize, f64)| {
            let feature = &spec.features[column];
            let value = |row: usize| x[row * width + column];
            json!({"feature": feature.name, "unit": feature.unit, "value": value(taken), "other": value(other), "share": share})
        };
        let terms: Vec<Value> = terms.iter().map(term).collect();
        // What a guard rules out has no score in JSON.
        Ok(json!({"level": level, "taken": taken, "against": other, "scores": scores, "terms": terms,
                  "temperature": scorer.temperature})
        .to_string())
    }

    /// What the student decides at a state of the cluster, both as JSON (docs/cluster-state.md): a list, as long as a question is open.
    fn decide(&self, py: Python<'_>, state: &str) -> PyResult<String> {
        let name = self.student.feature_set.scenario.as_str();
        let unknown = || Err(format!("students of the scenario `{name}` do not decide here"));
        py.detach(|| with_scenario!(name, S => decide::<S>(&self.student, &self.path, state), unknown()))
            .map_err(refuse)
    }
}

/// Decisions until no question is open.
fn decide<S: Hosted>(student: &Student, path: &Path, state: &str) -> Result<String, String> {
    let mut state: S::State = serde_json::from_str(state).map_err(|e| format!("the state: {e}"))?;
    let mut policy = StudentPolicy::<S>::new(student, path, None).map_err(|e| e.to_string())?;
    let mut decisions = Vec::new();
    // A round gives everything away that there is, and no more often than there are things.
    let most = state.extent() + 1;
    while let Some(seen) = state.view() {
        if decisions.len() > most {
            break;
        }
        let decision = policy.decide(&seen, &mut Said::default()).map_err(|e| e.to_string())?;
        decisions.push(state.answer(decision).map_err(|e| e.to_string())?);
    }
    serde_json::to_string(&decisions).map_err(|e| e.to_string())
}
