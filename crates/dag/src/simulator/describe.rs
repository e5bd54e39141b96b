//! An episode in which a job that has not arrived is described differently.

use super::state::Simulator;
use crate::workload::{JobArrival, Luck};

impl Simulator {
    /// The same moment with the jobs from `job` on as in `arrivals`. None of them has arrived. A task keeps its luck: that of the stage
    /// that it first came from, see [`crate::workload::Origin`].
    pub(crate) fn described(&self, arrivals: &[JobArrival], job: u32) -> Self {
        debug_assert!(job >= self.state.jobs.arrived, "job {job} is there already");
        let mut sim = self.clone();
        let first = sim.state.jobs.get(job as usize).map_or(sim.state.stages.len(), |j| j.first_stage as usize);
        sim.state.jobs.truncate(job as usize);
        sim.job_runs.truncate(job as usize);
        sim.offers.truncate(job as usize);
        sim.state.stages.truncate(first);
        sim.stage_runs.truncate(first);
        sim.offered.truncate(first / 64 + 1);
        if let Some(last) = sim.offered.get_mut(first / 64) {
            *last &= (1 << (first % 64)) - 1;
        }
        for (id, arrival) in (job..).zip(&arrivals[job as usize..]) {
            let before = &self.state.jobs[id as usize];
            let runs = &self.stage_runs[before.first_stage as usize..][..before.num_stages as usize];
            // All parts of a stage share its luck, and every stage has a part in each description.
            let luck = |stage: u32| runs.iter().find(|run| run.table == stage).map_or(Luck::new(0), |run| run.luck);
            sim.add(id, arrival.clone(), luck);
        }
        sim.pools.resize(1 + sim.state.jobs.len() + sim.state.stages.len());
        sim
    }
}
