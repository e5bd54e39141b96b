//! Job level: which waiting job is served next, if any?

use super::{Extractor, HOUR_MS, flag};
use crate::{heuristic::LAS_LIMIT, state::View};
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to serve no job now."),
    Base::count("gpus", "GPUs", "GPUs that it runs on.").ranked(),
    Base::absolute("time", "ms", "Predicted time of computing that is left.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::absolute("gpu_time", "ms", "That time × its GPUs.").declared().ranked().with_ratio(Ratio::Time),
    Base::absolute(
        "tree_gpu_time",
        "ms",
        "Its run time, as a small tree learned from earlier jobs has it, × its GPUs.",
    )
    .declared()
    .ranked(),
    Base::absolute("load_time", "ms", "Predicted time to load it.").ranked(),
    Base::absolute("waited", "ms", "Time for which it has waited so far.").ranked(),
    Base::absolute("age", "ms", "Time since it arrived.").ranked(),
    Base::count("arrival_order", "1", "Jobs that arrived before it and wait without a claim."),
    Base::absolute("service", "ms", "GPU time that it has had.").decided().ranked(),
    Base::flag("is_long_served", "Whether that is 18 000 GPU·s or more: the second queue of Tiresias.").decided(),
    Base::absolute("gittins", "1/h", "Its Gittins index: the chance to complete per GPU hour.").decided().ranked(),
    Base::count("preemptions", "1", "How often it was suspended.").decided(),
    Base::flag("fits", "Whether unreserved GPUs suffice.").decided(),
    Base::flag("is_lent", "Whether it could begin at once on GPUs that claims reserve.").decided(),
    Base::flag(
        "is_back",
        "Whether it would then be complete before the first claim has all it needs, as is predicted.",
    )
    .declared(),
    Base::count("need", "GPUs", "GPUs that it needs beyond the unreserved ones.").decided().ranked(),
    Base::flag("is_longer_covered", "Whether jobs with more time left have the GPUs that it needs.").declared(),
    Base::flag(
        "divides",
        "Whether there are longer jobs that could be suspended for it: PickyMan's division, nobody protected.",
    )
    .declared(),
    Base::flag("pays", "Whether that pays: it gains 1.25 times what they lose.").declared(),
    Base::absolute("price", "ms", "GPU time that suspending and resuming them costs; 0 without a division.")
        .declared()
        .ranked(),
    Base::absolute("delay", "ms", "Predicted time by which they are delayed, added up; 0 without a division.")
        .declared()
        .ranked(),
    Base::absolute("ready", "ms", "Predicted time until they have given their GPUs back; 0 without a division.")
        .declared()
        .ranked(),
    Base::absolute("otherwise", "ms", "Predicted time until there is room for it without suspending anyone.")
        .declared()
        .ranked(),
    Base::absolute(
        "gain",
        "ms",
        "That time, less the time until there is room by the division and less its delays; 0 without one.",
    )
    .declared()
    .ranked(),
    Base::flag("is_last", "Whether it has at least as much time left as the cluster needs for all that is there.")
        .declared(),
    Base::absolute(
        "shorter_backlog",
        "ms",
        "GPU time left of jobs that wait without a claim and have less time left ÷ GPUs of the cluster.",
    )
    .declared(),
    Base::count("waiting", "jobs", "Jobs that wait without a claim."),
    Base::count("fitting_jobs", "jobs", "Those of them for which unreserved GPUs suffice.").decided(),
    Base::absolute("backlog", "ms", "GPU time left of jobs that wait without a claim ÷ GPUs of the cluster.")
        .declared(),
    Base::absolute("load", "ms", "GPU time left of all jobs ÷ GPUs of the cluster.").declared(),
    Base::count("computing", "jobs", "Jobs that compute.").decided(),
    Base::count("free_gpus", "GPUs", "Free GPUs that no claim reserves.").decided(),
    Base::count("reserved_gpus", "GPUs", "Free GPUs that claims reserve.").decided(),
    Base::count("claims", "jobs", "Jobs with a claim.").decided(),
    Base::count("condemnable_gpus", "GPUs", "GPUs of the jobs that can be condemned.").decided(),
    Base::count("transfers", "1", "Transfers from and to the storage under way.").decided(),
    Base::absolute("quiet", "1", "Time since the last arrival, in mean gaps between arrivals."),
];

/// What all candidates share comes last.
const SHARED: usize = 11;

impl Extractor {
    /// Appends one row per job that is asked about, by number, and one for serving none if they wait; returns their number.
    pub fn job_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let shared: [f64; SHARED] = [
            seen.waiting().len() as f64,
            f64::from(s.fitting),
            s.backlog_ms,
            s.load_ms,
            f64::from(s.computing),
            f64::from(seen.unreserved()),
            f64::from(s.reserved),
            f64::from(s.claims),
            f64::from(seen.condemnable()),
            f64::from(seen.transfers()),
            s.quiet_gaps,
        ];
        let (earlier, cluster_gpus) = (&seen.cluster().earlier, f64::from(seen.cluster().gpus()));
        self.job.clear();
        for candidate in s.jobs() {
            let job = seen.job(candidate.job);
            let (gpus, left_ms, service_ms) = (f64::from(job.gpus()), job.left_ms(), job.service_ms());
            let fits = candidate.need == 0;
            let lent = !fits && job.gpus() <= seen.free();
            let [waiting, fitting, backlog, load, computing, free, reserved, claims, condemnable, transfers, quiet] =
                shared;
            self.job.push([
                0.0,
                gpus,
                left_ms,
                gpus * left_ms,
                gpus * earlier.run_ms(job.gpus(), job.declared(), job.packed_epoch_ms()),
                job.loading_ms(),
                job.waited_ms(),
                job.age_ms(),
                seen.waiting().partition_point(|&other| other < candidate.job) as f64,
                service_ms,
                flag(service_ms >= LAS_LIMIT),
                earlier.gittins(service_ms) * HOUR_MS,
                f64::from(job.preemptions()),
                flag(fits),
                flag(lent),
                flag(lent && job.loading_ms() + left_ms <= s.claims_ms),
                f64::from(candidate.need),
                flag(candidate.longer_cover),
                flag(candidate.divides),
                flag(candidate.pays),
                candidate.price_ms,
                candidate.delay_ms,
                candidate.ready_ms,
                candidate.otherwise_ms,
                if candidate.divides { candidate.otherwise_ms - candidate.ready_ms - candidate.delay_ms } else { 0.0 },
                flag(candidate.is_last),
                s.shorter(left_ms).1 / cluster_gpus,
                waiting,
                fitting,
                backlog,
                load,
                computing,
                free,
                reserved,
                claims,
                condemnable,
                transfers,
                quiet,
            ]);
        }
        self.job.write(out);
        if s.none_served() {
            self.job.write_flag_row(out);
            let end = out.len();
            out[end - SHARED..].iter_mut().zip(shared).for_each(|(to, x)| *to = x as f32);
        }
        s.jobs().len() + usize::from(s.none_served())
    }
}
