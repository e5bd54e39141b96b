//! To which DAG does a task belong?

use super::{
    dag::{DagJob, DagStage, Rebuilding, Run},
    log::{Application, Job, JobResult, TaskEnd},
    order::assumed,
    resolve::Stages,
    tasks::Tasks,
    wave::Cores,
};
use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::Arc,
};

/// What the tasks of a stage say of it, its attempts taken together.
pub(super) struct Tally {
    /// Runs of them that are still to come.
    left: usize,
    /// Whether one of them succeeded.
    pub(super) has_run: bool,
    /// Whether one wrote for a shuffle.
    pub(super) is_shuffle: bool,
    /// When the first of them was launched.
    first_launch_ms: i64,
}

/// By stage.
fn tallies(tasks: &Tasks) -> HashMap<u32, Tally> {
    let mut tallies: HashMap<u32, Tally> = HashMap::new();
    for task in tasks.iter() {
        let tally = tallies.entry(task.stage).or_insert(Tally {
            left: 0,
            has_run: false,
            is_shuffle: false,
            first_launch_ms: task.launch_ms,
        });
        tally.left += usize::from(task.end != TaskEnd::Resubmitted);
        tally.has_run |= task.counts();
        tally.is_shuffle |= task.is_shuffle_map;
    }
    tallies
}

/// By stage, in which DAG it is, and at which place there.
type Places = HashMap<u32, (u32, u32)>;

/// A DAG of which tasks are still to come.
struct Open {
    job: DagJob,
    /// Stages with such tasks.
    left: usize,
}

/// Hands over the DAGs of an application ([how](Application::each_query)).
pub(super) fn rebuild(mut application: Application, take: &mut dyn FnMut(usize, DagJob)) -> Rebuilding {
    let tasks = mem::take(&mut application.tasks);
    let mut tallies = tallies(&tasks);
    let mut rebuilding = Rebuilding::default();
    let (mut open, places) = without_runs(&application, &tallies, &mut rebuilding);
    // What is known of stages is in the DAGs by now.
    application.stages = Vec::new();
    let mut cores = Cores::default();
    for task in tasks.drain().filter(|task| task.end != TaskEnd::Resubmitted) {
        let wave = cores.launch(&task, application.most_tasks_on(task.executor));
        let Some(tally) = tallies.get_mut(&task.stage) else { continue };
        let left = tally.left;
        tally.left = left.saturating_sub(1);
        if tally.left == 0 {
            cores.forget(task.stage);
        }
        let found = places.get(&task.stage);
        let Some((place, slot, stage)) =
            found.and_then(|&(job, stage)| Some((job as usize, open.get_mut(job as usize)?, stage as usize)))
        else {
            rebuilding.outside_runs += 1;
            continue;
        };
        let Some(stage) = slot.as_mut().and_then(|open| open.job.stages.get_mut(stage)) else { continue };
        if stage.runs.is_empty() {
            stage.runs.reserve_exact(left);
        }
        let counts = task.counts();
        stage.runs.push(Run {
            executor: task.executor,
            launch_ms: task.launch_ms,
            finish_ms: task.finish_ms,
            wave,
            counts,
        });
        match task.end {
            TaskEnd::Succeeded if counts => stage.num_tasks += 1,
            TaskEnd::Succeeded => stage.copies += 1,
            TaskEnd::Failed => stage.failed_tasks += 1,
            TaskEnd::Killed => stage.killed_tasks += 1,
            TaskEnd::Resubmitted => {}
        }
        if tally.left == 0 {
            let left = slot.as_mut().map_or(0, |open| {
                open.left = open.left.saturating_sub(1);
                open.left
            });
            if let Some(Open { job, .. }) = slot.take_if(|_| left == 0) {
                rebuilding.count(&job);
                take(place, job);
            }
        }
    }
    rebuilding
}

/// The DAGs in the order in which they were submitted, before any task of them, and where stages are.
fn without_runs(
    application: &Application,
    tallies: &HashMap<u32, Tally>,
    rebuilding: &mut Rebuilding,
) -> (Vec<Option<Open>>, Places) {
    let mut stages = Stages::of(application, tallies);
    (rebuilding.skipped_stages, rebuilding.matched_stages) = (stages.skipped, stages.matched());
    let groups = groups(application, tallies, &stages);
    let with_tasks = groups.iter().map(|group| group.jobs.len()).sum();
    rebuilding.empty_jobs = application.jobs.len().saturating_sub(with_tasks);
    let mut places = Places::new();
    for (job, group) in (0..).zip(&groups) {
        places.extend((0..).zip(&group.stages).map(|(place, stage)| (stage.id, (job, place))));
    }
    let mut open = Vec::with_capacity(groups.len());
    for (place, group) in (0..).zip(&groups) {
        let job = rebuilding.job(place, group, application, &mut stages, &places);
        open.push(Some(Open { left: job.stages.len(), job }));
    }
    (open, places)
}

impl Rebuilding {
    /// A DAG before any task of it.
    fn job(
        &mut self,
        place: u32,
        group: &Group<'_>,
        application: &Application,
        stages: &mut Stages<'_>,
        places: &Places,
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
                runs: Vec::new(),
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
}

/// What belongs to one DAG.
pub(super) struct Group<'a> {
    sql_execution: Option<i64>,
    submission_ms: i64,
    /// By submission.
    jobs: Vec<&'a Job>,
    /// By submission.
    pub(super) stages: Vec<Ran>,
}

/// A stage with tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ran {
    submission_ms: i64,
    id: u32,
    /// By place in the application.
    pub(super) job: u32,
}

/// The DAGs that ran any task, by submission.
fn groups<'a>(application: &'a Application, tallies: &HashMap<u32, Tally>, stages: &Stages<'_>) -> Vec<Group<'a>> {
    // By SQL execution, or by job where it belongs to none.
    let mut groups: BTreeMap<(Option<i64>, u32), Vec<Ran>> = BTreeMap::new();
    for (&id, tally) in tallies.iter().filter(|(_, tally)| tally.has_run) {
        let attempts = stages.attempts(id);
        let Some(place) = attempts.iter().find_map(|stage| stage.job) else { continue };
        let Some(job) = application.jobs.get(place as usize) else { continue };
        let submission_ms = attempts.iter().filter_map(|stage| stage.submission_ms).min();
        // Where the log does not say it, the first launch is near.
        let submission_ms = submission_ms.unwrap_or(tally.first_launch_ms);
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
