//! Work that is easy to check, to try the engine and to test it.

use crate::work::Sums;
use anyhow::{Context, Result, ensure};
use arrow::{
    array::{ArrayRef, AsArray, Int64Array},
    datatypes::{DataType, Field, Int64Type, Schema, SchemaRef},
    record_batch::RecordBatch,
};
use serde::{Deserialize, Serialize};
use std::{fs, path::PathBuf, sync::Arc, thread, time::Duration};

/// Rows of the batches of each part: one row, more than `DataFusion`'s usual batch, a few.
pub const ROWS: [usize; 3] = [1, 10_000, 7];

/// Rows of a part are numbered from `part * STRIDE`.
const STRIDE: i64 = 1_000_000;

/// What to read. Each part holds the numbers from `part * 1000000` on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scan {
    /// A part that fails, with this text.
    pub fail: Option<(u32, String)>,
    /// A part that panics, with this text.
    pub panic: Option<(u32, String)>,
    /// A part that takes long.
    pub sleep: Option<Sleep>,
    /// Milliseconds that every part takes.
    pub pause: u64,
}

/// A part that takes long the first time it is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sleep {
    /// The part.
    pub part: u32,
    /// How long.
    pub millis: u64,
    /// Where it notes the process that reads it. If the note is there already, it does not sleep.
    pub note: PathBuf,
}

impl Scan {
    /// For [`crate::ask::Engine::ask`].
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }
}

/// A question with an answer of so many bytes more than the sums need, and with bytes of its own.
#[must_use]
pub fn question(padding: u64, own: &[u8]) -> Vec<u8> {
    [&padding.to_le_bytes(), own].concat()
}

/// The answer to [`question`] about these parts.
#[must_use]
pub fn answer(parts: &[u32], question: &[u8]) -> Vec<u8> {
    let rows: usize = ROWS.iter().sum();
    let mut sums = ToySums::new(question);
    for part in parts {
        let first = i64::from(*part) * STRIDE;
        sums.rows += rows as u64;
        sums.sum += (0..rows).fold(0, |sum, row| sum + first + row as i64);
    }
    sums.written()
}

/// See [`crate::work::schema`].
///
/// # Errors
///
/// If this is no scan.
pub fn schema(scan: &[u8]) -> Result<SchemaRef> {
    serde_json::from_slice::<Scan>(scan).context("the toy's scan is not JSON of a Scan")?;
    Ok(Arc::new(Schema::new(vec![Field::new("Number", DataType::Int64, false)])))
}

/// See [`crate::work::read`].
///
/// # Errors
///
/// If the scan asks for it.
///
/// # Panics
///
/// If the scan asks for it.
pub fn read(scan: &[u8], part: u32, send: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
    let schema = schema(scan)?;
    let scan: Scan = serde_json::from_slice(scan)?;
    thread::sleep(Duration::from_millis(scan.pause));
    let mut next = i64::from(part) * STRIDE;
    for rows in ROWS {
        let end = next + rows as i64;
        send(RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from_iter_values(next..end))])?)?;
        next = end;
        if let Some(sleep) = scan.sleep.as_ref().filter(|sleep| sleep.part == part && !sleep.note.exists()) {
            fs::write(&sleep.note, std::process::id().to_string())?;
            thread::sleep(Duration::from_millis(sleep.millis));
        }
        if let Some((_, text)) = scan.fail.as_ref().filter(|(failing, _)| *failing == part) {
            anyhow::bail!("{text}");
        }
        if let Some((_, text)) = scan.panic.as_ref().filter(|(panicking, _)| *panicking == part) {
            panic!("{text}");
        }
    }
    Ok(())
}

/// See [`crate::work::start`].
///
/// # Errors
///
/// If the question was not written by [`question`].
pub fn start(question: &[u8]) -> Result<Box<dyn Sums>> {
    ensure!(question.len() >= 8, "a question of the toy has 8 bytes or more, this one {}", question.len());
    Ok(Box::new(ToySums::new(question)))
}

#[derive(Debug)]
struct ToySums {
    rows: u64,
    sum: i64,
    /// Sum of the question's own bytes, to see that it arrived.
    asked: u64,
    padding: usize,
    /// The part that is being read, its next row and its next batch.
    at: Option<(i64, i64, usize)>,
}

impl ToySums {
    fn new(question: &[u8]) -> Self {
        let (padding, own) = question.split_at(8);
        let padding = padding.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
        Self { rows: 0, sum: 0, asked: own.iter().map(|byte| u64::from(*byte)).sum(), padding, at: None }
    }

    fn written(&self) -> Vec<u8> {
        let mut bytes = [self.rows.to_le_bytes(), self.sum.to_le_bytes(), self.asked.to_le_bytes()].concat();
        // Not all the same, so that compression does not hide its size.
        let mut state = 1_u32;
        bytes.extend((0..self.padding).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_le_bytes()[3]
        }));
        bytes
    }
}

impl Sums for ToySums {
    fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let numbers = columns[0].as_primitive::<Int64Type>().values();
        let first = *numbers.first().context("a batch came empty")?;
        let (part, next, batch) = self.at.unwrap_or((first / STRIDE, first / STRIDE * STRIDE, 0));
        ensure!(
            first == next && numbers.len() == ROWS[batch] && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "part {part}, batch {batch}: {} rows from {first} came, {} from {next} were sent",
            numbers.len(),
            ROWS[batch],
        );
        self.at = (batch + 1 < ROWS.len()).then_some((part, next + numbers.len() as i64, batch + 1));
        self.rows += numbers.len() as u64;
        self.sum += numbers.iter().sum::<i64>();
        Ok(())
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        let number = |at: usize| {
            let bytes = state.get(at..at + 8).with_context(|| format!("a state has {} bytes only", state.len()))?;
            anyhow::Ok(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        ensure!(state.len() == 24 + self.padding, "a state has {} bytes, not {}", state.len(), 24 + self.padding);
        ensure!(number(16)? == self.asked, "another question was answered");
        self.rows += number(0)?;
        self.sum += number(8)?.cast_signed();
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        ensure!(self.at.is_none(), "the last part ended after batch {:?}", self.at);
        Ok(self.written())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.padding
    }
}
