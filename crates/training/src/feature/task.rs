//! Task level: a worker, a parameter server, or both?

use super::{
    Extractor,
    job::{servers_per_worker, type_flags},
};
use crate::state::{Task, View};
use sched_distill_core::feature::Base;

pub(super) const BASE: &[Base] = &[
    Base::flag("is_worker", "Whether the candidate is a worker alone."),
    Base::flag("is_server", "Whether the candidate is a parameter server alone."),
    Base::flag("is_both", "Whether the candidate is a worker and a server."),
    Base::absolute(
        "marginal_gain",
        "ms",
        "Marginal gain: the time that it would save the job; 1e9 ms if the job would not train without.",
    )
    .declared()
    .ranked(),
    Base::absolute("gap_to_best_gain", "ms", "Time that it would save less than the best of the candidates.")
        .declared()
        .ranked(),
    Base::absolute("gain_per_slot", "ms", "Marginal gain per CPU and GPU slot that it takes.").declared().ranked(),
    Base::absolute("speedup", "1", "Share by which it would speed the job up.").ranked(),
    Base::absolute(
        "speedup_in_reach",
        "1",
        "Share by which the job could be sped up at most in this slot, if it got this and whatever more it wants.",
    )
    .ranked(),
    Base::absolute(
        "gap_to_best_reach",
        "1",
        "Share of speed that it would put out of reach, against the best of the candidates.",
    ),
    Base::count("workers_then", "workers", "Workers that the job would have.").decided(),
    Base::count("servers_then", "servers", "Parameter servers that the job would have.").decided(),
    Base::absolute(
        "servers_per_worker_then",
        "1",
        "Balance of servers and workers that the job would have: servers ÷ workers, of each at least 1.",
    )
    .ranked(),
    Base::count("slots_taken", "slots", "CPU and GPU slots that it takes.").ranked(),
    Base::flag("starts_job", "Whether the job could train with it and could not without.").decided(),
    Base::count("workers", "workers", "Workers that the job has in this slot.").decided(),
    Base::count("servers", "servers", "Parameter servers that the job has in this slot.").decided(),
    Base::absolute(
        "servers_per_worker",
        "1",
        "Balance of servers and workers of the job: servers ÷ workers, of each at least 1.",
    ),
    Base::absolute("time_left", "ms", "Time that the job still needs with the tasks it has, at most 1e9 ms.")
        .declared(),
    Base::flag("is_resnet_50", "Whether the job trains resnet-50."),
    Base::flag("is_vgg_16", "Whether the job trains vgg-16."),
    Base::flag("is_resnext_110", "Whether the job trains resnext-110."),
    Base::flag("is_inception_bn", "Whether the job trains inception-bn."),
    Base::flag("is_seq2seq", "Whether the job trains seq2seq."),
    Base::flag("is_cnn_text", "Whether the job trains cnn-text-classification."),
    Base::flag("is_dssm", "Whether the job trains dssm."),
    Base::flag("is_wlm", "Whether the job trains wlm."),
    Base::count("jobs_in_system", "jobs", "Jobs that have arrived and are not done."),
    Base::share("free_cpu", "Share of the cluster's CPU slots that is free.").decided(),
    Base::share("free_gpu", "Share of the cluster's GPU slots that is free.").decided(),
];

impl Extractor {
    /// Appends one row per task that candidate job number `candidate` may have, in the order of [`Task::ALL`]; returns their
    /// number.
    pub fn task_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) -> usize {
        let candidate = &self.snapshot.candidates()[candidate];
        let job = seen.job(candidate.job);
        let (workers, servers) = (job.workers(), job.servers());
        let [resnet, vgg, resnext, inception, seq2seq, cnn, dssm, wlm] = type_flags(&job);
        let (free, capacity) = (seen.free().map(f64::from), seen.cluster().capacity().map(f64::from));
        let flag = |is: bool| f64::from(u8::from(is));
        self.task.clear();
        let best = candidate.best();
        for task in candidate.tasks() {
            let [more_workers, more_servers] = task.counts();
            let (workers_then, servers_then) = (workers + more_workers, servers + more_servers);
            let gain = candidate.gain(task);
            let taken = f64::from(job.request(task).iter().sum::<u32>());
            let trains = |workers: u32, servers: u32| workers > 0 && servers > 0;
            self.task.push([
                flag(task == Task::Worker),
                flag(task == Task::Server),
                flag(task == Task::Both),
                gain.saved_ms,
                best.saved_ms - gain.saved_ms,
                gain.saved_ms / taken.max(1.0),
                gain.speedup,
                gain.in_reach,
                best.in_reach - gain.in_reach,
                f64::from(workers_then),
                f64::from(servers_then),
                servers_per_worker(workers_then, servers_then),
                taken,
                flag(trains(workers_then, servers_then) && !trains(workers, servers)),
                f64::from(workers),
                f64::from(servers),
                servers_per_worker(workers, servers),
                candidate.left_ms,
                resnet,
                vgg,
                resnext,
                inception,
                seq2seq,
                cnn,
                dssm,
                wlm,
                seen.live_jobs().len() as f64,
                free[0] / capacity[0].max(1.0),
                free[1] / capacity[1].max(1.0),
            ]);
        }
        self.task.write(out);
        candidate.tasks().count()
    }
}
