//! Which DAG is that?
//!
//! What is submitted to a cluster as one thing is a SQL query or command, or a job of Spark that belongs to none. Its DAG has the stages that
//! ran tasks, and the edges that the log records between them.

use super::wave::{Wave, Waves};
use std::sync::Arc;

/// The DAGs of an application.
///
/// # Order by time
///
/// The log records which stage reads the shuffled output of which. What else a stage waited for leaves no edge: tables that are broadcast,
/// results of subqueries, and all that a driver waits for before it goes on within one query. Such a stage is submitted after the other one
/// has ended, and without an edge it would be scheduled too early. Therefore [`DagJob::assumed_edges`] lead from each stage whose output no
/// other stage of the query is recorded to read to the stages that begin jobs which were submitted after it had ended, but for those that
/// follow from others. They are kept apart, as some of them are chance: a stage may have waited for something else. With all of them, no
/// stage can be scheduled earlier than it was in relation to those before it; without them a DAG may have less order than the query had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queries {
    /// In the order in which they were submitted.
    pub jobs: Vec<DagJob>,
    /// How rebuilding them went.
    pub rebuilding: Rebuilding,
}

/// How rebuilding the DAGs of an application went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilding {
    /// DAGs.
    pub jobs: usize,
    /// Those that failed, or were not complete when the log ends.
    pub incomplete_jobs: usize,
    /// Edges that the log records.
    pub edges: usize,
    /// Edges that are assumed by time.
    pub assumed_edges: usize,
    /// DAGs with any of them.
    pub ordered_jobs: usize,
    /// DAGs without assumed edges, as there would be more than 100,000.
    pub unordered_jobs: usize,
    /// Stages that jobs list and that were never submitted.
    pub skipped_stages: usize,
    /// Those of them for which the stage is known that ran in their place.
    pub matched_stages: usize,
    /// Stages with a parent that ran nowhere in the log, and whose parents are those before it.
    pub passed_stages: usize,
    /// Stages whose parents were not searched to the end, as a log that lists more than 5 million stages over and over takes too long.
    pub cut_searches: usize,
    /// Stages of which there were several attempts.
    pub repeated_stages: usize,
    /// Edges from a stage of another DAG, whose output was used again. There is no edge for them.
    pub outside_edges: usize,
    /// Edges that lead from a stage to one that was submitted before it, as only a damaged log has them. They are left out.
    pub odd_edges: usize,
    /// Jobs of Spark in which no task succeeded, and which are in no DAG.
    pub empty_jobs: usize,
    /// Runs of tasks in DAGs that failed.
    pub failed_runs: usize,
    /// Those that were killed.
    pub killed_runs: usize,
    /// Those that succeeded beside the one that counts.
    pub copies: usize,
    /// Runs of tasks that are in no DAG: no task of their stage succeeded, or its job is not in the log.
    pub outside_runs: usize,
    /// Stages whose parents were all completed.
    pub submissions: usize,
    /// From when the last of their parents was completed until they were submitted, ms, over all of them.
    pub submissions_ms: i64,
}

/// Stages that were submitted to the cluster as one: a SQL query or command, or a job that belongs to none.
#[derive(Clone, Debug, PartialEq)]
pub struct DagJob {
    /// The SQL execution.
    pub sql_execution: Option<i64>,
    /// Ids of its jobs of Spark, by submission.
    pub job_ids: Vec<u32>,
    /// What it was called: the description of the query, or else of a job, or else the name of its last stage.
    pub name: String,
    /// Its pool in FAIR mode.
    pub pool: Option<Arc<str>>,
    /// When its first job was submitted, ms since 1970.
    pub submission_ms: i64,
    /// When its last job was completed, ms since 1970; `None` if the log ends before.
    pub completion_ms: Option<i64>,
    /// Whether all its jobs succeeded, and all its stages are complete. Of others the DAG is what ran of it.
    pub is_complete: bool,
    /// In the order in which they were submitted, so that edges lead from earlier to later ones.
    pub stages: Vec<DagStage>,
    /// Edges that the log records, `[parent, child]` by place in `stages`, sorted.
    pub edges: Vec<[u32; 2]>,
    /// Edges that the log does not record, and that [order by time](Queries#order-by-time) suggests; none of them is in `edges`.
    pub assumed_edges: Vec<[u32; 2]>,
}

impl DagJob {
    /// The edges that are recorded and those that are assumed, sorted.
    #[must_use]
    pub fn all_edges(&self) -> Vec<[u32; 2]> {
        let mut edges = [self.edges.as_slice(), &self.assumed_edges].concat();
        edges.sort_unstable();
        edges
    }
}

/// A stage of a DAG, its attempts taken together.
#[derive(Clone, Debug, PartialEq)]
pub struct DagStage {
    /// Its id in the log.
    pub id: u32,
    /// Its name.
    pub name: Arc<str>,
    /// Tasks that succeeded, in whatever attempt of the stage: as many as there are durations. Of copies that ran side by side, the first to
    /// end counts, and so does of runs that were repeated because output was lost.
    pub num_tasks: u32,
    /// When it was submitted first, ms since 1970.
    pub submission_ms: i64,
    /// When it was completed last, ms since 1970.
    pub completion_ms: Option<i64>,
    /// Runs of its tasks in the order of their launches, those included that do not count.
    pub runs: Vec<Run>,
    /// How many attempts of the stage there were.
    pub attempts: u32,
    /// Runs of tasks that failed.
    pub failed_tasks: u32,
    /// Runs of tasks that were killed.
    pub killed_tasks: u32,
    /// Runs of tasks that succeeded beside the one that counts.
    pub copies: u32,
    /// Whether an attempt of it was completed without failure.
    pub is_complete: bool,
}

impl Queries {
    /// Runs of tasks in all of them, those included that do not count.
    #[must_use]
    pub fn num_runs(&self) -> usize {
        self.jobs.iter().flat_map(|job| &job.stages).map(|stage| stage.runs.len()).sum()
    }
}

impl DagStage {
    /// Runs that count: one for each of its tasks.
    pub fn counting(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.counts)
    }

    /// How long they took.
    #[must_use]
    pub fn durations(&self) -> Waves {
        let mut durations = Waves::default();
        self.counting().for_each(|run| durations.push(run.wave, run.duration_ms()));
        durations
    }
}

/// A run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// By place in [`Application::executors`](super::Application::executors).
    pub executor: u32,
    /// When it was launched, ms since 1970.
    pub launch_ms: i64,
    /// When it was finished, ms since 1970.
    pub finish_ms: i64,
    /// What the executor had done before.
    pub wave: Wave,
    /// Whether its duration is among those of the stage. Others failed, were killed, or are copies.
    pub counts: bool,
}

impl Run {
    /// How long it took, from launch to finish, ms; never negative.
    #[must_use]
    pub fn duration_ms(&self) -> i64 {
        self.finish_ms.saturating_sub(self.launch_ms).max(0)
    }
}

impl Rebuilding {
    /// Takes a DAG into account whose tasks all ran.
    pub(super) fn count(&mut self, job: &DagJob) {
        self.jobs += 1;
        self.incomplete_jobs += usize::from(!job.is_complete);
        self.edges += job.edges.len();
        self.assumed_edges += job.assumed_edges.len();
        self.ordered_jobs += usize::from(!job.assumed_edges.is_empty());
        for stage in &job.stages {
            self.repeated_stages += usize::from(stage.attempts > 1);
            self.failed_runs += stage.failed_tasks as usize;
            self.killed_runs += stage.killed_tasks as usize;
            self.copies += stage.copies as usize;
        }
        let mut last_parent: Vec<Option<Option<i64>>> = vec![None; job.stages.len()];
        for [parent, child] in job.all_edges() {
            let ended = job.stages[parent as usize].completion_ms;
            let last = &mut last_parent[child as usize];
            // One that was never completed: nobody knows.
            *last = Some(last.map_or(ended, |last| last.zip(ended).map(|(a, b)| a.max(b))));
        }
        for (stage, ended) in job.stages.iter().zip(last_parent) {
            if let Some(Some(ended)) = ended {
                self.submissions += 1;
                let waited_ms = stage.submission_ms.saturating_sub(ended).max(0);
                self.submissions_ms = self.submissions_ms.saturating_add(waited_ms);
            }
        }
    }

    /// What a reader should know before he relies on this, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let Self { edges, assumed_edges, ordered_jobs, skipped_stages, .. } = self;
        let unmatched = skipped_stages.saturating_sub(self.matched_stages);
        [
            (
                *assumed_edges,
                format!(
                    "{assumed_edges} edges in {ordered_jobs} jobs are assumed by time beside the {edges} that the log records: broadcasts, \
                     subqueries and what a driver waits for leave none"
                ),
            ),
            (unmatched, format!("for {unmatched} of {skipped_stages} skipped stages no stage ran in their place")),
            (self.passed_stages, format!("{} stages have parents that ran nowhere in the log", self.passed_stages)),
            (self.cut_searches, format!("of {} stages the parents were not searched to the end", self.cut_searches)),
            (self.unordered_jobs, format!("in {} jobs too many edges would be assumed by time, and none is", self.unordered_jobs)),
            (self.outside_edges, format!("{} times output of another job was used again", self.outside_edges)),
            (self.odd_edges, format!("{} edges lead back in time and are left out", self.odd_edges)),
            (
                self.incomplete_jobs,
                format!("{} of {} jobs failed, or were not complete when the log ends", self.incomplete_jobs, self.jobs),
            ),
            (self.empty_jobs, format!("{} jobs of Spark ran no task to its end and are left out", self.empty_jobs)),
            (self.repeated_stages, format!("{} stages ran in several attempts, all of which count", self.repeated_stages)),
            (
                self.failed_runs + self.killed_runs + self.copies + self.outside_runs,
                format!(
                    "runs that count for no stage: {} failed, {} were killed, {} were copies or repeated, {} are of stages in no DAG",
                    self.failed_runs, self.killed_runs, self.copies, self.outside_runs
                ),
            ),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(_, note)| note)
        .collect()
    }
}
