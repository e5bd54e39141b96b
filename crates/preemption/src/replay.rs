//! The order in which jobs were started where they were recorded, carried out again.

use crate::{
    Preemption,
    heuristic::{Queue, least, waiting},
    state::{Decision, Question, View},
    workload::PreemptionJob,
};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::Replay,
    workload::recorded_starts,
};
use std::sync::Arc;

/// The schedule that is recorded of jobs; `None` if of one of them the start is not known. Nobody is suspended: a job that was runs on.
pub(crate) fn replay(jobs: &[PreemptionJob]) -> Option<Replay<Preemption>> {
    let (starts_ms, completed_ms) = recorded_starts(jobs.iter().map(|job| (job.arrival_ms, job.recorded)))?;
    Some(Replay { policy: Box::new(RecordedOrder { starts_ms: starts_ms.into() }), completed_ms })
}

/// Starts jobs in the order of their recorded starts, each as soon as it fits; nobody begins before who began first.
struct RecordedOrder {
    /// By job, ms.
    starts_ms: Arc<[f64]>,
}

impl Policy<Preemption> for RecordedOrder {
    fn fresh(&self) -> Box<dyn Policy<Preemption>> {
        Box::new(Self { starts_ms: Arc::clone(&self.starts_ms) })
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        if seen.question() != Question::Serve {
            return Ok(Queue::Fifo.decide(seen));
        }
        let start_ms = |job: u32| self.starts_ms.get(job as usize).copied();
        let next = least(waiting(seen), start_ms).filter(|&job| seen.job(job).gpus() <= seen.unreserved());
        Ok(next.map_or(Decision::Wait, |job| Decision::Serve { job }))
    }

    fn forgets(&self) -> bool {
        true
    }
}
