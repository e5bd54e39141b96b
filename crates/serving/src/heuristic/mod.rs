//! Who decides without having learned: the batchers of serving systems, and DyBatch.

mod best_batch;
mod clipper;
mod dybatch;
mod lazy;
mod tf_serving;
mod triton;

pub use best_batch::BestBatch;
pub use clipper::Clipper;
pub use dybatch::DyBatch;
pub use lazy::Lazy;
pub use tf_serving::TfServing;
pub use triton::Triton;

use crate::state::{Decision, View};

/// The applications in a round, beginning after the one that was served last, of those with waiting tasks.
pub(crate) fn round(seen: &View<'_>) -> impl Iterator<Item = u32> {
    let (seen, count) = (*seen, seen.applications());
    let first = seen.served().map_or(0, |last| last + 1);
    (0..count).map(move |i| (first + i) % count).filter(move |&application| seen.queue(application).count() > 0)
}

/// Adds the oldest waiting task to the batch of an application, if it fits; otherwise closes the batch.
pub(crate) fn add_oldest(seen: &View<'_>, application: u32) -> Decision {
    match seen.queue(application).oldest() {
        Some(oldest) if seen.fits(oldest.size) => Decision::Add { task: oldest.task },
        _ => Decision::Close,
    }
}
