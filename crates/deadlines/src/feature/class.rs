//! Class level: how is a job taken on?

use super::{Asked, Extractor, How, snapshot};
use crate::state::{JobView, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, Quantity};

/// The job that is to be taken on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    asked: Asked<'a>,
    job: JobView<'a>,
    of: &'a snapshot::Candidate,
}

impl Chosen<'_> {
    /// Cores that it gets if it is taken on so; 0 if it does not begin.
    fn cores(&self, how: How) -> u32 {
        match how {
            How::Elastic => self.of.size.min(self.job.room()).max(1),
            How::AsSubmitted => self.job.requested(),
            How::BestEffort | How::Refused => 0,
        }
    }

    /// Time to spare then, ms; 0 if it does not begin.
    fn slack_ms(&self, how: How) -> f64 {
        match how {
            How::Elastic | How::AsSubmitted => self.job.slack_with_ms(self.cores(how), how == How::Elastic),
            How::BestEffort | How::Refused => 0.0,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Class;

impl Level for Class {
    type Question<'a> = Chosen<'a>;
    type Candidate<'a> = How;

    const NAME: &'static str = "class";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Class>;

/// Ways in which the job does not begin.
const NOT_BEGUN: &[(&str, f32)] = &[("is_best_effort", 1.0), ("is_refused", 1.0)];

const QUANTITIES: &[Quantity<Class>] = &[
    Q::flag(Measured, "is_elastic", "Whether it begins at a size of its own, all of which it uses.")
        .words(
            "a number of cores that it chooses",
            "to {take the job without choosing its number of cores|choose the job's number of cores itself}",
        )
        .value(&|_, how| *how == How::Elastic),
    Q::flag(Measured, "is_as_submitted", "Whether it begins as it was submitted.")
        .words("starting as submitted", "to {start the job otherwise than|start the job} as submitted")
        .value(&|_, how| *how == How::AsSubmitted),
    Q::flag(Measured, "is_best_effort", "Whether its deadline is given up.")
        .words("giving its deadline up", "to {keep the job's deadline|give the job's deadline up}")
        .value(&|_, how| *how == How::BestEffort),
    Q::flag(Measured, "is_refused", "Whether it is refused.")
        .words("refusing it", "to {keep|refuse} the job")
        .value(&|_, how| *how == How::Refused),
    Q::time(Declared, "slack_then", "Predicted time to spare then, at a size that suffices or as requested;")
        .and("0 if it does not begin.")
        .lacking(NOT_BEGUN)
        .words("time to spare then", "what leaves {less|more} time to spare")
        .ranked(&|q, how| q.slack_ms(*how)),
    Q::count(Declared, "cores_then", "cores", "Cores that it gets then; 0 if it does not begin.")
        .lacking(NOT_BEGUN)
        .words("cores then", "what takes {fewer|more} cores")
        .value(&|q, how| q.cores(*how)),
    Q::flag(Measured, "running", "Whether it runs already.")
        .clauses("the job {waits|runs already}")
        .shared("running already", &|q| q.asked.all.is_running),
    Q::flag(Declared, "hopeless", "Whether it is predicted to be late whatever it gets.")
        .clauses("the job {can still be on time|cannot be on time any more}")
        .shared("being hopeless", &|q| q.of.hopeless),
    Q::flag(Declared, "fits", "Whether a size that suffices could be had now.")
        .clauses("there is {no room|room} for a size that suffices")
        .shared("room for a size that suffices", &|q| q.of.fits),
    Q::time(Declared, "slack", "Predicted time to spare if it gets the most cores that it can use.")
        .shared("time to spare at its largest size", &|q| q.job.best_slack_ms()),
    Q::time(Declared, "slack_as_requested", "Predicted time to spare as submitted, on the cores that it requests.")
        .shared("time to spare as requested", &|q| q.job.slack_with_ms(q.job.requested(), false)),
    Q::flag(Declared, "request_fits", "Whether its requested cores could be had now.")
        .clauses("there is {no room|room} for its request")
        .shared("room for its request", &|q| q.job.requested() <= q.job.room()),
    Q::count(Measured, "waiting", "jobs", "Jobs that wait and whose deadline is not given up.")
        .shared("jobs that wait", &|q| q.asked.seen.waiting().len() as f64),
    Q::count(Decided, "free_cores", "cores", "Free cores on the node that has most.")
        .shared("free cores of the emptiest node", &|q| q.asked.seen.room()),
];

impl Extractor {
    /// Appends one row per way in which the job may be taken on; returns their number.
    pub fn class_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) -> usize {
        let all = &self.snapshot;
        let of = &all.candidates()[candidate];
        let chosen = Chosen { asked: Asked { seen: *seen, all }, job: seen.job(of.job), of };
        self.class.write(&chosen, of.ways(), false, out)
    }
}
