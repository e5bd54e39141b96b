//! Cluster level: go on, or close the slot?

use super::{Asked, Extractor, snapshot::Gain};
use crate::state::View;
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

const CLOSE: &str = "to close the slot";
const GO_ON: &str = "to go on as long as it can";

/// The question, and what the best further task would do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best<'a> {
    asked: Asked<'a>,
    gain: Gain,
    /// Time that the best further worker or server alone would save, ms.
    single_ms: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Cluster;

impl Level for Cluster {
    type Question<'a> = Best<'a>;
    type Candidate<'a> = Gain;

    const NAME: &'static str = "cluster";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Cluster>;

const QUANTITIES: &[Quantity<Cluster>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to close the slot.")
        .words("closing the slot", "to {go on rather than to close the slot|close the slot rather than to go on}")
        .ends(GO_ON, CLOSE)
        .is_none(),
    Q::time(Declared, "marginal_gain", "Marginal gain: the time that the best further task would save its job;")
        .and("0 for closing the slot.")
        .words(
            "time saved by going on",
            "{closing the slot|going on} the more, the more time a further task would save",
        )
        .ends(CLOSE, GO_ON)
        .value(&|_, gain| gain.saved_ms),
    Q::absolute(Measured, "speedup", "1", "Share by which the best further task would speed its job up;")
        .and("0 for closing the slot.")
        .words(
            "speed gained by going on",
            "{closing the slot|going on} the more, the more speed a further task would add",
        )
        .ends(CLOSE, GO_ON)
        .value(&|_, gain| gain.speedup),
    Q::absolute(Measured, "speedup_in_reach", "1", "Share by which a job that could get something could be sped up at")
        .and("most in this slot; 0 for closing the slot.")
        .words("speed in reach by going on", "{closing the slot|going on} the more, the more speed is still in reach")
        .ends(CLOSE, GO_ON)
        .value(&|_, gain| gain.in_reach),
    Q::time(Declared, "best_marginal_gain", "Marginal gain of the best further task, for either candidate.")
        .shared("most time that a further task saves", &|q| q.gain.saved_ms),
    Q::time(Declared, "best_single_gain", "Time that the best further worker or server alone would save its job.")
        .shared("most time that a worker or server saves", &|q| q.single_ms),
    Q::absolute(Measured, "best_speedup", "1", "Share by which the best further task would speed its job up,")
        .and("for either candidate.")
        .shared("most speed that a further task adds", &|q| q.gain.speedup),
    Q::absolute(Measured, "best_speedup_in_reach", "1", "Share by which a job that could get something could be sped")
        .and("up at most in this slot.")
        .shared("speed still in reach in this slot", &|q| q.gain.in_reach),
    Q::time(Declared, "wished_gain", "Time that the best further worker or server would save its job,")
        .and("if there were room for any.")
        .shared("time saved if there were room", &|q| q.asked.all.wishes.best.map_or(0.0, |(saved_ms, _)| saved_ms)),
    Q::flag(Declared, "wish_fits", "Whether there is room for that worker or server.")
        .clauses("there is {no room|room} for what would help most")
        .shared("room for what would help most", &|q| q.asked.all.wishes.best.is_some_and(|(_, fits)| fits)),
    Q::flag(Measured, "fair_fits", "Whether there is room for a worker and a server of the job with the smallest")
        .and("dominant share.")
        .clauses("there is {no room|room} for the job with the smallest share")
        .shared("room for the job with the smallest share", &|q| q.asked.all.wishes.fair.is_some_and(|(_, fits)| fits)),
    Q::flag(Measured, "oldest_fits", "Whether there is room for a worker and a server of the oldest job below its")
        .and("maxima.")
        .clauses("there is {no room|room} for the oldest job")
        .shared("room for the oldest job", &|q| q.asked.all.wishes.oldest.unwrap_or(false)),
    Q::count(Measured, "jobs_in_system", "jobs", "Jobs that have arrived and are not done.")
        .shared("jobs in the cluster", &|q| q.asked.jobs()),
    Q::count(Measured, "candidate_jobs", "jobs", "Jobs that could get something now.")
        .shared("jobs that could get something", &|q| q.asked.all.candidates().len() as f64),
    Q::count(Decided, "idle_jobs", "jobs", "Jobs without a worker or without a server.")
        .shared("jobs that lack a worker or a server", &|q| q.asked.all.idle),
    Q::absolute(Decided, "tasks_per_job", "tasks", "Workers and servers placed in this slot, per job.")
        .shared("workers and servers per job", &|q| f64::from(q.asked.all.tasks) / q.asked.jobs()),
    Q::count(Decided, "fewest_tasks", "tasks", "Workers and servers of the job that has fewest.")
        .shared("workers and servers of the job with the fewest", &|q| q.asked.all.fewest),
    Q::count(Decided, "most_tasks", "tasks", "Workers and servers of the job that has most.")
        .shared("workers and servers of the job with the most", &|q| q.asked.all.most),
    Q::share(Decided, "free_cpu", "Share of the cluster's CPU slots that is free.")
        .shared("free CPU slots", &|q| q.asked.free_share(0)),
    Q::share(Decided, "free_gpu", "Share of the cluster's GPU slots that is free.")
        .shared("free GPU slots", &|q| q.asked.free_share(1)),
    Q::absolute(Decided, "free_cpu_per_job", "slots", "Free CPU slots per job.")
        .shared("free CPU slots per job", &|q| f64::from(q.asked.seen.free()[0]) / q.asked.jobs()),
    Q::absolute(Decided, "free_gpu_per_job", "slots", "Free GPU slots per job.")
        .shared("free GPU slots per job", &|q| f64::from(q.asked.seen.free()[1]) / q.asked.jobs()),
    Q::count(Decided, "head_cpu", "slots", "CPU slots free on the node that comes next.")
        .shared("free CPU slots of the next node", &|q| q.asked.seen.node_free(q.asked.seen.head())[0]),
    Q::count(Decided, "head_gpu", "slots", "GPU slots free on the node that comes next.")
        .shared("free GPU slots of the next node", &|q| q.asked.seen.node_free(q.asked.seen.head())[1]),
    Q::time(Declared, "outstanding_time", "Time that all jobs would still need, each at its best.")
        .shared("time that all jobs still need at their best", &|q| q.asked.all.work_ms),
];

impl Extractor {
    /// Appends a row for going on, if any job could get something, and one for closing the slot; returns their number.
    pub fn cluster_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let all = &self.snapshot;
        let (gain, single_ms) = all.best();
        let going_on = (!all.candidates().is_empty()).then_some(gain);
        self.cluster.write(&Best { asked: Asked { seen: *seen, all }, gain, single_ms }, going_on, true, out)
    }
}
