//! Standard output: text for people, JSON lines for programs, never both.

use super::{
    common::Common,
    host::{Host, Stream},
};
use crate::pipeline::Watch;
pub(super) use crate::text::printable;
use anyhow::{Context, Result};
use serde::Serialize;
use std::{
    collections::HashSet,
    io::{ErrorKind, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// Version of the JSON lines (`docs/json-output.md`).
const SCHEMA_VERSION: u32 = 3;

pub(super) struct Output {
    stdout: Stream,
    stderr: Stream,
    json: bool,
    quiet: bool,
    /// Text that waits for what is to stand before it.
    held: Option<String>,
    /// Nobody reads stdout any more, as in `distill ... | head`: the work goes on, the words are dropped.
    closed: bool,
    said: Said,
    watch: Option<Arc<dyn Watch + Send>>,
}

/// Notes that were given.
type Said = Arc<Mutex<HashSet<String>>>;

/// Notes and progress on stderr, if they are wanted.
#[derive(Clone)]
pub(super) struct Notes {
    shown: bool,
    to: Stream,
    said: Said,
}

impl Notes {
    /// Whether this note is given for the first time: a workload that every step of a command opens says the same each time.
    pub(super) fn is_new(&self, note: &str) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(note.to_owned())
    }

    pub(super) fn note(&self, text: impl std::fmt::Display) {
        if self.shown {
            self.to.say(&printable(&text.to_string()));
        }
    }

    /// Whether there is somebody for whom progress is drawn.
    pub(super) fn are_drawn(&self) -> bool {
        self.shown && self.to.is_terminal()
    }
}

impl Output {
    pub(super) fn new(common: &Common, host: &Host) -> Self {
        Self {
            stdout: host.stdout.clone(),
            stderr: host.stderr.clone(),
            json: common.json,
            quiet: common.quiet,
            held: None,
            closed: false,
            said: Said::default(),
            watch: host.watch.clone(),
        }
    }

    /// Who else is told what goes on.
    pub(super) fn watch(&self) -> Option<Arc<dyn Watch + Send>> {
        self.watch.clone()
    }

    /// A line, or several, for people.
    pub(super) fn text(&mut self, text: impl std::fmt::Display) -> Result<()> {
        match (self.json, &mut self.held) {
            (true, _) => Ok(()),
            (false, Some(held)) => {
                held.push_str(&format!("{text}\n"));
                Ok(())
            }
            (false, None) => self.print(&printable(&text.to_string())),
        }
    }

    /// Keeps text back from now on, until it is released.
    pub(super) fn hold(&mut self) {
        self.held = Some(String::new());
    }

    /// Prints what was kept back behind these lines, and keeps no more back.
    pub(super) fn release(&mut self, first: impl IntoIterator<Item = String>) -> Result<()> {
        let held = self.held.take().unwrap_or_default();
        let lines: Vec<String> = first.into_iter().collect();
        lines.iter().try_for_each(|line| self.text(line))?;
        match held.trim_end_matches('\n') {
            "" => Ok(()),
            held => self.text(held),
        }
    }

    /// An object for programs: one line, with `type` and `schema_version`.
    pub(super) fn json(&mut self, kind: &str, value: &impl Serialize) -> Result<()> {
        if self.json {
            let mut object = serde_json::Map::new();
            object.insert("type".to_owned(), kind.into());
            object.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
            match serde_json::to_value(value).context("cannot write JSON")? {
                serde_json::Value::Object(fields) => object.extend(fields),
                other => {
                    object.insert("value".to_owned(), other);
                }
            }
            self.print(&serde_json::Value::Object(object).to_string())?;
        }
        Ok(())
    }

    /// A note on what is being done, on stderr.
    pub(super) fn note(&self, text: impl std::fmt::Display) {
        self.notes().note(text);
    }

    /// What is said on stderr while the work goes on.
    pub(super) fn notes(&self) -> Notes {
        Notes { shown: !self.json && !self.quiet, to: self.stderr.clone(), said: Arc::clone(&self.said) }
    }

    /// A note that changes what a result means, on stderr, also where results are for programs.
    pub(super) fn warn(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            self.stderr.say(&printable(&text.to_string()));
        }
    }

    /// What is written to directly, for those who answer on it.
    pub(super) fn stdout(&self) -> Stream {
        self.stdout.clone()
    }

    fn print(&mut self, line: &str) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        match self.stdout.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.stdout.flush()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.closed = true,
            other => other.context("cannot write to stdout")?,
        }
        Ok(())
    }
}
