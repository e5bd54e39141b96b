//! The order in which tasks were launched where they were recorded, carried out again.

use crate::{Dag, Decision, StageRef, View, workload::JobArrival};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::Replay,
};
use std::sync::Arc;

/// The schedule that is recorded of jobs; `None` if of one of them none is.
pub(crate) fn replay(jobs: &[JobArrival]) -> Option<Replay<Dag>> {
    let mut launches = Vec::with_capacity(jobs.len());
    let mut completed_ms = Vec::with_capacity(jobs.len());
    for job in jobs {
        let recorded = job.template.recorded()?;
        completed_ms.push(recorded.completed_ms);
        let starts = |runs: &Vec<[f64; 2]>| {
            let mut starts: Vec<f64> = runs.iter().map(|[start_ms, _]| job.arrival_ms + start_ms).collect();
            starts.sort_by(f64::total_cmp);
            starts
        };
        launches.push(recorded.runs.iter().map(starts).collect());
    }
    Some(Replay { policy: Box::new(RecordedOrder { launches: Arc::new(launches) }), completed_ms })
}

/// Gives each executor to the stage whose next task was launched first.
struct RecordedOrder {
    /// By job and stage, when its tasks were launched, ascending, ms.
    launches: Arc<Vec<Vec<Vec<f64>>>>,
}

impl RecordedOrder {
    /// When the next task of a stage that has no executor yet was launched.
    fn next_ms(&self, seen: &View<'_>, stage: StageRef) -> f64 {
        let view = seen.stage(stage);
        let launched = view.num_tasks().saturating_sub(view.demand()) as usize;
        let launches = self.launches.get(stage.job as usize).and_then(|job| job.get(stage.stage as usize));
        launches.and_then(|launches| launches.get(launched)).copied().unwrap_or(f64::INFINITY)
    }
}

impl Policy<Dag> for RecordedOrder {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self { launches: Arc::clone(&self.launches) })
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        let stages = seen.schedulable().iter().map(|&stage| (self.next_ms(seen, stage), stage));
        // A question has a stage to be answered with.
        Ok(match stages.min_by(|(a, _), (b, _)| a.total_cmp(b)) {
            Some((_, stage)) => Decision::Assign { stage, executors: 1 },
            None => Decision::Abstain,
        })
    }

    fn forgets(&self) -> bool {
        true
    }
}
