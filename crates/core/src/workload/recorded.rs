//! Jobs of a recorded cluster, as Microsoft published those of Philly: when they were submitted, how long they ran, on how many GPUs.

use super::{Table, WorkloadError, duration};
use crate::rng::Stream;
use std::path::Path;

/// What the file has to have, for errors.
pub const RECORDED_COLUMNS: &str = "recorded jobs with the columns submit_s, duration_s, num_gpus, vc";

/// A job as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedJob {
    /// Its row in the file, from 0.
    pub row: u64,
    /// When it was submitted, ms.
    pub submit_ms: f64,
    /// How long it ran, ms; at least 1 s.
    pub duration_ms: f64,
    /// On how many devices.
    pub devices: u32,
}

/// Recorded jobs, and how many of them make an episode.
#[derive(Clone, Debug)]
pub struct RecordedJobs {
    /// At least one, in order of submission.
    all: Vec<RecordedJob>,
    jobs: usize,
}

impl RecordedJobs {
    /// Reads a file: the rows of one virtual cluster, or all. A job has at most so many devices, and `what` says why.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, lacks a column, or has a cell that is not allowed; no row of that virtual cluster.
    pub fn load(
        path: &Path,
        cluster: Option<&str>,
        jobs: u32,
        most_devices: u32,
        what: &str,
    ) -> Result<Self, WorkloadError> {
        let all = rows(&Table::load(path)?, cluster, most_devices, what);
        let all = all.map_err(|problem| WorkloadError::Format { path: path.to_owned(), problem })?;
        Ok(Self { jobs: (jobs as usize).min(all.len()), all })
    }

    /// All of them, in order of submission; at least one.
    #[must_use]
    pub fn all(&self) -> &[RecordedJob] {
        &self.all
    }

    /// What an episode of a table that is not cut by time is.
    #[must_use]
    pub fn note(&self) -> String {
        let [jobs, _, span_ms] = self.extent(|_| 0.0);
        format!(
            "an episode has {jobs:.0} rows in a row, drawn from {} in {}, on a cluster that is not theirs: `size=N` cuts the table by time, for a \
             cluster with N GPUs",
            self.all.len(),
            duration(span_ms)
        )
    }

    /// Jobs of an episode, what `of` says of a job in the mean over all, and the time from the first to the last submission, ms.
    pub fn extent(&self, of: impl Fn(&RecordedJob) -> f64) -> [f64; 3] {
        let mean = self.all.iter().map(of).sum::<f64>() / self.all.len() as f64;
        let [first, last] = [self.all.first(), self.all.last()].map(|job| job.map_or(0.0, |job| job.submit_ms));
        [self.jobs as f64, mean, last - first]
    }

    /// The jobs of the episode with this seed, in order of submission, each with the time since the first was submitted, ms:
    /// consecutive rows from one on that the seed draws.
    pub fn episode(&self, seed: u64) -> impl Iterator<Item = (f64, &RecordedJob)> {
        let first = Stream::new(seed, "recorded jobs").below(self.all.len() - self.jobs + 1);
        let rows = &self.all[first..first + self.jobs];
        let start_ms = rows.first().map_or(0.0, |row| row.submit_ms);
        rows.iter().map(move |row| (row.submit_ms - start_ms, row))
    }
}

fn rows(table: &Table, cluster: Option<&str>, most: u32, what: &str) -> Result<Vec<RecordedJob>, String> {
    let submitted = table.numbers("submit_s", 0.0..=1e12)?;
    let durations = table.numbers("duration_s", 0.0..=1e9)?;
    let sizes = table.counts("num_gpus", 1..=most).map_err(|problem| format!("{problem}; {what}"))?;
    let clusters = if cluster.is_some() { table.texts("vc")? } else { Vec::new() };
    let rows = submitted.into_iter().zip(durations).zip(sizes).enumerate();
    let mut rows: Vec<RecordedJob> = rows
        .filter(|(row, _)| cluster.is_none_or(|cluster| clusters[*row] == cluster))
        .map(|(row, ((submit_s, duration_s), devices))| RecordedJob {
            row: row as u64,
            submit_ms: 1e3 * submit_s,
            // Jobs that ended at once are taken to have run for a second.
            duration_ms: 1e3 * duration_s.max(1.0),
            devices,
        })
        .collect();
    if rows.is_empty() {
        let mut known: Vec<&str> = clusters.iter().map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        return Err(format!("no row has vc={}; there are {}", cluster.unwrap_or_default(), known.join(", ")));
    }
    rows.sort_by(|a, b| a.submit_ms.total_cmp(&b.submit_ms));
    Ok(rows)
}
