//! `cluster_job_log` of the Philly traces (ATC'19).
//!
//! A JSON array of jobs, each with its attempts, which may be none, and whose ends may be `None` or null. A job runs from the start of its
//! first attempt to the end of its last one, for as long as its attempts did together, on the GPUs of the last attempt that lists any.

use super::{
    log::{Builder, JobLog, Row, State},
    time::{calendar_ms, is_none},
};
use crate::{
    HistoryError,
    input::{Progress, STEP, open, printable, unmarked},
};
use serde::{
    Deserializer as _,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;
use std::{cell::Cell, fmt, io::BufReader, path::Path};

const ADVICE: &str = "give the file `cluster_job_log` of the Philly traces, plain or packed with gzip";

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    let packed = Cell::new(0);
    let (input, total) = open(path, &packed)?;
    let input = unmarked(input);
    let input = BufReader::with_capacity(1 << 16, input);
    let mut jobs =
        Jobs { builder: Builder::default(), path, at: 0, told: 0, read: &packed, total, progress, error: None };
    let mut json = serde_json::Deserializer::from_reader(input);
    let result = json.deserialize_seq(&mut jobs).and_then(|()| json.end());
    if let Some(error) = jobs.error {
        return Err(error);
    }
    (jobs.progress)(total, total);
    if let Err(error) = result {
        let at = jobs.at;
        if at == 0 {
            return Err(HistoryError::OtherForm {
                path: path.to_owned(),
                place: format!("line {}", error.line()),
                found: printable(&error.to_string()),
                allowed: "a log of Philly is a JSON array of jobs".to_owned(),
                advice: ADVICE.to_owned(),
            });
        }
        let problem = printable(&error.to_string());
        jobs.builder.log.cut =
            Some(format!("the file is cut or damaged after job {at}, and read up to there: {problem}"));
    }
    jobs.builder.log.is_since_1970 = true;
    jobs.builder
        .log
        .cautions
        .push("times have no zone, and are taken for UTC: days begin elsewhere, and clocks may have been changed");
    jobs.builder.finish(path, "an object with `jobid`, `submitted_time` and `attempts`", ADVICE)
}

/// Takes in the elements of the array, one after another.
struct Jobs<'a, 'p> {
    builder: Builder,
    path: &'a Path,
    at: u64,
    told: u64,
    read: &'a Cell<u64>,
    total: u64,
    progress: &'a mut Progress<'p>,
    error: Option<HistoryError>,
}

impl<'de> Visitor<'de> for &mut Jobs<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(job) = elements.next_element::<Value>()? {
            self.at += 1;
            if self.read.get() - self.told >= STEP {
                self.told = self.read.get();
                (self.progress)(self.told.min(self.total), self.total);
            }
            match row(&job) {
                Ok(row) => {
                    if let Err(error) = self.builder.take(row, self.at, self.path) {
                        self.error = Some(error);
                        return Err(serde::de::Error::custom("too many jobs"));
                    }
                }
                Err(problem) => self.builder.skip(problem, self.at),
            }
        }
        Ok(())
    }
}

/// A job, or what is wrong with it.
fn row(job: &Value) -> Result<Row<'_>, &'static str> {
    let text = |name: &str| job.get(name).and_then(Value::as_str).unwrap_or_default();
    let submit_ms = time(job.get("submitted_time"))?.ok_or("it is not known when it was submitted")?;
    let attempts = match job.get("attempts") {
        Some(Value::Array(attempts)) => attempts.as_slice(),
        None | Some(Value::Null) => &[],
        Some(_) => return Err("`attempts` is no array"),
    };
    let (mut start_ms, mut end_ms, mut duration_ms): (_, _, Option<i64>) = (None, None, None);
    let (mut gpus, mut nodes) = (None, None);
    for attempt in attempts {
        let (start, end) = (time(attempt.get("start_time"))?, time(attempt.get("end_time"))?);
        start_ms = start_ms.or(start);
        // A job whose last attempt did not end did not.
        end_ms = end;
        if let Some((start, end)) = start.zip(end) {
            if end < start {
                return Err("an attempt ends before it starts");
            }
            duration_ms = Some(duration_ms.unwrap_or(0).saturating_add(end - start));
        }
        if let Some(Value::Array(detail)) = attempt.get("detail")
            && !detail.is_empty()
        {
            let of = |node: &Value| node.get("gpus").and_then(Value::as_array).map_or(0, Vec::len);
            gpus = u32::try_from(detail.iter().map(of).sum::<usize>()).ok();
            nodes = u32::try_from(detail.len()).ok();
        }
    }
    Ok(Row {
        id: text("jobid"),
        submit_ms,
        start_ms,
        end_ms,
        // It would go on for longer than its earlier attempts did.
        duration_ms: duration_ms.filter(|_| end_ms.is_some()),
        gpus,
        nodes,
        user: text("user"),
        queue: text("vc"),
        state: State::of(text("status")),
        attempts: u32::try_from(attempts.len()).unwrap_or(u32::MAX),
        ..Row::default()
    })
}

fn time(value: Option<&Value>) -> Result<Option<i64>, &'static str> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_none(text) => Ok(None),
        Some(Value::String(text)) => calendar_ms(text).map(Some).ok_or("a time is not written as YYYY-MM-DD HH:MM:SS"),
        Some(_) => Err("a time is no text"),
    }
}
