//! DAGs of published traces as jobs, and those that are drawn from.

use super::{
    Arrivals, DagWorkload, Drawn, DurationTable, JobTemplate, LESS, StageTemplate, history::Believed, job::Pairs,
};
use crate::graph::JobError;
use sched_distill_core::{
    spec::Spec,
    workload::{MOST_JOBS, WorkloadError, note_reading},
};
use sched_distill_histories::dags::{self, Dag, DagLog, Format};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a task takes that took less than a second in a trace of whole seconds, ms.
pub(super) const LEAST_MS: f64 = 1e3;

/// Reads a file of DAGs.
pub(super) fn read(path: &Path, format: Format) -> Result<DagLog, WorkloadError> {
    let log = dags::read(path, format, &mut note_reading);
    note_reading(0, 0);
    log.map_err(|error| WorkloadError::History(Box::new(error)))
}

/// Whether a file has DAGs in this form.
pub(super) fn is(path: &Path, format: Format) -> bool {
    path.is_file() && matches!(dags::recognise_file(path), Ok(Some(found)) if found == format)
}

/// What a task of a stage takes, ms, and no less than so much; `None` where that is not known.
pub(super) fn duration_ms(stage: &dags::Stage, least_ms: f64) -> Option<f64> {
    Some((stage.duration_ms? as f64).max(least_ms))
}

/// DAGs as jobs, with what is to be said of those that could not be.
pub(super) struct Templates {
    least_ms: f64,
    warmup_ms: f64,
    pairs: Pairs,
    /// DAGs whose durations are not all known.
    unknown: usize,
    /// Stages of which a task took less than the least.
    short: usize,
    made: usize,
    stages: usize,
}

impl Templates {
    /// Tasks take this at least, and so much more on a fresh executor, ms.
    pub(super) fn new(least_ms: f64, warmup_ms: f64) -> Self {
        Self { least_ms, warmup_ms, pairs: Pairs::default(), unknown: 0, short: 0, made: 0, stages: 0 }
    }

    /// A DAG of a file as a job of this name; `None` if it has a stage of which nobody knows how long it takes.
    pub(super) fn template(
        &mut self,
        path: &Path,
        name: &str,
        dag: &Dag,
    ) -> Result<Option<JobTemplate>, WorkloadError> {
        let stage = |stage: &dags::Stage| {
            let durations = DurationTable::uniform(vec![duration_ms(stage, self.least_ms)?], self.warmup_ms)?;
            Some(StageTemplate { num_tasks: stage.num_tasks, rough_ms: durations.mean(), durations })
        };
        let Some(stages) = dag.stages.iter().map(stage).collect::<Option<Vec<_>>>() else {
            self.unknown += 1;
            return Ok(None);
        };
        let place = self.made;
        let bad = |stage, problem| WorkloadError::Job { path: path.to_owned(), job: place, stage, problem };
        let refused = |error: JobError| bad(error.stage, format!("`{name}`: {}", error.problem));
        self.made += 1;
        if self.made > MOST_JOBS as usize {
            return Err(bad(
                None,
                format!("is one job too many: at most {MOST_JOBS} are allowed; give a part of the trace"),
            ));
        }
        self.stages += dag.stages.len();
        self.short +=
            dag.stages.iter().filter(|stage| stage.duration_ms.is_some_and(|ms| (ms as f64) < self.least_ms)).count();
        let template = JobTemplate::new(name, stages, &dag.edges).map_err(refused)?;
        self.pairs.add(&template).map_err(refused)?;
        Ok(Some(template))
    }

    /// What is to be said of DAGs that are no jobs, and of durations that are not those recorded.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unknown > 0 {
            notes.push(format!(
                "{} of {} DAGs are left out, as nobody knows how long all of their stages take",
                self.unknown,
                self.unknown + self.made
            ));
        }
        if self.short > 0 {
            notes.push(format!(
                "{} of {} stages have tasks that took less than a second, and are taken to take one",
                self.short, self.stages
            ));
        }
        notes
    }
}

/// DAGs of which jobs are drawn.
pub(super) struct Pool {
    /// What they are called: `workflows`.
    pub(super) what: &'static str,
    pub(super) jobs: Vec<Arc<JobTemplate>>,
    pub(super) files: Vec<PathBuf>,
    pub(super) notes: Vec<String>,
}

/// Opens a workload of jobs that are drawn from a pool, which `read` makes with so much added on fresh executors, ms; those of one kind are for
/// one split.
pub(super) fn open(
    spec: &Spec,
    read: impl FnOnce(f64) -> Result<Pool, WorkloadError>,
    kind: impl Fn(usize, &JobTemplate) -> String,
) -> Result<DagWorkload, WorkloadError> {
    let mut args = spec.args();
    let (arrivals, believed) = (Arrivals::from_args(&mut args)?, Believed::from_args(&mut args)?);
    args.finish()?;
    let Pool { what, jobs, files, notes } = read(arrivals.warmup_ms)?;
    if jobs.is_empty() {
        let path = files.into_iter().next().unwrap_or_default();
        let problem = format!("has no {what} whose durations are all known; at least one is needed");
        return Err(WorkloadError::Format { path, problem });
    }
    let source = Drawn::new(jobs, arrivals, what).divided(kind);
    let source = if spec.params.contains_key("rate") { source } else { source.at_full_load() };
    let notes = notes.into_iter().chain(source.notes(what));
    let workload = DagWorkload::new(source.cluster(), source, files).checked(spec, LESS)?.with_notes(notes);
    Ok(believed.of(workload))
}
