//! The tables beside the levels: episodes, items and the timeline.

use polars_arrow::datatypes::ArrowSchema;

use super::{
    columns::{Cell, Frame},
    encoder::{Cells, schema},
    error::Problems,
    manifest::{EPISODES, ITEMS, TIMELINE},
};
use sched_distill_core::rng::Split;

/// A table whose columns are the fields of a struct, by name.
pub(super) trait Row: Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// Names and types of the columns.
    fn schema() -> ArrowSchema;
    /// The rows as columns.
    fn columns(rows: &[Self]) -> Vec<Cells>;
    /// Reports each cell that must not be in a trace.
    fn check(file: &str, rows: &[Self], problems: &mut Problems);
    /// The rows of a file; `None`, with the reasons reported, if a column is unsound.
    fn read(frame: &Frame<'_>, problems: &mut Problems) -> Option<Vec<Self>>;
}

/// Declares a row: its struct and its [`Row`].
macro_rules! row {
    ($table:ident, $(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)+ }

        impl Row for $name {
            const TABLE: &'static str = $table;

            fn schema() -> ArrowSchema {
                schema([$((stringify!($field), <$type as Cell>::TYPE)),+].into_iter())
            }

            fn columns(rows: &[Self]) -> Vec<Cells> {
                vec![$(Cell::column(rows.iter().map(|r| r.$field.clone()).collect())),+]
            }

            fn check(file: &str, rows: &[Self], problems: &mut Problems) {
                $(Cell::check(file, stringify!($field), 0, rows.iter().map(|r| r.$field.clone()), problems);)+
            }

            fn read(frame: &Frame<'_>, problems: &mut Problems) -> Option<Vec<Self>> {
                frame.check_names([$(stringify!($field)),+].into_iter(), problems);
                $(let $field = <$type as Cell>::cells(frame, stringify!($field), problems);)+
                $(let mut $field = $field?.into_iter();)+
                (0..frame.rows()).map(|_| Some(Self { $($field: $field.next()?),+ })).collect()
            }
        }
    };
}

row!(
    EPISODES,
    /// How one episode went.
    EpisodeRow {
        /// Number of the episode; rows are in increasing order of it.
        episode: u32,
        /// Seed of its arrivals and durations.
        seed: u64,
        /// Name of a [`Split`].
        split: String,
        /// The policy that drove.
        policy: String,
        /// `completed` or `stalled`.
        outcome: String,
        /// Time of the last completion (of the stall, if it stalled), ms.
        makespan_ms: f64,
        /// Mean job completion time, ms; `None` if no job completed.
        mean_jct_ms: Option<f64>,
        /// Decisions taken.
        decisions: u32,
        /// Events simulated.
        events: u64,
        /// Mean share of the cluster that was busy, 0 to 1.
        utilisation: f64,
        /// Mean number of jobs in the system over time.
        jobs_in_system: f64,
    }
);

row!(
    ITEMS,
    /// One thing that arrived in an episode: a job, a request.
    ItemRow {
        /// Number of the episode.
        episode: u32,
        /// Number of the item in the episode.
        item: u32,
        /// Arrival, ms.
        arrival_ms: f64,
        /// Completion, ms; `None` if the episode ended before.
        completion_ms: Option<f64>,
    }
);

row!(
    TIMELINE,
    /// One bar of a Gantt chart, of a sampled episode.
    TimelineRow {
        /// Number of the episode.
        episode: u32,
        /// Executor, worker or device.
        lane: u32,
        /// Item it worked for.
        item: u32,
        /// Part of the item, e.g. the stage of a job.
        part: u32,
        /// Start, ms.
        start_ms: f64,
        /// End, ms.
        end_ms: f64,
    }
);

/// Reports episodes out of order, unknown splits and outcomes. `last` carries the episode number from file to file.
pub(super) fn check_episodes(file: &str, rows: &[EpisodeRow], last: &mut Option<u32>, problems: &mut Problems) {
    for (i, row) in rows.iter().enumerate() {
        if let Some(last) = *last
            && row.episode <= last
        {
            let message = format_args!("is {} after {last}, expected increasing numbers", row.episode);
            problems.add(file, Some("episode"), Some(i), message);
        }
        *last = Some(row.episode);
        if Split::ALL.iter().all(|s| s.name() != row.split) {
            let message = format_args!("is `{}`, expected train, validation, test or final", row.split);
            problems.add(file, Some("split"), Some(i), message);
        }
        if row.outcome != "completed" && row.outcome != "stalled" {
            let message = format_args!("is `{}`, expected completed or stalled", row.outcome);
            problems.add(file, Some("outcome"), Some(i), message);
        }
    }
}
