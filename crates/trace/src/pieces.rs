//! A level read piece by piece: whole episodes at a time, so that a trace of any length fits into memory.

use super::{
    columns::{Frame, FrameReader},
    error::{Problems, TraceError},
    level_file,
    manifest::TableFile,
    reader::{Trace, context},
    rules::Context,
    table::LevelTable,
};
use sched_distill_core::file::sha256_of;

/// Rows that a piece has at least, unless it is the last one of its file.
pub(super) const ROWS: usize = 1 << 17;

/// The choices of a level in order, some whole episodes at a time ([`Trace::pieces`]).
pub struct Pieces<'a> {
    trace: &'a Trace,
    level: usize,
    frames: Frames<'a>,
    /// What comes next, decoded while the piece before it was checked.
    ahead: Option<Decoded<'a>>,
    last: Option<(u64, u32)>,
}

/// The files of a level, some rows at a time.
struct Frames<'a> {
    trace: &'a Trace,
    /// Files still to be read.
    files: std::vec::IntoIter<&'a TableFile>,
    open: Option<FrameReader<'a>>,
    rows: usize,
}

/// Columns of a file, the rows of the file before them, and what is wrong with them.
struct Decoded<'a> {
    frame: Option<Frame<'a>>,
    rows_before: usize,
    problems: Problems,
}

impl Trace {
    /// Reads a level piece by piece. A piece holds whole episodes, as a file that holds an episode holds all of it, and some
    /// 130,000 rows; an episode that is longer makes a longer piece. Together the pieces are what [`Trace::level`] gives.
    ///
    /// # Errors
    ///
    /// [`TraceError::UnknownLevel`] if the trace has no such level; later, with a piece, [`TraceError::Invalid`] as for
    /// [`Trace::level`].
    pub fn pieces(&self, level: &str) -> Result<Pieces<'_>, TraceError> {
        self.pieces_of(level, ROWS)
    }

    /// Reads one file of a level piece by piece, in the manifest's order from 0; nothing of a file that is not there. A file holds
    /// whole episodes, so that whoever reads files apart misses no choice.
    ///
    /// # Errors
    ///
    /// As for [`Trace::pieces`].
    pub fn pieces_of_file(&self, level: &str, file: usize) -> Result<Pieces<'_>, TraceError> {
        let index = self.level_index(level)?;
        let files: Vec<&TableFile> = self.files_of(level)?.skip(file).take(1).collect();
        Ok(self.pieces_in(index, files.into_iter(), ROWS))
    }

    /// The files of a level, in the order in which they are read.
    ///
    /// # Errors
    ///
    /// [`TraceError::UnknownLevel`] if the trace has no such level.
    pub fn files_of(&self, level: &str) -> Result<impl Iterator<Item = &TableFile>, TraceError> {
        let index = self.level_index(level)?;
        Ok(self.manifest.files(&self.manifest.feature_set.levels[index].name))
    }

    fn pieces_of(&self, name: &str, rows: usize) -> Result<Pieces<'_>, TraceError> {
        let level = self.level_index(name)?;
        let files = self.manifest.files(&self.manifest.feature_set.levels[level].name).collect::<Vec<_>>().into_iter();
        Ok(self.pieces_in(level, files, rows))
    }

    fn pieces_in<'a>(&'a self, level: usize, files: std::vec::IntoIter<&'a TableFile>, rows: usize) -> Pieces<'a> {
        Pieces { trace: self, level, frames: Frames { trace: self, files, open: None, rows }, ahead: None, last: None }
    }

    /// Opens a file, to read all columns if none are named, after its hash and number of rows are compared with the manifest's.
    pub(super) fn open_file<'a>(
        &self,
        file: &'a TableFile,
        columns: &'static [&'static str],
        problems: &mut Problems,
    ) -> Option<FrameReader<'a>> {
        let path = self.dir.join(&file.path);
        if !file.sha256.is_empty() {
            match sha256_of(&path) {
                Ok(found) if found == file.sha256 => {}
                Ok(found) => {
                    problems.add(&file.path, None, None, format_args!("{}", file.other_hash(&found)));
                    return None;
                }
                Err(error) => {
                    problems.add(&file.path, None, None, format_args!("cannot be read: {error}"));
                    return None;
                }
            }
        }
        let reader = FrameReader::open(&file.path, &path, columns, problems)?;
        let found = reader.rows();
        if found != file.rows && !(file.rows == 0 && file.sha256.is_empty()) {
            let message = format_args!("has {found} rows, the manifest has {}", file.rows);
            problems.add(&file.path, None, None, message);
            return None;
        }
        Some(reader)
    }
}

impl Pieces<'_> {
    /// An empty table of the level.
    #[must_use]
    pub fn empty(&self) -> LevelTable {
        let manifest = &self.trace.manifest;
        let table = LevelTable::new(manifest.feature_set.levels[self.level].clone(), manifest.kinds.clone());
        self.trace.for_reader(self.level, table)
    }

    /// The next piece; `None` at the end, or with a problem.
    fn read(&mut self, problems: &mut Problems) -> Option<LevelTable> {
        let now = self.ahead.take().or_else(|| self.frames.next())?;
        *problems = now.problems;
        let frame = now.frame?;
        let (manifest, frames) = (&self.trace.manifest, &mut self.frames);
        let context = Context { rows_before: now.rows_before, ..context(manifest, self.level, self.last) };
        let (table, ahead) = rayon::join(|| level_file::read(&frame, &context, problems), || frames.next());
        self.ahead = ahead;
        let table = table?;
        self.last = table.choices.last().map(|c| (c.id, c.step)).or(self.last);
        Some(self.trace.for_reader(self.level, table))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Decoded<'a>;

    /// The next rows, some whole episodes, or what is wrong with them; `None` at the end.
    fn next(&mut self) -> Option<Decoded<'a>> {
        let mut problems = Problems::default();
        loop {
            if self.open.is_none() {
                let file = self.files.next()?;
                self.open = self.trace.open_file(file, &[], &mut problems);
            }
            let rows_before = self.open.as_ref().map_or(0, FrameReader::done);
            let frame = self.open.as_mut().and_then(|reader| reader.next(self.rows, &mut problems));
            if frame.is_some() || problems.count > 0 {
                return Some(Decoded { frame, rows_before, problems });
            }
            self.open = None;
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<LevelTable, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut problems = Problems::default();
        let piece = self.read(&mut problems);
        match problems.into_result(&self.trace.dir) {
            Err(error) => {
                // Nothing more can be told of what comes after.
                self.frames.files = Vec::new().into_iter();
                self.frames.open = None;
                self.ahead = None;
                Some(Err(error))
            }
            Ok(()) => piece.map(Ok),
        }
    }
}

/// Several levels piece by piece: the same episodes of each ([`Trace::pieces_together`]).
pub struct PiecesTogether<'a> {
    first: Pieces<'a>,
    /// The other levels, each with choices of later episodes that were read already.
    others: Vec<(Pieces<'a>, LevelTable)>,
}

impl Trace {
    /// Reads several levels piece by piece, one table per level with the same episodes.
    ///
    /// # Errors
    ///
    /// As for [`Trace::pieces`].
    pub fn pieces_together(&self, levels: &[&str]) -> Result<PiecesTogether<'_>, TraceError> {
        let mut pieces = levels.iter().map(|level| self.pieces(level)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let first = match pieces.next() {
            Some(first) => first,
            // Without levels there are no pieces.
            None => self.pieces_in(0, Vec::new().into_iter(), ROWS),
        };
        let others = pieces.map(|p| {
            let empty = p.empty();
            (p, empty)
        });
        Ok(PiecesTogether { first, others: others.collect() })
    }
}

impl Iterator for PiecesTogether<'_> {
    type Item = Result<Vec<LevelTable>, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, last) = loop {
            match self.first.next()? {
                Err(error) => return Some(Err(error)),
                // Of a piece in which nothing was ever given nothing may be left.
                Ok(first) => {
                    if let Some(last) = first.choices.last() {
                        let last = last.episode;
                        break (first, last);
                    }
                }
            }
        };
        let mut tables = vec![first];
        for (pieces, ahead) in &mut self.others {
            while ahead.choices.last().is_none_or(|c| c.episode < last) {
                match pieces.next() {
                    None => break,
                    Some(Ok(piece)) => ahead.append(piece),
                    Some(Err(error)) => return Some(Err(error)),
                }
            }
            let later = ahead.select(|episode| episode > last);
            tables.push(match later.choices.is_empty() {
                true => std::mem::replace(ahead, later),
                false => {
                    let now = ahead.select(|episode| episode <= last);
                    *ahead = later;
                    now
                }
            });
        }
        Some(Ok(tables))
    }
}
