//! The `training` scenario as one that can be run.

use crate::{
    Training,
    simulator::Simulator,
    workload::{self, TrainingJob, TrainingWorkload},
};
use sched_distill_core::{
    simulation::{NamedWorkload, Simulated},
    spec::Spec,
    workload::WorkloadError,
};
use std::path::PathBuf;

impl Simulated for Training {
    type Workload = TrainingWorkload;
    type Jobs = Vec<TrainingJob>;
    type Simulator = Simulator;

    fn open_workload(spec: &Spec) -> Result<Box<TrainingWorkload>, WorkloadError> {
        Ok(Box::new(TrainingWorkload::open(spec)?))
    }

    fn workload_files(workload: &TrainingWorkload) -> Vec<PathBuf> {
        workload.files()
    }

    fn battery() -> Result<Vec<NamedWorkload<TrainingWorkload>>, WorkloadError> {
        workload::battery()
    }

    fn jobs(workload: &TrainingWorkload, seed: u64) -> Vec<TrainingJob> {
        workload.jobs(seed)
    }

    fn start(workload: &TrainingWorkload, jobs: Vec<TrainingJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }

    fn floor_ms(workload: &TrainingWorkload, jobs: &Vec<TrainingJob>) -> Option<f64> {
        let cluster = workload.cluster();
        let slots: f64 = jobs.iter().map(|job| job.real_epochs / cluster.speed.best(job.kind)).sum();
        // Where placement counts the best speed is an estimate, and luck may go beyond it.
        (!cluster.speed.by_placement() && cluster.speed_error == 0.0)
            .then(|| slots / jobs.len() as f64 * cluster.slot_ms())
    }
}
