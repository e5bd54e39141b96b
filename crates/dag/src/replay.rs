//! The order in which tasks were launched where they were recorded, carried out again.

use crate::{Dag, Decision, StageRef, View, workload::JobArrival};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::Replay,
};
use std::sync::{Arc, OnceLock};

/// The schedule that is recorded of jobs; `None` if of one of them none is.
pub(crate) fn replay(jobs: &[JobArrival]) -> Option<Replay<Dag>> {
    let completed_ms = jobs.iter().map(|job| Some(job.template.recorded()?.completed_ms)).collect::<Option<_>>()?;
    let launches = jobs.iter().map(|job| (job.clone(), OnceLock::new())).collect();
    Some(Replay { policy: Box::new(RecordedOrder { launches: Arc::new(launches) }), completed_ms, unknown: 0 })
}

/// Gives executors to the stages whose next tasks were launched first, as many as were launched of them before those of others.
struct RecordedOrder {
    /// By job, when its tasks were launched, as far as it was asked for.
    launches: Arc<Vec<(JobArrival, OnceLock<Launches>)>>,
}

/// By stage, when its tasks were launched, ascending, ms.
type Launches = Vec<Vec<f64>>;

impl RecordedOrder {
    /// When the tasks of a stage were launched that have no executor yet.
    fn next_ms(&self, seen: &View<'_>, stage: StageRef) -> &[f64] {
        let view = seen.stage(stage);
        let launched = view.num_tasks().saturating_sub(view.demand()) as usize;
        let of_job = self.launches.get(stage.job as usize).map(|(job, found)| found.get_or_init(|| launches(job)));
        let launches = of_job.and_then(|stages| stages.get(stage.stage as usize));
        launches.and_then(|launches| launches.get(launched..)).unwrap_or_default()
    }
}

fn launches(job: &JobArrival) -> Launches {
    let Some(recorded) = job.template.recorded() else { return Vec::new() };
    let of_stage = recorded.runs.by_stage().map(|runs| {
        let mut starts: Vec<f64> = runs.map(|[start_ms, _]| job.arrival_ms + start_ms).collect();
        starts.sort_by(f64::total_cmp);
        starts
    });
    of_stage.collect()
}

impl Policy<Dag> for RecordedOrder {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self { launches: Arc::clone(&self.launches) })
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        let most = seen.committable() as usize;
        let mut next: Vec<(f64, StageRef)> = Vec::new();
        for &stage in seen.schedulable() {
            next.extend(self.next_ms(seen, stage).iter().take(most).map(|&at_ms| (at_ms, stage)));
        }
        next.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        // A stage is given executors once at a time, so that it gets all that are its own.
        let Some(&(_, stage)) = next.first() else {
            // Of stages whose tasks are all on their way nobody is asked.
            return Ok(Decision::Abstain);
        };
        let executors = next.iter().take(most).filter(|(_, of)| *of == stage).count() as u32;
        Ok(Decision::Assign { stage, executors })
    }

    fn forgets(&self) -> bool {
        true
    }
}
