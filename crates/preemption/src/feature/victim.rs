//! Victim level: which job is suspended for the one in question, if any?

use super::{Extractor, HOUR_MS, flag};
use crate::{
    heuristic::{LAS_LIMIT, is_last},
    state::View,
};
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to suspend no job, so that the one in question is passed over."),
    Base::count("gpus", "GPUs", "GPUs that it gives.").ranked(),
    Base::count("beyond_need", "GPUs", "Its GPUs beyond those that are needed; negative if they do not suffice.").ranked(),
    Base::absolute("left", "ms", "Predicted time of computing that it has left.").declared().ranked().with_ratio(Ratio::Time),
    Base::absolute("left_after_epoch", "ms", "That time after the epoch that it is in.").declared().ranked(),
    Base::absolute("left_more", "ms", "Time that it has left beyond that of the job in question.").declared(),
    Base::flag("is_longer", "Whether it has more time left than the job in question.").declared(),
    Base::absolute("gpu_left", "ms", "Its time left × its GPUs.").declared().ranked(),
    Base::absolute("to_epoch_end", "ms", "Predicted time until its epoch ends.").decided().ranked().with_ratio(Ratio::Time),
    Base::absolute("epoch", "ms", "Predicted time of an epoch of it.").ranked(),
    Base::absolute("save_time", "ms", "Predicted time to save it."),
    Base::absolute("load_time", "ms", "Predicted time to load it again.").ranked(),
    Base::absolute("price", "ms", "GPU time that saving and loading it costs.").ranked(),
    Base::absolute("price_share", "1", "Time until its epoch ends per GPU, and of saving and loading it, as a share of its time left: PickyMan's order.")
        .declared()
        .ranked(),
    Base::absolute("gain", "ms", "Its time left after the epoch, less its loading and all that the job in question takes.").declared(),
    Base::flag("pays", "Whether that is positive.").declared(),
    Base::flag("in_division", "Whether PickyMan's division has it, nobody protected.").declared(),
    Base::count("epochs_run", "1", "Whole epochs that it has done since it last began to compute.").decided().ranked(),
    Base::count("preemptions", "1", "How often it was suspended.").decided().ranked(),
    Base::absolute("service", "ms", "GPU time that it has had.").decided().ranked(),
    Base::flag("is_long_served", "Whether that is 18 000 GPU·s or more.").decided(),
    Base::flag("is_longer_served", "Whether it is in a later queue of Tiresias than the job in question.").decided(),
    Base::absolute("gittins", "1/h", "Its Gittins index: the chance to complete per GPU hour.").decided().ranked(),
    Base::flag("is_less_likely", "Whether that is below the one of the job in question.").decided(),
    Base::absolute("waited", "ms", "Time for which it has waited so far.").ranked(),
    Base::count("arrival_order", "1", "Jobs that arrived before it and can be condemned.").ranked(),
    Base::flag("is_last", "Whether it has at least as much time left as the cluster needs for all that is there.").declared(),
    Base::flag("is_spread", "Whether it is on more nodes than necessary.").decided(),
    Base::count("shorter_waiting", "jobs", "Jobs that wait without a claim and have less time left than it.").declared().ranked(),
    Base::absolute("shorter_backlog", "ms", "GPU time left of those ÷ GPUs of the cluster.").declared(),
    Base::absolute("claim_time", "ms", "Predicted time left of the job in question.").declared(),
    Base::count("claim_gpus", "GPUs", "Its GPUs."),
    Base::absolute("claim_waited", "ms", "Time for which it has waited so far."),
    Base::absolute("claim_otherwise", "ms", "Predicted time until there is room for it without suspending anyone.").declared(),
    Base::count("need", "GPUs", "GPUs that it still needs.").decided(),
    Base::count("waiting", "jobs", "Jobs that wait without a claim."),
    Base::count("computing", "jobs", "Jobs that compute.").decided(),
    Base::absolute("load", "ms", "GPU time left of all jobs ÷ GPUs of the cluster.").declared(),
    Base::absolute("quiet", "1", "Time since the last arrival, in mean gaps between arrivals."),
];

/// What all candidates share comes last.
const SHARED: usize = 9;

impl Extractor {
    /// Appends one row per job that can be condemned, by number, and one for none; returns their number, 0 where no one is asked about.
    pub fn victim_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let s = &self.snapshot;
        let Some(claim) = s.jobs().first().filter(|_| s.is_condemning) else {
            return 0;
        };
        let claimant = seen.job(claim.job);
        let need = f64::from(seen.need());
        let (claim_ms, takes_ms) = (claimant.left_ms(), claimant.left_ms() + claimant.loading_ms());
        let (earlier, cluster_gpus) = (&seen.cluster().earlier, f64::from(seen.cluster().gpus()));
        let claim_long = claimant.service_ms() >= LAS_LIMIT;
        let claim_index = earlier.gittins(claimant.service_ms());
        let shared: [f64; SHARED] = [
            claim_ms,
            f64::from(claimant.gpus()),
            claimant.waited_ms(),
            claim.otherwise_ms,
            need,
            seen.waiting().len() as f64,
            f64::from(s.computing),
            s.load_ms,
            s.quiet_gaps,
        ];
        self.victim.clear();
        for (place, &id) in s.victims().iter().enumerate() {
            let job = seen.job(id);
            let (gpus, left_ms) = (f64::from(job.gpus()), job.left_ms());
            let (save_ms, load_ms, end_ms) = (job.saving_ms(), job.loading_ms(), job.to_epoch_end_ms());
            let (service_ms, gain_ms) = (job.service_ms(), job.left_after_epoch_ms() - load_ms - takes_ms);
            let index = earlier.gittins(service_ms);
            let long = service_ms >= LAS_LIMIT;
            let [claim_time, claim_gpus, claim_waited, claim_otherwise, need, waiting, computing, load, quiet] = shared;
            let (shorter, shorter_ms) = s.shorter(left_ms);
            self.victim.push([
                0.0,
                gpus,
                gpus - need,
                left_ms,
                job.left_after_epoch_ms(),
                left_ms - claim_ms,
                flag(left_ms > claim_ms),
                gpus * left_ms,
                end_ms,
                job.epoch_ms(),
                save_ms,
                load_ms,
                gpus * (save_ms + load_ms),
                (end_ms / gpus + save_ms + load_ms) / left_ms.max(1.0),
                gain_ms,
                flag(gain_ms > 0.0),
                flag(s.is_chosen(id)),
                job.epochs_since_start(),
                f64::from(job.preemptions()),
                service_ms,
                flag(long),
                flag(long && !claim_long),
                index * HOUR_MS,
                flag(index < claim_index),
                job.waited_ms(),
                place as f64,
                flag(is_last(&job, s.load_ms)),
                flag(job.is_spread()),
                shorter as f64,
                shorter_ms / cluster_gpus,
                claim_time,
                claim_gpus,
                claim_waited,
                claim_otherwise,
                need,
                waiting,
                computing,
                load,
                quiet,
            ]);
        }
        self.victim.write(out);
        self.victim.write_flag_row(out);
        let end = out.len();
        out[end - SHARED..].iter_mut().zip(shared).for_each(|(to, x)| *to = x as f32);
        s.victims().len() + 1
    }
}
