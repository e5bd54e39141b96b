//! Which DAG is that?
//!
//! What is submitted to a cluster as one thing is a SQL query or command, or a job of Spark that belongs to none. Its DAG has the stages that
//! ran tasks, and the edges that the log records between them.

use super::{
    log::{Application, Job, JobResult, Task, TaskEnd},
    resolve::Stages,
    wave::{self, Wave, Waves},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// The DAGs of an application, and the schedule as it was recorded.
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
    /// Runs of tasks in the order in which they were launched.
    pub schedule: Vec<Launch>,
    /// Stages that jobs list and that were never submitted.
    pub skipped_stages: usize,
    /// Those of them for which the stage is known that ran in their place.
    pub matched_stages: usize,
    /// Stages with a parent that ran nowhere in the log, and whose parents are those before it.
    pub passed_stages: usize,
    /// Stages whose parents were not searched to the end, as a log that lists more than 5 million stages over and over takes too long.
    pub cut_searches: usize,
    /// DAGs without assumed edges, as there would be more than 100,000.
    pub unordered_jobs: usize,
    /// Edges from a stage of another DAG, whose output was used again. There is no edge for them.
    pub outside_edges: usize,
    /// Edges that lead from a stage to one that was submitted before it, as only a damaged log has them. They are left out.
    pub odd_edges: usize,
    /// Jobs of Spark in which no task succeeded, and which are in no DAG.
    pub empty_jobs: usize,
    /// Runs of tasks that are in no DAG: no task of their stage succeeded, or its job is not in the log.
    pub outside_runs: usize,
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
    /// Durations of those tasks.
    pub durations: Waves,
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

/// A run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// By place in [`Queries::jobs`].
    pub job: u32,
    /// By place in [`DagJob::stages`].
    pub stage: u32,
    /// By place in [`Application::executors`].
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

impl Queries {
    /// Makes the DAGs of an application.
    pub(super) fn of(application: &Application) -> Self {
        let counting = counting(&application.tasks);
        let ran: HashSet<u32> = application
            .tasks
            .iter()
            .zip(&counting)
            .filter(|&(_, &counts)| counts)
            .map(|(task, _)| task.stage)
            .collect();
        let mut stages = Stages::of(application, &ran);
        let mut queries = Self { skipped_stages: stages.skipped, matched_stages: stages.matched(), ..Self::default() };
        let groups = groups(application, &ran, &stages);
        let with_tasks = groups.iter().map(|group| group.jobs.len()).sum();
        queries.empty_jobs = application.jobs.len().saturating_sub(with_tasks);
        // Where a stage stands: which DAG, and which place in it.
        let mut places: HashMap<u32, (u32, u32)> = HashMap::new();
        for (job, group) in (0..).zip(&groups) {
            places.extend((0..).zip(&group.stages).map(|(place, stage)| (stage.id, (job, place))));
        }
        for (job, group) in (0..).zip(&groups) {
            let job = queries.job(job, group, application, &mut stages, &places);
            queries.jobs.push(job);
        }
        queries.run(application, &counting, &places);
        queries
    }

    fn job(
        &mut self,
        place: u32,
        group: &Group<'_>,
        application: &Application,
        stages: &mut Stages<'_>,
        places: &HashMap<u32, (u32, u32)>,
    ) -> DagJob {
        let mut dag = Vec::with_capacity(group.stages.len());
        let mut edges = Vec::new();
        for (child, &Ran { submission_ms, id, .. }) in (0..).zip(&group.stages) {
            let attempts = stages.attempts(id);
            let submitted = attempts.iter().filter(|stage| stage.was_submitted);
            dag.push(DagStage {
                id,
                name: attempts.first().map_or_else(|| "".into(), |stage| Arc::clone(&stage.name)),
                num_tasks: 0,
                submission_ms,
                completion_ms: attempts.iter().filter_map(|stage| stage.completion_ms).max(),
                durations: Waves::default(),
                attempts: u32::try_from(submitted.count()).unwrap_or(u32::MAX),
                failed_tasks: 0,
                killed_tasks: 0,
                copies: 0,
                is_complete: attempts.iter().any(|stage| stage.has_succeeded()),
            });
            let parents = stages.parents(id);
            self.passed_stages += usize::from(parents.passed);
            self.cut_searches += usize::from(parents.is_cut);
            for parent in parents.ids {
                match places.get(&parent) {
                    Some(&(job, parent)) if job == place && parent < child => edges.push([parent, child]),
                    Some(&(job, _)) if job == place => self.odd_edges += 1,
                    _ => self.outside_edges += 1,
                }
            }
        }
        // Parents of one stage differ, so that no edge is there twice.
        edges.sort_unstable();
        let succeeded = |job: &&Job| job.result == Some(JobResult::Succeeded);
        let jobs = &group.jobs;
        let sql = group.sql_execution.and_then(|id| {
            let found = application.sql_executions.binary_search_by_key(&id, |execution| execution.id).ok()?;
            application.sql_executions.get(found)?.description.clone()
        });
        let described = || jobs.iter().find_map(|job| job.description.clone());
        let name = sql.or_else(described).filter(|name| !name.is_empty());
        let assumed_edges = assumed(group, &dag, &edges, application);
        self.unordered_jobs += usize::from(assumed_edges.is_none());
        let completions: Option<Vec<i64>> = jobs.iter().map(|job| job.completion_ms).collect();
        DagJob {
            sql_execution: group.sql_execution,
            job_ids: jobs.iter().map(|job| job.id).collect(),
            name: name.unwrap_or_else(|| dag.last().map_or_else(String::new, |stage| stage.name.to_string())),
            pool: jobs.iter().find_map(|job| job.pool.clone()),
            submission_ms: group.submission_ms,
            completion_ms: completions.and_then(|all| all.into_iter().max()),
            is_complete: jobs.iter().all(succeeded) && dag.iter().all(|stage| stage.is_complete),
            assumed_edges: assumed_edges.unwrap_or_default(),
            stages: dag,
            edges,
        }
    }

    /// Goes through the runs of tasks in the order of their launches.
    fn run(&mut self, application: &Application, counting: &[bool], places: &HashMap<u32, (u32, u32)>) {
        let tasks = &application.tasks;
        let order = wave::by_launch(tasks);
        let waves = wave::waves(tasks, &order, |executor| application.most_tasks_on(executor));
        // Durations in the order of the ends, which is that of the tasks.
        for ((task, &counts), &wave) in tasks.iter().zip(counting).zip(&waves) {
            let place = places.get(&task.stage);
            let stage = place.and_then(|&(job, stage)| self.jobs.get_mut(job as usize)?.stages.get_mut(stage as usize));
            let Some(stage) = stage else { continue };
            match task.end {
                TaskEnd::Succeeded if counts => {
                    stage.num_tasks += 1;
                    stage.durations.push(wave, task.duration_ms());
                }
                TaskEnd::Succeeded => stage.copies += 1,
                TaskEnd::Failed => stage.failed_tasks += 1,
                TaskEnd::Killed => stage.killed_tasks += 1,
                TaskEnd::Resubmitted => {}
            }
        }
        self.schedule.reserve_exact(order.len());
        for place in order {
            let (Some(task), Some(&counts), Some(&wave)) = (tasks.get(place), counting.get(place), waves.get(place))
            else {
                continue;
            };
            match places.get(&task.stage) {
                Some(&(job, stage)) => self.schedule.push(Launch {
                    job,
                    stage,
                    executor: task.executor,
                    launch_ms: task.launch_ms,
                    finish_ms: task.finish_ms,
                    wave,
                    counts,
                }),
                None => self.outside_runs += 1,
            }
        }
    }

    /// When tasks ran whose durations count: by job and stage, launch and finish of each, ms since 1970, in the order of the launches.
    #[must_use]
    pub fn runs(&self) -> Vec<Vec<Vec<[i64; 2]>>> {
        let mut runs: Vec<Vec<Vec<[i64; 2]>>> =
            self.jobs.iter().map(|job| vec![Vec::new(); job.stages.len()]).collect();
        for launch in self.schedule.iter().filter(|launch| launch.counts) {
            let stage = runs.get_mut(launch.job as usize).and_then(|job| job.get_mut(launch.stage as usize));
            if let Some(stage) = stage {
                stage.push([launch.launch_ms, launch.finish_ms]);
            }
        }
        runs
    }

    /// What a reader should know before he relies on this, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let assumed: usize = self.jobs.iter().map(|job| job.assumed_edges.len()).sum();
        let with_assumed = self.jobs.iter().filter(|job| !job.assumed_edges.is_empty()).count();
        let recorded: usize = self.jobs.iter().map(|job| job.edges.len()).sum();
        let incomplete = self.jobs.iter().filter(|job| !job.is_complete).count();
        let sum = |of: fn(&DagStage) -> u32| {
            self.jobs.iter().flat_map(|job| &job.stages).map(|stage| u64::from(of(stage))).sum()
        };
        let (failed, killed, copies): (u64, u64, u64) =
            (sum(|stage| stage.failed_tasks), sum(|stage| stage.killed_tasks), sum(|stage| stage.copies));
        let repeated = self.jobs.iter().flat_map(|job| &job.stages).filter(|stage| stage.attempts > 1).count();
        let unmatched = self.skipped_stages - self.matched_stages.min(self.skipped_stages);
        [
            (
                assumed,
                format!(
                    "{assumed} edges in {with_assumed} jobs are assumed by time beside the {recorded} that the log records: broadcasts, \
                     subqueries and what a driver waits for leave none"
                ),
            ),
            (unmatched, format!("for {unmatched} of {} skipped stages no stage ran in their place", self.skipped_stages)),
            (self.passed_stages, format!("{} stages have parents that ran nowhere in the log", self.passed_stages)),
            (self.cut_searches, format!("of {} stages the parents were not searched to the end", self.cut_searches)),
            (self.unordered_jobs, format!("in {} jobs too many edges would be assumed by time, and none is", self.unordered_jobs)),
            (self.outside_edges, format!("{} times output of another job was used again", self.outside_edges)),
            (self.odd_edges, format!("{} edges lead back in time and are left out", self.odd_edges)),
            (incomplete, format!("{incomplete} of {} jobs failed, or were not complete when the log ends", self.jobs.len())),
            (self.empty_jobs, format!("{} jobs of Spark ran no task to its end and are left out", self.empty_jobs)),
            (repeated, format!("{repeated} stages ran in several attempts, all of which count")),
            (
                (failed + killed + copies + self.outside_runs as u64) as usize,
                format!(
                    "runs that count for no stage: {failed} failed, {killed} were killed, {copies} were copies or repeated, {} are of \
                     stages in no DAG",
                    self.outside_runs
                ),
            ),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(_, note)| note)
        .collect()
    }
}

/// Which ends of tasks count: the first success of each task of an attempt of a stage.
fn counting(tasks: &[Task]) -> Vec<bool> {
    let mut seen: HashSet<(u32, u32, u32)> = HashSet::new();
    let mut is_first = |task: &Task| seen.insert((task.stage, task.stage_attempt, task.index));
    tasks.iter().map(|task| task.end == TaskEnd::Succeeded && is_first(task)).collect()
}

/// What belongs to one DAG.
struct Group<'a> {
    sql_execution: Option<i64>,
    submission_ms: i64,
    /// By submission.
    jobs: Vec<&'a Job>,
    /// By submission.
    stages: Vec<Ran>,
}

/// A stage with tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ran {
    submission_ms: i64,
    id: u32,
    /// By place in the application.
    job: u32,
}

/// The DAGs that ran any task, by submission.
fn groups<'a>(application: &'a Application, ran: &HashSet<u32>, stages: &Stages<'_>) -> Vec<Group<'a>> {
    // When stages were submitted of which the log does not say it.
    let mut launches: HashMap<u32, i64> = HashMap::new();
    for task in &application.tasks {
        let launch_ms = launches.entry(task.stage).or_insert(i64::MAX);
        *launch_ms = task.launch_ms.min(*launch_ms);
    }
    // By SQL execution, or by job where it belongs to none.
    let mut groups: BTreeMap<(Option<i64>, u32), Vec<Ran>> = BTreeMap::new();
    for &id in ran {
        let attempts = stages.attempts(id);
        let Some(place) = attempts.iter().find_map(|stage| stage.job) else { continue };
        let Some(job) = application.jobs.get(place as usize) else { continue };
        let submission_ms = attempts.iter().filter_map(|stage| stage.submission_ms).min();
        let submission_ms = submission_ms.or_else(|| launches.get(&id).copied()).unwrap_or_default();
        let key = (job.sql_execution, if job.sql_execution.is_some() { 0 } else { place });
        groups.entry(key).or_default().push(Ran { submission_ms, id, job: place });
    }
    let mut by_execution: HashMap<i64, Vec<&Job>> = HashMap::new();
    for job in &application.jobs {
        if let Some(id) = job.sql_execution {
            by_execution.entry(id).or_default().push(job);
        }
    }
    let with_jobs = groups.into_iter().filter_map(|((sql_execution, place), mut stages)| {
        stages.sort_unstable();
        let mut jobs = match sql_execution {
            Some(id) => by_execution.remove(&id)?,
            None => vec![application.jobs.get(place as usize)?],
        };
        jobs.sort_by_key(|job| job.submission_ms);
        let first_ms = jobs.iter().filter_map(|job| job.submission_ms).min();
        let submission_ms = first_ms.or(stages.first().map(|stage| stage.submission_ms)).unwrap_or_default();
        Some(Group { sql_execution, submission_ms, jobs, stages })
    });
    let mut groups: Vec<Group<'_>> = with_jobs.collect();
    groups.sort_by_key(|group| (group.submission_ms, group.jobs.first().map(|job| job.id)));
    groups
}

/// Edges that the order in time suggests, where the log records none ([why](Queries#order-by-time)); `None` if there are too many.
fn assumed(
    group: &Group<'_>,
    dag: &[DagStage],
    edges: &[[u32; 2]],
    application: &Application,
) -> Option<Vec<[u32; 2]>> {
    const MOST: usize = 100_000;
    let job_of = |stage: u32| group.stages.get(stage as usize).map(|stage| stage.job);
    let read: HashSet<u32> = edges.iter().map(|&[parent, _]| parent).collect();
    let with_parents: HashSet<u32> =
        edges.iter().filter(|&&[parent, child]| job_of(parent) == job_of(child)).map(|&[_, child]| child).collect();
    let started_ms = |stage: u32| {
        let job = job_of(stage).and_then(|job| application.jobs.get(job as usize)?.submission_ms);
        job.or(dag.get(stage as usize).map(|stage| stage.submission_ms))
    };
    let stages = || (0..).zip(dag).map(|(place, _): (u32, _)| place);
    // Stages whose output no other reads: when they were completed, when their jobs began, and which they are.
    let mut sinks: Vec<(i64, i64, u32)> = stages()
        .filter(|stage| !read.contains(stage))
        .filter_map(|stage| Some((dag.get(stage as usize)?.completion_ms?, started_ms(stage)?, stage)))
        .collect();
    sinks.sort_unstable();
    // The latest beginning among those up to each.
    let mut latest = i64::MIN;
    let latest: Vec<i64> = sinks
        .iter()
        .map(|&(_, start_ms, _)| {
            latest = latest.max(start_ms);
            latest
        })
        .collect();
    // The latest beginning among the recorded parents of a stage, which with adaptive execution are of other jobs.
    let mut latest_parent: HashMap<u32, i64> = HashMap::new();
    for &[parent, child] in edges {
        if let Some(start_ms) = started_ms(parent) {
            let latest_ms = latest_parent.entry(child).or_insert(start_ms);
            *latest_ms = start_ms.max(*latest_ms);
        }
    }
    let mut assumed = Vec::new();
    for child in stages().filter(|stage| !with_parents.contains(stage)) {
        let Some(start_ms) = started_ms(child) else { continue };
        let before = sinks.partition_point(|&(end_ms, ..)| end_ms <= start_ms);
        let Some(&latest_ms) = before.checked_sub(1).and_then(|last| latest.get(last)) else { continue };
        // Those that another of them waited for, or a recorded parent, are before it anyway.
        let latest_ms = latest_parent.get(&child).map_or(latest_ms, |&parent_ms| latest_ms.max(parent_ms));
        let direct = sinks.iter().take(before).rev().take_while(|&&(end_ms, ..)| end_ms >= latest_ms);
        assumed.extend(direct.filter(|&&(.., parent)| parent < child).map(|&(.., parent)| [parent, child]));
        if assumed.len() > MOST {
            return None;
        }
    }
    assumed.sort_unstable();
    Some(assumed)
}
