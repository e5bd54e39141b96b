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

    /// Number of decisions in the episode at hand.
    #[getter]
    fn decisions(&self) -> u32 {
        self.decisions
    }

    /// Notes a choice of a level; one of the first level begins a decision. ``chosen`` is negative where none of the candidates was, ``at``
    /// has the time in ms and the kind, and ``above`` the candidate of the level above and how probable it was.
    #[expect(clippy::too_many_arguments, reason = "the columns of a trace")]
    fn log(
        &mut self,
        level: usize,
        features: PyReadonlyArray2<'_, f32>,
        entities: PyReadonlyArray2<'_, u32>,
        log_prob: PyReadonlyArray1<'_, f32>,
        chosen: i64,
        at: (f64, u8),
        above: (Option<u32>, f32),
    ) {
        let ((time_ms, kind), (parent, weight)) = (at, above);
        if level == 0 {
            self.decisions += 1;
        }
        let step = self.decisions.saturating_sub(1);
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
    }

    /// Ends the episode at hand; ``figures`` are those of the manifest, in order. Whether there is enough to be written.
    fn end_episode(&mut self, seed: u64, stalled: bool, figures: Vec<Option<f64>>) -> bool {
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
        self.tables.iter().map(LevelTable::rows).sum::<usize>() >= ROWS
    }

    /// Writes what has come since the last part, between two episodes. After a failure all of it is still there.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.episodes.is_empty() {
            return Ok(());
        }
        let Self { writer, tables, episodes, part, .. } = &*self;
        py.detach(|| {
            let mut to = writer.part(*part)?;
            for (level, table) in tables.iter().enumerate() {
                to.write_level(level, table)?;
            }
            for episode in episodes {
                to.add_episode(episode.clone(), Vec::new(), Vec::new());
            }
            to.finish()
        })
        .map_err(refuse)?;
        self.episodes.clear();
        self.tables.iter_mut().for_each(LevelTable::clear);
        self.part += 1;
        Ok(())
    }

    /// Writes the episodes that have ended, without the one at hand. The folder is free for others then, whatever came of it.
    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        let at_hand = self.episode;
        for table in &mut self.tables {
            *table = table.select(|episode| episode < at_hand);
        }
        let written = self.flush(py);
        self.lock = None;
        written
    }

    /// Writes the rest and the manifest; the sizes by level: choices and rows. The folder is free for others then, whatever came of it.
    fn close(&mut self, py: Python<'_>) -> PyResult<HashMap<String, u64>> {
        let sealed = self.flush(py).and_then(|()| self.writer.finish_so_far().map_err(refuse));
        self.lock = None;
        let manifest = sealed?.ok_or_else(|| PyValueError::new_err("no episode was recorded, so there is no trace"))?;
        let mut rows = HashMap::new();
        for table in &manifest.tables {
            let name = table.path.split(['/', '.']).next().unwrap_or_default().to_owned();
            *rows.entry(name).or_insert(0) += table.rows as u64;
        }
        Ok(rows)
    }
}
