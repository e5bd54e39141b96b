//! Traces: the record of what a scheduler was asked and what it answered.
//!
//! A trace is a directory: `manifest.json`, one Parquet table per level (one row per candidate) and the tables
//! `episodes`, `items` and `timeline` for the pictures. `docs/trace-format.md` describes the files for people who write
//! them from other languages. [`TraceWriter`] writes a trace part by part, alone or beside others, and resumes a killed
//! recording; [`PartWriter`] writes one part as it comes, a row group at a time; [`Trace`] reads a trace back, [`inspect`]
//! says what is wrong with one, [`seal`] completes the manifest of a trace that another program wrote.
//!
//! Guarantees: equal calls give equal bytes, in whatever order, on however many threads and by however many recorders the
//! parts are written; a table is visible under its name only when it is complete; `manifest.json` is written last; what is
//! written was checked against the rules of the format, what is read also against the manifest's hashes. Nothing here knows
//! what kind of cluster a trace is about, and nothing here decides which episodes form a part.

mod columns;
mod directory;
mod encoder;
mod error;
mod figures;
mod inspect;
mod level_file;
mod manifest;
mod open_ended;
mod outline;
mod part_writer;
mod parts;
mod pieces;
mod reader;
pub mod recorder;
mod rollouts;
mod rows;
mod rules;
mod sample;
mod shard;
mod table;
mod unfinished;
mod untrusted;
mod writer;
#[cfg(test)]
extern crate self as sched_distill_trace;
#[cfg(test)]
#[path = "../../../tests/support/tiny.rs"]
#[allow(dead_code, reason = "each crate uses some of it")]
mod tiny;

pub use columns::lacks_memory;
pub use directory::difference;
pub use error::{Problem, TraceError};
pub use figures::EpisodeFigures;
pub use inspect::{Inspection, LevelSummary, inspect, seal};
pub use manifest::{FORMAT_VERSION, Manifest, Source, TableFile, hash_of};
pub use open_ended::{PlanLock, bring_up_to_date};
pub use outline::Outline;
pub use part_writer::PartWriter;
pub use pieces::{Pieces, PiecesTogether};
pub use reader::Trace;
pub use rollouts::{Drive, Regret, Rollouts, WhatIf};
pub use rows::{EpisodeRow, ItemRow, STALLED, TimelineRow};
pub use sample::{KindSample, Sample, Sampler};
pub use shard::{Shard, ShardError};
pub use table::{Choice, ChoiceHeader, LevelTable};
pub use unfinished::{DamagedPart, Unfinished};
pub use untrusted::{TableCheck, check_untrusted_tables_with, decode_table};
pub use writer::{RecordPlan, TraceWriter};
