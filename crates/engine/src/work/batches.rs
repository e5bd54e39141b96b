//! Choices as columns of the engine, and back.

use anyhow::{Context, Result};
use arrow::{
    array::{
        Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, FixedSizeListArray, Float32Array, PrimitiveArray,
        RecordBatch, UInt32Array,
    },
    datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef, UInt8Type, UInt32Type, UInt64Type},
};
use sched_distill_core::level::LevelSpec;
use sched_distill_trace::{ChoiceHeader, LevelTable};
use std::sync::Arc;

/// The columns of a level's choices: a row for each candidate, the first one of a choice marked.
pub(super) fn schema(level: &LevelSpec) -> SchemaRef {
    let list = |of: DataType, width: usize| {
        DataType::FixedSizeList(Arc::new(Field::new("item", of, false)), i32::try_from(width).unwrap_or(i32::MAX))
    };
    let columns = [
        ("part", DataType::UInt32, false),
        ("first", DataType::Boolean, false),
        ("choice", DataType::UInt64, false),
        ("episode", DataType::UInt32, false),
        ("step", DataType::UInt32, false),
        ("time_ms", DataType::Float64, false),
        ("kind", DataType::UInt8, false),
        ("parent", DataType::UInt32, true),
        ("weight", DataType::Float32, false),
        ("log_prob", DataType::Float32, false),
        ("chosen", DataType::Boolean, false),
        ("entities", list(DataType::UInt32, level.entities.len()), false),
        ("features", list(DataType::Float32, level.features.len()), false),
    ];
    Arc::new(Schema::new(columns.map(|(name, of, nullable)| Field::new(name, of, nullable)).to_vec()))
}

/// Choices of a part as columns.
pub(super) fn of_choices(part: u32, table: &LevelTable) -> Result<RecordBatch> {
    let schema = schema(&table.spec);
    let rows = table.rows();
    let mut first = vec![false; rows];
    table.choices.iter().for_each(|choice| first[choice.first_row] = true);
    let list = |column: &str, values: ArrayRef, width: usize| -> Result<ArrayRef> {
        let DataType::FixedSizeList(item, size) = schema.field_with_name(column)?.data_type() else {
            anyhow::bail!("column {column} is no list")
        };
        // A list of nothing does not know how many there are.
        let list = match width {
            0 => FixedSizeListArray::try_new_with_length(item.clone(), *size, values, None, rows),
            _ => FixedSizeListArray::try_new(item.clone(), *size, values, None),
        };
        Ok(Arc::new(list?))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_value(part, rows)),
        Arc::new(BooleanArray::from(first)),
        per_row::<UInt64Type>(table, |c| c.id),
        per_row::<UInt32Type>(table, |c| c.episode),
        per_row::<UInt32Type>(table, |c| c.step),
        per_row::<Float64Type>(table, |c| c.time_ms),
        per_row::<UInt8Type>(table, |c| c.kind),
        parents(table),
        per_row::<Float32Type>(table, |c| c.weight),
        Arc::new(Float32Array::from(table.log_prob.clone())),
        Arc::new(BooleanArray::from(table.chosen.clone())),
        list("entities", Arc::new(UInt32Array::from(table.entity.clone())), table.spec.entities.len())?,
        list("features", Arc::new(Float32Array::from(table.x.clone())), table.width())?,
    ];
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

fn per_row<T: ArrowPrimitiveType>(table: &LevelTable, of: impl Fn(&ChoiceHeader) -> T::Native) -> ArrayRef {
    let cells = table.iter().flat_map(|choice| std::iter::repeat_n(of(choice.header), choice.len()));
    Arc::new(PrimitiveArray::<T>::from_iter_values(cells))
}

fn parents(table: &LevelTable) -> ArrayRef {
    let cells = table.iter().flat_map(|choice| std::iter::repeat_n(choice.header.parent, choice.len()));
    Arc::new(UInt32Array::from_iter(cells))
}

/// Columns as choices, and the part that they are of; nothing where there are no rows.
pub(super) fn to_choices(columns: &[ArrayRef], empty: &LevelTable) -> Result<Option<(u32, LevelTable)>> {
    let [part, first, choice, episode, step, time, kind, parent, weight, log_prob, chosen, entities, features] =
        columns
    else {
        anyhow::bail!("there are {} columns of choices, expected 13", columns.len());
    };
    if part.is_empty() {
        return Ok(None);
    }
    let number = part.as_primitive::<UInt32Type>().value(0);
    let values = |list: &ArrayRef| {
        list.as_fixed_size_list_opt().map(|list| list.values().clone()).context("a column is no list")
    };
    let (choice, episode) = (choice.as_primitive::<UInt64Type>(), episode.as_primitive::<UInt32Type>());
    let (step, time) = (step.as_primitive::<UInt32Type>(), time.as_primitive::<Float64Type>());
    let (kind, parent) = (kind.as_primitive::<UInt8Type>(), parent.as_primitive::<UInt32Type>());
    let weight = weight.as_primitive::<Float32Type>();
    let header = |row: usize| ChoiceHeader {
        id: choice.value(row),
        episode: episode.value(row),
        step: step.value(row),
        time_ms: time.value(row),
        kind: kind.value(row),
        parent: parent.is_valid(row).then(|| parent.value(row)),
        weight: weight.value(row),
        first_row: row,
    };
    let mut table = empty.clone();
    table.choices = first.as_boolean().values().set_indices().map(header).collect();
    table.log_prob = log_prob.as_primitive::<Float32Type>().values().to_vec();
    table.chosen = chosen.as_boolean().values().iter().collect();
    table.entity = values(entities)?.as_primitive::<UInt32Type>().values().to_vec();
    table.x = values(features)?.as_primitive::<Float32Type>().values().to_vec();
    Ok(Some((number, table)))
}
