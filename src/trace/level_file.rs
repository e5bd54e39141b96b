//! One Parquet file of a level: how a table becomes columns, how columns become a table, and the rules between.

use polars::prelude::{Column, Float32Type, Float64Type, UInt32Type, UInt64Type};

use super::columns::{Cell, Frame};
use super::error::Problems;
use super::manifest::column_names;
use super::table::{ChoiceHeader, LevelTable};
use crate::level::LevelSpec;

/// Columns that every level has, in the order in which they are written. Entities and features follow.
pub(super) const FIXED_COLUMNS: [&str; 10] =
    ["episode", "step", "choice", "time_ms", "kind", "candidate", "parent", "log_prob", "chosen", "weight"];

/// How far the probabilities of a choice may be from adding up to 1.
const PROBABILITY_TOLERANCE: f64 = 1e-3;

/// Rows in a block when columns become a row-major matrix, so that the block stays in the processor's cache.
const BLOCK: usize = 512;

/// What the rules need to know beside the file.
pub(super) struct Context<'a> {
    /// The level's description.
    pub(super) spec: &'a LevelSpec,
    /// The manifest's kinds, at most 256.
    pub(super) kinds: &'a [String],
    /// Whether this is the first level, which has no parents.
    pub(super) first: bool,
    /// The last choice of the files before this one: its id and step.
    pub(super) last: Option<(u64, u32)>,
}

/// The first way in which the vectors of a table do not fit together, if there is one.
pub(super) fn misshapen(table: &LevelTable) -> Option<String> {
    let rows = table.rows();
    for (name, found, expected) in [
        ("chosen", table.chosen.len(), rows),
        ("entity", table.entity.len(), rows * table.spec.entities.len()),
        ("x", table.x.len(), rows * table.width()),
    ] {
        if found != expected {
            return Some(format!("`{name}` has {found} values, expected {expected} for {rows} rows"));
        }
    }
    let starts = || table.choices.iter().map(|c| c.first_row);
    let begins_at_zero = starts().next() == (rows > 0).then_some(0);
    let increasing = starts().zip(starts().skip(1).chain([rows])).all(|(start, end)| start < end);
    (!begins_at_zero || !increasing)
        .then(|| format!("`first_row` of the choices must start at 0 and increase up to the {rows} rows"))
}

/// The columns of a table that is not misshapen.
pub(super) fn columns(table: &LevelTable) -> Vec<Column> {
    let (entities, width) = (table.spec.entities.len(), table.width());
    let mut columns = Vec::with_capacity(FIXED_COLUMNS.len() + entities + width);
    columns.push(per_row(table, "episode", |c, _| c.episode));
    columns.push(per_row(table, "step", |c, _| c.step));
    columns.push(per_row(table, "choice", |c, _| c.id));
    columns.push(per_row(table, "time_ms", |c, _| c.time_ms));
    columns.push(per_row(table, "kind", |c, _| {
        // An unknown kind is written as such and then refused by the rules.
        table.kinds.get(usize::from(c.kind)).cloned().unwrap_or_default()
    }));
    columns.push(per_row(table, "candidate", |_, i| i));
    columns.push(per_row(table, "parent", |c, _| c.parent));
    columns.push(Cell::column("log_prob", table.log_prob.iter().map(|&p| (!p.is_nan()).then_some(p)).collect()));
    columns.push(Cell::column("chosen", table.chosen.clone()));
    columns.push(per_row(table, "weight", |c, _| c.weight));
    for (e, name) in table.spec.entities.iter().enumerate() {
        columns.push(Cell::column(name, table.entity.iter().skip(e).step_by(entities).copied().collect()));
    }
    for (f, feature) in table.spec.features.iter().enumerate() {
        columns.push(Cell::column(&feature.name, table.x.iter().skip(f).step_by(width).copied().collect()));
    }
    columns
}

/// A column from the header of each row's choice and the row's number in it.
fn per_row<T: Cell>(table: &LevelTable, name: &str, cell: impl Fn(&ChoiceHeader, u32) -> T) -> Column {
    let cells = table.iter().flat_map(|c| (0..c.len() as u32).map(|i| cell(c.header, i)));
    Cell::column(name, cells.collect())
}

/// The table of a file. Everything that breaks the format is reported; `None` if the columns do not even have the right
/// names and types.
pub(super) fn read(frame: &Frame<'_>, context: &Context<'_>, problems: &mut Problems) -> Option<LevelTable> {
    let Context { spec, kinds, .. } = *context;
    frame.check_names(column_names(spec), problems);
    // All columns are looked at before the first bad one ends it, so that all are reported.
    let episode = frame.slice::<UInt32Type>("episode", problems);
    let step = frame.slice::<UInt32Type>("step", problems);
    let choice = frame.slice::<UInt64Type>("choice", problems);
    let time = frame.slice::<Float64Type>("time_ms", problems);
    let kind = frame.strings("kind", problems);
    let candidate = frame.slice::<UInt32Type>("candidate", problems);
    let parent = <Option<u32> as Cell>::cells(frame, "parent", problems);
    let log_prob = <Option<f32> as Cell>::cells(frame, "log_prob", problems);
    let chosen = bool::cells(frame, "chosen", problems);
    let weight = frame.slice::<Float32Type>("weight", problems);
    let names = spec.entities.iter();
    let entities: Vec<_> = names.map(|name| frame.slice::<UInt32Type>(name, problems)).collect();
    let names = spec.features.iter().map(|f| &f.name);
    let features: Vec<_> = names.map(|name| frame.slice::<Float32Type>(name, problems)).collect();
    let (episode, step, choice, time, kind) = (episode?, step?, choice?, time?, kind?);
    let (candidate, parent, weight, log_prob) = (candidate?, parent?, weight?, log_prob?);

    let mut table = LevelTable::new(spec.clone(), kinds.to_vec());
    table.chosen = chosen?;
    table.log_prob = log_prob.into_iter().map(|p| p.unwrap_or(f32::NAN)).collect();
    table.entity = row_major(&entities.into_iter().collect::<Option<Vec<_>>>()?, frame.rows());
    table.x = row_major(&features.into_iter().collect::<Option<Vec<_>>>()?, frame.rows());

    let mut bad = |name: &str, row: usize, message: std::fmt::Arguments<'_>| {
        problems.add(frame.file(), Some(name), Some(row), message);
    };
    let (mut first_row, mut first_kind) = (0, "");
    for (row, kind) in kind.into_iter().enumerate() {
        if row == 0 || choice[row] != choice[row - 1] {
            (first_row, first_kind) = (row, kind);
            let kind_index = kinds.iter().position(|k| k == kind);
            if kind_index.is_none() {
                bad("kind", row, format_args!("is `{kind}`, expected one of {}", kinds.join(", ")));
            }
            table.choices.push(ChoiceHeader {
                id: choice[row],
                episode: episode[row],
                step: step[row],
                time_ms: time[row],
                kind: kind_index.and_then(|k| u8::try_from(k).ok()).unwrap_or(0),
                parent: parent[row],
                weight: weight[row],
                first_row,
            });
        } else if let Some(header) = table.choices.last() {
            for (name, same) in [
                ("episode", episode[row] == header.episode),
                ("step", step[row] == header.step),
                ("time_ms", time[row].to_bits() == header.time_ms.to_bits()),
                ("kind", kind == first_kind),
                ("parent", parent[row] == header.parent),
                ("weight", weight[row].to_bits() == header.weight.to_bits()),
            ] {
                if !same {
                    bad(name, row, format_args!("differs from row {first_row} of the same choice"));
                }
            }
        }
        if candidate[row] as usize != row - first_row {
            let message = format_args!("is {}, expected {} as choices list 0, 1, ...", candidate[row], row - first_row);
            bad("candidate", row, message);
        }
    }
    check(&table, context, frame.file(), problems);
    Some(table)
}

/// Reports what breaks the rules of a choice.
fn check(table: &LevelTable, context: &Context<'_>, file: &str, problems: &mut Problems) {
    let mut last = context.last;
    for choice in table.iter() {
        let header = choice.header;
        let row = header.first_row;
        let mut bad = |name: &str, row: usize, message: std::fmt::Arguments<'_>| {
            problems.add(file, Some(name), Some(row), message);
        };
        if header.id >> 32 != u64::from(header.episode) {
            let id = header.id;
            bad("choice", row, format_args!("is {id}, expected {}·2³² + a number below 2³²", header.episode));
        }
        if let Some((id, step)) = last {
            if header.id <= id {
                let message = format_args!("is {} after {id}, expected increasing choices in one piece", header.id);
                bad("choice", row, message);
            } else if header.id >> 32 == id >> 32 && header.step < step {
                bad("step", row, format_args!("is {} after {step} in the same episode", header.step));
            }
        }
        last = Some((header.id, header.step));
        if !header.time_ms.is_finite() {
            bad("time_ms", row, format_args!("is {}, expected a finite number", header.time_ms));
        }
        if !(header.weight.is_finite() && header.weight > 0.0) {
            bad("weight", row, format_args!("is {}, expected a positive finite number", header.weight));
        }
        if context.first && header.parent.is_some() {
            bad("parent", row, format_args!("is set, expected null at the first level"));
        }
        let chosen = choice.chosen.iter().filter(|&&c| c).count();
        if chosen > 1 || (chosen == 0 && header.parent.is_none()) {
            let allowed = if header.parent.is_none() { "exactly one" } else { "at most one" };
            bad("chosen", row, format_args!("is true for {chosen} candidates of the choice, expected {allowed}"));
        }
        if choice.has_probabilities() {
            let sum: f64 = choice.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
            if (sum - 1.0).abs() > PROBABILITY_TOLERANCE {
                let message =
                    format_args!("gives probabilities that add up to {sum:.4}, expected 1 in natural logarithms");
                bad("log_prob", row, message);
            }
        } else if let Some(known) = choice.log_prob.iter().position(|p| !p.is_nan()) {
            bad("log_prob", row + known, format_args!("is set, but null for other candidates of the choice"));
        }
    }
    let width = table.width();
    for (i, value) in table.x.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
        let name = table.spec.features[i % width].name.as_str();
        problems.add(file, Some(name), Some(i / width), format_args!("is {value}, expected a finite number"));
    }
}

/// Columns as a row-major matrix.
fn row_major<T: Copy + Default>(columns: &[&[T]], rows: usize) -> Vec<T> {
    let width = columns.len();
    let mut matrix = vec![T::default(); rows * width];
    for start in (0..rows).step_by(BLOCK) {
        let end = rows.min(start + BLOCK);
        for (c, column) in columns.iter().enumerate() {
            for (row, &value) in (start..end).zip(&column[start..end]) {
                matrix[row * width + c] = value;
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_major_holds_every_cell_beyond_one_block() {
        let (a, b): (Vec<u32>, Vec<u32>) = (0..1300).map(|i| (i, i + 5000)).unzip();
        let matrix = row_major(&[&a, &b], 1300);
        for (i, row) in matrix.chunks(2).enumerate() {
            assert_eq!(row, [a[i], b[i]]);
        }
    }
}
