//! Victim level: which job is suspended for the one in question, if any?

use super::{Asked, Extractor, HOUR_MS, snapshot};
use crate::{
    heuristic::{LAS_LIMIT, is_last},
    state::{JobView, View},
};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

/// The job for which others are suspended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<'a> {
    asked: Asked<'a>,
    claim: &'a snapshot::Candidate,
    claimant: JobView<'a>,
    claim_ms: f64,
    claim_service_ms: f64,
    claim_gittins: f64,
    /// Time that it takes in all.
    takes_ms: f64,
    /// GPUs that it still needs.
    need: f64,
}

impl<'a> Claim<'a> {
    fn new(asked: Asked<'a>, claim: &'a snapshot::Candidate) -> Self {
        let claimant = asked.seen.job(claim.job);
        let (claim_ms, claim_service_ms) = (claimant.left_ms(), claimant.service_ms());
        let claim_gittins = asked.earlier().gittins(claim_service_ms);
        let takes_ms = claim_ms + claimant.loading_ms();
        let need = f64::from(asked.seen.need());
        Self { asked, claim, claimant, claim_ms, claim_service_ms, claim_gittins, takes_ms, need }
    }
}

/// A job that can be suspended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    job: JobView<'a>,
    /// Jobs before it that can be suspended.
    place: u32,
    gpus: f64,
    left_ms: f64,
    left_after_epoch_ms: f64,
    end_ms: f64,
    save_ms: f64,
    load_ms: f64,
    service_ms: f64,
    gittins: f64,
    /// Waiting jobs with less time left, and their GPU time left, ms.
    shorter: (usize, f64),
}

impl<'a> Candidate<'a> {
    fn new(asked: &Asked<'a>, place: u32, job: u32) -> Self {
        let job = asked.seen.job(job);
        let (left_ms, service_ms) = (job.left_ms(), job.service_ms());
        Self {
            job,
            place,
            gpus: f64::from(job.gpus()),
            left_ms,
            left_after_epoch_ms: job.left_after_epoch_ms(),
            end_ms: job.to_epoch_end_ms(),
            save_ms: job.saving_ms(),
            load_ms: job.loading_ms(),
            service_ms,
            gittins: asked.earlier().gittins(service_ms),
            shorter: asked.all.shorter(left_ms),
        }
    }

    fn price_share(&self) -> f64 {
        (self.end_ms / self.gpus + self.save_ms + self.load_ms) / self.left_ms.max(1.0)
    }

    fn gain_ms(&self, claim: &Claim<'_>) -> f64 {
        self.left_after_epoch_ms - self.load_ms - claim.takes_ms
    }
}

#[derive(Clone, Debug)]
pub(super) struct Victim;

impl Level for Victim {
    type Question<'a> = Claim<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "victim";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Victim>;

const QUANTITIES: &[Quantity<Victim>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to suspend no job,")
        .and("so that the one in question is passed over.")
        .words("suspending no job", "to suspend {somebody rather than nobody|nobody}")
        .ends("to suspend somebody", "to suspend nobody")
        .is_none(),
    Q::count(Measured, "gpus", "GPUs", "GPUs that it gives.")
        .words("GPUs that it gives", "with {fewer|more} GPUs")
        .ranked(&|_, c| c.gpus),
    Q::count(Measured, "beyond_need", "GPUs", "Its GPUs beyond those that are needed;")
        .and("negative if they do not suffice.")
        .words("GPUs beyond the need", "with {fewer|more} GPUs beyond the need")
        .ranked(&|q, c| c.gpus - q.need),
    Q::time(Declared, "left", "Predicted time of computing that it has left.")
        .words("time left", "with {less|more} time left")
        .compared(&|_, c| c.left_ms),
    Q::time(Declared, "left_after_epoch", "That time after the epoch that it is in.")
        .words("time left after its epoch", "with {less|more} time left after its epoch")
        .ranked(&|_, c| c.left_after_epoch_ms),
    Q::time(Declared, "left_more", "Time that it has left beyond that of the job in question.")
        .words("time left beyond the other's", "with {less|more} time left beyond the other's")
        .value(&|q, c| c.left_ms - q.claim_ms),
    Q::flag(Declared, "is_longer", "Whether it has more time left than the job in question.")
        .words("being longer", "that is {not longer|longer}")
        .value(&|q, c| c.left_ms > q.claim_ms),
    Q::time(Declared, "gpu_left", "Its time left × its GPUs.")
        .words("GPU time left", "with {less|more} GPU time left")
        .ranked(&|_, c| c.gpus * c.left_ms),
    Q::time(Decided, "to_epoch_end", "Predicted time until its epoch ends.")
        .words("time to its epoch's end", "{near|far from} its epoch's end")
        .compared(&|_, c| c.end_ms),
    Q::time(Measured, "epoch", "Predicted time of an epoch of it.")
        .words("time of an epoch", "with {shorter|longer} epochs")
        .ranked(&|_, c| c.job.epoch_ms()),
    Q::time(Measured, "save_time", "Predicted time to save it.")
        .words("time to save it", "that is saved {faster|more slowly}")
        .value(&|_, c| c.save_ms),
    Q::time(Measured, "load_time", "Predicted time to load it again.")
        .words("time to load it again", "that loads {faster|more slowly}")
        .ranked(&|_, c| c.load_ms),
    Q::time(Measured, "price", "GPU time that saving and loading it costs.")
        .words("GPU time that it costs", "that costs {less|more} GPU time")
        .ranked(&|_, c| c.gpus * (c.save_ms + c.load_ms)),
    Q::absolute(Declared, "price_share", "1", "Time until its epoch ends per GPU, and of saving and loading it,")
        .and("as a share of its time left: PickyMan's order.")
        .words("price, as a share of its time left", "that costs a {smaller|larger} share of its time")
        .ranked(&|_, c| c.price_share()),
    Q::time(Declared, "gain", "Its time left after the epoch,")
        .and("less its loading and all that the job in question takes.")
        .words("gain", "whose suspension gains {less|more}")
        .value(&|q, c| c.gain_ms(q)),
    Q::flag(Declared, "pays", "Whether that is positive.")
        .words("its suspension pays", "whose suspension {does not pay|pays}")
        .value(&|q, c| c.gain_ms(q) > 0.0),
    Q::flag(Declared, "in_division", "Whether PickyMan's division has it, nobody protected.")
        .words("the ordered division", "{outside|of} the ordered division")
        .value(&|q, c| q.asked.all.is_chosen(c.job.id())),
    Q::count(Decided, "epochs_run", "1", "Whole epochs that it has done since it last began to compute.")
        .words("epochs since it began", "that has {just begun|run for more epochs}")
        .ranked(&|_, c| c.job.epochs_since_start()),
    Q::count(Decided, "preemptions", "1", "How often it was suspended.")
        .words("times it was suspended", "that was suspended {less|more} often")
        .ranked(&|_, c| c.job.preemptions()),
    Q::time(Decided, "service", "GPU time that it has had.")
        .words("GPU time had", "that has had {less|more} GPU time")
        .ranked(&|_, c| c.service_ms),
    Q::flag(Decided, "is_long_served", "Whether that is 18 000 GPU·s or more.")
        .words("having had much GPU time", "that has had {little|much} GPU time")
        .value(&|_, c| c.service_ms >= LAS_LIMIT),
    Q::flag(Decided, "is_longer_served", "Whether it is in a later queue of Tiresias than the job in question.")
        .words("a later queue", "of {no|a} later queue than the other")
        .value(&|q, c| c.service_ms >= LAS_LIMIT && q.claim_service_ms < LAS_LIMIT),
    Q::absolute(Decided, "gittins", "1/h", "Its Gittins index: the chance to complete per GPU hour.")
        .words("Gittins index", "that is {less likely|likelier} to complete")
        .ranked(&|_, c| c.gittins * HOUR_MS),
    Q::flag(Decided, "is_less_likely", "Whether that is below the one of the job in question.")
        .words("a smaller Gittins index", "of {no|a} smaller index than the other")
        .value(&|q, c| c.gittins < q.claim_gittins),
    Q::time(Measured, "waited", "Time for which it has waited so far.")
        .words("time waited", "that has waited {less|longer}")
        .ranked(&|_, c| c.job.waited_ms()),
    Q::count(Measured, "arrival_order", "1", "Jobs that arrived before it and can be condemned.")
        .words("place by arrival", "that arrived {earlier|later}")
        .ranked(&|_, c| c.place),
    Q::flag(Declared, "is_last", "Whether it has at least as much time left as the cluster needs for all that is")
        .and("there.")
        .words("being the last to end", "that will {not be|be} the last to end")
        .value(&|q, c| is_last(&c.job, q.asked.all.load_ms)),
    Q::flag(Decided, "is_spread", "Whether it is on more nodes than necessary.")
        .words("being spread", "that is {packed|spread}")
        .value(&|_, c| c.job.is_spread()),
    Q::count(Declared, "shorter_waiting", "jobs", "Jobs that wait without a claim and have less time left than it.")
        .words("shorter jobs that wait", "than which {fewer|more} waiting jobs are shorter")
        .ranked(&|_, c| c.shorter.0 as f64),
    Q::time(Declared, "shorter_backlog", "GPU time left of those ÷ GPUs of the cluster.")
        .words("shorter jobs' GPU time that waits, per GPU", "than which {less|more} GPU time of shorter jobs waits")
        .value(&|q, c| c.shorter.1 / q.asked.gpus()),
    Q::time(Declared, "claim_time", "Predicted time left of the job in question.")
        .shared("time left of the job in question", &|q| q.claim_ms),
    Q::count(Measured, "claim_gpus", "GPUs", "Its GPUs.").shared("GPUs of the job in question", &|q| q.claimant.gpus()),
    Q::time(Measured, "claim_waited", "Time for which it has waited so far.")
        .shared("time that it has waited", &|q| q.claimant.waited_ms()),
    Q::time(Declared, "claim_otherwise", "Predicted time until there is room for it without suspending anyone.")
        .shared("time until there is room for it", &|q| q.claim.otherwise_ms),
    Q::count(Decided, "need", "GPUs", "GPUs that it still needs.").shared("GPUs still needed", &|q| q.need),
    Q::count(Measured, "waiting", "jobs", "Jobs that wait without a claim.")
        .shared("jobs that wait", &|q| q.asked.seen.waiting().len() as f64),
    Q::count(Decided, "computing", "jobs", "Jobs that compute.")
        .shared("jobs that compute", &|q| q.asked.all.computing),
    Q::time(Declared, "load", "GPU time left of all jobs ÷ GPUs of the cluster.")
        .shared("GPU time left, per GPU", &|q| q.asked.all.load_ms),
    Q::absolute(Measured, "quiet", "1", "Time since the last arrival, in mean gaps between arrivals.")
        .shared("gaps without an arrival", &|q| q.asked.all.quiet_gaps),
];

impl Extractor {
    /// Appends one row per job that can be condemned, by number, and one for none; returns their number, 0 where no one is asked about.
    pub fn victim_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let Some(claim) = s.jobs().first().filter(|_| s.is_condemning) else {
            return 0;
        };
        let asked = Asked { seen: *seen, all: s };
        let candidates = (0..).zip(s.victims()).map(|(place, &job)| Candidate::new(&asked, place, job));
        self.victim.write(&Claim::new(asked, claim), candidates, true, out)
    }
}
