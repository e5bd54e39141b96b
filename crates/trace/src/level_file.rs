//! One Parquet file of a level: how a table becomes columns, and how columns become a table.

use polars::prelude::{Float32Type, Float64Type, UInt32Type, UInt64Type};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema};

use super::{
    columns::{Cell, Frame},
    encoder::{Cells, schema},
    error::Problems,
    manifest::column_names,
    rules::{Context, check},
    table::{ChoiceHeader, LevelTable},
};
use sched_distill_core::level::LevelSpec;

/// Rows in a block when columns become a row-major matrix or the other way round, so that the block stays in the
/// processor's cache.
const BLOCK: usize = 64;

/// Names and types of the columns of a level.
pub(super) fn level_schema(level: &LevelSpec) -> ArrowSchema {
    use ArrowDataType::{Boolean, Float32, Float64, UInt32, UInt64, Utf8View};
    let fixed = [UInt32, UInt32, UInt64, Float64, Utf8View, UInt32, UInt32, Float32, Boolean, Float32];
    let entities = level.entities.iter().map(|_| UInt32);
    let features = level.features.iter().map(|_| Float32);
    schema(column_names(level).zip(fixed.into_iter().chain(entities).chain(features)))
}

/// The columns of a table that is not misshapen, in the order of the schema.
pub(super) fn columns(table: &LevelTable) -> impl Iterator<Item = Cells> + Send + Sync {
    let candidates: Vec<u32> = table.iter().flat_map(|c| 0..c.len() as u32).collect();
    let mut kinds = Vec::new();
    let kind_places = per_row(table, |c| {
        kinds.iter().position(|&kind| kind == c.kind).unwrap_or_else(|| {
            kinds.push(c.kind);
            kinds.len() - 1
        }) as u32
    });
    let kinds: Vec<&str> = kinds.iter().map(|&kind| table.kinds[usize::from(kind)].as_str()).collect();
    let fixed = [
        Cells::numbers(&per_row(table, |c| c.episode)),
        Cells::numbers(&per_row(table, |c| c.step)),
        Cells::numbers(&per_row(table, |c| c.id)),
        Cells::numbers(&per_row(table, |c| c.time_ms)),
        Cells::listed_texts(kind_places, &kinds),
        Cells::numbers(&candidates),
        if table.choices.iter().all(|c| c.parent.is_some()) {
            Cells::numbers(&per_row(table, |c| c.parent.unwrap_or_default()))
        } else {
            Cells::nullable(per_row(table, |c| c.parent))
        },
        if table.log_prob.iter().all(|p| !p.is_nan()) {
            Cells::numbers(&table.log_prob)
        } else {
            Cells::nullable(table.log_prob.iter().map(|&p| (!p.is_nan()).then_some(p)).collect())
        },
        Cells::flags(&table.chosen),
        Cells::numbers(&per_row(table, |c| c.weight)),
    ];
    let entities =
        column_major(&table.entity, table.spec.entities.len()).into_iter().map(|cells| Cells::numbers(&cells));
    let features = column_major(&table.x, table.width()).into_iter().map(|cells| Cells::numbers(&cells));
    fixed.into_iter().chain(entities).chain(features)
}

/// A column from the header of each row's choice.
fn per_row<T: Clone>(table: &LevelTable, mut cell: impl FnMut(&ChoiceHeader) -> T) -> Vec<T> {
    let mut cells = Vec::with_capacity(table.rows());
    let ends = table.choices.iter().skip(1).map(|next| next.first_row).chain([table.rows()]);
    for (header, end) in table.choices.iter().zip(ends) {
        cells.resize(end, cell(header));
    }
    cells
}

/// A row-major matrix as columns.
fn column_major<T: Copy>(matrix: &[T], width: usize) -> Vec<Vec<T>> {
    let rows = matrix.len().checked_div(width).unwrap_or(0);
    let mut columns: Vec<Vec<T>> = (0..width).map(|_| Vec::with_capacity(rows)).collect();
    for block in matrix.chunks(BLOCK * width.max(1)) {
        for (c, column) in columns.iter_mut().enumerate() {
            column.extend(block.chunks_exact(width).map(|row| row[c]));
        }
    }
    columns
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
        problems.add(frame.file(), Some(name), Some(context.rows_before + row), message);
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
                    bad(
                        name,
                        row,
                        format_args!("differs from row {} of the same choice", context.rows_before + first_row),
                    );
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
    fn row_major_and_back_holds_every_cell_beyond_one_block() {
        let (a, b): (Vec<u32>, Vec<u32>) = (0..1300).map(|i| (i, i + 5000)).unzip();
        let matrix = row_major(&[&a, &b], 1300);
        for (i, row) in matrix.chunks(2).enumerate() {
            assert_eq!(row, [a[i], b[i]]);
        }
        assert_eq!(column_major(&matrix, 2), [a, b]);
        assert_eq!(column_major::<f32>(&[], 0), [[0.0; 0]; 0]);
    }
}
