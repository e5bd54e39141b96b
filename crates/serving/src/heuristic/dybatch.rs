//! DyBatch: batches in which nobody is worse off, and applications that have had the least.

use super::{add_oldest, round};
use crate::state::{Decision, Question, View};

/// The application that has had the least accelerator time by its weight, lately, is served. Its oldest task opens the batch; then tasks
/// join whose size is nearest to the largest, as long as the batch with one more ends no later than that one in a batch of its own right
/// after it, and the time per task does not rise. After the abstract of Zhang et al., CCGrid 2020; the rules in detail are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DyBatch {
    /// Whether applications are served by what they have had; otherwise they take turns. Default true.
    pub fair: bool,
    /// Whether batches are formed by size; otherwise in order of arrival. Default true.
    pub by_size: bool,
    /// A task that so many batches of its application have passed over is in the next one; `None`, the default, for never: the oldest
    /// always is.
    pub age: Option<u32>,
}

impl Default for DyBatch {
    fn default() -> Self {
        Self { fair: true, by_size: true, age: None }
    }
}

impl DyBatch {
    /// Answers a question.
    #[must_use]
    pub fn decide(&self, seen: &View<'_>) -> Decision {
        let Question::Form(application) = seen.question() else {
            let next = if self.fair { least_served(seen) } else { round(seen).next() };
            return next.map_or(Decision::WAIT, |application| Decision::Serve { application });
        };
        let batch = seen.batch();
        if batch.count == 0 || !self.by_size {
            return add_oldest(seen, application);
        }
        if let Some(age) = self.age
            && let Some(oldest) = seen.queue(application).oldest()
            && oldest.passed >= u64::from(age)
            && seen.fits(oldest.size)
        {
            return Decision::Add { task: oldest.task };
        }
        let of = seen.queue(application).application();
        let nearest = seen.nearest(batch.largest).into_iter().flatten().filter(|group| of.pays(batch, group.size));
        match nearest.min_by_key(|group| group.size.abs_diff(batch.largest)) {
            Some(group) => Decision::Add { task: group.task },
            None => Decision::Close,
        }
    }
}

/// The application with the least accelerator time by its weight, lately; of several the next in the round.
pub(crate) fn least_served(seen: &View<'_>) -> Option<u32> {
    let had = |application: u32| seen.queue(application).used_ms() / seen.queue(application).application().weight;
    round(seen).map(|application| (had(application), application)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, a)| a)
}
