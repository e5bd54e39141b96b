//! Parts in bins: a byte for each feature and three whole numbers for what the row adds to every sum. Every round of a tree reads them.

use super::{
    batch_file::{self, Send},
    batches::to_choices,
    rows::Choices,
};
use anyhow::Result;
use arrow::{
    array::{ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch},
    buffer::Buffer,
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use sched_distill_learn::Coder;
use sched_distill_trace::LevelTable;
use std::sync::Arc;

/// Rows of a batch; the last one of a piece has fewer.
const ROWS: usize = 1 << 16;

/// The columns of rows in bins.
pub(super) fn schema(features: usize) -> SchemaRef {
    let codes = DataType::FixedSizeBinary(i32::try_from(features).unwrap_or(i32::MAX));
    let columns =
        [("codes", codes), ("weight", DataType::Int64), ("first", DataType::Int64), ("second", DataType::Int64)];
    Arc::new(Schema::new(columns.map(|(name, of)| Field::new(name, of, false)).to_vec()))
}

/// Sends a part in bins, which has this name.
pub(super) fn read(choices: &Choices, coder: &Coder, (part, name): (u32, &str), send: Send<'_>) -> Result<()> {
    let schema = schema(coder.bins.len());
    let make = |put: Send<'_>| {
        // Kinds and the candidate that gives nothing do not matter to bins.
        let empty = LevelTable::new(choices.rows.level.clone(), Vec::new());
        let mut batch = Batch::new(coder.bins.len());
        choices.send(part, &mut |columns| {
            let Some((_, table)) = to_choices(columns.columns(), &empty)? else { return Ok(()) };
            let mut failed = None;
            coder.code(&table, |codes, summands| {
                batch.push(codes, summands);
                if batch.lanes[0].len() == ROWS
                    && let Err(error) = batch.take(&schema).and_then(&mut *put)
                {
                    failed.get_or_insert(error);
                }
            })?;
            failed.map_or(Ok(()), Err)
        })?;
        if batch.lanes[0].is_empty() { Ok(()) } else { put(batch.take(&schema)?) }
    };
    batch_file::send_once_made(name, &schema, None, make, send)
}

/// Rows in bins as they come.
struct Batch {
    width: usize,
    codes: Vec<u8>,
    lanes: [Vec<i64>; 3],
}

impl Batch {
    fn new(width: usize) -> Self {
        Self { width, codes: Vec::new(), lanes: [const { Vec::new() }; 3] }
    }

    fn push(&mut self, codes: &[u8], summands: [i64; 3]) {
        self.codes.extend_from_slice(codes);
        self.lanes.iter_mut().zip(summands).for_each(|(lane, summand)| lane.push(summand));
    }

    /// The rows so far, which leave.
    fn take(&mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        let width = i32::try_from(self.width)?;
        let codes = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(std::mem::take(&mut self.codes)), None)?;
        let lanes = self.lanes.each_mut().map(|lane| Arc::new(Int64Array::from(std::mem::take(lane))) as ArrayRef);
        let columns = [Arc::new(codes) as ArrayRef].into_iter().chain(lanes).collect();
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}
