//! Triton Inference Server's dynamic batcher.

use super::add_oldest;
use crate::state::{Decision, Question, View};

/// Tasks in order of arrival in batches of the largest preferred size that can be had; without one, a batch of all that wait begins
/// when its oldest task has been delayed for long enough (Triton's model configuration, `dynamic_batching`). Of several
/// applications the one whose oldest task has waited longest is served: instances of models run one at a time here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triton {
    /// Preferred sizes of batches, ascending; the application's most is one. Default: none.
    pub preferred: Vec<u32>,
    /// How long tasks are delayed for a preferred size, ms. Default 0.
    pub delay_ms: f64,
}

impl Triton {
    /// The largest preferred size up to what there is, if there is one.
    fn size(&self, most: u32, available: u32) -> Option<u32> {
        match available >= most {
            true => Some(most),
            false => self.preferred.iter().copied().rfind(|size| *size <= available),
        }
    }

    /// Answers a question.
    #[must_use]
    pub fn decide(&self, seen: &View<'_>) -> Decision {
        if let Question::Form(application) = seen.question() {
            let queue = seen.queue(application);
            let batch = seen.batch().count;
            // What could be had when the batch was begun: no time passes while it is formed.
            let size = self.size(queue.application().most, batch + queue.count());
            return match size.is_some_and(|size| batch >= size) {
                true => Decision::Close,
                false => add_oldest(seen, application),
            };
        }
        let (mut ready, mut until_ms) = (None, f64::INFINITY);
        for application in seen.candidates() {
            let queue = seen.queue(application);
            let Some(oldest) = queue.oldest() else { continue };
            let out_ms = oldest.arrival_ms + self.delay_ms;
            if self.size(queue.application().most, queue.count()).is_none() && out_ms > seen.time_ms() {
                until_ms = until_ms.min(out_ms);
            } else if ready.is_none_or(|(_, first)| oldest.task < first) {
                // Numbers ascend in order of arrival.
                ready = Some((application, oldest.task));
            }
        }
        match ready {
            Some((application, _)) => Decision::Serve { application },
            None => Decision::Wait { until_ms: Some(until_ms) },
        }
    }
}
