//! Fixed lists of jobs from JSON files.

use super::{
    Cut, MOST_JOBS, Needed, WorkloadError,
    text::{MOST_JSON_BYTES, MOST_TEXT_BYTES, Text, too_long},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, SeqAccess, Visitor},
};
use std::{
    fmt,
    io::{BufReader, Read},
    marker::PhantomData,
    path::Path,
};

/// Reads a workload file, whose form is described in the document `docs`.
///
/// # Errors
///
/// An unreadable or empty file, text that is not JSON of this form, or more than 512 MiB of it.
pub fn read_json<R: DeserializeOwned>(path: &Path, docs: &str) -> Result<R, WorkloadError> {
    read_within(path, docs, MOST_TEXT_BYTES, MOST_JSON_BYTES)
}

/// The same: so many bytes at once, and so many in all.
fn read_within<R: DeserializeOwned>(path: &Path, docs: &str, at_once: u64, most: u64) -> Result<R, WorkloadError> {
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let other = |e: serde_json::Error| format(format!("not a workload ({docs}): {e}"));
    let Text { begin, rest, is_packed } = Text::open(path, at_once)?;
    let Some(rest) = rest else {
        if begin.trim().is_empty() {
            return Err(format(format!("the file is empty; expected a workload ({docs})")));
        }
        return serde_json::from_str(&begin).map_err(other);
    };
    // Of what is long, only the jobs are kept.
    let mut rest = BufReader::new(rest).take(most - begin.len() as u64);
    let found = serde_json::from_reader(begin.as_bytes().chain(&mut rest));
    match found {
        Err(_) if rest.limit() == 0 => Err(too_long(path, most, is_packed)),
        found => found.map_err(other),
    }
}

/// Reads a list of jobs, for `#[serde(deserialize_with)]`; what a short text can hold more than [`MOST_JOBS`] of is not kept in memory to be
/// counted afterwards.
///
/// # Errors
///
/// An entry that is no `R`, and one too many.
pub fn most_jobs<'de, D: Deserializer<'de>, R: Deserialize<'de>>(from: D) -> Result<Vec<R>, D::Error> {
    struct Jobs<R>(PhantomData<R>);
    impl<'de, R: Deserialize<'de>> Visitor<'de> for Jobs<R> {
        type Value = Vec<R>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MOST_JOBS} jobs")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<R>, A::Error> {
            let mut jobs = Vec::new();
            while let Some(job) = list.next_element()? {
                if jobs.len() == MOST_JOBS as usize {
                    return Err(A::Error::invalid_length(jobs.len() + 1, &self));
                }
                jobs.push(job);
            }
            Ok(jobs)
        }
    }
    from.deserialize_seq(Jobs(PhantomData))
}

/// Reads the jobs of a workload file one by one; each is read beside the one above it, and `events` says what it needs, and why. Of a list
/// that is cut no episode has all jobs: what its windows need counts there ([`History`](crate::simulation::History)).
///
/// # Errors
///
/// The first that is refused, or with which there are too many.
pub fn read_jobs<R, J>(
    path: &Path,
    cut: &Cut,
    raw: &[R],
    mut read: impl FnMut(&R, Option<&J>) -> Result<J, String>,
    mut events: impl FnMut(&J, Option<&J>) -> (f64, String),
) -> Result<Vec<J>, WorkloadError> {
    let (mut jobs, mut needed) = (Vec::<J>::with_capacity(raw.len()), Needed::default());
    for (place, raw) in raw.iter().enumerate() {
        let above = jobs.last();
        let refused = |problem| WorkloadError::Job { path: path.to_owned(), job: place, stage: None, problem };
        let job = read(raw, above).map_err(refused)?;
        let (events, needs) = events(&job, above);
        needed.add(if cut.is_whole() { events } else { 0.0 }, &needs).map_err(refused)?;
        jobs.push(job);
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::packing;
    use std::{fs::File, io::Write};

    #[derive(Deserialize)]
    struct Raw {
        #[serde(deserialize_with = "most_jobs")]
        jobs: Vec<u32>,
    }

    #[test]
    fn what_is_longer_than_a_text_is_read_as_it_comes() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("jobs.json.gz");
        let write = |blanks: usize, end: &str| -> Result<(), Box<dyn std::error::Error>> {
            let mut out = packing(File::create(&path)?);
            out.write_all(b"\xef\xbb\xbf{\"jobs\": [1, 2, ")?;
            out.write_all(&vec![b' '; blanks])?;
            out.write_all(end.as_bytes())?;
            out.finish()?;
            Ok(())
        };
        let read =
            || read_within::<Raw>(&path, "docs/x.md", 1 << 10, 1 << 20).map(|raw| raw.jobs).map_err(|e| e.to_string());
        write(0, "3]}")?;
        assert_eq!(read(), Ok(vec![1, 2, 3]));
        write(5000, "3, 4]}")?;
        assert_eq!(read(), Ok(vec![1, 2, 3, 4]));
        write(5000, "x]}")?;
        assert!(read().is_err_and(|said| said.contains("not a workload (docs/x.md): expected value at line 1")));
        write(1 << 20, "3]}")?;
        assert!(read().is_err_and(|said| said.contains("has more than 1 MiB of text when it is unpacked")));
        Ok(())
    }

    #[test]
    fn no_more_jobs_are_kept_than_are_allowed() {
        let text = |n: usize| format!(r#"{{"jobs": [0{}]}}"#, ",0".repeat(n - 1));
        assert_eq!(serde_json::from_str::<Raw>(&text(1_000_000)).map(|raw| raw.jobs.len()).ok(), Some(1_000_000));
        let said = serde_json::from_str::<Raw>(&text(1_000_001)).map_err(|e| e.to_string()).err();
        assert!(said.is_some_and(|said| said.contains("invalid length 1000001, expected at most 1000000 jobs")));
    }
}
