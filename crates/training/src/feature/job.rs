//! Job level: which job gets more?

use super::{Candidate, Extractor, snapshot::best_ms};
use crate::{
    cluster::JOB_TYPES,
    state::{JobView, Task, View},
};
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("idle", "Whether it lacks a worker or a server, so that it does not train in this slot.").decided(),
    Base::absolute("marginal_gain", "ms", "Marginal gain: the time that the best of a worker, a server or both would save it; 1e9 ms if it would not train without.").declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("idle_order", "1", "Place by arrival among the jobs that lack a worker or a server; others come behind all of these.").decided(),
    Base::absolute("gap_to_best_gain", "ms", "Time that it would save less than the candidate that would save most.").declared().ranked(),
    Base::absolute("gap_to_best_single_gain", "ms", "How much less time one worker or server would save it than the candidate that gains most by one.").declared()
        .ranked(),
    Base::absolute("gap_to_best_speedup", "1", "Share by which it would speed up less than the candidate that would most.").ranked(),
    Base::absolute("single_gain", "ms", "Time that the better of a worker and a server would save it.").declared().ranked(),
    Base::absolute("gain_of_worker", "ms", "Time that a further worker would save it; 0 if it can get none.").declared()
        .ranked(),
    Base::absolute("gain_of_server", "ms", "Time that a further server would save it; 0 if it can get none.").declared()
        .ranked(),
    Base::absolute(
        "gain_of_both",
        "ms",
        "Time that a worker and a server more would save it; 0 if it can get none.",
    ).declared()
    .ranked(),
    Base::absolute("speedup", "1", "Share by which the best of a worker, a server or both would speed it up.").ranked(),
    Base::absolute("speedup_in_reach", "1", "Share by which it could be sped up at most in this slot, with whatever more it wants.")
        .ranked(),
    Base::absolute("time_left", "ms", "Time that it still needs with the tasks it has, at most 1e9 ms.").declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::absolute("shortest_time", "ms", "Time that it still needs at its best.").declared().ranked().with_ratio(Ratio::Time),
    Base::share("remaining_share", "Share of its epochs that is left.").declared().ranked(),
    Base::count("workers", "workers", "Workers that it has in this slot.").decided().ranked().with_ratio(Ratio::Count),
    Base::count("servers", "servers", "Parameter servers that it has in this slot.").decided()
        .ranked()
        .with_ratio(Ratio::Count),
    Base::count("tasks", "tasks", "Workers and servers that it has in this slot.").decided().ranked(),
    Base::absolute("servers_per_worker", "1", "Balance of servers and workers: servers ÷ workers, of each at least 1.").decided().ranked(),
    Base::share("dominant_share", "The larger of its shares of the cluster's CPU and GPU slots.").decided().ranked(),
    Base::count("fair_order", "1", "Place among the candidates by dominant share, then by arrival, 0 is the smallest share.").decided(),
    Base::count("stay", "slots", "Slots since it arrived.").ranked(),
    Base::count("arrival_order", "1", "Place among the jobs by arrival, 0 is the oldest.").ranked(),
    Base::count("worker_gpu", "slots", "GPU slots that a worker of it takes.").declared(),
    Base::flag("is_resnet_50", "Whether it trains resnet-50."),
    Base::flag("is_vgg_16", "Whether it trains vgg-16."),
    Base::flag("is_resnext_110", "Whether it trains resnext-110."),
    Base::flag("is_inception_bn", "Whether it trains inception-bn."),
    Base::flag("is_seq2seq", "Whether it trains seq2seq."),
    Base::flag("is_cnn_text", "Whether it trains cnn-text-classification."),
    Base::flag("is_dssm", "Whether it trains dssm."),
    Base::flag("is_wlm", "Whether it trains wlm."),
    Base::count("jobs_in_system", "jobs", "Jobs that have arrived and are not done."),
    Base::count("idle_jobs", "jobs", "Jobs without a worker or without a server.").decided(),
    Base::share("free_gpu", "Share of the cluster's GPU slots that is free.").decided(),
];

/// One flag per built-in type: whether the job is of it.
pub(super) fn type_flags(job: &JobView<'_>) -> [f64; 8] {
    let (kind, name) = (job.kind() as usize, &job.job_type().name);
    // Built-in types stand at their own places; those of a file may stand anywhere.
    let at_its_place = JOB_TYPES.get(kind).filter(|t| t.name == *name).map(|_| kind);
    let found = at_its_place.or_else(|| JOB_TYPES.iter().position(|t| t.name == *name));
    std::array::from_fn(|i| f64::from(u8::from(found == Some(i))))
}

/// Servers ÷ workers, of each at least 1.
pub(super) fn servers_per_worker(workers: u32, servers: u32) -> f64 {
    f64::from(servers.max(1)) / f64::from(workers.max(1))
}

impl Extractor {
    /// Appends one row per candidate job, in order of arrival; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        self.job.clear();
        let (free, capacity) = (f64::from(seen.free()[1]), f64::from(seen.cluster().capacity()[1]));
        let most = |of: fn(&Candidate) -> f64| s.candidates().iter().map(of).fold(f64::MIN, f64::max);
        let (most_saved, most_by_one) = (most(|c| c.best().saved_ms), most(Candidate::saved_by_one_ms));
        let most_speedup = most(|c| c.best().speedup);
        for candidate in s.candidates() {
            let job = seen.job(candidate.job);
            let (workers, servers) = (job.workers(), job.servers());
            let best = candidate.best();
            let saved = |task: Task| if candidate.legal[task as usize] { candidate.gain(task).saved_ms } else { 0.0 };
            let [resnet, vgg, resnext, inception, seq2seq, cnn, dssm, wlm] = type_flags(&job);
            self.job.push([
                f64::from(u8::from(workers == 0 || servers == 0)),
                best.saved_ms,
                f64::from(candidate.idle_order),
                most_saved - best.saved_ms,
                most_by_one - candidate.saved_by_one_ms(),
                most_speedup - best.speedup,
                candidate.saved_by_one_ms(),
                saved(Task::Worker),
                saved(Task::Server),
                saved(Task::Both),
                best.speedup,
                best.in_reach,
                candidate.left_ms,
                best_ms(seen, &job),
                job.remaining_share().max(0.0),
                f64::from(workers),
                f64::from(servers),
                f64::from(workers + servers),
                servers_per_worker(workers, servers),
                job.dominant_share(),
                f64::from(candidate.fair_order),
                f64::from(job.stay()),
                candidate.place as f64,
                f64::from(job.request(Task::Worker)[1]),
                resnet,
                vgg,
                resnext,
                inception,
                seq2seq,
                cnn,
                dssm,
                wlm,
                seen.live_jobs().len() as f64,
                f64::from(s.idle),
                free / capacity.max(1.0),
            ]);
        }
        self.job.write(out);
        s.candidates().len()
    }
}
