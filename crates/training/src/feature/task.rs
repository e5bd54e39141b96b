//! Task level: a worker, a parameter server, or both?

use super::{
    Asked, Extractor,
    job::servers_per_worker,
    snapshot::{self, Gain},
};
use crate::state::{JobView, Task, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, Quantity};

/// The job that gets more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    asked: Asked<'a>,
    job: JobView<'a>,
    of: &'a snapshot::Candidate,
    workers: u32,
    servers: u32,
    best: Gain,
    /// Name of its type.
    model: &'a str,
}

/// A task, or two, that it may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    task: Task,
    gain: Gain,
    /// What the job would have.
    workers: u32,
    servers: u32,
    /// Slots that it takes.
    taken: u32,
}

impl<'a> Chosen<'a> {
    fn new(asked: Asked<'a>, of: &'a snapshot::Candidate) -> Self {
        let job = asked.seen.job(of.job);
        let (workers, servers) = (job.workers(), job.servers());
        Self { asked, job, of, workers, servers, best: of.best, model: &job.job_type().name }
    }

    fn candidate(&self, task: Task) -> Candidate {
        let [workers, servers] = task.counts();
        let (workers, servers) = (self.workers + workers, self.servers + servers);
        Candidate { task, gain: self.of.gain(task), workers, servers, taken: self.job.request(task).iter().sum() }
    }

    /// Whether the job could train with a task and cannot without.
    fn is_started(&self, by: &Candidate) -> bool {
        let trains = |workers: u32, servers: u32| workers > 0 && servers > 0;
        trains(by.workers, by.servers) && !trains(self.workers, self.servers)
    }
}

#[derive(Clone, Debug)]
pub(super) struct TaskLevel;

impl Level for TaskLevel {
    type Question<'a> = Chosen<'a>;
    type Candidate<'a> = Candidate;

    const NAME: &'static str = "task";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<TaskLevel>;

const QUANTITIES: &[Quantity<TaskLevel>] = &[
    Q::flag(Measured, "is_worker", "Whether the candidate is a worker alone.")
        .words("a worker alone", "{something else than a|a} worker alone")
        .value(&|_, c| c.task == Task::Worker),
    Q::flag(Measured, "is_server", "Whether the candidate is a parameter server alone.")
        .words("a server alone", "{something else than a|a} server alone")
        .value(&|_, c| c.task == Task::Server),
    Q::flag(Measured, "is_both", "Whether the candidate is a worker and a server.")
        .words("a worker and a server", "a worker {or a server alone|and a server at once}")
        .value(&|_, c| c.task == Task::Both),
    Q::time(Declared, "marginal_gain", "Marginal gain: the time that it would save the job;")
        .and("1e9 ms if the job would not train without.")
        .words("time saved", "what saves the job {less|more} time")
        .ranked(&|_, c| c.gain.saved_ms),
    Q::time(Declared, "gap_to_best_gain", "Time that it would save less than the best of the candidates.")
        .words("time saved, behind the best", "what saves the job {more|less} time")
        .ranked(&|q, c| q.best.saved_ms - c.gain.saved_ms),
    Q::time(Declared, "gain_per_slot", "Marginal gain per CPU and GPU slot that it takes.")
        .words("time saved for each slot taken", "what saves {less|more} time for each slot")
        .ranked(&|_, c| c.gain.saved_ms / f64::from(c.taken).max(1.0)),
    Q::absolute(Measured, "speedup", "1", "Share by which it would speed the job up.")
        .words("speed gained", "what adds {less|more} speed")
        .ranked(&|_, c| c.gain.speedup),
    Q::absolute(Measured, "speedup_in_reach", "1", "Share by which the job could be sped up at most in this slot,")
        .and("if it got this and whatever more it wants.")
        .words("speed kept in reach", "what keeps {less|more} speed in reach")
        .ranked(&|_, c| c.gain.in_reach),
    Q::absolute(Measured, "gap_to_best_reach", "1", "Share of speed that it would put out of reach,")
        .and("against the best of the candidates.")
        .words("speed put out of reach", "what puts {less|more} speed out of reach")
        .value(&|q, c| q.best.in_reach - c.gain.in_reach),
    Q::count(Decided, "workers_then", "workers", "Workers that the job would have.")
        .words("workers then", "what leaves the job with {fewer|more} workers")
        .value(&|_, c| c.workers),
    Q::count(Decided, "servers_then", "servers", "Parameter servers that the job would have.")
        .words("servers then", "what leaves the job with {fewer|more} servers")
        .value(&|_, c| c.servers),
    Q::absolute(Measured, "servers_per_worker_then", "1", "Balance of servers and workers that the job would have:")
        .and("servers ÷ workers, of each at least 1.")
        .words("servers for each worker then", "what leaves the job with {fewer|more} servers for each worker")
        .ranked(&|_, c| servers_per_worker(c.workers, c.servers)),
    Q::count(Measured, "slots_taken", "slots", "CPU and GPU slots that it takes.")
        .words("slots taken", "what takes {fewer|more} slots")
        .ranked(&|_, c| c.taken),
    Q::flag(Decided, "starts_job", "Whether the job could train with it and could not without.")
        .words("letting the job train", "what {does not start|starts} the job")
        .value(&|q, c| q.is_started(c)),
    Q::count(Decided, "workers", "workers", "Workers that the job has in this slot.")
        .shared("workers of the job", &|q| q.workers),
    Q::count(Decided, "servers", "servers", "Parameter servers that the job has in this slot.")
        .shared("servers of the job", &|q| q.servers),
    Q::absolute(Measured, "servers_per_worker", "1", "Balance of servers and workers of the job: servers ÷ workers,")
        .and("of each at least 1.")
        .shared("servers for each worker of the job", &|q| servers_per_worker(q.workers, q.servers)),
    Q::time(Declared, "time_left", "Time that the job still needs with the tasks it has, at most 1e9 ms.")
        .shared("time the job still needs", &|q| q.of.left_ms),
    Q::flag(Measured, "is_resnet_50", "Whether the job trains resnet-50.")
        .clauses("its job trains {something other than resnet-50|resnet-50}")
        .shared("its job training resnet-50", &|q| q.model == "resnet-50"),
    Q::flag(Measured, "is_vgg_16", "Whether the job trains vgg-16.")
        .clauses("its job trains {something other than vgg-16|vgg-16}")
        .shared("its job training vgg-16", &|q| q.model == "vgg-16"),
    Q::flag(Measured, "is_resnext_110", "Whether the job trains resnext-110.")
        .clauses("its job trains {something other than resnext-110|resnext-110}")
        .shared("its job training resnext-110", &|q| q.model == "resnext-110"),
    Q::flag(Measured, "is_inception_bn", "Whether the job trains inception-bn.")
        .clauses("its job trains {something other than inception-bn|inception-bn}")
        .shared("its job training inception-bn", &|q| q.model == "inception-bn"),
    Q::flag(Measured, "is_seq2seq", "Whether the job trains seq2seq.")
        .clauses("its job trains {something other than seq2seq|seq2seq}")
        .shared("its job training seq2seq", &|q| q.model == "seq2seq"),
    Q::flag(Measured, "is_cnn_text", "Whether the job trains cnn-text-classification.")
        .clauses("its job trains {something other than cnn-text-classification|cnn-text-classification}")
        .shared("its job training cnn-text-classification", &|q| q.model == "cnn-text-classification"),
    Q::flag(Measured, "is_dssm", "Whether the job trains dssm.")
        .clauses("its job trains {something other than dssm|dssm}")
        .shared("its job training dssm", &|q| q.model == "dssm"),
    Q::flag(Measured, "is_wlm", "Whether the job trains wlm.")
        .clauses("its job trains {something other than wlm|wlm}")
        .shared("its job training wlm", &|q| q.model == "wlm"),
    Q::count(Measured, "jobs_in_system", "jobs", "Jobs that have arrived and are not done.")
        .shared("jobs in the cluster", &|q| q.asked.jobs()),
    Q::share(Decided, "free_cpu", "Share of the cluster's CPU slots that is free.")
        .shared("free CPU slots", &|q| q.asked.free_share(0)),
    Q::share(Decided, "free_gpu", "Share of the cluster's GPU slots that is free.")
        .shared("free GPU slots", &|q| q.asked.free_share(1)),
];

impl Extractor {
    /// Appends one row per task that candidate job number `candidate` may have, in the order of [`Task::ALL`]; returns their
    /// number.
    pub fn task_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) -> usize {
        let asked = Asked { seen: *seen, all: &self.snapshot };
        let of = &asked.all.candidates()[candidate];
        let chosen = Chosen::new(asked, of);
        self.task.write(&chosen, of.tasks().map(|task| chosen.candidate(task)), false, out)
    }
}
