//! What the choices of a level are like, without their rows: a few columns are read of many.

use polars::prelude::{Float32Type, UInt32Type, UInt64Type};

use super::{
    columns::Frame,
    error::{Problems, TraceError},
    pieces::ROWS,
    reader::Trace,
    table::Choice,
};

/// The columns that are read.
const COLUMNS: [&str; 4] = ["episode", "choice", "kind", "weight"];

/// One choice without its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// Episode number.
    pub episode: u32,
    /// Index into the manifest's list of kinds.
    pub kind: u8,
    /// Importance of the choice.
    pub weight: f32,
    /// Number of candidates.
    pub candidates: u32,
}

impl Outline {
    /// Of a choice whose rows are at hand.
    #[must_use]
    pub fn of(choice: &Choice<'_>) -> Self {
        let header = choice.header;
        Self { episode: header.episode, kind: header.kind, weight: header.weight, candidates: choice.len() as u32 }
    }
}

impl Trace {
    /// The outlines of the choices of a level, in order, some 16 bytes each. Nothing but hashes and types is checked: whoever
    /// goes on to read the level hears what else is wrong with it.
    ///
    /// # Errors
    ///
    /// [`TraceError::UnknownLevel`] if the trace has no such level, [`TraceError::Invalid`] if a file is not what it was or
    /// lacks a column.
    pub fn outlines(&self, level: &str) -> Result<Vec<Outline>, TraceError> {
        let mut outlines = Vec::new();
        let level = &self.manifest.feature_set.levels[self.level_index(level)?].name;
        for file in self.manifest.files(level) {
            let mut problems = Problems::default();
            if let Some(mut reader) = self.open_file(file, &COLUMNS, &mut problems) {
                while let Some(frame) = reader.next(ROWS, &mut problems) {
                    add(&frame, &self.manifest.kinds, &mut outlines, &mut problems);
                }
            }
            problems.into_result(&self.dir)?;
        }
        Ok(outlines)
    }
}

/// Adds the choices of some whole episodes.
fn add(frame: &Frame<'_>, kinds: &[String], outlines: &mut Vec<Outline>, problems: &mut Problems) -> Option<()> {
    let (episode, choice) =
        (frame.slice::<UInt32Type>(COLUMNS[0], problems)?, frame.slice::<UInt64Type>(COLUMNS[1], problems)?);
    let (kind, weight) = (frame.strings(COLUMNS[2], problems)?, frame.slice::<Float32Type>(COLUMNS[3], problems)?);
    let mut row = 0;
    while row < choice.len() {
        let candidates = choice[row..].iter().take_while(|&&id| id == choice[row]).count();
        let kind = kinds.iter().position(|name| name == kind[row]).and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
        let (episode, weight) = (episode[row], weight[row]);
        outlines.push(Outline { episode, kind, weight, candidates: candidates as u32 });
        row += candidates;
    }
    Some(())
}
