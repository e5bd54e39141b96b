//! Batching by slack, as LazyBatching has it.

use crate::state::{Decision, Question, View};

/// The application whose oldest task has the least slack first; its tasks join in order of arrival as long as that makes no task of
/// the batch late that is not late anyway. After LazyBatching (Choi et al., HPCA 2021), which lets tasks join between the nodes of a
/// graph; here a batch runs to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lazy;

impl Lazy {
    /// Answers a question.
    #[must_use]
    pub fn decide(&self, seen: &View<'_>) -> Decision {
        let now = seen.time_ms();
        let Question::Form(application) = seen.question() else {
            let slack_ms = |application: u32| {
                let queue = seen.queue(application);
                let of = queue.application();
                queue.oldest().map_or(f64::INFINITY, |t| t.arrival_ms + of.objective_ms - of.solo_ms(t.size))
            };
            let least = seen.candidates().map(|application| (slack_ms(application), application));
            let least = least.min_by(|a, b| a.0.total_cmp(&b.0));
            return least.map_or(Decision::WAIT, |(_, application)| Decision::Serve { application });
        };
        let (of, batch) = (seen.queue(application).application(), seen.batch());
        let Some(oldest) = seen.queue(application).oldest().filter(|oldest| seen.fits(oldest.size)) else {
            return Decision::Close;
        };
        if batch.count > 0 {
            let (before_ms, after_ms) = (now + of.ms(batch), now + of.ms(batch.with(oldest.size)));
            let made_late = |arrival_ms: f64| (before_ms..after_ms).contains(&(arrival_ms + of.objective_ms));
            if seen.formed().any(|(_, arrival_ms)| made_late(arrival_ms)) {
                return Decision::Close;
            }
        }
        Decision::Add { task: oldest.task }
    }
}
