//! The batch that is worth its time most.

use crate::state::{Decision, Question, View};

/// Of all batches that can be formed the one with the most merit ([`BatchView::merit`](crate::BatchView::merit)): tasks per time ×
/// efficiency⁴ × the square root of how long its oldest task has waited. An index rule, as they are known of bandits (Gittins, 1979);
/// the index is ours, its powers were found by search on validation episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BestBatch;

impl BestBatch {
    /// Answers a question.
    #[must_use]
    pub fn decide(&self, seen: &View<'_>) -> Decision {
        let Question::Form(_) = seen.question() else {
            let batch = |application: u32| (seen.queue(application).best_batch().batch, application);
            let batches = seen.candidates().map(batch);
            let best = batches.reduce(|best, other| if other.0.beats(best.0.merit()) { other } else { best });
            return best.map_or(Decision::WAIT, |(_, application)| Decision::Serve { application });
        };
        // The largest first, so that what is found next is the same batch.
        let Some([least, most]) = seen.best_batch().joining else { return Decision::Close };
        let joins = seen.groups().filter(|group| (least..=most).contains(&group.size)).last();
        joins.map_or(Decision::Close, |group| Decision::Add { task: group.task })
    }
}
