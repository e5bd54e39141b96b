//! TensorFlow Serving's shared batch scheduler.

use super::{add_oldest, round};
use crate::state::{Decision, Question, View};

/// Tasks in order of arrival; a batch is ready when it is full or its oldest task has waited for a timeout, and ready applications take
/// turns (tensorflow/serving, `batching/README.md`). Numbers of tasks for which a model is compiled belong to the
/// [application](crate::Application::shapes).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TfServing {
    /// Tasks of a batch at most; `None`, the default, for as many as the application allows.
    pub max: Option<u32>,
    /// After how long a batch is ready that is not full, ms. Default 0.
    pub timeout_ms: f64,
}

impl TfServing {
    /// Answers a question.
    #[inline]
    #[must_use]
    pub fn decide(&self, seen: &View<'_>) -> Decision {
        let most = |application: u32| {
            let most = seen.queue(application).application().most;
            self.max.map_or(most, |max| max.min(most))
        };
        if let Question::Form(application) = seen.question() {
            return match seen.batch().count >= most(application) {
                true => Decision::Close,
                false => add_oldest(seen, application),
            };
        }
        let mut until_ms = f64::INFINITY;
        for application in round(seen) {
            let queue = seen.queue(application);
            let out_ms = queue.oldest().map_or(f64::INFINITY, |oldest| oldest.arrival_ms + self.timeout_ms);
            if queue.count() >= most(application) || out_ms <= seen.time_ms() {
                return Decision::Serve { application };
            }
            until_ms = until_ms.min(out_ms);
        }
        Decision::Wait { until_ms: Some(until_ms) }
    }
}
