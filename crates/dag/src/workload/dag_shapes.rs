//! DAGs without arrivals, in one JSON file: stages with instances and durations, and edges (docs/workload-format.md).

use super::{
    DagWorkload, JobTemplate,
    traces::{self, LEAST_MS, Pool, Templates},
};
use sched_distill_core::{spec::Spec, workload::WorkloadError};
use sched_distill_histories::dags::Format;
use std::{fmt::Write as _, path::Path, sync::Arc};

/// Opens `shapes:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require_file("DAGs as described in docs/workload-format.md")?;
    traces::open(spec, |warmup_ms| read(path, warmup_ms), kind)
}

/// DAGs that are the same in all are of one kind, but for those of one stage, in which there is nothing to be remembered.
fn kind(place: usize, job: &JobTemplate) -> String {
    let graph = job.graph();
    let mut kind = String::new();
    if graph.stages().len() == 1 {
        let _ = write!(kind, "{place}");
        return kind;
    }
    for stage in graph.stages() {
        let _ = write!(kind, "{}x{} ", stage.num_tasks, stage.rough_ms);
    }
    for [parent, child] in graph.edges() {
        let _ = write!(kind, "{parent}-{child} ");
    }
    kind
}

fn read(path: &Path, warmup_ms: f64) -> Result<Pool, WorkloadError> {
    let log = traces::read(path, Format::Shapes)?;
    let (mut templates, mut jobs) = (Templates::new(LEAST_MS, warmup_ms), Vec::with_capacity(log.dags.len()));
    for dag in &log.dags {
        jobs.extend(templates.template(path, &dag.id, dag)?.map(Arc::new));
    }
    let notes = log.notes().into_iter().chain(templates.notes()).collect();
    Ok(Pool { what: "DAGs", jobs, files: vec![path.to_owned()], notes })
}

/// Whether a file has such DAGs.
pub(super) fn reads(path: &Path) -> bool {
    traces::is(path, Format::Shapes)
}
