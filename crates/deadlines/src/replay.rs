//! The order in which jobs were started where they were recorded, carried out again.

use crate::{
    Deadlines,
    heuristic::{Queue, least},
    state::{Decision, Question, View},
    workload::DeadlineJob,
};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::Replay,
    workload::recorded_starts,
};
use std::sync::Arc;

/// The schedule that is recorded of jobs; `None` if one of them is of no log.
pub(crate) fn replay(jobs: &[DeadlineJob]) -> Option<Replay<Deadlines>> {
    let (starts_ms, completed_ms, unknown) = recorded_starts(jobs.iter().map(|job| (job.arrival_ms, job.recorded)))?;
    Some(Replay { policy: Box::new(RecordedOrder { starts_ms: starts_ms.into() }), completed_ms, unknown })
}

/// Starts jobs in the order of their recorded starts with what they asked for, each as soon as it fits, and leaves them as they are; nobody
/// begins before who began first.
struct RecordedOrder {
    /// By job, ms.
    starts_ms: Arc<[f64]>,
}

impl Policy<Deadlines> for RecordedOrder {
    fn fresh(&self) -> Box<dyn Policy<Deadlines>> {
        Box::new(Self { starts_ms: Arc::clone(&self.starts_ms) })
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        if seen.question() != Question::Start {
            return Ok(Queue::Fifo.decide(seen));
        }
        let start_ms = |job: u32| self.starts_ms.get(job as usize).copied();
        let next = least(seen, start_ms).filter(|&job| seen.job(job).requested() <= seen.room());
        let start = |job| Decision::Start { job, cores: seen.job(job).requested(), elastic: false };
        Ok(next.map_or(Decision::Wait, start))
    }

    fn forgets(&self) -> bool {
        true
    }
}
