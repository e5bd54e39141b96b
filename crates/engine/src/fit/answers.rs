//! Answers of an engine, kept until the fit is done: one that was interrupted asks the same questions again and finds them.

use crate::{
    ask::{Engine, Part},
    work::{question::Question, rows::Rows},
};
use anyhow::{Context, Result};
use sched_distill_core::{file::PendingFile, level::sha256_hex};
use sched_distill_pipeline::Caller;
use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};
use tokio::runtime::Handle;

/// An engine, and what it said.
pub(super) struct Answers<'a> {
    engine: &'a Engine,
    runtime: &'a Handle,
    folder: PathBuf,
    caller: Caller<'a>,
}

impl<'a> Answers<'a> {
    /// Keeps answers in a folder.
    pub(super) fn new((engine, runtime): (&'a Engine, &'a Handle), folder: &Path, caller: Caller<'a>) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        Ok(Self { engine, runtime, folder: folder.to_owned(), caller })
    }

    /// The answer to a question about some parts, `doing` this with so many rows.
    pub(super) fn ask(
        &self,
        rows: &Rows,
        parts: &[Part],
        question: &Question,
        (doing, count): (&str, u64),
    ) -> Result<Vec<u8>> {
        self.caller.check()?;
        let (scan, question) = (rows.to_bytes(), question.to_bytes());
        let numbers: Vec<u32> = parts.iter().map(|part| part.number).collect();
        let asked = (sha256_hex(&scan), numbers, sha256_hex(&question), env!("CARGO_PKG_VERSION"));
        let place = self.folder.join(format!("{}.answer", sha256_hex(&serde_json::to_vec(&asked)?)));
        match fs::read(&place) {
            Ok(answer) => return Ok(answer),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("{}: cannot be read", place.display())),
        }
        self.caller.watch.pass(doing, count);
        let answer = self.runtime.block_on(self.engine.ask(&scan, parts, &question));
        self.caller.watch.done();
        let answer = answer?;
        let mut file =
            PendingFile::create(&place).with_context(|| format!("{}: cannot be written", place.display()))?;
        file.write_all(&answer)
            .and_then(|()| file.commit_soon())
            .with_context(|| format!("{}: cannot be written", place.display()))?;
        Ok(answer)
    }
}
