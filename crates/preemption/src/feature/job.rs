//! Job level: which waiting job is served next, if any?

use super::{Asked, Extractor, HOUR_MS, snapshot};
use crate::{
    heuristic::LAS_LIMIT,
    state::{JobView, View},
};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

/// A job that can be served, or the one in question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    job: JobView<'a>,
    plan: &'a snapshot::Candidate,
    gpus: f64,
    left_ms: f64,
    loading_ms: f64,
    service_ms: f64,
}

impl<'a> Candidate<'a> {
    fn new(seen: &View<'a>, plan: &'a snapshot::Candidate) -> Self {
        let job = seen.job(plan.job);
        Self {
            job,
            plan,
            gpus: f64::from(job.gpus()),
            left_ms: job.left_ms(),
            loading_ms: job.loading_ms(),
            service_ms: job.service_ms(),
        }
    }

    /// Whether it could begin at once on GPUs that claims reserve.
    fn is_lent(&self, asked: &Asked<'_>) -> bool {
        self.plan.need > 0 && self.job.gpus() <= asked.seen.free()
    }

    /// Its run time as a small tree has it.
    fn tree_ms(&self, asked: &Asked<'_>) -> f64 {
        asked.earlier().run_ms(self.job.gpus(), self.job.declared(), self.job.packed_epoch_ms())
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
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to serve no job now.")
        .words("serving no job", "to serve {somebody rather than nobody|nobody}")
        .ends("to serve somebody", "to serve nobody")
        .is_none(),
    Q::count(Measured, "gpus", "GPUs", "GPUs that it runs on.")
        .words("GPUs", "with {fewer|more} GPUs")
        .ranked(&|_, c| c.gpus),
    Q::time(Declared, "time", "Predicted time of computing that is left.")
        .words("time left", "with {less|more} time left")
        .compared(&|_, c| c.left_ms),
    Q::time(Declared, "gpu_time", "That time × its GPUs.")
        .words("GPU time left", "with {less|more} GPU time left")
        .compared(&|_, c| c.gpus * c.left_ms),
    Q::time(Declared, "tree_gpu_time", "Its run time, as a small tree learned from earlier jobs has it, × its GPUs.")
        .words("GPU time as a small tree has it", "with {less|more} GPU time as a small tree has it")
        .ranked(&|q, c| c.gpus * c.tree_ms(q)),
    Q::time(Measured, "load_time", "Predicted time to load it.")
        .words("time to load", "that loads {faster|more slowly}")
        .ranked(&|_, c| c.loading_ms),
    Q::time(Measured, "waited", "Time for which it has waited so far.")
        .words("time waited", "that has waited {less|longer}")
        .ranked(&|_, c| c.job.waited_ms()),
    Q::time(Measured, "age", "Time since it arrived.")
        .words("time since it arrived", "that arrived {later|earlier}")
        .ranked(&|_, c| c.job.age_ms()),
    Q::count(Measured, "arrival_order", "1", "Jobs that arrived before it and wait without a claim.")
        .words("place by arrival", "that arrived {earlier|later}")
        .value(&|q, c| q.before(c.job.id())),
    Q::time(Decided, "service", "GPU time that it has had.")
        .words("GPU time had", "that has had {less|more} GPU time")
        .ranked(&|_, c| c.service_ms),
    Q::flag(Decided, "is_long_served", "Whether that is 18 000 GPU·s or more: the second queue of Tiresias.")
        .words("having had much GPU time", "that has had {little|much} GPU time")
        .value(&|_, c| c.service_ms >= LAS_LIMIT),
    Q::absolute(Decided, "gittins", "1/h", "Its Gittins index: the chance to complete per GPU hour.")
        .words("Gittins index", "that is {less likely|likelier} to complete")
        .ranked(&|q, c| q.earlier().gittins(c.service_ms) * HOUR_MS),
    Q::count(Decided, "preemptions", "1", "How often it was suspended.")
        .words("times it was suspended", "that was suspended {less|more} often")
        .value(&|_, c| c.job.preemptions()),
    Q::flag(Decided, "fits", "Whether unreserved GPUs suffice.")
        .words("room for it", "for which there is {no room|room}")
        .value(&|_, c| c.plan.need == 0),
    Q::flag(Decided, "is_lent", "Whether it could begin at once on GPUs that claims reserve.")
        .words("need of reserved GPUs", "that {needs no|takes} reserved GPUs")
        .value(&|q, c| c.is_lent(q)),
    Q::flag(Declared, "is_back", "Whether it would then be complete before the first claim has all it needs,")
        .and("as is predicted.")
        .lacking(&[("is_lent", 0.0)])
        .words("being back in time", "that would {not be|give reserved GPUs} back in time")
        .value(&|q, c| c.is_lent(q) && c.loading_ms + c.left_ms <= q.all.claims_ms),
    Q::count(Decided, "need", "GPUs", "GPUs that it needs beyond the unreserved ones.")
        .words("GPUs missing", "that lacks {fewer|more} GPUs")
        .ranked(&|_, c| c.plan.need),
    Q::flag(Declared, "is_longer_covered", "Whether jobs with more time left have the GPUs that it needs.")
        .words("longer jobs with GPUs enough", "for which longer jobs {do not suffice|have GPUs enough}")
        .value(&|_, c| c.plan.longer_cover),
    Q::flag(Declared, "divides", "Whether there are longer jobs that could be suspended for it: PickyMan's division,")
        .and("nobody protected.")
        .words(
            "longer jobs to suspend",
            "for which {there are no longer jobs to suspend|longer jobs could be suspended}",
        )
        .value(&|_, c| c.plan.divides),
    Q::flag(Declared, "pays", "Whether that pays: it gains 1.25 times what they lose.")
        .words("suspending others pays", "for which suspending others {does not pay|pays}")
        .value(&|_, c| c.plan.pays),
    Q::time(Declared, "price", "GPU time that suspending and resuming them costs; 0 without a division.")
        .lacking(&[("divides", 0.0)])
        .words("GPU time that it costs", "that costs {less|more} GPU time")
        .ranked(&|_, c| c.plan.price_ms),
    Q::time(Declared, "delay", "Predicted time by which they are delayed, added up; 0 without a division.")
        .lacking(&[("divides", 0.0)])
        .words("delay of those suspended", "that delays others {less|more}")
        .ranked(&|_, c| c.plan.delay_ms),
    Q::time(Declared, "ready", "Predicted time until they have given their GPUs back; 0 without a division.")
        .lacking(&[("divides", 0.0)])
        .words("time until there is room", "for which there is room {sooner|later}")
        .ranked(&|_, c| c.plan.ready_ms),
    Q::time(Declared, "otherwise", "Predicted time until there is room for it without suspending anyone.")
        .words("time until there is room anyway", "for which there is {room soon anyway|no room for long}")
        .ranked(&|_, c| c.plan.otherwise_ms),
    Q::time(Declared, "gain", "That time, less the time until there is room by the division and less its delays;")
        .and("0 without one.")
        .lacking(&[("divides", 0.0)])
        .words("gain by suspending others", "that gains {less|more} by suspending others")
        .ranked(&|_, c| c.plan.gain_ms()),
    Q::flag(Declared, "is_last", "Whether it has at least as much time left as the cluster needs for all that is")
        .and("there.")
        .words("being the last to end", "that will {not be|be} the last to end")
        .value(&|_, c| c.plan.is_last),
    Q::time(Declared, "shorter_backlog", "GPU time left of jobs that wait without a claim and have less time left ÷")
        .and("GPUs of the cluster.")
        .words("shorter jobs' GPU time that waits, per GPU", "before which {less|more} GPU time of shorter jobs waits")
        .value(&|q, c| q.all.shorter(c.left_ms).1 / q.gpus()),
    Q::count(Measured, "waiting", "jobs", "Jobs that wait without a claim.")
        .shared("jobs that wait", &|q| q.seen.waiting().len() as f64),
    Q::count(Decided, "fitting_jobs", "jobs", "Those of them for which unreserved GPUs suffice.")
        .shared("jobs that fit", &|q| q.all.fitting),
    Q::time(Declared, "backlog", "GPU time left of jobs that wait without a claim ÷ GPUs of the cluster.")
        .shared("GPU time that waits, per GPU", &|q| q.all.backlog_ms),
    Q::time(Declared, "load", "GPU time left of all jobs ÷ GPUs of the cluster.")
        .shared("GPU time left, per GPU", &|q| q.all.load_ms),
    Q::count(Decided, "computing", "jobs", "Jobs that compute.").shared("jobs that compute", &|q| q.all.computing),
    Q::count(Decided, "free_gpus", "GPUs", "Free GPUs that no claim reserves.")
        .shared("free GPUs", &|q| q.seen.unreserved()),
    Q::count(Decided, "reserved_gpus", "GPUs", "Free GPUs that claims reserve.")
        .shared("reserved GPUs", &|q| q.all.reserved),
    Q::count(Decided, "claims", "jobs", "Jobs with a claim.").shared("jobs with a claim", &|q| q.all.claims),
    Q::count(Decided, "condemnable_gpus", "GPUs", "GPUs of the jobs that can be condemned.")
        .shared("GPUs of jobs that can be suspended", &|q| q.seen.condemnable()),
    Q::count(Decided, "transfers", "1", "Transfers from and to the storage under way.")
        .shared("transfers under way", &|q| q.seen.transfers()),
    Q::absolute(Measured, "quiet", "1", "Time since the last arrival, in mean gaps between arrivals.")
        .shared("gaps without an arrival", &|q| q.all.quiet_gaps),
];

impl Extractor {
    /// Appends one row per job that is asked about, by number, and one for serving none if they wait; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let candidates = s.jobs().iter().map(|plan| Candidate::new(seen, plan));
        self.job.write(&Asked { seen: *seen, all: s }, candidates, s.none_served(), out)
    }
}
