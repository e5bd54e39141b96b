//! Amount level: how many cores does a job get?

use super::{Extractor, How, flag};
use crate::{
    heuristic::RESERVE,
    state::{Class, View},
};
use sched_distill_core::feature::{Base, Ratio};

/// Most that a time to spare is said to be, as a share of the time still needed.
const MOST_SHARE: f64 = 100.0;

pub(super) const BASE: &[Base] = &[
    Base::count("cores", "cores", "Cores that it gets.").ranked(),
    Base::flag("is_kept", "Whether it keeps the cores that it has."),
    Base::count("change", "cores", "Cores that it gets more than it has; negative if fewer.").decided(),
    Base::count("beyond_sufficient", "cores", "Cores beyond the smallest size that suffices; negative if too few.")
        .declared(),
    Base::flag("is_sufficient", "Whether it is the smallest size that suffices, or the largest where none does.").declared(),
    Base::flag("suffices", "Whether it is predicted to be on time, 8 % kept in reserve.").declared(),
    Base::absolute("slack", "ms", "Predicted time to spare.").declared(),
    Base::absolute("slack_share", "1", "Predicted time to spare, as a share of the time still needed.").declared(),
    Base::share("chance", "Probability to be on time.").declared(),
    Base::absolute("time", "ms", "Predicted time until it is complete.").declared().with_ratio(Ratio::Time),
    Base::absolute("core_time", "ms", "Predicted core time until it is complete.").declared().ranked().with_ratio(Ratio::Time),
    Base::count("unused", "cores", "Cores that its program would leave idle.").declared(),
    Base::count("free_then", "cores", "Free cores of the cluster then.").decided(),
    Base::count("begin_then", "jobs", "Waiting jobs that are not hopeless, any one of which could then begin at a size that suffices.")
        .declared(),
    Base::flag("running", "Whether it runs already."),
    Base::flag("best_effort", "Whether its deadline is given up.").decided(),
    Base::flag("as_submitted", "Whether it would begin, or runs, as it was submitted."),
    Base::flag("hopeless", "Whether it is predicted to be late whatever it gets.").declared(),
    Base::count("sufficient", "cores", "The smallest size that suffices; its largest if none does.").declared(),
    Base::count("held", "cores", "Cores that it has.").decided(),
    Base::absolute("slack_kept", "ms", "Predicted time to spare with the cores that it has, or requests if it waits.")
        .declared(),
    Base::absolute("slack_kept_share", "1", "That time to spare, as a share of the time still needed.").declared(),
    Base::count("spare_checks", "1", "Checks in a row that found it with more than 15 % of time to spare.").declared(),
    Base::absolute("unchanged", "ms", "Time since it got the cores that it has.").decided(),
    Base::absolute("time_left", "ms", "Predicted time that it still needs at its sufficient size.").declared(),
    Base::count("waiting", "jobs", "Jobs that wait and whose deadline is not given up."),
    Base::count("fitting_jobs", "jobs", "Those that are not hopeless of which a sufficient size could be had now.")
        .declared(),
    Base::count("missing", "cores", "Cores that are missing to begin the waiting job that needs fewest, if none fits.")
        .declared(),
    Base::absolute(
        "backlog",
        "ms",
        "Predicted core time of waiting jobs that are not hopeless ÷ cores of the cluster.",
    )
    .declared(),
    Base::absolute("urgent", "ms", "How long the waiting jobs that are not hopeless can all still wait, each at its largest size; 1e9 ms without any.")
        .declared(),
    Base::count("free_cores", "cores", "Free cores on the node that has most.").decided(),
];

impl Extractor {
    /// Appends a row for each number of cores from 1 on; returns how many there are, 0 if the job gets none in this way.
    pub fn amount_rows(&mut self, seen: &View<'_>, candidate: usize, how: How, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let candidate = &s.candidates()[candidate];
        let most = candidate.most(seen, how);
        let job = seen.job(candidate.job);
        let (due, remaining, elastic) = (job.due_ms(), job.remaining(), how == How::Elastic);
        let as_submitted = if s.is_running { !job.is_elastic() } else { !elastic };
        let (held, slack_kept) = (job.cores(), job.slack_ms());
        let kept_ms = job.work_ms(if s.is_running { job.used() } else { job.threads().min(job.requested()) }).max(1.0);
        self.amount.clear();
        for cores in 1..=most {
            let used = job.used_with(cores, elastic);
            let (pause, work) = (job.pause_with_ms(cores), remaining * job.estimate().time_ms(used));
            let slack = due - pause - work;
            self.amount.push([
                f64::from(cores),
                flag(cores == held),
                f64::from(cores) - f64::from(held),
                f64::from(cores) - f64::from(candidate.size),
                flag(cores == candidate.size),
                flag(pause + (1.0 + RESERVE) * work <= due),
                slack,
                (slack / work.max(1.0)).clamp(-MOST_SHARE, MOST_SHARE),
                job.chance_with(cores, elastic),
                pause + work,
                f64::from(cores) * (pause + work),
                f64::from(cores - used),
                f64::from(seen.free() + held) - f64::from(cores),
                s.begin(job.room_then(cores)) as f64,
                flag(s.is_running),
                flag(job.class() == Class::BestEffort),
                flag(as_submitted),
                flag(candidate.hopeless),
                f64::from(candidate.size),
                f64::from(held),
                slack_kept,
                (slack_kept / kept_ms).clamp(-MOST_SHARE, MOST_SHARE),
                f64::from(job.spare_checks()),
                job.unchanged_ms(),
                job.work_ms(candidate.size),
                seen.waiting().len() as f64,
                f64::from(s.fitting),
                f64::from(s.missing),
                s.backlog_ms,
                s.urgent_ms,
                f64::from(seen.room()),
            ]);
        }
        self.amount.write(out);
        most as usize
    }
}
