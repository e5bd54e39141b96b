//! Class level: how is a job taken on?

use super::{Extractor, How, flag};
use crate::state::View;
use sched_distill_core::feature::Base;

pub(super) const BASE: &[Base] = &[
    Base::flag("is_elastic", "Whether it begins at a size of its own, all of which it uses."),
    Base::flag("is_as_submitted", "Whether it begins as it was submitted."),
    Base::flag("is_best_effort", "Whether its deadline is given up."),
    Base::flag("is_refused", "Whether it is refused."),
    Base::absolute(
        "slack_then",
        "ms",
        "Predicted time to spare then, at a size that suffices or as requested; 0 if it does not begin.",
    )
    .declared()
    .ranked(),
    Base::count("cores_then", "cores", "Cores that it gets then; 0 if it does not begin.").declared(),
    Base::flag("running", "Whether it runs already."),
    Base::flag("hopeless", "Whether it is predicted to be late whatever it gets.").declared(),
    Base::flag("fits", "Whether a size that suffices could be had now.").declared(),
    Base::absolute("slack", "ms", "Predicted time to spare if it gets the most cores that it can use.").declared(),
    Base::absolute("slack_as_requested", "ms", "Predicted time to spare as submitted, on the cores that it requests.")
        .declared(),
    Base::flag("request_fits", "Whether its requested cores could be had now.").declared(),
    Base::count("waiting", "jobs", "Jobs that wait and whose deadline is not given up."),
    Base::count("free_cores", "cores", "Free cores on the node that has most.").decided(),
];

impl Extractor {
    /// Appends one row per way in which the job may be taken on; returns their number.
    pub fn class_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let candidate = &s.candidates()[candidate];
        let job = seen.job(candidate.job);
        let (best_slack, requested_slack) = (job.best_slack_ms(), job.slack_with_ms(job.requested(), false));
        let elastic = candidate.size.min(job.room()).max(1);
        self.class.clear();
        for how in candidate.ways() {
            let (cores, slack) = match how {
                How::Elastic => (elastic, job.slack_with_ms(elastic, true)),
                How::AsSubmitted => (job.requested(), requested_slack),
                How::BestEffort | How::Refused => (0, 0.0),
            };
            self.class.push([
                flag(how == How::Elastic),
                flag(how == How::AsSubmitted),
                flag(how == How::BestEffort),
                flag(how == How::Refused),
                slack,
                f64::from(cores),
                flag(s.is_running),
                flag(candidate.hopeless),
                flag(candidate.fits),
                best_slack,
                requested_slack,
                flag(job.requested() <= job.room()),
                seen.waiting().len() as f64,
                f64::from(seen.room()),
            ]);
        }
        self.class.write(out);
        candidate.ways().count()
    }
}
