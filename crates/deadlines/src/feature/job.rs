//! Job level: which job begins next, if any?

use super::{Asked, Extractor, snapshot};
use crate::state::{JobView, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

/// A job that is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    job: JobView<'a>,
    of: &'a snapshot::Candidate,
    /// Its place among them.
    place: u32,
}

impl Candidate<'_> {
    /// Time to spare if it begins now on as many of the free cores as it can use, ms.
    fn slack_now_ms(&self) -> f64 {
        self.job.slack_with_ms(self.job.most().min(self.job.room()).max(1), true)
    }

    /// Probability to be on time if it begins now.
    fn chance(&self) -> f64 {
        self.job.chance_with(self.of.size.min(self.job.room()).max(1), true)
    }

    /// Uncertainty of its time, as a share of it.
    fn uncertainty(&self) -> f64 {
        let estimate = self.job.estimate();
        estimate.deviation_ms(self.of.size) / estimate.time_ms(self.of.size)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Job;

impl Level for Job {
    type Question<'a> = Asked<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Job>;

const QUANTITIES: &[Quantity<Job>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to start no job now.")
        .words("starting no job", "to {start rather than to wait|wait rather than to start}")
        .ends("to start a job at once", "to leave the waiting jobs for later")
        .is_none(),
    Q::time(Declared, "due", "Time until its deadline.")
        .words("time until its deadline", "with {an earlier|a later} deadline")
        .ranked(&|_, c| c.job.due_ms()),
    Q::time(Declared, "slack", "Predicted time to spare if it gets the most cores that it can use.")
        .words("time to spare at its largest size", "with {less|more} time to spare")
        .ranked(&|_, c| c.job.best_slack_ms()),
    Q::time(Declared, "slack_as_requested", "Predicted time to spare as submitted, on the cores that it requests.")
        .words("time to spare as requested", "with {less|more} time to spare as requested")
        .ranked(&|_, c| c.job.slack_with_ms(c.job.requested(), false)),
    Q::time(Declared, "slack_now", "Predicted time to spare if it begins now on as many of the free cores as it can")
        .and("use.")
        .words("time to spare if it begins now", "with {less|more} time to spare if it begins now")
        .ranked(&|_, c| c.slack_now_ms()),
    Q::flag(Declared, "hopeless", "Whether it is predicted to be late whatever it gets.")
        .words("being hopeless", "that {can still be on time|cannot be on time any more}")
        .ends("that can still be on time", "that cannot be on time any more")
        .value(&|_, c| c.of.hopeless),
    Q::flag(Declared, "fits", "Whether a size that suffices could be had now.")
        .words("room for a size that suffices", "for which there is {too little room|room}")
        .value(&|_, c| c.of.fits),
    Q::count(Declared, "sufficient", "cores", "The smallest size with which it is predicted to be on time,")
        .and("8 % kept in reserve; its largest if none suffices.")
        .words("cores that suffice", "that needs {fewer|more} cores")
        .ranked(&|_, c| c.of.size),
    Q::time(Declared, "core_time", "Predicted core time at that size.")
        .words("core time", "with {less|more} core time")
        .compared(&|_, c| c.of.core_ms),
    Q::time(Declared, "time", "Predicted time at that size.")
        .words("time at a size that suffices", "that takes {less|more} time")
        .ranked(&|_, c| c.job.work_ms(c.of.size)),
    Q::time(Declared, "shortest_time", "Predicted time at its largest size.")
        .words("time at its largest size", "that takes {less|more} time at its largest size")
        .ranked(&|_, c| c.job.work_ms(c.job.most())),
    Q::share(Declared, "chance", "Probability to be on time if it begins now at that size,")
        .and("or on the free cores if these are fewer.")
        .words("chance to be on time", "with a {smaller|larger} chance to be on time")
        .value(&|_, c| c.chance()),
    Q::share(Declared, "uncertainty", "Uncertainty of its predicted time, as a share of it.")
        .words("uncertainty of its time", "whose time is known {better|less well}")
        .value(&|_, c| c.uncertainty()),
    Q::count(Declared, "requested", "cores", "Cores that it requests.")
        .words("cores requested", "that requests {fewer|more} cores")
        .ranked(&|_, c| c.job.requested()),
    Q::flag(Declared, "request_fits", "Whether they could be had now.")
        .words("room for its request", "whose request {does not fit|fits}")
        .value(&|_, c| c.job.requested() <= c.job.room()),
    Q::count(Declared, "threads", "cores", "Cores that its program uses as submitted.")
        .words("cores used as submitted", "that uses {fewer|more} cores as submitted")
        .ranked(&|_, c| c.job.threads()),
    Q::time(Measured, "age", "Time since it arrived.")
        .words("time since it arrived", "that arrived {later|earlier}")
        .ranked(&|q, c| q.seen.time_ms() - c.job.arrival_ms()),
    Q::count(Measured, "arrival_order", "1", "Place among the waiting jobs by arrival, 0 is the oldest.")
        .words("place by arrival", "that arrived {earlier|later}")
        .value(&|_, c| c.place),
    Q::count(Measured, "waiting", "jobs", "Jobs that wait and whose deadline is not given up.")
        .shared("jobs that wait", &|q| q.seen.waiting().len() as f64),
    Q::count(Declared, "hopeless_jobs", "jobs", "Those of them that are predicted to be late whatever they get.")
        .shared("hopeless jobs", &|q| q.all.hopeless),
    Q::count(Declared, "fitting_jobs", "jobs", "Those of the others of which a sufficient size could be had now.")
        .shared("jobs that could begin at a size that suffices", &|q| q.all.fitting),
    Q::time(Declared, "backlog", "Predicted core time of waiting jobs that are not hopeless ÷ cores of the cluster.")
        .shared("core time that waits, per core", &|q| q.all.backlog_ms),
    Q::count(Decided, "running", "jobs", "Jobs that run.").shared("jobs that run", &|q| q.seen.running().len() as f64),
    Q::count(Decided, "free_cores", "cores", "Free cores on the node that has most.")
        .shared("free cores of the emptiest node", &|q| q.seen.room()),
    Q::share(Decided, "free_share", "Share of the cluster's cores that is free.")
        .shared("share of cores that is free", &|q| f64::from(q.seen.free()) / f64::from(q.seen.cluster().cores())),
];

impl Extractor {
    /// Appends one row per job that is asked about, in order of arrival, and one for starting none if they wait; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let all = &self.snapshot;
        let candidates = (0..).zip(all.candidates());
        let candidates = candidates.map(|(place, of)| Candidate { job: seen.job(of.job), of, place });
        self.job.write(&Asked { seen: *seen, all }, candidates, !all.is_running, out)
    }
}

impl super::Snapshot {
    /// The place of starting no job, if that is asked.
    #[must_use]
    pub fn none(&self) -> Option<usize> {
        (!self.is_running).then_some(self.candidates().len())
    }
}
