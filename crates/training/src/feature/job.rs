//! Job level: which job gets more?

use super::{
    Asked, Extractor,
    snapshot::{self, best_ms},
};
use crate::state::{JobView, Task, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, Quantity};

/// The question, and the most that any candidate would gain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most<'a> {
    asked: Asked<'a>,
    saved_ms: f64,
    single_ms: f64,
    speedup: f64,
}

impl<'a> Most<'a> {
    fn new(asked: Asked<'a>) -> Self {
        let most = |of: fn(&snapshot::Candidate) -> f64| asked.all.candidates().iter().map(of).fold(f64::MIN, f64::max);
        let (saved_ms, single_ms) = (most(|c| c.best.saved_ms), most(|c| c.saved_by_one_ms));
        Self { asked, saved_ms, single_ms, speedup: most(|c| c.best.speedup) }
    }
}

/// A job that could get something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    job: JobView<'a>,
    of: &'a snapshot::Candidate,
    /// Name of its type.
    model: &'a str,
}

impl Candidate<'_> {
    /// Time that a task would save it, ms; 0 if it can get none.
    fn saved_ms(&self, task: Task) -> f64 {
        if self.of.legal[task as usize] { self.of.gain(task).saved_ms } else { 0.0 }
    }
}

/// Servers ÷ workers, of each at least 1.
pub(super) fn servers_per_worker(workers: u32, servers: u32) -> f64 {
    f64::from(servers.max(1)) / f64::from(workers.max(1))
}

#[derive(Clone, Debug)]
pub(super) struct Job;

impl Level for Job {
    type Question<'a> = Most<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Job>;

const QUANTITIES: &[Quantity<Job>] = &[
    Q::flag(Decided, "idle", "Whether it lacks a worker or a server, so that it does not train in this slot.")
        .words("lacking a worker or a server", "that {can train already|lacks a worker or a server}")
        .value(&|_, c| c.job.workers() == 0 || c.job.servers() == 0),
    Q::time(Declared, "marginal_gain", "Marginal gain: the time that the best of a worker,")
        .and("a server or both would save it; 1e9 ms if it would not train without.")
        .words("time saved by one more task", "that would save {less|more} time")
        .compared(&|_, c| c.of.best.saved_ms),
    Q::count(Decided, "idle_order", "1", "Place by arrival among the jobs that lack a worker or a server;")
        .and("others come behind all of these.")
        .words("place by arrival among idle jobs", "that comes {earlier|later} among those that cannot train yet")
        .value(&|_, c| c.of.idle_order),
    Q::time(Declared, "gap_to_best_gain", "Time that it would save less than the candidate that would save most.")
        .words("time saved, behind the best job", "that would save {more|less} time")
        .ranked(&|q, c| q.saved_ms - c.of.best.saved_ms),
    Q::time(Declared, "gap_to_best_single_gain", "How much less time one worker or server would save it than the")
        .and("candidate that gains most by one.")
        .words("time saved by one task, behind the best", "that would save {more|less} time by one worker or server")
        .ranked(&|q, c| q.single_ms - c.of.saved_by_one_ms),
    Q::absolute(Measured, "gap_to_best_speedup", "1", "Share by which it would speed up less than the candidate that")
        .and("would most.")
        .words("speed gained, behind the best job", "that would gain {more|less} speed")
        .ranked(&|q, c| q.speedup - c.of.best.speedup),
    Q::time(Declared, "single_gain", "Time that the better of a worker and a server would save it.")
        .words("time saved by one worker or server", "that would save {less|more} time by one worker or server")
        .ranked(&|_, c| c.of.saved_by_one_ms),
    Q::time(Declared, "gain_of_worker", "Time that a further worker would save it; 0 if it can get none.")
        .words("time saved by one more worker", "that would save {less|more} time by a worker")
        .ranked(&|_, c| c.saved_ms(Task::Worker)),
    Q::time(Declared, "gain_of_server", "Time that a further server would save it; 0 if it can get none.")
        .words("time saved by one more server", "that would save {less|more} time by a server")
        .ranked(&|_, c| c.saved_ms(Task::Server)),
    Q::time(Declared, "gain_of_both", "Time that a worker and a server more would save it; 0 if it can get none.")
        .words("time saved by a worker and a server", "that would save {less|more} time by a worker and a server")
        .ranked(&|_, c| c.saved_ms(Task::Both)),
    Q::absolute(Measured, "speedup", "1", "Share by which the best of a worker, a server or both would speed it up.")
        .words("speed gained by one more task", "that would gain {less|more} speed")
        .ranked(&|_, c| c.of.best.speedup),
    Q::absolute(Measured, "speedup_in_reach", "1", "Share by which it could be sped up at most in this slot,")
        .and("with whatever more it wants.")
        .words("speed still in reach in this slot", "with {less|more} speed still in reach")
        .ranked(&|_, c| c.of.best.in_reach),
    Q::time(Declared, "time_left", "Time that it still needs with the tasks it has, at most 1e9 ms.")
        .words("time it still needs", "that needs {less|more} time with what it has")
        .compared(&|_, c| c.of.left_ms),
    Q::time(Declared, "shortest_time", "Time that it still needs at its best.")
        .words("time it needs at its best", "that needs {less|more} time at its best")
        .compared(&|q, c| best_ms(&q.asked.seen, &c.job)),
    Q::share(Declared, "remaining_share", "Share of its epochs that is left.")
        .words("share of its epochs left", "with {fewer|more} of its epochs left")
        .ranked(&|_, c| c.job.remaining_share().max(0.0)),
    Q::count(Decided, "workers", "workers", "Workers that it has in this slot.")
        .words("workers", "with {fewer|more} workers")
        .compared(&|_, c| c.job.workers()),
    Q::count(Decided, "servers", "servers", "Parameter servers that it has in this slot.")
        .words("servers", "with {fewer|more} servers")
        .compared(&|_, c| c.job.servers()),
    Q::count(Decided, "tasks", "tasks", "Workers and servers that it has in this slot.")
        .words("workers and servers", "with {fewer|more} workers and servers")
        .ranked(&|_, c| c.job.workers() + c.job.servers()),
    Q::absolute(Decided, "servers_per_worker", "1", "Balance of servers and workers: servers ÷ workers,")
        .and("of each at least 1.")
        .words("servers for each worker", "with {fewer|more} servers for each worker")
        .ranked(&|_, c| servers_per_worker(c.job.workers(), c.job.servers())),
    Q::share(Decided, "dominant_share", "The larger of its shares of the cluster's CPU and GPU slots.")
        .words("share of the cluster it holds", "that holds a {smaller|larger} share of the cluster")
        .ranked(&|_, c| c.job.dominant_share()),
    Q::count(Decided, "fair_order", "1", "Place among the candidates by dominant share, then by arrival,")
        .and("0 is the smallest share.")
        .words("place by the share it holds", "that holds a {smaller|larger} share of the cluster")
        .value(&|_, c| c.of.fair_order),
    Q::count(Measured, "stay", "slots", "Slots since it arrived.")
        .words("slots since it arrived", "that arrived {later|earlier}")
        .ranked(&|_, c| c.job.stay()),
    Q::count(Measured, "arrival_order", "1", "Place among the jobs by arrival, 0 is the oldest.")
        .words("place by arrival", "that arrived {earlier|later}")
        .ranked(&|_, c| c.of.place as f64),
    Q::count(Declared, "worker_gpu", "slots", "GPU slots that a worker of it takes.")
        .words("GPU slots of a worker", "whose workers take {fewer|more} GPUs")
        .value(&|_, c| c.job.request(Task::Worker)[1]),
    Q::flag(Measured, "is_resnet_50", "Whether it trains resnet-50.")
        .words("training resnet-50", "that {does not train|trains} resnet-50")
        .value(&|_, c| c.model == "resnet-50"),
    Q::flag(Measured, "is_vgg_16", "Whether it trains vgg-16.")
        .words("training vgg-16", "that {does not train|trains} vgg-16")
        .value(&|_, c| c.model == "vgg-16"),
    Q::flag(Measured, "is_resnext_110", "Whether it trains resnext-110.")
        .words("training resnext-110", "that {does not train|trains} resnext-110")
        .value(&|_, c| c.model == "resnext-110"),
    Q::flag(Measured, "is_inception_bn", "Whether it trains inception-bn.")
        .words("training inception-bn", "that {does not train|trains} inception-bn")
        .value(&|_, c| c.model == "inception-bn"),
    Q::flag(Measured, "is_seq2seq", "Whether it trains seq2seq.")
        .words("training seq2seq", "that {does not train|trains} seq2seq")
        .value(&|_, c| c.model == "seq2seq"),
    Q::flag(Measured, "is_cnn_text", "Whether it trains cnn-text-classification.")
        .words("training cnn-text-classification", "that {does not train|trains} cnn-text-classification")
        .value(&|_, c| c.model == "cnn-text-classification"),
    Q::flag(Measured, "is_dssm", "Whether it trains dssm.")
        .words("training dssm", "that {does not train|trains} dssm")
        .value(&|_, c| c.model == "dssm"),
    Q::flag(Measured, "is_wlm", "Whether it trains wlm.")
        .words("training wlm", "that {does not train|trains} wlm")
        .value(&|_, c| c.model == "wlm"),
    Q::count(Measured, "jobs_in_system", "jobs", "Jobs that have arrived and are not done.")
        .shared("jobs in the cluster", &|q| q.asked.jobs()),
    Q::count(Decided, "idle_jobs", "jobs", "Jobs without a worker or without a server.")
        .shared("jobs that lack a worker or a server", &|q| q.asked.all.idle),
    Q::share(Decided, "free_gpu", "Share of the cluster's GPU slots that is free.")
        .shared("free GPU slots", &|q| q.asked.free_share(1)),
];

impl Extractor {
    /// Appends one row per candidate job, in order of arrival; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let asked = Asked { seen: *seen, all: &self.snapshot };
        let candidates = asked.all.candidates().iter().map(|of| {
            let job = seen.job(of.job);
            Candidate { job, of, model: &job.job_type().name }
        });
        self.job.write(&Most::new(asked), candidates, false, out)
    }
}
