//! Cluster level: go on, or close the slot?

use super::{Extractor, snapshot::Gain};
use crate::state::View;
use sched_distill_core::feature::Base;

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to close the slot."),
    Base::absolute(
        "marginal_gain",
        "ms",
        "Marginal gain: the time that the best further task would save its job; 0 for closing the slot.",
    )
    .declared(),
    Base::absolute(
        "speedup",
        "1",
        "Share by which the best further task would speed its job up; 0 for closing the slot.",
    ),
    Base::absolute(
        "speedup_in_reach",
        "1",
        "Share by which a job that could get something could be sped up at most in this slot; 0 for closing the slot.",
    ),
    Base::absolute("best_marginal_gain", "ms", "Marginal gain of the best further task, for either candidate.")
        .declared(),
    Base::absolute("best_single_gain", "ms", "Time that the best further worker or server alone would save its job.")
        .declared(),
    Base::absolute(
        "best_speedup",
        "1",
        "Share by which the best further task would speed its job up, for either candidate.",
    ),
    Base::absolute(
        "best_speedup_in_reach",
        "1",
        "Share by which a job that could get something could be sped up at most in this slot.",
    ),
    Base::absolute(
        "wished_gain",
        "ms",
        "Time that the best further worker or server would save its job, if there were room for any.",
    )
    .declared(),
    Base::flag("wish_fits", "Whether there is room for that worker or server.").declared(),
    Base::flag(
        "fair_fits",
        "Whether there is room for a worker and a server of the job with the smallest dominant share.",
    ),
    Base::flag("oldest_fits", "Whether there is room for a worker and a server of the oldest job below its maxima."),
    Base::count("jobs_in_system", "jobs", "Jobs that have arrived and are not done."),
    Base::count("candidate_jobs", "jobs", "Jobs that could get something now."),
    Base::count("idle_jobs", "jobs", "Jobs without a worker or without a server.").decided(),
    Base::absolute("tasks_per_job", "tasks", "Workers and servers placed in this slot, per job.").decided(),
    Base::count("fewest_tasks", "tasks", "Workers and servers of the job that has fewest.").decided(),
    Base::count("most_tasks", "tasks", "Workers and servers of the job that has most.").decided(),
    Base::share("free_cpu", "Share of the cluster's CPU slots that is free.").decided(),
    Base::share("free_gpu", "Share of the cluster's GPU slots that is free.").decided(),
    Base::absolute("free_cpu_per_job", "slots", "Free CPU slots per job.").decided(),
    Base::absolute("free_gpu_per_job", "slots", "Free GPU slots per job.").decided(),
    Base::count("head_cpu", "slots", "CPU slots free on the node that comes next.").decided(),
    Base::count("head_gpu", "slots", "GPU slots free on the node that comes next.").decided(),
    Base::absolute("outstanding_time", "ms", "Time that all jobs would still need, each at its best.").declared(),
];

impl Extractor {
    /// Takes in a new question; the row functions then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// Appends a row for going on, if any job could get something, and one for closing the slot; returns their number.
    pub fn cluster_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let jobs = seen.live_jobs().len() as f64;
        let (best, saved_by_one) = s.best();
        let Gain { saved_ms: marginal_gain, speedup, in_reach } = best;
        let (free, capacity) = (seen.free().map(f64::from), seen.cluster().capacity().map(f64::from));
        let head = seen.node_free(seen.head());
        let flag = |is: bool| f64::from(u8::from(is));
        self.cluster.clear();
        // Most of it is the same for both candidates.
        for closes in if s.candidates().is_empty() { &[true][..] } else { &[false, true] } {
            let placed = |value: f64| if *closes { 0.0 } else { value };
            self.cluster.push([
                flag(*closes),
                placed(marginal_gain),
                placed(speedup),
                placed(in_reach),
                marginal_gain,
                saved_by_one,
                speedup,
                in_reach,
                s.wishes.best.map_or(0.0, |(saved_ms, _)| saved_ms),
                flag(s.wishes.best.is_some_and(|(_, fits)| fits)),
                flag(s.wishes.fair.is_some_and(|(_, fits)| fits)),
                flag(s.wishes.oldest.unwrap_or(false)),
                jobs,
                s.candidates().len() as f64,
                f64::from(s.idle),
                f64::from(s.tasks) / jobs,
                f64::from(s.fewest),
                f64::from(s.most),
                free[0] / capacity[0].max(1.0),
                free[1] / capacity[1].max(1.0),
                free[0] / jobs,
                free[1] / jobs,
                f64::from(head[0]),
                f64::from(head[1]),
                s.work_ms,
            ]);
        }
        self.cluster.write(out);
        1 + usize::from(!s.candidates().is_empty())
    }
}
