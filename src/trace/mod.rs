//! Traces: the record of what a scheduler was asked and what it answered.
//!
//! A trace is a directory: `manifest.json`, one Parquet table per level (one row per candidate) and the tables
//! `episodes`, `items` and `timeline` for the pictures. `docs/trace-format.md` describes the files for people who write
//! them from other languages. [`TraceWriter`] writes a trace part by part and resumes a killed recording, [`Trace`] reads
//! one back, [`inspect`] says what is wrong with one, [`seal`] completes the manifest of a trace that another program
//! wrote.
//!
//! Guarantees: equal parts give equal bytes, in whatever order and on however many threads they are written; a table is
//! visible under its name only when it is complete; `manifest.json` is written last; whatever is read was checked against
//! the manifest's hashes and the rules of the format. Nothing here knows what kind of cluster a trace is about, and
//! nothing here decides which episodes form a part.

mod columns;
mod directory;
mod error;
mod inspect;
mod level_file;
mod manifest;
mod reader;
mod rows;
mod table;
mod writer;

pub use error::{Problem, TraceError};
pub use inspect::{Inspection, LevelSummary, inspect, seal};
pub use manifest::{FORMAT_VERSION, Manifest, Source, TableFile};
pub use reader::Trace;
pub use rows::{EpisodeRow, ItemRow, TimelineRow};
pub use table::{Choice, ChoiceHeader, LevelTable};
pub use writer::{Part, RecordPlan, TraceWriter};
