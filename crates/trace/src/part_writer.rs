//! Writing one part, row group by row group.

use polars_arrow::datatypes::ArrowSchema;

use super::{
    encoder::Encoder,
    error::{Problems, TraceError},
    level_file::{columns, level_schema},
    manifest::{Manifest, PLAN, TableFile, json_bytes},
    parts::{marker_path, part_path},
    rows::{EpisodeRow, ItemRow, Row, TimelineRow, check_episodes},
    rules::{Context, check, misshapen},
    table::LevelTable,
    writer::TraceWriter,
};
use sched_distill_core::file::PendingFile;
use std::io::Write;

/// Writes one part of a trace. What is handed over is checked, encoded and written at once, to files that get their names
/// when the part is finished; a part that is not finished leaves nothing behind.
pub struct PartWriter<'a> {
    trace: &'a TraceWriter,
    index: u32,
    levels: Vec<LevelFile>,
    episodes: Vec<EpisodeRow>,
    items: Vec<ItemRow>,
    timeline: Vec<TimelineRow>,
}

/// The file of a level and where the rules stand in it.
struct LevelFile {
    encoder: Encoder,
    last: Option<(u64, u32)>,
}

impl<'a> PartWriter<'a> {
    pub(super) fn new(trace: &'a TraceWriter, index: u32) -> Result<Self, TraceError> {
        let mut part =
            Self { trace, index, levels: Vec::new(), episodes: Vec::new(), items: Vec::new(), timeline: Vec::new() };
        for level in &part.manifest().feature_set.levels {
            let encoder = part.encoder(&level.name, level_schema(level))?;
            part.levels.push(LevelFile { encoder, last: None });
        }
        Ok(part)
    }

    /// Appends choices to a level, given by its number: one row group of the level's file, of as many rows as the table
    /// has. Memory is bounded by the largest table handed over.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Invalid`] if the table does not fit the plan or breaks a rule of the format, or cannot be written.
    pub fn write_level(&mut self, level: usize, table: &LevelTable) -> Result<(), TraceError> {
        let manifest = &self.trace.plan.manifest;
        let (Some(file), Some(spec)) = (self.levels.get_mut(level), manifest.feature_set.levels.get(level)) else {
            let message = format!("has {} levels, part {} has level number {level}", self.levels.len(), self.index);
            return Err(self.trace.invalid(PLAN, message));
        };
        let path = part_path(&spec.name, self.index);
        let rows_before = file.encoder.rows();
        let context = Context { spec, kinds: &manifest.kinds, first: level == 0, last: file.last, rows_before };
        if let Some(message) = misshapen(table, &context) {
            return Err(self.trace.invalid(&path, message));
        }
        let mut problems = Problems::default();
        check(table, &context, &path, &mut problems);
        problems.into_result(&self.trace.dir)?;
        file.last = table.choices.last().map(|c| (c.id, c.step)).or(file.last);
        let written = file.encoder.write(table.rows(), columns(table));
        written.map_err(|reason| self.trace.invalid(&path, reason))
    }

    /// Adds an episode, with its items and, if it is sampled, its timeline. Episodes come in order of their number.
    pub fn add_episode(
        &mut self,
        episode: EpisodeRow,
        items: impl IntoIterator<Item = ItemRow>,
        timeline: impl IntoIterator<Item = TimelineRow>,
    ) {
        self.episodes.push(episode);
        self.items.extend(items);
        self.timeline.extend(timeline);
    }

    /// Ends the part: its files get their names, and it counts as done. If another recorder has finished the same part
    /// meanwhile, what it wrote stays.
    ///
    /// # Errors
    ///
    /// * [`TraceError::Invalid`] if an episode, item or bar of the timeline breaks a rule of the format.
    /// * [`TraceError::Io`] if a file cannot be written.
    pub fn finish(mut self) -> Result<(), TraceError> {
        let mut encoders: Vec<Encoder> = std::mem::take(&mut self.levels).into_iter().map(|l| l.encoder).collect();
        let mut problems = Problems::default();
        check_episodes(&part_path(EpisodeRow::TABLE, self.index), &self.episodes, &mut None, &mut problems);
        problems.into_result(&self.trace.dir)?;
        encoders.push(self.encode_rows(&self.episodes)?);
        encoders.push(self.encode_rows(&self.items)?);
        encoders.push(self.encode_rows(&self.timeline)?);

        let mut pending = Vec::new();
        for (table, encoder) in self.manifest().table_names().zip(encoders) {
            let (path, rows) = (part_path(table, self.index), encoder.rows());
            let file = encoder.finish().map_err(|reason| self.trace.invalid(&path, reason))?;
            pending.push((path, rows, file));
        }
        if self.trace.is_finished(self.index) {
            return Ok(());
        }
        let mut files = Vec::new();
        for (path, rows, file) in pending {
            let sha256 = file.commit_soon().map_err(TraceError::io(&self.trace.dir.join(&path), "written"))?;
            files.push(TableFile { path, rows, sha256 });
        }
        let marker = self.trace.dir.join(marker_path(self.index));
        let io = TraceError::io(&marker, "written");
        let write = |mut file: PendingFile| {
            file.write_all(&json_bytes(&files))?;
            file.commit_soon()
        };
        PendingFile::create(&marker).and_then(write).map_err(io)?;
        self.trace.done().insert(self.index, files);
        Ok(())
    }

    fn encode_rows<R: Row>(&self, rows: &[R]) -> Result<Encoder, TraceError> {
        let path = part_path(R::TABLE, self.index);
        let mut problems = Problems::default();
        let figures = &self.manifest().figures;
        R::check(&path, rows, figures, &mut problems);
        problems.into_result(&self.trace.dir)?;
        let mut encoder = self.encoder(R::TABLE, R::schema(figures))?;
        let written = encoder.write(rows.len(), R::columns(rows, figures).into_iter());
        written.map_err(|reason| self.trace.invalid(&path, reason))?;
        Ok(encoder)
    }

    fn encoder(&self, table: &str, schema: ArrowSchema) -> Result<Encoder, TraceError> {
        let manifest = self.manifest();
        let facts = [
            ("format_version", manifest.format_version.to_string()),
            ("feature_set_hash", manifest.feature_set_hash.clone()),
            ("scenario", manifest.scenario.clone()),
            ("level", table.to_owned()),
            ("version", manifest.version.clone()),
        ];
        let path = part_path(table, self.index);
        let place = self.trace.dir.join(&path);
        let file = PendingFile::create(&place).map_err(TraceError::io(&place, "created"))?;
        Encoder::new(file, schema, &facts).map_err(|reason| self.trace.invalid(&path, reason))
    }

    fn manifest(&self) -> &'a Manifest {
        &self.trace.plan.manifest
    }
}
