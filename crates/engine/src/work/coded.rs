//! Parts in bins: a byte for each feature and three whole numbers for what the row adds to every sum.
//!
//! They are written once, on the disk of whoever reads the part, and read in every round of a tree. What is there depends on the part
//! and on the bins alone; so it can be lost at any time, and is made again by whoever needs it.

use super::rows::Rows;
use crate::kept;
use anyhow::{Context, Result};
use arrow::{
    array::{ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch},
    buffer::Buffer,
    datatypes::{DataType, Field, Schema, SchemaRef},
    ipc::{reader::FileReader, writer::FileWriter},
};
use sched_distill_core::level::sha256_hex;
use sched_distill_learn::Coder;
use std::{
    fs::{self, File},
    io::{BufReader, BufWriter},
    path::Path,
    sync::Arc,
};

/// Rows of a batch; the last one of a piece has fewer.
const ROWS: usize = 1 << 16;

/// The columns of rows in bins.
pub(super) fn schema(features: usize) -> SchemaRef {
    let codes = DataType::FixedSizeBinary(i32::try_from(features).unwrap_or(i32::MAX));
    let columns =
        [("codes", codes), ("weight", DataType::Int64), ("first", DataType::Int64), ("second", DataType::Int64)];
    Arc::new(Schema::new(columns.map(|(name, of)| Field::new(name, of, false)).to_vec()))
}

/// Sends a part in bins.
pub(super) fn read(
    rows: &Rows,
    coder: &Coder,
    part: u32,
    send: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let place = kept::coded()?.join(format!("{}.arrow", key(rows, part)?));
    if !place.exists() {
        write(rows, coder, part, &place)?;
    }
    let open =
        || -> Result<_> { Ok(FileReader::try_new(BufReader::with_capacity(1 << 20, File::open(&place)?), None)?) };
    let reader = match open() {
        Ok(reader) => reader,
        // Whatever happened to it.
        Err(_) => {
            write(rows, coder, part, &place)?;
            open().with_context(|| place.display().to_string())?
        }
    };
    for batch in reader {
        send(batch.with_context(|| format!("{}: is damaged; delete it and fit again", place.display()))?)?;
    }
    Ok(())
}

/// What tells a part in bins from all others.
fn key(rows: &Rows, part: u32) -> Result<String> {
    let Rows { level, episodes, usable, hidden, coder, .. } = rows;
    let of = (rows.hash_of(part)?, level, episodes, usable, hidden, coder, env!("CARGO_PKG_VERSION"));
    Ok(sha256_hex(&serde_json::to_vec(&of)?))
}

/// Writes a part in bins, under another name until it is whole.
fn write(rows: &Rows, coder: &Coder, part: u32, place: &Path) -> Result<()> {
    let unfinished = place.with_extension(format!("{}.tmp", std::process::id()));
    let written = write_to(rows, coder, part, &unfinished);
    let done = written.and_then(|()| Ok(fs::rename(&unfinished, place)?));
    done.inspect_err(|_| _ = fs::remove_file(&unfinished)).with_context(|| place.display().to_string())
}

fn write_to(rows: &Rows, coder: &Coder, part: u32, place: &Path) -> Result<()> {
    let schema = schema(coder.bins.len());
    let mut writer = FileWriter::try_new(BufWriter::with_capacity(1 << 20, File::create(place)?), &schema)?;
    let mut batch = Batch::new(coder.bins.len());
    rows.choices(part, &mut |table| {
        let mut failed = None;
        coder.code(&table, |codes, summands| {
            batch.push(codes, summands);
            if batch.lanes[0].len() == ROWS
                && let Err(error) = batch.take(&schema).and_then(|batch| Ok(writer.write(&batch)?))
            {
                failed.get_or_insert(error);
            }
        })?;
        failed.map_or(Ok(()), Err)
    })?;
    if !batch.lanes[0].is_empty() {
        writer.write(&batch.take(&schema)?)?;
    }
    writer.finish()?;
    Ok(())
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
