//! Heuristics that serve the jobs in some order, a worker and a parameter server at a time: DRF, FIFO and two SRTF.

use crate::state::{Decision, JobView, Task, View};

/// A worker and a parameter server for the first job, by `key` and then by arrival, that may still have both; nothing if there
/// is none or if they do not fit the head node.
fn first_by(seen: &View<'_>, key: impl Fn(JobView<'_>) -> f64) -> Decision {
    let (mut first, mut least) = (None, f64::INFINITY);
    for &job in seen.live_jobs() {
        let view = seen.job(job);
        if !view.can_take(Task::Both) {
            continue;
        }
        let key = key(view);
        if first.is_none() || key < least {
            (first, least) = (Some(job), key);
        }
    }
    match first {
        Some(job) if seen.fits(job, Task::Both) => Decision::Add { job, task: Task::Both, node: None },
        _ => Decision::Close,
    }
}

/// Dominant resource fairness (Ghodsi et al., NSDI 2011): the job with the smallest dominant share goes next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drf;

impl Drf {
    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        first_by(seen, |job| job.dominant_share())
    }
}

/// First in, first out: as many workers and parameter servers as allowed for one job after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Fifo {
    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        first_by(seen, |_| 0.0)
    }
}

/// The SRTF of the DL2 simulator: as [`Fifo`], by the remaining share of the believed epochs. New jobs have all of theirs left,
/// so this is nearly first in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Srtf;

impl Srtf {
    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        first_by(seen, |job| job.remaining_share())
    }
}

/// Shortest remaining time first: as [`Fifo`], by the slots that the job would still take at its best speed
/// ([`JobView::best_speed`]), which is the least time it can need.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrueSrtf;

impl TrueSrtf {
    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        first_by(seen, |job| match job.best_speed() {
            best if best > 0.0 => job.remaining_epochs() / best,
            _ => f64::INFINITY,
        })
    }
}
