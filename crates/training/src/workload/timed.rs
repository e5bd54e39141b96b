//! Jobs that arrive at times, which may lie within slots, cut by time or whole.

use super::{JOB_BYTES, Recorded, TrainingJob};
use crate::{Training, cluster::TrainingCluster};
use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::{Costs, Dated, History, Source},
    workload::{Cut, Ran, Work},
};
use std::sync::Arc;

/// A job before it is known in which slot of an episode it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) job: TrainingJob,
    pub(super) arrival_ms: f64,
    /// When it ran where it was recorded, if it was.
    pub(super) ran: Option<Ran>,
}

impl Timed {
    /// The job, which arrives in this slot.
    pub(super) fn in_slot(self, arrival_slot: u32) -> TrainingJob {
        let recorded = self.ran.map(|ran| Recorded { arrival_ms: self.arrival_ms, ran });
        TrainingJob { arrival_slot, recorded, ..self.job }
    }
}

impl Dated for Timed {
    fn arrival_ms(&self) -> f64 {
        self.arrival_ms
    }

    fn arriving(self, arrival_ms: f64) -> Self {
        Self { arrival_ms, ..self }
    }

    fn ended_ms(&self) -> Option<f64> {
        Some(self.arrival_ms + self.ran?.end_ms)
    }

    /// A job that waited has all of its epochs left, one that ran its share of them.
    fn left_at(&self, time_ms: f64) -> Option<Self> {
        let (ran, since_ms) = (self.ran?, time_ms - self.arrival_ms);
        let share = ran.left(since_ms)?;
        let (epochs, real_epochs) = (share * self.job.epochs, share * self.job.real_epochs);
        let job = TrainingJob { epochs, real_epochs, ..self.job };
        Some(Self { job, arrival_ms: time_ms, ran: Some(ran.after(since_ms)) })
    }
}

/// Jobs of a history, in slots.
#[derive(Debug)]
pub(super) struct InSlots(History<Timed>);

impl InSlots {
    /// These jobs, in order of arrival. Where the cut names no length, a window has about `window_jobs`.
    ///
    /// # Errors
    ///
    /// A history that is too short to be cut.
    pub(super) fn new(all: Vec<Timed>, cluster: &TrainingCluster, cut: &Cut, window_jobs: u32) -> Result<Self, String> {
        let gap = all.last().map_or(0.0, |last| last.arrival_ms) / cluster.slot_ms() / all.len() as f64;
        let costs = Costs { events: &|found: &Timed| gap + cluster.slots(&found.job), bytes: JOB_BYTES };
        History::new(all, cut, window_jobs, &costs).map(Self)
    }

    /// How they are cut, if they are.
    pub(super) fn cut(&self) -> Option<String> {
        self.0.cut()
    }
}

impl Source<Training> for InSlots {
    fn jobs(&self, cluster: &Arc<TrainingCluster>, id: EpisodeId) -> Vec<TrainingJob> {
        in_slots(self.0.episode(id), cluster)
    }

    fn work(&self, _: &Arc<TrainingCluster>) -> Work {
        self.0.work()
    }

    fn most_episodes(&self, split: Split) -> Option<u32> {
        self.0.most_episodes(split)
    }

    fn period(&self, split: Split) -> Option<(f64, usize)> {
        self.0.period(split)
    }

    fn all_jobs(&self, cluster: &Arc<TrainingCluster>) -> Option<Vec<TrainingJob>> {
        Some(in_slots(self.0.all(), cluster))
    }
}

/// Jobs with the slots in which they arrive.
fn in_slots(jobs: Vec<Timed>, cluster: &TrainingCluster) -> Vec<TrainingJob> {
    let slot_ms = cluster.slot_ms();
    // Slots are counted up to the last arrival, of which `Work` has a bound.
    jobs.into_iter().map(|found| found.in_slot((found.arrival_ms / slot_ms) as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_job_is_the_rest_of_its_epochs() {
        let job = TrainingJob { kind: 1, arrival_slot: 0, epochs: 10.0, real_epochs: 12.0, recorded: None };
        let job =
            Timed { job, arrival_ms: 100.0, ran: Some(Ran { start_ms: 100.0, end_ms: 500.0, is_start_known: true }) };
        let left =
            |time_ms: f64| job.left_at(time_ms).map(|left| (left.arrival_ms, left.job.epochs, left.job.real_epochs));
        assert_eq!(job.ended_ms(), Some(600.0));
        assert_eq!(left(150.0), Some((150.0, 10.0, 12.0)));
        assert_eq!(left(500.0), Some((500.0, 2.5, 3.0)));
        assert_eq!(left(600.0), None);
        assert_eq!(Timed { ran: None, ..job }.left_at(150.0), None);
    }
}
