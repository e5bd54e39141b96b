//! Clipper's adaptive batching.

use super::{add_oldest, round};
use crate::state::{Decision, Question, View};

/// By how much a batch may grow when it was in time, and times what when it was not.
const MORE: f64 = 1.0;
const LESS: f64 = 0.9;

/// Tasks in order of arrival, applications in turns, batches as large as their time allows: by one more after a batch of the largest
/// size that takes no longer than the objective, by a tenth fewer after one that does (additive increase, multiplicative decrease;
/// Crankshaw et al., NSDI 2017, section 4.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clipper {
    /// By application, the largest size that is tried.
    sizes: Vec<f64>,
    /// That of the batch that is being formed.
    tried: u32,
}

impl Clipper {
    /// Answers a question.
    #[must_use]
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        self.sizes.resize(seen.applications() as usize, 1.0);
        let Question::Form(application) = seen.question() else {
            return round(seen).next().map_or(Decision::WAIT, |application| Decision::Serve { application });
        };
        let of = seen.queue(application).application();
        let size = &mut self.sizes[application as usize];
        let batch = seen.batch();
        if batch.count == 0 {
            self.tried = *size as u32;
        } else if batch.count >= self.tried {
            return Decision::Close;
        }
        let decision = add_oldest(seen, application);
        if let Some(oldest) = seen.queue(application).oldest()
            && decision.task().is_some()
            && batch.count + 1 == self.tried
        {
            // The batch has the size that is tried: its time is known.
            let in_time = of.ms(batch.with(oldest.size)) <= of.objective_ms;
            let next = if in_time { *size + MORE } else { *size * LESS };
            *size = next.clamp(1.0, f64::from(of.most));
        }
        decision
    }
}
