//! Orders that preempt, blind to the price: who comes later in the order is condemned for who comes first.

use super::waiting;
use crate::state::{Decision, JobView, Question, View};

/// GPU time from which on `las` has a job in its second queue, ms: 18 000 GPU·s, as in Tiresias (NSDI 2019).
pub const LAS_LIMIT: f64 = 1.8e7;

/// An order of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The least predicted time left first.
    Srtf,
    /// The least time really left first: clairvoyant, for comparison only.
    SrtfTrue,
    /// Discretised two-dimensional least attained service (Tiresias): two queues, the border between them a GPU time, ms.
    Las(f64),
    /// The largest Gittins index first, over the GPU times of earlier jobs (Tiresias).
    Gittins,
}

impl Order {
    /// Who has less comes first.
    fn key(self, seen: &View<'_>, job: &JobView<'_>) -> f64 {
        match self {
            Self::Srtf => job.left_ms(),
            Self::SrtfTrue => seen.truth.left_ms(job),
            Self::Las(limit_ms) => f64::from(u8::from(job.service_ms() >= limit_ms)),
            Self::Gittins => -seen.cluster().earlier.gittins(job.service_ms()),
        }
    }

    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        match seen.question() {
            Question::Serve => self.serve(seen).map_or(Decision::Wait, |job| Decision::Serve { job }),
            Question::Condemn(job) => {
                let own = self.key(seen, &seen.job(job));
                let keys =
                    seen.candidates().map(|job| (self.key(seen, &seen.job(job)), job)).filter(|(key, _)| *key > own);
                // Of equals the last, which has the highest number.
                let worst = keys.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                worst.map_or(Decision::Wait, |(_, job)| Decision::Condemn { job })
            }
        }
    }

    /// The first in order that fits or can be made to.
    fn serve(self, seen: &View<'_>) -> Option<u32> {
        let room = seen.unreserved();
        let mut best: Option<(f64, u32)> = None;
        for id in waiting(seen) {
            let job = seen.job(id);
            let key = self.key(seen, &job);
            if best.is_some_and(|(least, _)| key >= least) {
                continue;
            }
            let need = job.gpus().saturating_sub(room);
            if need == 0 || (need <= seen.condemnable() && self.behind(seen, key) >= need) {
                best = Some((key, id));
            }
        }
        best.map(|(_, job)| job)
    }

    /// GPUs of those that can be condemned and come after a key.
    fn behind(self, seen: &View<'_>, key: f64) -> u32 {
        let jobs = seen.busy().iter().map(|&job| seen.job(job));
        jobs.filter(|job| job.can_be_condemned() && self.key(seen, job) > key).map(|job| job.gpus()).sum()
    }
}
