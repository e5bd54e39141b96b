//! Queries and jobs of applications of Apache Spark, from their event logs.

use super::{
    Cluster, DagWorkload, DurationTable, JobArrival, JobTemplate, Recorded, StageTemplate, Waves, history::Believed,
};
use crate::graph::JobError;
use sched_distill_core::{
    simulation::{Costs, History},
    spec::Spec,
    workload::{Cut, WorkloadError, duration, note_reading},
};
use sched_distill_histories::spark::{self, Application, Change, DagJob, DagStage};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Opens `spark:PATH`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require("PATH", "a Spark event log, or a folder of event logs")?;
    let mut args = spec.args();
    let executors = args.optional_count("executors", 1..=100_000)?;
    let delay_ms = args.number("delay", 0.0, 0.0..=1e9)?;
    let cut = Cut::from_args(&mut args)?;
    let believed = Believed::from_args(&mut args)?;
    args.finish()?;
    let imported = Imported::read(path)?;
    let num_executors = executors.map_or_else(|| imported.slots(path), Ok)?;
    let cluster = Cluster { submit_ms: imported.submit_ms, ..Cluster::new(num_executors, delay_ms) };
    let costs = Costs { events: &|job: &JobArrival| super::events(1.0, job.template.tasks() as f64), bytes: 0.0 };
    let refused = |problem| WorkloadError::Format { path: path.to_owned(), problem };
    let history = History::new(imported.jobs, &cut, super::WINDOW_JOBS, &costs).map_err(refused)?;
    let workload = history.on(cluster, imported.files).checked(spec, super::HISTORY_LESS)?;
    Ok(believed.of(workload).with_notes(imported.notes))
}

/// The order of jobs: by submission, ms since 1970, then by application and place in it.
type Order = (i64, usize, usize);

/// The jobs of a log, and what is to be known of them.
struct Imported {
    /// In order of submission, the first at 0 ms.
    jobs: Vec<JobArrival>,
    files: Vec<PathBuf>,
    /// Most tasks that could run at once.
    slots: u64,
    /// From when the parents of a stage were completed until it was submitted, in the mean, ms.
    submit_ms: f64,
    notes: Vec<String>,
}

impl Imported {
    fn read(path: &Path) -> Result<Self, WorkloadError> {
        let log = spark::read(path, &mut note_reading);
        // Also where it could not be read to its end.
        note_reading(0, 0);
        let log = log.map_err(|source| WorkloadError::History(Box::new(source)))?;
        let mut notes = log.notes();
        let (slots, slots_note) = slots(&log.applications);
        let files = log.applications.iter().flat_map(|application| application.files.clone()).collect();
        let is_one = log.applications.len() == 1;
        // A template takes less memory than the tasks that it is made of.
        let (mut submissions, mut submissions_ms) = (0, 0_i64);
        let mut found: Vec<(Order, Result<Arc<JobTemplate>, JobError>)> = Vec::new();
        for (number, application) in log.applications.into_iter().enumerate() {
            let name = application.id.as_ref().or(application.name.as_ref()).cloned();
            let rebuilding = application.each_query(&mut |place, job| {
                found.push(((job.submission_ms, number, place), template(&job).map(Arc::new)));
            });
            submissions += rebuilding.submissions;
            submissions_ms = submissions_ms.saturating_add(rebuilding.submissions_ms);
            let name = name.as_deref().unwrap_or("an application without a name");
            let of = |note: String| if is_one { note } else { format!("{name}: {note}") };
            notes.extend(rebuilding.notes().into_iter().map(of));
        }
        notes.extend(slots_note);
        found.sort_unstable_by_key(|(order, _)| *order);
        let first_ms = found.first().map_or(0, |&((submission_ms, ..), _)| submission_ms);
        let mut jobs = Vec::with_capacity(found.len());
        for (place, ((submission_ms, ..), template)) in found.into_iter().enumerate() {
            let template = template.map_err(|error| WorkloadError::Job {
                path: path.to_owned(),
                job: place,
                stage: error.stage,
                problem: error.problem,
            })?;
            jobs.push(JobArrival { arrival_ms: (submission_ms - first_ms) as f64, template });
        }
        if jobs.is_empty() {
            let problem = "has no job that ran a task to its end; nothing can be scheduled from it".to_owned();
            return Err(WorkloadError::Format { path: path.to_owned(), problem });
        }
        let submit_ms = submissions_ms as f64 / submissions.max(1) as f64;
        Ok(Self { jobs, files, slots, submit_ms: submit_ms.round(), notes })
    }

    /// The executors that there are, each of which runs one task at a time.
    fn slots(&self, path: &Path) -> Result<u32, WorkloadError> {
        let refused = |problem: &str| WorkloadError::Format { path: path.to_owned(), problem: problem.to_owned() };
        match u32::try_from(self.slots) {
            Ok(0) => Err(refused(
                "does not say which executors there were: add `executors=N`, how many tasks can run at once",
            )),
            Ok(slots) if slots <= 100_000 => Ok(slots),
            _ => Err(refused("has more than 100000 cores at once: `executors=N` names fewer")),
        }
    }
}

/// How many tasks could run at once at most, over all applications, and what is to be said of that.
fn slots(applications: &[Application]) -> (u64, Option<String>) {
    // Changes of all applications, each with what is there from then on and what was before.
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for application in applications {
        let each = u64::from(application.task_cpus.unwrap_or(1).max(1));
        let mut before = 0;
        for Change { time_ms, cores, .. } in application.executor_changes() {
            let slots = (cores / each) as i64;
            steps.push((time_ms, slots - before));
            before = slots;
        }
        if let Some(end_ms) = application.end_ms.filter(|_| before > 0) {
            steps.push((end_ms, -before));
        }
    }
    steps.sort_by_key(|&(time_ms, by)| (time_ms, -by));
    let ends = applications.iter().filter_map(|a| a.end_ms.or(a.tasks.iter().map(|task| task.finish_ms).max()));
    let end_ms = ends.max().unwrap_or_default();
    let (mut now, mut most, mut used_ms, mut since_ms) = (0_i64, 0_i64, 0.0, steps.first().map_or(0, |step| step.0));
    let start_ms = since_ms;
    for &(time_ms, by) in &steps {
        used_ms += now as f64 * (time_ms - since_ms).max(0) as f64;
        (now, since_ms) = (now + by, time_ms);
        most = most.max(now);
    }
    used_ms += now as f64 * (end_ms - since_ms).max(0) as f64;
    let mean = used_ms / (end_ms - start_ms).max(1) as f64;
    let note = (most > 0 && mean < 0.95 * most as f64).then(|| {
        format!(
            "executors came and went: {most} tasks could run at once at most and {mean:.1} in the mean over {}; the workload has {most} all \
             the time (`executors=N` sets another number)",
            duration((end_ms - start_ms) as f64)
        )
    });
    (most as u64, note)
}

fn template(job: &DagJob) -> Result<JobTemplate, JobError> {
    let stages: Result<Vec<StageTemplate>, _> = job.stages.iter().map(stage).collect();
    let name = if job.name.is_empty() { "job".to_owned() } else { job.name.clone() };
    let template = JobTemplate::new(name, stages?, &job.all_edges())?;
    let since = |at_ms: i64| (at_ms - job.submission_ms) as f64;
    let runs = |stage: &DagStage| stage.counting().map(|run| [run.launch_ms, run.finish_ms].map(since)).collect();
    Ok(template.with_record(Recorded {
        completed_ms: job.completion_ms.filter(|_| job.is_complete).map(since),
        runs: job.stages.iter().map(runs).collect(),
    }))
}

fn stage(stage: &DagStage) -> Result<StageTemplate, JobError> {
    let spark::Waves { fresh, first, rest } = stage.durations();
    let durations = DurationTable::new(vec![(super::duration::LEVELS[0], Waves { fresh, first, rest })], 0.0);
    // A stage of a DAG has a task that succeeded.
    let durations = durations
        .ok_or_else(|| JobError { stage: None, problem: format!("stage {} has no task that succeeded", stage.id) })?;
    Ok(StageTemplate { num_tasks: stage.num_tasks, rough_ms: durations.mean(), durations })
}
