//! Published traces of requests to language models.
//!
//! [`read`] takes in Mooncake's traces in one pass, plain or packed with gzip: an object in each line, with `timestamp` in ms, `input_length` and
//! `output_length` in tokens, and `hash_ids` of the blocks of the context, which requests may share. When a request was answered is not recorded.

use crate::{
    HistoryError,
    input::{self, Text},
    skips::Skips,
};
use serde::Deserialize;
use std::{cell::Cell, path::Path};

pub use crate::{input::Progress, skips::Skipped};

/// Most requests that are read.
const MOST: usize = 50_000_000;

/// Most tokens that a context and an answer can have.
const MOST_CONTEXT: u32 = 1 << 20;
const MOST_GENERATED: u32 = 1 << 16;

/// Latest time of a request, ms.
const LATEST_MS: f64 = 1e12;

const ALLOWED: &str = "an object with the numbers `timestamp` (ms, up to 1e12), `input_length` (tokens, up to 1048576) and `output_length` (tokens, up \
                       to 65536)";

const ADVICE: &str = "give a trace of kvcache-ai/Mooncake as it is published, plain or packed with gzip";

/// A request to a language model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When it came, ms as the trace has it.
    pub arrival_ms: f64,
    /// Tokens of its context.
    pub context: u32,
    /// Tokens that were generated.
    pub generated: u32,
}

/// The requests of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestLog {
    /// By their arrival; those of the same one in the order of the file.
    pub requests: Vec<Request>,
    /// What was left out, by reason, in the order in which the reasons came up.
    pub skipped: Vec<Skipped>,
    /// Where the file is cut or damaged, if it is.
    pub cut: Option<String>,
    /// Requests that have `hash_ids`, which tell what their contexts share.
    pub hashed: u64,
}

impl RequestLog {
    /// What is missing, and what was left out, each in a sentence.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.cut.iter().cloned().collect();
        if self.hashed > 0 {
            notes.push(format!(
                "{} of {} requests tell by `hash_ids` which parts of contexts are the same; that is not used: a server that keeps them has less \
                 to compute",
                self.hashed,
                self.requests.len()
            ));
        }
        notes.extend(self.skipped.iter().map(Skipped::to_string));
        notes
    }
}

/// A line; what else it has is of no matter.
#[derive(Deserialize)]
struct Raw {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Option<Vec<serde::de::IgnoredAny>>,
}

/// A line as a request, and whether it tells what it shares with others; else what is wrong with it.
fn request(line: &str) -> Result<(Request, bool), &'static str> {
    let raw: Raw = serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => "it lacks a number, or has one that is not whole and from 0 on",
        _ => "it is no JSON object",
    })?;
    match raw {
        Raw { timestamp, .. } if !(0.0..=LATEST_MS).contains(&timestamp) => Err("its `timestamp` is not in 0..=1e12"),
        Raw { input_length, .. } if input_length > MOST_CONTEXT => Err("its `input_length` is more than 1048576"),
        Raw { output_length, .. } if output_length > MOST_GENERATED => Err("its `output_length` is more than 65536"),
        Raw { timestamp, input_length, output_length, hash_ids } => {
            let request = Request { arrival_ms: timestamp, context: input_length, generated: output_length };
            Ok((request, hash_ids.is_some_and(|ids| !ids.is_empty())))
        }
    }
}

/// Reads the requests of a trace. `progress` is called every megabyte or so.
///
/// # Errors
///
/// A file that cannot be read, is packed in another way than with gzip, or has no request. Single rows are no error, nor is a file that is
/// cut or damaged behind its first requests.
///
/// # Examples
///
/// ```
/// use sched_distill_histories::requests;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("conversations.jsonl");
/// std::fs::write(&path, r#"{"timestamp": 3000, "input_length": 700, "output_length": 12, "hash_ids": [0, 5]}"#)?;
/// let log = requests::read(&path, &mut |_read, _of| {})?;
/// assert_eq!((log.requests[0].arrival_ms, log.requests[0].context, log.requests[0].generated), (3000.0, 700, 12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, progress: &mut Progress<'_>) -> Result<RequestLog, HistoryError> {
    let read = Cell::new(0);
    let mut text = Text::open(path, &read, progress)?;
    let (mut log, mut skips) = (RequestLog::default(), Skips::default());
    while let Some((at, line)) = text.next() {
        let line = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            Err(problem) => {
                skips.skip(&problem, at, "");
                continue;
            }
        };
        match request(&line) {
            Ok(_) if log.requests.len() >= MOST => {
                return Err(HistoryError::TooMuch { path: path.to_owned(), most: MOST, what: "requests" });
            }
            Ok((request, is_hashed)) => {
                log.requests.push(request);
                log.hashed += u64::from(is_hashed);
            }
            Err(problem) => skips.skip(problem, at, &line),
        }
    }
    log.cut = text.cut;
    if log.requests.is_empty() {
        return Err(skips.none(path, log.cut.as_deref(), "request", ALLOWED, ADVICE));
    }
    log.requests.sort_by(|a, b| a.arrival_ms.total_cmp(&b.arrival_ms));
    log.skipped = skips.skipped;
    Ok(log)
}

/// Whether the first line of a file is a request as Mooncake's traces have them.
#[must_use]
pub fn is_log(path: &Path) -> bool {
    let is_one = |head: Vec<u8>| {
        let text = String::from_utf8_lossy(input::without_mark(&head)).into_owned();
        text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| request(line).is_ok())
    };
    path.is_file() && input::head(path).is_ok_and(is_one)
}
