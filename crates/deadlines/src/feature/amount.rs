//! Amount level: how many cores does a job get?

use super::{Asked, Extractor, How, snapshot};
use crate::{
    heuristic::RESERVE,
    state::{Class, JobView, View},
};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, Quantity};

/// Most that a time to spare is said to be, as a share of the time still needed.
const MOST_SHARE: f64 = 100.0;

/// The job that gets cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    asked: Asked<'a>,
    job: JobView<'a>,
    of: &'a snapshot::Candidate,
    elastic: bool,
    due_ms: f64,
    held: u32,
}

/// A number of cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    cores: u32,
    /// How many of them its program uses.
    used: u32,
    /// How long it pauses, works then, and has to spare, ms.
    pause_ms: f64,
    work_ms: f64,
    slack_ms: f64,
}

impl<'a> Chosen<'a> {
    fn new(asked: Asked<'a>, of: &'a snapshot::Candidate, how: How) -> Self {
        let job = asked.seen.job(of.job);
        Self { asked, job, of, elastic: how == How::Elastic, due_ms: job.due_ms(), held: job.cores() }
    }

    fn candidate(&self, cores: u32) -> Candidate {
        let used = self.job.used_with(cores, self.elastic);
        let (pause_ms, work_ms) =
            (self.job.pause_with_ms(cores), self.job.remaining() * self.job.estimate().time_ms(used));
        Candidate { cores, used, pause_ms, work_ms, slack_ms: self.due_ms - pause_ms - work_ms }
    }

    /// Whether it would begin, or runs, as it was submitted.
    fn is_as_submitted(&self) -> bool {
        if self.asked.all.is_running { !self.job.is_elastic() } else { !self.elastic }
    }

    /// Time to spare with the cores that it has, or requests if it waits, as a share of the time still needed.
    fn slack_kept_share(&self) -> f64 {
        let (job, is_running) = (&self.job, self.asked.all.is_running);
        let kept_ms = job.work_ms(if is_running { job.used() } else { job.threads().min(job.requested()) });
        (job.slack_ms() / kept_ms.max(1.0)).clamp(-MOST_SHARE, MOST_SHARE)
    }
}

impl Candidate {
    /// How much time it needs in all, ms.
    fn time_ms(&self) -> f64 {
        self.pause_ms + self.work_ms
    }

    /// How many more cores these are than some.
    fn more_than(&self, cores: u32) -> f64 {
        f64::from(self.cores) - f64::from(cores)
    }

    /// Whether it is predicted to be on time, with the reserve.
    fn suffices(&self, due_ms: f64) -> bool {
        self.pause_ms + (1.0 + RESERVE) * self.work_ms <= due_ms
    }

    /// Time to spare, as a share of the time still needed.
    fn slack_share(&self) -> f64 {
        (self.slack_ms / self.work_ms.max(1.0)).clamp(-MOST_SHARE, MOST_SHARE)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Amount;

impl Level for Amount {
    type Question<'a> = Chosen<'a>;
    type Candidate<'a> = Candidate;

    const NAME: &'static str = "amount";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Amount>;

const QUANTITIES: &[Quantity<Amount>] = &[
    Q::count(Measured, "cores", "cores", "Cores that it gets.")
        .words("cores", "{fewer|more} cores")
        .ranked(&|_, c| c.cores),
    Q::flag(Measured, "is_kept", "Whether it keeps the cores that it has.")
        .words("keeping its size", "{another size|the size that it has}")
        .value(&|q, c| c.cores == q.held),
    Q::count(Decided, "change", "cores", "Cores that it gets more than it has; negative if fewer.")
        .words("cores more than it has", "to {shrink|grow} it")
        .value(&|q, c| c.more_than(q.held)),
    Q::count(Declared, "beyond_sufficient", "cores", "Cores beyond the smallest size that suffices;")
        .and("negative if too few.")
        .words("cores beyond what suffices", "{fewer|more} cores beyond what suffices")
        .value(&|q, c| c.more_than(q.of.size)),
    Q::flag(Declared, "is_sufficient", "Whether it is the smallest size that suffices,")
        .and("or the largest where none does.")
        .words("being just enough", "{another size than the smallest|the smallest size} that suffices")
        .value(&|q, c| c.cores == q.of.size),
    Q::flag(Declared, "suffices", "Whether it is predicted to be on time, 8 % kept in reserve.")
        .words("being enough", "a size that {does not suffice|suffices}")
        .value(&|q, c| c.suffices(q.due_ms)),
    Q::time(Declared, "slack", "Predicted time to spare.")
        .words("time to spare", "what leaves {less|more} time to spare")
        .value(&|_, c| c.slack_ms),
    Q::absolute(Declared, "slack_share", "1", "Predicted time to spare, as a share of the time still needed.")
        .words("time to spare, as a share", "what leaves a {smaller|larger} share of time to spare")
        .value(&|_, c| c.slack_share()),
    Q::share(Declared, "chance", "Probability to be on time.")
        .words("chance to be on time", "a {smaller|larger} chance to be on time")
        .value(&|q, c| q.job.chance_with(c.cores, q.elastic)),
    Q::time(Declared, "time", "Predicted time until it is complete.")
        .words("time until complete", "what takes {less|more} time")
        .ratio(&|_, c| c.time_ms()),
    Q::time(Declared, "core_time", "Predicted core time until it is complete.")
        .words("core time until complete", "what takes {less|more} core time")
        .compared(&|_, c| f64::from(c.cores) * c.time_ms()),
    Q::count(Declared, "unused", "cores", "Cores that its program would leave idle.")
        .words("cores left idle", "what leaves {fewer|more} cores idle")
        .value(&|_, c| c.cores - c.used),
    Q::count(Decided, "free_then", "cores", "Free cores of the cluster then.")
        .words("cores free then", "what leaves {fewer|more} cores free")
        .value(&|q, c| f64::from(q.asked.seen.free() + q.held) - f64::from(c.cores)),
    Q::count(Declared, "begin_then", "jobs", "Waiting jobs that are not hopeless,")
        .and("any one of which could then begin at a size that suffices.")
        .words("jobs that could begin then", "what lets {fewer|more} waiting jobs begin")
        .value(&|q, c| q.asked.all.begin(q.job.room_then(c.cores)) as f64),
    Q::flag(Measured, "running", "Whether it runs already.")
        .clauses("the job {waits|runs already}")
        .shared("running already", &|q| q.asked.all.is_running),
    Q::flag(Decided, "best_effort", "Whether its deadline is given up.")
        .clauses("the job's deadline is {kept|given up}")
        .shared("having its deadline given up", &|q| q.job.class() == Class::BestEffort),
    Q::flag(Measured, "as_submitted", "Whether it would begin, or runs, as it was submitted.")
        .clauses("the job {has a number of cores chosen for it|runs as submitted}")
        .shared("running as submitted", &|q| q.is_as_submitted()),
    Q::flag(Declared, "hopeless", "Whether it is predicted to be late whatever it gets.")
        .clauses("the job {can still be on time|cannot be on time any more}")
        .shared("being hopeless", &|q| q.of.hopeless),
    Q::count(Declared, "sufficient", "cores", "The smallest size that suffices; its largest if none does.")
        .shared("cores that suffice", &|q| q.of.size),
    Q::count(Decided, "held", "cores", "Cores that it has.").shared("cores that it has", &|q| q.held),
    Q::time(Declared, "slack_kept", "Predicted time to spare with the cores that it has, or requests if it waits.")
        .shared("time to spare with what it has", &|q| q.job.slack_ms()),
    Q::absolute(Declared, "slack_kept_share", "1", "That time to spare, as a share of the time still needed.")
        .shared("time to spare with what it has, as a share", &|q| q.slack_kept_share()),
    Q::count(Declared, "spare_checks", "1", "Checks in a row that found it with more than 15 % of time to spare.")
        .shared("checks with time to spare", &|q| q.job.spare_checks()),
    Q::time(Decided, "unchanged", "Time since it got the cores that it has.")
        .shared("time since its size changed", &|q| q.job.unchanged_ms()),
    Q::time(Declared, "time_left", "Predicted time that it still needs at its sufficient size.")
        .shared("time that it still needs", &|q| q.job.work_ms(q.of.size)),
    Q::count(Measured, "waiting", "jobs", "Jobs that wait and whose deadline is not given up.")
        .shared("jobs that wait", &|q| q.asked.seen.waiting().len() as f64),
    Q::count(Declared, "fitting_jobs", "jobs", "Those that are not hopeless of which a sufficient size could be had")
        .and("now.")
        .shared("jobs that could begin at a size that suffices", &|q| q.asked.all.fitting),
    Q::count(Declared, "missing", "cores", "Cores that are missing to begin the waiting job that needs fewest,")
        .and("if none fits.")
        .shared("cores missing to begin another job", &|q| q.asked.all.missing),
    Q::time(Declared, "backlog", "Predicted core time of waiting jobs that are not hopeless ÷ cores of the cluster.")
        .shared("core time that waits, per core", &|q| q.asked.all.backlog_ms),
    Q::time(Declared, "urgent", "How long the waiting jobs that are not hopeless can all still wait,")
        .and("each at its largest size; 1e9 ms without any.")
        .lacking(&[("urgent", 1e9)])
        .shared("time that waiting jobs can still wait", &|q| q.asked.all.urgent_ms),
    Q::count(Decided, "free_cores", "cores", "Free cores on the node that has most.")
        .shared("free cores of the emptiest node", &|q| q.asked.seen.room()),
];

impl Extractor {
    /// Appends a row for each number of cores from 1 on; returns how many there are, 0 if the job gets none in this way.
    pub fn amount_rows(&mut self, seen: &View<'_>, candidate: usize, how: How, out: &mut Vec<f32>) -> usize {
        let all = &self.snapshot;
        let of = &all.candidates()[candidate];
        let chosen = Chosen::new(Asked { seen: *seen, all }, of, how);
        self.amount.write(&chosen, (1..=how.most(&chosen.job)).map(|cores| chosen.candidate(cores)), false, out)
    }
}
