//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

use super::{Cluster, DagWorkload, JobArrival, JobTemplate};
use crate::Dag;
use sched_distill_core::{
    rng::EpisodeId,
    simulation::{NamedWorkload, Source, open_named},
    workload::WorkloadError,
};
use std::sync::Arc;

/// What those are called that have specs, and their specs.
pub(crate) const BATTERY: &[(&str, &str)] = &[
    ("ordinary", "builtin,jobs=20,executors=10"),
    ("one job", "builtin,jobs=1,executors=4"),
    ("one executor", "builtin,jobs=4,executors=1"),
    ("many jobs", "builtin,jobs=100,executors=10,rate=1e-2"),
    ("large cluster", "builtin,jobs=8,executors=200,rate=1e-3"),
    ("long chains", "builtin,jobs=6,executors=5,edge=chains"),
    ("many stages at once", "builtin,jobs=6,executors=30,edge=wide"),
];

/// All of them.
pub(crate) fn battery() -> Result<Vec<NamedWorkload<Dag>>, WorkloadError> {
    let mut all = open_named(BATTERY)?;
    let ordinary = DagWorkload::open(&"builtin,jobs=15,executors=6".parse()?)?;
    let mut add = |name: &str, change: fn(JobArrival) -> JobArrival| {
        let source = Changed { workload: ordinary.clone(), change };
        let workload = DagWorkload::new(*ordinary.cluster(), source, Vec::new());
        all.push(NamedWorkload { name: name.to_owned(), workload });
    };
    // Policies that take raw times as scores meet huge and tiny ones.
    add("tasks of days", |job| stretched(job, 1e5));
    add("tasks of microseconds", |job| stretched(job, 1e-6));
    add("no edges", unlinked);
    Ok(all)
}

/// The jobs of another workload, each changed.
#[derive(Debug)]
struct Changed {
    workload: DagWorkload,
    change: fn(JobArrival) -> JobArrival,
}

impl Source<Dag> for Changed {
    fn jobs(&self, _: &Cluster, id: EpisodeId) -> Vec<JobArrival> {
        self.workload.jobs(id).into_iter().map(self.change).collect()
    }
}

/// The same job at another pace.
fn stretched(JobArrival { arrival_ms, template }: JobArrival, factor: f64) -> JobArrival {
    JobArrival { arrival_ms: factor * arrival_ms, template: Arc::new(template.stretched(factor)) }
}

/// The same job, whose stages need nothing from each other.
fn unlinked(JobArrival { arrival_ms, template }: JobArrival) -> JobArrival {
    // Stages without edges are a graph without cycles.
    let without = JobTemplate::new(template.graph().name(), template.stages(), &[]);
    JobArrival { arrival_ms, template: without.map_or(template, Arc::new) }
}
