//! The tables beside the levels: episodes, items and the timeline.

use polars_arrow::datatypes::ArrowSchema;

use super::{
    columns::{Cell, Frame},
    encoder::{Cells, schema},
    error::Problems,
    manifest::{EPISODE_COLUMNS, EPISODES, ITEMS, TIMELINE},
};
use sched_distill_core::{figure::Figure, rng::Split};

/// A table whose columns are the fields of a struct, by name.
pub(super) trait Row: Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// Names and types of the columns. `figures` are those of the trace, as in all that follows.
    fn schema(figures: &[Figure]) -> ArrowSchema;
    /// The rows as columns.
    fn columns(rows: &[Self], figures: &[Figure]) -> Vec<Cells>;
    /// Reports each cell that must not be in a trace.
    fn check(file: &str, rows: &[Self], figures: &[Figure], problems: &mut Problems);
    /// The rows of a file; `None`, with the reasons reported, if a column is unsound.
    fn read(frame: &Frame<'_>, figures: &[Figure], problems: &mut Problems) -> Option<Vec<Self>>;
}

/// Declares a row: its struct and its [`Row`].
macro_rules! row {
    ($table:ident, $(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)+ }

        impl Row for $name {
            const TABLE: &'static str = $table;

            fn schema(_: &[Figure]) -> ArrowSchema {
                schema([$((stringify!($field), <$type as Cell>::TYPE)),+].into_iter())
            }

            fn columns(rows: &[Self], _: &[Figure]) -> Vec<Cells> {
                vec![$(Cell::column(rows.iter().map(|r| r.$field.clone()).collect())),+]
            }

            fn check(file: &str, rows: &[Self], _: &[Figure], problems: &mut Problems) {
                $(Cell::check(file, stringify!($field), 0, rows.iter().map(|r| r.$field.clone()), problems);)+
            }

            fn read(frame: &Frame<'_>, _: &[Figure], problems: &mut Problems) -> Option<Vec<Self>> {
                frame.check_names([$(stringify!($field)),+].into_iter(), problems);
                $(let $field = <$type as Cell>::cells(frame, stringify!($field), problems);)+
                $(let mut $field = $field?.into_iter();)+
                (0..frame.rows()).map(|_| Some(Self { $($field: $field.next()?),+ })).collect()
            }
        }
    };
}

/// How one episode went.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeRow {
    /// Number of the episode; rows are in increasing order of it.
    pub episode: u32,
    /// Seed of its arrivals and durations.
    pub seed: u64,
    /// Name of a [`Split`].
    pub split: String,
    /// The policy that drove.
    pub policy: String,
    /// `completed` or `stalled`.
    pub outcome: String,
    /// Decisions taken.
    pub decisions: u32,
    /// Events simulated.
    pub events: u64,
    /// The figures of the trace, in order, each in a column of its name; `None` where there is none.
    pub figures: Vec<Option<f64>>,
}

/// What [`EpisodeRow::outcome`] says of an episode that left jobs unfinished.
pub const STALLED: &str = "stalled";

impl Row for EpisodeRow {
    const TABLE: &'static str = EPISODES;

    fn schema(figures: &[Figure]) -> ArrowSchema {
        let types = [u32::TYPE, u64::TYPE, String::TYPE, String::TYPE, String::TYPE, u32::TYPE, u64::TYPE];
        let figures = figures.iter().map(|figure| (&*figure.name, Option::<f64>::TYPE));
        schema(EPISODE_COLUMNS.into_iter().zip(types).chain(figures))
    }

    fn columns(rows: &[Self], figures: &[Figure]) -> Vec<Cells> {
        fn column<C: Cell>(rows: &[EpisodeRow], of: impl Fn(&EpisodeRow) -> C) -> Cells {
            Cell::column(rows.iter().map(of).collect())
        }
        let mut columns = vec![
            column(rows, |r| r.episode),
            column(rows, |r| r.seed),
            column(rows, |r| r.split.clone()),
            column(rows, |r| r.policy.clone()),
            column(rows, |r| r.outcome.clone()),
            column(rows, |r| r.decisions),
            column(rows, |r| r.events),
        ];
        columns.extend((0..figures.len()).map(|place| column(rows, |r| r.figures.get(place).copied().flatten())));
        columns
    }

    fn check(file: &str, rows: &[Self], figures: &[Figure], problems: &mut Problems) {
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.figures.len() != figures.len()) {
            let message = format_args!("{} figures, the trace has {}", row.figures.len(), figures.len());
            problems.add(file, None, Some(i), message);
        }
        for (place, figure) in figures.iter().enumerate() {
            let cells = rows.iter().map(|row| row.figures.get(place).copied().flatten());
            Cell::check(file, &figure.name, 0, cells, problems);
        }
    }

    fn read(frame: &Frame<'_>, figures: &[Figure], problems: &mut Problems) -> Option<Vec<Self>> {
        frame.check_names(EPISODE_COLUMNS.into_iter().chain(figures.iter().map(|f| &*f.name)), problems);
        let episode = <u32 as Cell>::cells(frame, "episode", problems);
        let seed = <u64 as Cell>::cells(frame, "seed", problems);
        let [split, policy, outcome] =
            ["split", "policy", "outcome"].map(|name| <String as Cell>::cells(frame, name, problems));
        let decisions = <u32 as Cell>::cells(frame, "decisions", problems);
        let events = <u64 as Cell>::cells(frame, "events", problems);
        let columns = figures.iter().map(|f| <Option<f64> as Cell>::cells(frame, &f.name, problems));
        let columns: Vec<Option<Vec<Option<f64>>>> = columns.collect();
        let columns: Vec<Vec<Option<f64>>> = columns.into_iter().collect::<Option<_>>()?;
        let mut texts = [split?.into_iter(), policy?.into_iter(), outcome?.into_iter()];
        let numbers = episode?.into_iter().zip(seed?).zip(decisions?.into_iter().zip(events?)).enumerate();
        let row = |(row, ((episode, seed), (decisions, events)))| {
            let [split, policy, outcome] = &mut texts;
            let figures = columns.iter().map(|column| column.get(row).copied().flatten()).collect();
            let (split, policy, outcome) = (split.next()?, policy.next()?, outcome.next()?);
            Some(Self { episode, seed, split, policy, outcome, decisions, events, figures })
        };
        numbers.map(row).collect()
    }
}

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
