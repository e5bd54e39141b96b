//! Traces of schedulers and simulators that are somebody else's.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use sched_distill::trace::{ChoiceHeader, EpisodeRow, LevelTable, Manifest, PlanLock, RecordPlan, TraceWriter};
use std::{collections::HashMap, path::PathBuf};

/// Rows after which what has come is written.
const ROWS: usize = 1 << 15;

/// A trace that grows: parts are written whenever enough episodes have ended, and `close` writes the manifest.
#[pyclass(module = "sched_distill._core")]
pub(super) struct RecorderCore {
    writer: TraceWriter,
    /// Keeps others from writing here.
    lock: Option<PlanLock>,
    split: String,
    driver: String,
    tables: Vec<LevelTable>,
    /// Per level, the id that the next choice has.
    next: Vec<u64>,
    episodes: Vec<EpisodeRow>,
    part: u32,
    episode: u32,
    decisions: u32,
}

fn refuse(error: impl std::error::Error) -> PyErr {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let words: Vec<String> = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect();
    PyValueError::new_err(words.join(": "))
}

#[pymethods]
impl RecorderCore {
    /// Begins a trace in a folder; ``manifest`` is its manifest as JSON, without tables.
    #[new]
    fn new(dir: PathBuf, manifest: &str, force: bool) -> PyResult<Self> {
        let mut manifest: Manifest =
            serde_json::from_str(manifest).map_err(|e| PyValueError::new_err(format!("the recorder: {e}")))?;
        manifest.feature_set_hash = manifest.feature_set.hash();
        let kinds = manifest.kinds.clone();
        let levels = &manifest.feature_set.levels;
        let tables = levels.iter().map(|level| LevelTable::new(level.clone(), kinds.clone())).collect();
        let next = vec![0; levels.len()];
        let (split, driver) = (manifest.split.name().to_owned(), manifest.driver.id.clone());
        let writer = TraceWriter::create(&dir, RecordPlan::open_ended(manifest), force).map_err(refuse)?;
        let lock = writer.lock().map_err(refuse)?;
        if lock.is_none() {
            return Err(PyRuntimeError::new_err(format!("{}: another recorder writes here", dir.display())));
        }
        let (part, episode) = writer.so_far().map_err(refuse)?;
        Ok(Self { writer, lock, split, driver, tables, next, episodes: Vec::new(), part, episode, decisions: 0 })
    }

    /// The number of the episode at hand.
    #[getter]
    fn episode(&self) -> u32 {
        self.episode
    }

    /// Number of figures that episodes have.
    #[getter]
    fn figures(&self) -> usize {
        self.writer.figures()
    }

    /// Notes a choice of a level. ``chosen`` is negative where none of the candidates was, ``at`` has the decision's number, its time in ms
    /// and the kind, and ``above`` the candidate of the level above and how probable it was.
    #[expect(clippy::too_many_arguments, reason = "the columns of a trace")]
    fn log(
        &mut self,
        level: usize,
        features: PyReadonlyArray2<'_, f32>,
        entities: PyReadonlyArray2<'_, u32>,
        log_prob: PyReadonlyArray1<'_, f32>,
        chosen: i64,
        at: (u32, f64, u8),
        above: (Option<u32>, f32),
    ) -> PyResult<()> {
        let ((step, time_ms, kind), (parent, weight)) = (at, above);
        let id = (u64::from(self.episode) << 32) | self.next[level];
        let table = &mut self.tables[level];
        let first_row = table.rows();
        table.choices.push(ChoiceHeader { id, episode: self.episode, step, time_ms, kind, parent, weight, first_row });
        table.x.extend(features.as_array().iter());
        table.entity.extend(entities.as_array().iter());
        let rows = log_prob.as_array().len();
        table.log_prob.extend(log_prob.as_array().iter());
        table.chosen.extend((0..rows).map(|row| usize::try_from(chosen) == Ok(row)));
        self.next[level] += 1;
        if level == 0 {
            self.decisions += 1;
        }
        Ok(())
    }

    /// Ends the episode at hand; ``figures`` are those of the manifest, in order.
    fn end_episode(&mut self, py: Python<'_>, seed: u64, stalled: bool, figures: Vec<Option<f64>>) -> PyResult<()> {
        self.episodes.push(EpisodeRow {
            episode: self.episode,
            seed,
            split: self.split.clone(),
            policy: self.driver.clone(),
            outcome: if stalled { "stalled" } else { "completed" }.to_owned(),
            decisions: self.decisions,
            events: 0,
            figures,
        });
        self.episode += 1;
        self.decisions = 0;
        self.next.fill(0);
        match self.tables.iter().map(LevelTable::rows).sum::<usize>() >= ROWS {
            true => self.flush(py),
            false => Ok(()),
        }
    }

    /// Writes what has come since the last part.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.episodes.is_empty() {
            return Ok(());
        }
        let Self { writer, tables, episodes, part, .. } = self;
        py.detach(|| {
            let mut to = writer.part(*part)?;
            for (level, table) in tables.iter().enumerate() {
                to.write_level(level, table)?;
            }
            for episode in episodes.drain(..) {
                to.add_episode(episode, Vec::new(), Vec::new());
            }
            to.finish()
        })
        .map_err(refuse)?;
        self.tables.iter_mut().for_each(LevelTable::clear);
        self.part += 1;
        Ok(())
    }

    /// Writes the rest and the manifest; the sizes by level: choices and rows.
    fn close(&mut self, py: Python<'_>) -> PyResult<HashMap<String, u64>> {
        self.flush(py)?;
        let manifest = self.writer.finish_so_far().map_err(refuse)?;
        self.lock = None;
        let manifest =
            manifest.ok_or_else(|| PyValueError::new_err("no episode was recorded, so there is no trace"))?;
        let mut rows = HashMap::new();
        for table in &manifest.tables {
            let name = table.path.split(['/', '.']).next().unwrap_or_default().to_owned();
            *rows.entry(name).or_insert(0) += table.rows as u64;
        }
        Ok(rows)
    }
}
