//! Fixed lists of jobs, written.

use serde::Serialize;
use std::io::{self, Write};

/// The error for what a workload file cannot say.
#[must_use]
pub fn cannot_be_written(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Writes the list of jobs of a workload file, one after the other; `raw` says what stands in the file of a job, beside the one above it, or
/// why no file can say that.
///
/// ```
/// use sched_distill_core::workload::write_list;
/// let mut text = Vec::new();
/// write_list(&[1, 2], &mut text, |&job, above| Ok([job, above.copied().unwrap_or(0)]))?;
/// assert_eq!(text, b"[\n[1,0],\n[2,1]\n]");
/// let problem = write_list(&[1], &mut text, |_, _| Err::<u8, _>("is none".to_owned())).map_err(|e| e.to_string());
/// assert_eq!(problem, Err("job 0: is none".to_owned()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// What cannot be written, no jobs, and the first that no file can say.
pub fn write_list<J, R: Serialize>(
    jobs: &[J],
    out: &mut dyn Write,
    mut raw: impl FnMut(&J, Option<&J>) -> Result<R, String>,
) -> io::Result<()> {
    if jobs.is_empty() {
        return Err(cannot_be_written("there are no jobs to write".to_owned()));
    }
    let mut above = None;
    for (place, job) in jobs.iter().enumerate() {
        let raw = raw(job, above).map_err(|problem| cannot_be_written(format!("job {place}: {problem}")))?;
        out.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &raw)?;
        above = Some(job);
    }
    out.write_all(b"\n]")
}
