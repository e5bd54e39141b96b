//! A trace that is read where it is: in a folder, or on a store.

use crate::{kept, store::Address};
use anyhow::{Context, Result, anyhow};
use sched_distill_trace::{TableFile, Trace, TraceError};
use std::path::Path;

/// A trace. What it names on a store is read from copies, which are fetched as they are wanted.
#[derive(Debug)]
pub struct Opened {
    /// The trace. Its folder is that of the copies where it is on a store.
    pub trace: Trace,
    at: String,
    store: Option<Address>,
}

impl Opened {
    /// Opens a trace by its folder, or by its address on a store, `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    ///
    /// What [`Trace::open`] and [`Address::fetch_manifest`] object to.
    pub fn open(at: &str) -> Result<Self> {
        let Some(store) = Address::parse(at)? else {
            return Ok(Self { trace: Trace::open(Path::new(at))?, at: at.to_owned(), store: None });
        };
        let trace = Trace::open(&store.fetch_manifest(kept::copies)?).with_context(|| at.to_owned())?;
        Ok(Self { trace, at: at.to_owned(), store: Some(store) })
    }

    /// Where it is for every process: its whole path, or its address.
    ///
    /// # Errors
    ///
    /// A folder whose name is not UTF-8.
    pub fn place(&self) -> Result<String> {
        if self.store.is_some() {
            return Ok(self.at.clone());
        }
        let path = std::path::absolute(&self.at)?;
        Ok(path.to_str().with_context(|| format!("{}: the folder's name is not UTF-8", self.at))?.to_owned())
    }

    /// What went wrong when it was read: the error itself names a folder, which may be that of copies.
    pub fn told(&self, error: TraceError) -> anyhow::Error {
        let error = anyhow!(error);
        if self.store.is_some() { error.context(self.at.clone()) } else { error }
    }

    /// A file of a level.
    ///
    /// # Errors
    ///
    /// A trace without it.
    pub fn file(&self, level: &str, number: usize) -> Result<&TableFile> {
        let found = self.trace.files_of(level)?.nth(number);
        found.ok_or_else(|| anyhow!("{}: level {level} has no file {number}", self.at))
    }

    /// The trace, once a file of a level can be read.
    ///
    /// # Errors
    ///
    /// What [`Address::fetch_file`] objects to.
    pub fn with_file(&self, level: &str, number: usize) -> Result<&Trace> {
        if let Some(store) = &self.store {
            store.fetch_file(self.file(level, number)?, &self.trace.dir)?;
        }
        Ok(&self.trace)
    }
}
