//! What happened?

use super::{Queries, Rebuilding, dag::DagJob, rebuild, tasks::Tasks, totals::Totals};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// What was read: the applications of a file or folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparkLog {
    /// At least one, in the order of the names of their files.
    pub applications: Vec<Application>,
    /// Files of a folder that were left out, each with the reason.
    pub left_out: Vec<(PathBuf, String)>,
}

impl SparkLog {
    /// Ids of applications of which there are several attempts, with the attempts.
    #[must_use]
    pub fn attempts(&self) -> Vec<(&str, Vec<&str>)> {
        let mut by_id: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for application in &self.applications {
            if let Some(id) = &application.id {
                by_id.entry(id).or_default().push(application.attempt.as_deref().unwrap_or("1"));
            }
        }
        by_id.into_iter().filter(|(_, attempts)| attempts.len() > 1).collect()
    }

    /// What a reader should know before he relies on this, a sentence each: what was left out, cut or damaged.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|(path, reason)| format!("{}: left out: {reason}", path.display()));
        let attempts = self.attempts();
        let attempts = attempts
            .iter()
            .map(|(id, attempts)| format!("application {id:?} has {} attempts here: {attempts:?}", attempts.len()));
        let of_applications = self.applications.iter().flat_map(Application::notes);
        left_out.chain(attempts).chain(of_applications).collect()
    }
}

/// One application, or one attempt of it.
///
/// All times are milliseconds since 1970 by the driver's clock. What a log does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// The files of its log, in order.
    pub files: Vec<PathBuf>,
    /// Version of Spark, such as `3.5.3` or `3.3.0-amzn-0`; of Databricks that of the Spark it stands on.
    pub spark_version: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its id, such as `application_1603128018386_7846`.
    pub id: Option<String>,
    /// The number of this attempt, where the cluster manager counts them.
    pub attempt: Option<String>,
    /// Who submitted it.
    pub user: Option<String>,
    /// When it started.
    pub start_ms: Option<i64>,
    /// When it ended; `None` if it was still running or was killed.
    pub end_ms: Option<i64>,
    /// `spark.scheduler.mode`, where it is set: `FIFO` (Spark's default) or `FAIR`.
    pub scheduling_mode: Option<String>,
    /// `spark.task.cpus`, where it is set: cores that a task takes; Spark's default is 1.
    pub task_cpus: Option<u32>,
    /// In the order in which they appear; tasks name them by their place here.
    pub executors: Vec<Executor>,
    /// In the order in which they were submitted.
    pub jobs: Vec<Job>,
    /// By id, then attempt, those included that never ran.
    pub stages: Vec<Stage>,
    /// In the order in which they were launched.
    pub tasks: Tasks,
    /// By id.
    pub sql_executions: Vec<SqlExecution>,
    /// How reading it went.
    pub reading: Reading,
}

/// An executor: a process on a node that runs tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// Its id, a number or `driver`.
    pub id: String,
    /// The node it runs on.
    pub host: Option<String>,
    /// How many cores it has; 0 if the log does not say.
    pub cores: u32,
    /// When it was added; `None` if the log does not say.
    pub added_ms: Option<i64>,
    /// When it was removed; `None` if it stayed.
    pub removed_ms: Option<i64>,
    /// Why it was removed, in a line.
    pub removed_reason: Option<String>,
}

/// A job of Spark: what one action asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: u32,
    /// When it was submitted.
    pub submission_ms: Option<i64>,
    /// When it was completed; `None` if the log ends before.
    pub completion_ms: Option<i64>,
    /// How it ended; `None` if the log ends before.
    pub result: Option<JobResult>,
    /// Ids of its stages, those that are skipped included.
    pub stage_ids: Vec<u32>,
    /// The SQL execution that it belongs to.
    pub sql_execution: Option<i64>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// `spark.scheduler.pool`: its pool in FAIR mode.
    pub pool: Option<Arc<str>>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// As it should.
    Succeeded,
    /// It did not; why, in a line, where the log says so.
    Failed(Option<String>),
}

/// An attempt of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its id.
    pub id: u32,
    /// Which attempt, from 0.
    pub attempt: u32,
    /// Its name, usually an action and a place in a program.
    pub name: Arc<str>,
    /// How many tasks it has. An attempt after a failure has those only that are missing.
    pub num_tasks: u32,
    /// Ids of the stages whose output it reads.
    pub parents: Vec<u32>,
    /// The largest id among its RDDs, which is that of the RDD it computes: two stages that have it in common compute the same.
    pub final_rdd: Option<u32>,
    /// The first job that lists it, by its place in [`Application::jobs`].
    pub job: Option<u32>,
    /// Whether it was submitted, or has tasks. One that never was is skipped, as its output was there, or its job ended before.
    pub was_submitted: bool,
    /// When it was submitted.
    pub submission_ms: Option<i64>,
    /// When it was completed, failed or not.
    pub completion_ms: Option<i64>,
    /// Why it failed, in a line, if it did.
    pub failure: Option<String>,
}

impl Stage {
    /// Whether it was completed without failure.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.completion_ms.is_some() && self.failure.is_none()
    }
}

/// An end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id: one per attempt of a task in the application.
    pub id: i64,
    /// When the driver launched it.
    pub launch_ms: i64,
    /// When the driver learned that it was finished.
    pub finish_ms: i64,
    /// `Executor Run Time`, ms: the time within the task's own code, without what it takes to send and decode it. 0 where metrics lack.
    pub run_time_ms: i64,
    /// Id of its stage.
    pub stage: u32,
    /// Attempt of its stage.
    pub stage_attempt: u32,
    /// Its place in that attempt of its stage.
    pub index: u32,
    /// Which attempt of that place, from 0.
    pub attempt: u32,
    /// Where it ran, by the place in [`Application::executors`].
    pub executor: u32,
    /// How it ended.
    pub end: TaskEnd,
    /// How near its input was.
    pub locality: Locality,
    /// Whether the same task of the same attempt of its stage had succeeded before it ended: its output was lost, or a copy was faster.
    pub is_repeated: bool,
    /// Whether it was launched as a copy of one that took long.
    pub is_speculative: bool,
    /// Whether it wrote for a shuffle, rather than to give a result.
    pub is_shuffle_map: bool,
}

impl Task {
    /// How long it took, from launch to finish, ms; never negative.
    #[must_use]
    pub fn duration_ms(&self) -> i64 {
        self.finish_ms.saturating_sub(self.launch_ms).max(0)
    }

    /// Whether it is the first success of its task in that attempt of its stage.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.end == TaskEnd::Succeeded && !self.is_repeated
    }
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// As it should.
    Succeeded,
    /// It failed, whether by itself, by its input (`FetchFailed`) or with its executor.
    Failed,
    /// It was killed, mostly because a copy of it was faster or its stage was cancelled.
    Killed,
    /// It had ended before, and its output is lost with its executor: nothing ran between launch and finish this time, which are those of
    /// the end before.
    Resubmitted,
}

/// How near the input of a task was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// In the executor's own process.
    Process,
    /// On the same node.
    Node,
    /// In the same rack.
    Rack,
    /// Elsewhere.
    Any,
    /// It has no place that it prefers.
    NoPreference,
    /// The log does not say.
    Unknown,
}

/// A SQL query or command, as the SQL tab of Spark's pages lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlExecution {
    /// Its id, which its jobs have in [`Job::sql_execution`].
    pub id: i64,
    /// What it was called, in a line.
    pub description: Option<String>,
    /// When it began, planning included.
    pub start_ms: Option<i64>,
    /// When it ended.
    pub end_ms: Option<i64>,
}

/// How reading a log went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Bytes of text, unpacked.
    pub bytes: u64,
    /// Lines, empty ones not counted.
    pub lines: u64,
    /// Lines with events that are kept, or counted as `tasks_started`.
    pub events: u64,
    /// Lines that could not be read, and were skipped.
    pub malformed: u64,
    /// The first of them.
    pub first_malformed: Option<Malformed>,
    /// Tasks that were launched; as many as ended if none was running at the end.
    pub tasks_started: u64,
    /// Ends of jobs whose beginning is not in the log, and second beginnings of one job.
    pub odd_jobs: u64,
    /// Where a file ends early or is damaged: from there on nothing was read of it. Also files that are missing, and a second application
    /// in one log, which is left out.
    pub cuts: Vec<String>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Its file.
    pub file: PathBuf,
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// How many executors there are from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From when on.
    pub time_ms: i64,
    /// Executors that are alive.
    pub executors: u32,
    /// Cores that they have together.
    pub cores: u64,
}

impl Application {
    /// How many executors were alive, from each time on at which this changed. Those of which the log does not say when they were added
    /// are not in it.
    #[must_use]
    pub fn executor_changes(&self) -> Vec<Change> {
        let mut deltas: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for executor in &self.executors {
            let Some(added_ms) = executor.added_ms else { continue };
            let cores = i64::from(executor.cores);
            let removed = executor.removed_ms.map(|removed_ms| (removed_ms.max(added_ms), -1));
            for (time_ms, sign) in [Some((added_ms, 1)), removed].into_iter().flatten() {
                let delta = deltas.entry(time_ms).or_default();
                *delta = (delta.0 + sign, delta.1 + sign * cores);
            }
        }
        let (mut executors, mut cores) = (0, 0);
        let mut changes = Vec::with_capacity(deltas.len());
        for (time_ms, delta) in deltas {
            (executors, cores) = (executors + delta.0, cores + delta.1);
            let change = Change {
                time_ms,
                executors: u32::try_from(executors).unwrap_or_default(),
                cores: u64::try_from(cores).unwrap_or_default(),
            };
            if delta != (0, 0) {
                changes.push(change);
            }
        }
        changes
    }

    /// The most executors that were alive at once, and the most cores.
    #[must_use]
    pub fn most_executors(&self) -> (u32, u64) {
        let changes = self.executor_changes();
        let executors = changes.iter().map(|change| change.executors).max();
        (executors.unwrap_or(0), changes.iter().map(|change| change.cores).max().unwrap_or(0))
    }

    /// How many tasks an executor, by its place, runs at once at most: its cores by those that a task takes, if the log says so.
    pub(super) fn most_tasks_on(&self, executor: u32) -> usize {
        match self.executors.get(executor as usize).map(|executor| executor.cores) {
            None | Some(0) => usize::MAX,
            Some(cores) => (cores / self.task_cpus.unwrap_or(1).max(1)).max(1) as usize,
        }
    }

    /// Sums over the tasks of each attempt of a stage that ran any, by id and attempt.
    #[must_use]
    pub fn stage_totals(&self) -> BTreeMap<(u32, u32), Totals> {
        Totals::of_stages(self)
    }

    /// Sums over the tasks of each job that ran any, by id. A stage that several jobs list counts for the first of them.
    #[must_use]
    pub fn job_totals(&self) -> BTreeMap<u32, Totals> {
        Totals::of_jobs(self)
    }

    /// The DAGs that were scheduled, and when which task of them ran where; all at once, with a copy of what was read. A large log takes
    /// less memory by [`Application::each_query`].
    #[must_use]
    pub fn queries(&self) -> Queries {
        let mut jobs: Vec<(usize, DagJob)> = Vec::new();
        let rebuilding = self.clone().each_query(&mut |place, job| jobs.push((place, job)));
        jobs.sort_unstable_by_key(|(place, _)| *place);
        Queries { jobs: jobs.into_iter().map(|(_, job)| job).collect(), rebuilding }
    }

    /// Hands over the DAGs that were scheduled, each when its last task was launched, with its place in the order in which they were
    /// submitted. Tasks are forgotten on the way, so that it takes little more memory than they do by themselves.
    pub fn each_query(self, take: &mut dyn FnMut(usize, DagJob)) -> Rebuilding {
        rebuild::rebuild(self, take)
    }

    /// What a reader should know before he relies on this, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let name = self.id.as_deref().or(self.name.as_deref()).unwrap_or("an application without a name");
        let reading = &self.reading;
        let mut notes: Vec<String> = reading.cuts.clone();
        if let Some(first) = &reading.first_malformed {
            let file = first.file.display();
            notes.push(match reading.malformed {
                1 => format!("{file}: line {} cannot be read and is left out: {}", first.line, first.problem),
                n => format!(
                    "{file}: {n} lines cannot be read and are left out, the first is {}: {}",
                    first.line, first.problem
                ),
            });
        }
        if self.start_ms.is_some() && self.end_ms.is_none() {
            let running = self.jobs.iter().filter(|job| job.result.is_none()).count();
            notes.push(format!("{name:?}: the log ends before the application did, with {running} jobs running"));
        }
        let ended = self.tasks.iter().filter(|task| task.end != TaskEnd::Resubmitted).count() as u64;
        if reading.tasks_started > ended {
            notes.push(format!("{name:?}: {} tasks were launched and never ended", reading.tasks_started - ended));
        }
        if reading.odd_jobs > 0 {
            notes.push(format!("{name:?}: {} events of jobs have no beginning, or a second one", reading.odd_jobs));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_counted_as_they_come_and_go() {
        let executor = |added_ms, removed_ms, cores| Executor {
            id: String::new(),
            host: None,
            cores,
            added_ms,
            removed_ms,
            removed_reason: None,
        };
        let executors = vec![
            executor(Some(10), Some(30), 4),
            executor(Some(20), None, 2),
            executor(None, Some(25), 8),
            executor(Some(30), Some(5), 1),
            executor(Some(40), None, 8),
        ];
        let application = Application { executors, ..Application::default() };
        let changes: Vec<_> =
            application.executor_changes().iter().map(|c| (c.time_ms, c.executors, c.cores)).collect();
        assert_eq!(changes, [(10, 1, 4), (20, 2, 6), (30, 1, 2), (40, 2, 10)]);
        assert_eq!(application.most_executors(), (2, 10));
    }
}
