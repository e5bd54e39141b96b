//! Job level: which job begins next, if any?

use super::{Extractor, flag};
use crate::state::View;
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to start no job now."),
    Base::absolute("due", "ms", "Time until its deadline.").declared().ranked(),
    Base::absolute("slack", "ms", "Predicted time to spare if it gets the most cores that it can use.").declared().ranked(),
    Base::absolute("slack_as_requested", "ms", "Predicted time to spare as submitted, on the cores that it requests.")
        .declared()
        .ranked(),
    Base::absolute("slack_now", "ms", "Predicted time to spare if it begins now on as many of the free cores as it can use.")
        .declared()
        .ranked(),
    Base::flag("hopeless", "Whether it is predicted to be late whatever it gets.").declared(),
    Base::flag("fits", "Whether a size that suffices could be had now.").declared(),
    Base::count("sufficient", "cores", "The smallest size with which it is predicted to be on time, 8 % kept in reserve; its largest if none suffices.")
        .declared()
        .ranked(),
    Base::absolute("core_time", "ms", "Predicted core time at that size.").declared().ranked().with_ratio(Ratio::Time),
    Base::absolute("time", "ms", "Predicted time at that size.").declared().ranked(),
    Base::absolute("shortest_time", "ms", "Predicted time at its largest size.").declared().ranked(),
    Base::share("chance", "Probability to be on time if it begins now at that size, or on the free cores if these are fewer.").declared(),
    Base::share("uncertainty", "Uncertainty of its predicted time, as a share of it.").declared(),
    Base::count("requested", "cores", "Cores that it requests.").declared().ranked(),
    Base::flag("request_fits", "Whether they could be had now.").declared(),
    Base::count("threads", "cores", "Cores that its program uses as submitted.").declared().ranked(),
    Base::absolute("age", "ms", "Time since it arrived.").ranked(),
    Base::count("arrival_order", "1", "Place among the waiting jobs by arrival, 0 is the oldest."),
    Base::count("waiting", "jobs", "Jobs that wait and whose deadline is not given up."),
    Base::count("hopeless_jobs", "jobs", "Those of them that are predicted to be late whatever they get.").declared(),
    Base::count("fitting_jobs", "jobs", "Those of the others of which a sufficient size could be had now.").declared(),
    Base::absolute("backlog", "ms", "Predicted core time of waiting jobs that are not hopeless ÷ cores of the cluster.").declared(),
    Base::count("running", "jobs", "Jobs that run.").decided(),
    Base::count("free_cores", "cores", "Free cores on the node that has most.").decided(),
    Base::share("free_share", "Share of the cluster's cores that is free.").decided(),
];

impl Extractor {
    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// Appends one row per job that is asked about, in order of arrival, and one for starting none if they wait; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let shared = [
            seen.waiting().len() as f64,
            f64::from(s.hopeless),
            f64::from(s.fitting),
            s.backlog_ms,
            seen.running().len() as f64,
            f64::from(seen.room()),
            f64::from(seen.free()) / f64::from(seen.cluster().cores()),
        ];
        self.job.clear();
        for (place, candidate) in s.candidates().iter().enumerate() {
            let job = seen.job(candidate.job);
            let now = candidate.size.min(job.room()).max(1);
            let time = job.work_ms(candidate.size);
            let each = job.estimate();
            let [waiting, hopeless, fitting, backlog, running, room, free] = shared;
            self.job.push([
                0.0,
                job.due_ms(),
                job.best_slack_ms(),
                job.slack_with_ms(job.requested(), false),
                job.slack_with_ms(job.most().min(job.room()).max(1), true),
                flag(candidate.hopeless),
                flag(candidate.fits),
                f64::from(candidate.size),
                candidate.core_ms,
                time,
                job.work_ms(job.most()),
                job.chance_with(now, true),
                each.deviation_ms(candidate.size) / each.time_ms(candidate.size),
                f64::from(job.requested()),
                flag(job.requested() <= job.room()),
                f64::from(job.threads()),
                seen.time_ms() - job.arrival_ms(),
                place as f64,
                waiting,
                hopeless,
                fitting,
                backlog,
                running,
                room,
                free,
            ]);
        }
        self.job.write(out);
        if !s.is_running {
            // What all candidates share comes last.
            self.job.write_flag_row(out);
            let end = out.len();
            out[end - shared.len()..].iter_mut().zip(shared).for_each(|(to, x)| *to = x as f32);
        }
        s.candidates().len() + usize::from(!s.is_running)
    }
}

impl super::Snapshot {
    /// The place of starting no job, if that is asked.
    #[must_use]
    pub fn none(&self) -> Option<usize> {
        (!self.is_running).then_some(self.candidates().len())
    }
}
