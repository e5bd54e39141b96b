//! Which jobs are there, and what is not known of them?

use crate::{
    HistoryError,
    skips::{Skipped, Skips},
};
use std::{collections::HashSet, path::Path, sync::Arc};

/// Jobs that are held at most.
const MOST_JOBS: usize = 50_000_000;

/// A job without inner structure: resources that it held for some time.
///
/// Times are ms since the first submission of the [log](JobLog::origin_ms).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatJob {
    /// Its place among the rows of the log, those that were left out included, from 0.
    pub row: u64,
    /// What it is called in the log.
    pub id: Box<str>,
    /// When it was submitted.
    pub submit_ms: i64,
    /// When it was started first; never before it was submitted.
    pub start_ms: Option<i64>,
    /// When it ended; never before it was started.
    pub end_ms: Option<i64>,
    /// How long it ran, all attempts together; not below 0. Where it was suspended or tried again, that is less than from start to end.
    pub duration_ms: i64,
    /// GPUs that it ran on or asked for; `None` if the log does not say.
    pub gpus: Option<u32>,
    /// Cores; `None` if the log does not say.
    pub cpus: Option<u32>,
    /// Nodes; `None` if the log does not say.
    pub nodes: Option<u32>,
    /// Who submitted it.
    pub user: Option<Arc<str>>,
    /// Queue, partition or virtual cluster.
    pub queue: Option<Arc<str>>,
    /// How it ended.
    pub state: State,
    /// When it should have ended; never before it was submitted.
    pub deadline_ms: Option<i64>,
    /// What it trains, if the log says.
    pub model: Option<Arc<str>>,
    /// Iterations that it took, if the log says.
    pub iterations: Option<u64>,
    /// How often it was started, as far as the log tells; at least 1.
    pub attempts: u32,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It did what it was to do.
    Completed,
    /// It failed, or what it ran on did.
    Failed,
    /// A user, a limit of time or another job ended it.
    Killed,
    /// Something else, or the log does not say.
    #[default]
    Other,
}

impl State {
    /// A state by the word that schedulers have for it.
    pub(super) fn of(text: &str) -> Self {
        // Slurm has `CANCELLED by 1000`, and `CANCELLED+` where the column is too narrow.
        let word = text.trim().split([' ', '+']).next().unwrap_or_default().to_ascii_lowercase();
        match &*word {
            "completed" | "complete" | "pass" | "passed" | "finished" | "success" | "succeeded" | "done"
            | "terminated" => Self::Completed,
            "failed" | "fail" | "failure" | "error" | "node_fail" | "boot_fail" | "out_of_memory" => Self::Failed,
            "killed" | "cancelled" | "canceled" | "timeout" | "deadline" | "preempted" | "revoked" | "stopped" => {
                Self::Killed
            }
            _ => Self::Other,
        }
    }
}

/// The most that was in use at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostUsed {
    /// GPUs.
    pub gpus: u64,
    /// Cores, maybe at another time.
    pub cpus: u64,
    /// Jobs whose start and end are known, on which this rests.
    pub jobs: usize,
}

/// The jobs of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobLog {
    /// In the order in which they were submitted; those of one time in that of the log.
    pub jobs: Vec<FlatJob>,
    /// What was left out, by reason, in the order in which the reasons came up.
    pub skipped: Vec<Skipped>,
    /// When the first job was submitted, ms on the clock of the log.
    pub origin_ms: i64,
    /// Whether that clock is known to count from 1970. Times without a zone are taken for UTC.
    pub is_since_1970: bool,
    /// Nodes of the cluster, if the log says.
    pub cluster_nodes: Option<u64>,
    /// Cores of the cluster, if the log says.
    pub cluster_cpus: Option<u64>,
    /// Where the file is cut or damaged, if it is.
    pub cut: Option<String>,
    /// What cannot be seen in the jobs, and what in them has to be taken with care.
    pub(super) cautions: Vec<&'static str>,
}

impl JobLog {
    /// How many rows were left out.
    #[must_use]
    pub fn skipped_rows(&self) -> u64 {
        self.skipped.iter().map(|skipped| skipped.count).sum()
    }

    /// The most GPUs and cores that were in use at one time, by starts and ends; `None` if there is no job with both. A job holds what it
    /// has from its start to its end, gaps between attempts included. Of two jobs, one that ends when the other starts has made room.
    #[must_use]
    pub fn most_used(&self) -> Option<MostUsed> {
        let mut changes = Vec::new();
        for job in &self.jobs {
            if let (Some(start), Some(end)) = (job.start_ms, job.end_ms) {
                let (gpus, cpus) = (i64::from(job.gpus.unwrap_or(0)), i64::from(job.cpus.unwrap_or(0)));
                // One that takes no time is never there.
                changes.push((start, 1, if start < end { [gpus, cpus] } else { [0; 2] }));
                changes.push((end, 0, if start < end { [-gpus, -cpus] } else { [0; 2] }));
            }
        }
        changes.sort_unstable();
        let (mut now, mut most) = ([0; 2], [0; 2]);
        for (_, _, change) in &changes {
            for ((now, most), change) in now.iter_mut().zip(&mut most).zip(change) {
                *now += change;
                *most = (*most).max(*now);
            }
        }
        let [gpus, cpus] = most.map(i64::unsigned_abs);
        (!changes.is_empty()).then_some(MostUsed { gpus, cpus, jobs: changes.len() / 2 })
    }

    /// What is missing, and what was left out, each in a sentence.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let n = self.jobs.len();
        let lacking = |lacks: fn(&FlatJob) -> bool| self.jobs.iter().filter(|job| lacks(job)).count();
        let missing = |count: usize, what: &str, so: &str| match count {
            0 => None,
            _ if count == n => Some(format!("no job has {what}: {so}")),
            _ => Some(format!("{count} of {n} jobs have no {}: {so}", what.trim_start_matches("a "))),
        };
        let mut notes = Vec::new();
        notes.extend(self.cut.clone());
        notes.extend(missing(lacking(|job| job.start_ms.is_none()), "a start", "how long they waited is not known"));
        let resources = lacking(|job| job.gpus.is_none() && job.cpus.is_none() && job.nodes.is_none());
        notes.extend(missing(resources, "a number of GPUs, cores or nodes", "what they ran on is not known"));
        if self.cluster_nodes.is_none() && self.cluster_cpus.is_none() {
            let used = match self.most_used() {
                Some(most) => {
                    format!("at most {} GPUs and {} cores were in use at one time", most.gpus, most.cpus)
                }
                None => "and without starts and ends it cannot be seen from the jobs".to_owned(),
            };
            notes.push(format!("the size of the cluster is not in the log; {used}"));
        }
        notes.extend(self.cautions.iter().map(|&caution| caution.to_owned()));
        notes.extend(self.skipped.iter().map(Skipped::to_string));
        notes
    }
}

/// A job as a row has it: times on the clock of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'a> {
    pub(super) id: &'a str,
    pub(super) submit_ms: i64,
    pub(super) start_ms: Option<i64>,
    pub(super) end_ms: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) gpus: Option<u32>,
    pub(super) cpus: Option<u32>,
    pub(super) nodes: Option<u32>,
    pub(super) user: &'a str,
    pub(super) queue: &'a str,
    pub(super) state: State,
    pub(super) deadline_ms: Option<i64>,
    pub(super) model: &'a str,
    pub(super) iterations: Option<u64>,
    pub(super) attempts: u32,
}

/// Takes in rows.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) log: JobLog,
    names: HashSet<Arc<str>>,
    skips: Skips,
    /// Rows so far.
    rows: u64,
}

impl Builder {
    /// Leaves a row out.
    pub(super) fn skip(&mut self, reason: &str, at: u64) {
        self.skip_shown(reason, at, "");
    }

    /// Leaves a row out for what stands in it.
    pub(super) fn skip_shown(&mut self, reason: &str, at: u64, text: &str) {
        self.rows += 1;
        self.skips.skip(reason, at, text);
    }

    /// Takes a row in, or leaves it out if it cannot be a job.
    pub(super) fn take(&mut self, row: Row<'_>, at: u64, path: &Path) -> Result<(), HistoryError> {
        let from_to = row.start_ms.zip(row.end_ms).map(|(start, end)| end - start);
        let Some(duration_ms) = row.duration_ms.or(from_to) else {
            self.skip("it has not run or not ended, so that its duration is not known", at);
            return Ok(());
        };
        let problem = match () {
            () if duration_ms < 0 => "its duration is below 0",
            () if row.start_ms.is_some_and(|start| start < row.submit_ms) => "it starts before it is submitted",
            () if row.end_ms.is_some_and(|end| end < row.start_ms.unwrap_or(row.submit_ms)) => {
                "it ends before it starts"
            }
            () if row.deadline_ms.is_some_and(|deadline| deadline < row.submit_ms) => {
                "its deadline is before it is submitted"
            }
            () => "",
        };
        if !problem.is_empty() {
            self.skip(problem, at);
            return Ok(());
        }
        if self.log.jobs.len() >= MOST_JOBS {
            return Err(HistoryError::TooMuch { path: path.to_owned(), most: MOST_JOBS, what: "jobs" });
        }
        let [user, queue, model] = [row.user, row.queue, row.model].map(|name| self.name(name));
        self.log.jobs.push(FlatJob {
            row: self.rows,
            id: row.id.into(),
            submit_ms: row.submit_ms,
            start_ms: row.start_ms,
            end_ms: row.end_ms,
            duration_ms,
            gpus: row.gpus,
            cpus: row.cpus,
            nodes: row.nodes,
            user,
            queue,
            state: row.state,
            deadline_ms: row.deadline_ms,
            model,
            iterations: row.iterations,
            attempts: row.attempts.max(1),
        });
        self.rows += 1;
        Ok(())
    }

    /// A name, held once.
    fn name(&mut self, text: &str) -> Option<Arc<str>> {
        if super::time::is_none(text) {
            return None;
        }
        if let Some(name) = self.names.get(text) {
            return Some(name.clone());
        }
        let name: Arc<str> = text.into();
        self.names.insert(name.clone());
        Some(name)
    }

    /// The log, with times from the first submission on.
    ///
    /// # Errors
    ///
    /// One without jobs: `rows` says what they are, `advice` what to do.
    pub(super) fn finish(mut self, path: &Path, rows: &str, advice: &str) -> Result<JobLog, HistoryError> {
        self.log.jobs.sort_by_key(|job| job.submit_ms);
        let Some(origin) = self.log.jobs.first().map(|job| job.submit_ms) else {
            return Err(self.skips.nothing(path, self.log.cut.as_deref(), rows, advice));
        };
        self.log.origin_ms = origin;
        self.log.skipped = self.skips.skipped;
        for job in &mut self.log.jobs {
            job.submit_ms -= origin;
            for time in [&mut job.start_ms, &mut job.end_ms, &mut job.deadline_ms].into_iter().flatten() {
                *time -= origin;
            }
        }
        Ok(self.log)
    }
}
