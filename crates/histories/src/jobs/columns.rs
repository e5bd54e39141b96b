//! Jobs in a table whose columns the caller names.

use super::{
    log::{Builder, JobLog, Row, State},
    table::{self, Header},
    time::{Times, Unit, is_none, number_ms},
};
use crate::{
    HistoryError,
    input::{Progress, Text},
};
use std::{borrow::Cow, cell::Cell, path::Path};

/// When a job should have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// The column has a point of time.
    At(String),
    /// The column has a length of time from the submission on.
    After(String),
}

/// Which columns of a table are what, and how they are written.
///
/// Names are those in the first line, upper case or lower. A duration is needed, or a start and an end; what else lacks stays unknown. A cell
/// that is empty, `-`, `None`, `null`, `NaN`, `N/A` or `Unknown` is one that is not known, which the submission has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// When a job was submitted.
    pub submit: String,
    /// When it started.
    pub start: Option<String>,
    /// When it ended.
    pub end: Option<String>,
    /// How long it ran.
    pub duration: Option<String>,
    /// GPUs.
    pub gpus: Option<String>,
    /// Cores.
    pub cpus: Option<String>,
    /// Nodes.
    pub nodes: Option<String>,
    /// Who submitted it.
    pub user: Option<String>,
    /// Queue, partition or virtual cluster.
    pub queue: Option<String>,
    /// When it should have ended.
    pub deadline: Option<Deadline>,
    /// How it ended.
    pub state: Option<String>,
    /// What it trains.
    pub model: Option<String>,
    /// Iterations that it took.
    pub iterations: Option<String>,
    /// What it is called; by default the number of its line.
    pub id: Option<String>,
    /// How points of time are written.
    pub times: Times,
    /// What durations count, and deadlines that count from the submission on.
    pub unit: Unit,
    /// What stands between two cells.
    pub separator: char,
}

impl Columns {
    /// A table with commas that has these columns of times, and no others.
    #[must_use]
    pub fn new(submit: &str, duration: &str, times: Times, unit: Unit) -> Self {
        Self {
            submit: submit.to_owned(),
            start: None,
            end: None,
            duration: Some(duration.to_owned()),
            gpus: None,
            cpus: None,
            nodes: None,
            user: None,
            queue: None,
            deadline: None,
            state: None,
            model: None,
            iterations: None,
            id: None,
            times,
            unit,
            separator: ',',
        }
    }
}

/// What a table is, besides its columns.
pub(super) struct Table<'a> {
    pub(super) columns: &'a Columns,
    /// What to do about one that is of another form.
    pub(super) advice: &'a str,
    /// Whether a job that asks for no GPU is none.
    pub(super) wants_gpus: bool,
}

const ADVICE: &str = "name the columns as the first line has them, and their units";

pub(super) fn read(path: &Path, columns: &Columns, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    Table { columns, advice: ADVICE, wants_gpus: false }.read(path, progress)
}

/// Places of the columns.
struct Places {
    submit: usize,
    start: Option<usize>,
    end: Option<usize>,
    duration: Option<usize>,
    counts: [Option<usize>; 3],
    user: Option<usize>,
    queue: Option<usize>,
    deadline: Option<(usize, bool)>,
    state: Option<usize>,
    model: Option<usize>,
    iterations: Option<usize>,
    id: Option<usize>,
}

impl Table<'_> {
    pub(super) fn read(&self, path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
        let columns = self.columns;
        if columns.duration.is_none() && (columns.start.is_none() || columns.end.is_none()) {
            return Err(HistoryError::OtherForm {
                path: path.to_owned(),
                place: "columns".to_owned(),
                found: "neither a duration nor both a start and an end are named".to_owned(),
                allowed: "one of the two has to be".to_owned(),
                advice: "name the column of durations, or those of starts and ends".to_owned(),
            });
        }
        let read = Cell::new(0);
        let mut text = Text::open(path, &read, progress)?;
        let header = Header::read(&mut text, columns.separator, path, self.advice)?;
        let places = self.places(&header, path)?;
        let mut builder = Builder::default();
        builder.log.is_since_1970 = !matches!(columns.times, Times::Since(_));
        while let Some((at, line)) = text.next() {
            let line = match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => line,
                Err(problem) => {
                    builder.skip(&problem, at);
                    continue;
                }
            };
            let cells = match table::cells(&line, header.separator) {
                Ok(cells) if cells.len() == header.len() => cells,
                Ok(_) => {
                    builder.skip_shown("it has not as many cells as the first line", at, &line);
                    continue;
                }
                Err(problem) => {
                    builder.skip_shown(problem, at, &line);
                    continue;
                }
            };
            let number = at.to_string();
            match self.row(&places, &cells, &number) {
                Ok(row) if self.wants_gpus && row.gpus == Some(0) => builder.skip("it asks for 0 GPUs", at),
                Ok(row) => builder.take(row, at, path)?,
                Err((column, what)) => {
                    let cell = cells.get(column).map_or("", |cell| cell);
                    let name = header.name(column);
                    builder.skip_shown(&format!("`{name}` is no {what}"), at, cell);
                }
            }
        }
        builder.log.cut = text.cut;
        let rows = format!("a line with {} cells, `{}` a {}", header.len(), columns.submit, self.time());
        builder.finish(path, &rows, self.advice)
    }

    /// What a point of time is.
    fn time(&self) -> &'static str {
        match self.columns.times {
            Times::Calendar => "time as YYYY-MM-DD HH:MM:SS",
            Times::Since(_) | Times::SinceEpoch(_) => "time as a number",
        }
    }

    fn places(&self, header: &Header, path: &Path) -> Result<Places, HistoryError> {
        let columns = self.columns;
        let require = |name: &str| header.require(name, path, self.advice);
        let of = |name: &Option<String>| name.as_deref().map(require).transpose();
        Ok(Places {
            submit: require(&columns.submit)?,
            start: of(&columns.start)?,
            end: of(&columns.end)?,
            duration: of(&columns.duration)?,
            counts: [of(&columns.gpus)?, of(&columns.cpus)?, of(&columns.nodes)?],
            user: of(&columns.user)?,
            queue: of(&columns.queue)?,
            deadline: match &columns.deadline {
                Some(Deadline::At(name)) => Some((require(name)?, false)),
                Some(Deadline::After(name)) => Some((require(name)?, true)),
                None => None,
            },
            state: of(&columns.state)?,
            model: of(&columns.model)?,
            iterations: of(&columns.iterations)?,
            id: of(&columns.id)?,
        })
    }

    /// A row as a job; else the column that is wrong, and what is not in it.
    fn row<'c>(
        &self,
        places: &Places,
        cells: &'c [Cow<'_, str>],
        number: &'c str,
    ) -> Result<Row<'c>, (usize, &'static str)> {
        let cell = |column: usize| cells.get(column).map_or("", |cell| cell.trim());
        let text = |column: Option<usize>| column.map_or("", cell);
        // What can be unknown.
        let known = |column: Option<usize>| column.filter(|&column| !is_none(cell(column)));
        let time = |column: usize| self.columns.times.parse(cell(column)).ok_or((column, self.time()));
        let length =
            |column: usize| number_ms(cell(column), self.columns.unit).ok_or((column, "length of time as a number"));
        let count = |column| match known(column) {
            Some(column) => whole(cell(column)).map(Some).ok_or((column, "whole number from 0 on")),
            None => Ok(None),
        };
        let submit_ms = time(places.submit)?;
        let mut start_ms = known(places.start).map(time).transpose()?;
        let mut end_ms = known(places.end).map(time).transpose()?;
        let duration_ms = known(places.duration).map(length).transpose()?;
        // What is not in the table follows from what is.
        if places.start.is_none() {
            start_ms = end_ms.zip(duration_ms).map(|(end, duration)| end - duration);
        }
        if places.end.is_none() {
            end_ms = start_ms.zip(duration_ms).map(|(start, duration)| start + duration);
        }
        let deadline = places.deadline.filter(|&(column, _)| known(Some(column)).is_some());
        let deadline_ms = match deadline {
            Some((column, true)) => Some(submit_ms + length(column)?),
            Some((column, false)) => Some(time(column)?),
            None => None,
        };
        let [gpus, cpus, nodes] = places.counts;
        Ok(Row {
            id: if places.id.is_some() { text(places.id) } else { number },
            submit_ms,
            start_ms,
            end_ms,
            duration_ms,
            gpus: count(gpus)?,
            cpus: count(cpus)?,
            nodes: count(nodes)?,
            user: text(places.user),
            queue: text(places.queue),
            state: State::of(text(places.state)),
            deadline_ms,
            model: text(places.model),
            iterations: count(places.iterations)?.map(u64::from),
            attempts: 1,
        })
    }
}

/// A whole number, which may be written as `4.0`.
pub(crate) fn whole(text: &str) -> Option<u32> {
    let number: f64 = text.trim().parse().ok()?;
    // Whole numbers in this range are those of a u32.
    (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u32)
}
