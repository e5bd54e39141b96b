//! The seam to the work: what is read, and what is added up.
//!
//! A scan says what there is to read, a part number which share of it, a question what to add up. All three are opaque
//! to the engine.

mod batch_file;
mod batches;
pub mod cells;
mod coded;
pub mod question;
pub mod rows;

use anyhow::Result;
use arrow::{array::ArrayRef, datatypes::SchemaRef, record_batch::RecordBatch};
use question::Question;
use rows::Rows;
use std::fmt::Debug;

/// Partial sums. They may be merged in any order, and must come out the same.
pub trait Sums: Send + Sync + Debug {
    /// Adds a batch, as it was sent by [`read`].
    ///
    /// # Errors
    ///
    /// If the batch cannot be added. The whole ask then fails with that text.
    fn add(&mut self, columns: &[ArrayRef]) -> Result<()>;

    /// Adds the sums of other parts, written by [`Sums::to_bytes`].
    ///
    /// # Errors
    ///
    /// If these are not such bytes.
    fn merge(&mut self, state: &[u8]) -> Result<()>;

    /// The sums so far.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn to_bytes(&self) -> Result<Vec<u8>>;

    /// Bytes of memory.
    fn size(&self) -> usize;
}

/// The columns of a scan.
///
/// # Errors
///
/// If this is no scan.
pub fn schema(scan: &[u8]) -> Result<SchemaRef> {
    match Rows::from_bytes(scan) {
        Ok(rows) => Ok(rows.schema()),
        #[cfg(debug_assertions)]
        Err(_) => crate::toy::schema(scan),
        #[cfg(not(debug_assertions))]
        Err(error) => Err(error),
    }
}

/// Reads parts and sends their batches, in order. They reach [`Sums::add`] as they are.
///
/// # Errors
///
/// If a part cannot be read, or nobody listens any more.
pub fn read(scan: &[u8], parts: &[u32], send: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
    match Rows::from_bytes(scan) {
        Ok(rows) => rows.read(parts, send),
        #[cfg(debug_assertions)]
        Err(_) => parts.iter().try_for_each(|&part| crate::toy::read(scan, part, send)),
        #[cfg(not(debug_assertions))]
        Err(error) => Err(error),
    }
}

/// Sums of nothing yet, for a question.
///
/// # Errors
///
/// If this is no question.
pub fn start(question: &[u8]) -> Result<Box<dyn Sums>> {
    match Question::from_bytes(question) {
        Ok(question) => Ok(question.start()),
        #[cfg(debug_assertions)]
        Err(_) => crate::toy::start(question),
        #[cfg(not(debug_assertions))]
        Err(error) => Err(error),
    }
}
