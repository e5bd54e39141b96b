//! Jobs of the Alibaba cluster trace of 2018, from its `batch_task.csv`.

use super::{
    Cluster, DagWorkload, HISTORY_LESS, JobArrival, Recorded, WINDOW_JOBS,
    history::Believed,
    traces::{self, LEAST_MS, Templates, duration_ms},
};
use sched_distill_core::{
    simulation::{Costs, History},
    spec::Spec,
    workload::{Cut, WorkloadError},
};
use sched_distill_histories::dags::{Dag, Format};
use std::{path::Path, sync::Arc};

/// Instances of which it is held when each ran, at most: 320 MB.
const MOST_RUNS: u64 = 20_000_000;

/// Opens `alibaba:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require_file("batch_task.csv of the Alibaba cluster trace of 2018")?;
    let mut args = spec.args();
    let executors = args.optional_count("executors", 1..=100_000)?;
    let delay_ms = args.number("delay", 0.0, 0.0..=1e9)?;
    let cut = Cut::from_args(&mut args)?;
    let believed = Believed::from_args(&mut args)?;
    args.finish()?;
    let mut imported = Imported::read(path)?;
    let num_executors = executors.map_or_else(|| imported.executors(path), Ok)?;
    let costs = Costs { events: &|job: &JobArrival| super::events(1.0, job.template.tasks() as f64), bytes: 0.0 };
    let refused = |problem| WorkloadError::Format { path: path.to_owned(), problem };
    let history = History::new(imported.jobs, &cut, WINDOW_JOBS, &costs).map_err(refused)?;
    let workload =
        history.on(Cluster::new(num_executors, delay_ms), vec![path.to_owned()]).checked(spec, HISTORY_LESS)?;
    Ok(believed.of(workload).with_notes(imported.notes))
}

/// The jobs of a trace, and what is to be known of them.
struct Imported {
    /// In order of arrival, the first at 0 ms.
    jobs: Vec<JobArrival>,
    /// When how many instances more ran, or fewer.
    steps: Vec<(f64, i64)>,
    notes: Vec<String>,
}

impl Imported {
    fn read(path: &Path) -> Result<Self, WorkloadError> {
        let log = traces::read(path, Format::AlibabaTasks)?;
        let mut notes = log.notes();
        let mut templates = Templates::new(LEAST_MS, 0.0);
        let (mut jobs, mut steps): (Vec<(JobArrival, &Dag)>, _) = (Vec::new(), Vec::new());
        for dag in &log.dags {
            // Whoever knows how long all stages ran knows when they started.
            let (Some(template), Some(start_ms)) = (templates.template(path, &dag.id, dag)?, dag.start_ms) else {
                continue;
            };
            for stage in &dag.stages {
                if let (Some(from_ms), Some(took_ms)) = (stage.start_ms, duration_ms(stage, LEAST_MS)) {
                    let from_ms = from_ms as f64;
                    steps.extend([
                        (from_ms, i64::from(stage.num_tasks)),
                        (from_ms + took_ms, -i64::from(stage.num_tasks)),
                    ]);
                }
            }
            jobs.push((JobArrival { arrival_ms: start_ms as f64, template: Arc::new(template) }, dag));
        }
        notes.extend(templates.notes());
        let Some(first_ms) = jobs.first().map(|(job, _)| job.arrival_ms) else {
            let problem =
                "has no job whose stages all ran to their end; at least one is needed: give more of the trace"
                    .to_owned();
            return Err(WorkloadError::Format { path: path.to_owned(), problem });
        };
        let all: u64 = jobs.iter().map(|(job, _)| job.template.tasks()).sum();
        if all > MOST_RUNS {
            notes.push(format!(
                "{all} instances are too many to hold when each ran: what is left of earlier jobs when a window begins is not there"
            ));
        }
        let job = |(job, dag): (JobArrival, &Dag)| {
            let template = match record(dag, job.arrival_ms).filter(|_| all <= MOST_RUNS) {
                Some(record) => Arc::new(Arc::unwrap_or_clone(job.template).with_record(record)),
                None => job.template,
            };
            JobArrival { arrival_ms: job.arrival_ms - first_ms, template }
        };
        let jobs = jobs.into_iter().map(job).collect();
        notes.push("jobs arrive when their first stage started, all instances of a stage take what it took, and run on an executor each".to_owned());
        Ok(Self { jobs, steps, notes })
    }

    /// The most instances that ran at once.
    fn executors(&mut self, path: &Path) -> Result<u32, WorkloadError> {
        // Who ends makes room for who starts then.
        self.steps.sort_by(|(a_ms, a), (b_ms, b)| a_ms.total_cmp(b_ms).then(a.cmp(b)));
        let (mut now, mut most) = (0, 0);
        for (_, by) in &self.steps {
            now += by;
            most = most.max(now);
        }
        match u32::try_from(most) {
            Ok(most) if (1..=100_000).contains(&most) => {
                self.notes.push(format!(
                    "there are {most} executors, as many as instances ran at once at most if those of a stage all run from its start to its end \
                     (`executors=N` sets another number)"
                ));
                Ok(most)
            }
            _ => {
                let problem = format!(
                    "has {most} instances at once, and at most 100000 executors are possible: `executors=N` names fewer"
                );
                Err(WorkloadError::Format { path: path.to_owned(), problem })
            }
        }
    }
}

/// When the instances of a job that came at a time ran; `None` if that is not known of all stages.
fn record(dag: &Dag, arrival_ms: f64) -> Option<Recorded> {
    let run = |stage: &sched_distill_histories::dags::Stage| {
        let from_ms = stage.start_ms? as f64 - arrival_ms;
        Some(vec![[from_ms, from_ms + duration_ms(stage, LEAST_MS)?]; stage.num_tasks as usize])
    };
    let runs: Vec<Vec<[f64; 2]>> = dag.stages.iter().map(run).collect::<Option<_>>()?;
    let completed_ms = runs.iter().flatten().map(|&[_, to_ms]| to_ms).fold(0.0, f64::max);
    Some(Recorded { completed_ms: Some(completed_ms), runs: runs.into_iter().collect() })
}

/// Whether a file is such a trace.
pub(super) fn reads(path: &Path) -> bool {
    traces::is(path, Format::AlibabaTasks)
}
