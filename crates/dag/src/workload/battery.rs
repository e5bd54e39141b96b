//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

use super::{Cluster, JobArrival, JobTemplate, Workload, open};
use sched_distill_core::{simulation::NamedWorkload, spec::Spec, workload::WorkloadError};
use std::sync::Arc;

/// These workloads.
pub(crate) fn battery() -> Result<Vec<NamedWorkload<dyn Workload>>, WorkloadError> {
    let mut all = Vec::new();
    let mut add = |name: &str, workload| all.push(NamedWorkload { name: name.to_owned(), workload });
    for (name, spec) in [
        ("ordinary", "builtin,jobs=20,executors=10"),
        ("one job", "builtin,jobs=1,executors=4"),
        ("one executor", "builtin,jobs=4,executors=1"),
        ("many jobs", "builtin,jobs=100,executors=10,rate=1e-2"),
        ("large cluster", "builtin,jobs=8,executors=200,rate=1e-3"),
        ("long chains", "builtin,jobs=6,executors=5,edge=chains"),
        ("many stages at once", "builtin,jobs=6,executors=30,edge=wide"),
    ] {
        add(name, open(&spec.parse::<Spec>()?)?);
    }
    // Policies that take raw times as scores meet huge and tiny ones.
    for (name, factor) in [("tasks of days", 1e5), ("tasks of microseconds", 1e-6)] {
        let ordinary = open(&"builtin,jobs=15,executors=6".parse::<Spec>()?)?;
        add(name, Box::new(Stretched(ordinary, factor)));
    }
    let linked = open(&"builtin,jobs=15,executors=6".parse::<Spec>()?)?;
    add("no edges", Box::new(WithoutEdges(linked)));
    Ok(all)
}

/// The same jobs at another pace.
struct Stretched(Box<dyn Workload>, f64);

impl Workload for Stretched {
    fn cluster(&self) -> Cluster {
        self.0.cluster()
    }

    fn jobs(&self, seed: u64) -> Vec<JobArrival> {
        let stretched = |JobArrival { arrival_ms, template }: JobArrival| JobArrival {
            arrival_ms: self.1 * arrival_ms,
            template: Arc::new(template.stretched(self.1)),
        };
        self.0.jobs(seed).into_iter().map(stretched).collect()
    }
}

/// The same jobs, whose stages need nothing from each other.
struct WithoutEdges(Box<dyn Workload>);

impl Workload for WithoutEdges {
    fn cluster(&self) -> Cluster {
        self.0.cluster()
    }

    fn jobs(&self, seed: u64) -> Vec<JobArrival> {
        let unlinked = |JobArrival { arrival_ms, template }: JobArrival| {
            // Stages without edges are a graph without cycles.
            let without = JobTemplate::new(template.graph().name(), template.stages(), &[]);
            JobArrival { arrival_ms, template: without.map_or(template, Arc::new) }
        };
        self.0.jobs(seed).into_iter().map(unlinked).collect()
    }
}
