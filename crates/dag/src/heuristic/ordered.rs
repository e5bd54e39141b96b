//! Orders that give all on offer to whoever comes first in them: how Apache Spark launches tasks, by jobs that do not move.

use crate::{
    Dag,
    heuristic::plain::first_free,
    state::{Decision, StageRef, View},
};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
};

/// Who comes first; of equals who arrived first.
#[derive(Clone, Debug)]
pub(crate) enum Ordered {
    /// The job that arrived first. So Spark's FIFO orders jobs.
    Arrival,
    /// The stage that could start first. So FIFO orders adaptive queries, each stage of which is submitted as a job when it can start.
    Ready(Queue),
    /// The job with the fewest tasks running. So FAIR orders pools of equal weight, one to a job.
    Running,
}

impl Ordered {
    pub(crate) fn ready() -> Self {
        Self::Ready(Queue::default())
    }

    fn first(&mut self, seen: &View<'_>) -> Option<StageRef> {
        let mut jobs = seen.schedulable().chunk_by(|a, b| a.job == b.job);
        let stages = match self {
            Self::Arrival => jobs.next(),
            Self::Running => jobs.min_by_key(|stages| running(seen, stages[0].job)),
            Self::Ready(queue) => return queue.first(seen).or_else(|| first_free(seen, jobs.next()?)),
        };
        first_free(seen, stages?)
    }
}

/// Executors at stages of a job, or on their way there.
fn running(seen: &View<'_>, job: u32) -> u32 {
    seen.job(job).active_stages().map(|stage| stage.executors()).sum()
}

/// Stages that can start, in the order in which they were first seen so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    stages: Vec<StageRef>,
    /// What has launched all its tasks is looked for when there are so many.
    enough: usize,
}

impl Queue {
    /// The first stage that may be chosen.
    fn first(&mut self, seen: &View<'_>) -> Option<StageRef> {
        let offered = seen.schedulable();
        // Since the last question jobs have arrived; stages with parents can start as of now, when a task has ended.
        for is_first in [true, false] {
            for &stage in offered {
                let view = seen.stage(stage);
                let is_new = view.incomplete_parents() == 0 && !self.stages.contains(&stage);
                if is_new && view.parents().is_empty() == is_first {
                    self.stages.push(stage);
                }
            }
        }
        if self.stages.len() > self.enough {
            self.stages.retain(|stage| offered.contains(stage) || is_waiting(seen, *stage));
            self.enough = 2 * self.stages.len();
        }
        self.stages.iter().find(|stage| offered.contains(stage)).copied()
    }
}

fn is_waiting(seen: &View<'_>, stage: StageRef) -> bool {
    seen.active_jobs().contains(&stage.job) && seen.stage(stage).remaining() > 0
}

impl Policy<Dag> for Ordered {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(match self {
            Self::Ready(_) => Self::ready(),
            other => other.clone(),
        })
    }

    fn reset(&mut self, _: u64) {
        if let Self::Ready(queue) = self {
            *queue = Queue::default();
        }
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        // A question always offers a stage.
        let all = |stage| Decision::Assign { stage, executors: seen.committable() };
        Ok(self.first(seen).map_or(Decision::Abstain, all))
    }

    fn forgets(&self) -> bool {
        !matches!(self, Self::Ready(_))
    }
}
