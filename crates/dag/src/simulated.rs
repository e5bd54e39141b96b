//! The `dag` scenario as one that can be run.

use crate::{
    Dag,
    simulator::Simulator,
    workload::{self, JobArrival, Workload},
};
use sched_distill_core::{
    simulation::{NamedWorkload, Simulated},
    spec::Spec,
    workload::WorkloadError,
};
use std::path::PathBuf;

impl Simulated for Dag {
    type Workload = dyn Workload;
    type Jobs = Vec<JobArrival>;
    type Simulator = Simulator;

    fn open_workload(spec: &Spec) -> Result<Box<dyn Workload>, WorkloadError> {
        workload::open(spec)
    }

    fn workload_files(workload: &dyn Workload) -> Vec<PathBuf> {
        workload.files()
    }

    fn battery() -> Result<Vec<NamedWorkload<dyn Workload>>, WorkloadError> {
        workload::battery()
    }

    fn jobs(workload: &dyn Workload, seed: u64) -> Vec<JobArrival> {
        workload.jobs(seed)
    }

    fn start(workload: &dyn Workload, jobs: Vec<JobArrival>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster(), jobs, seed)
    }
}
