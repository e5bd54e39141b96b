//! Application level: which application is served next, if any?

use super::{Extractor, Read, flag, snapshot::LONGEST_MS};
use crate::state::{BatchView, View};
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to serve none, so that the accelerator waits."),
    Base::count("tasks", "tasks", "Tasks of it that wait.").ranked().with_ratio(Ratio::Count),
    Base::absolute("waited", "ms", "Time for which its oldest task has waited.").ranked().with_ratio(Ratio::Time),
    Base::absolute("solo", "ms", "Time of that task in a batch of its own.").declared().ranked(),
    Base::absolute(
        "slowdown",
        "1",
        "Slowdown of that task if it ran alone now: its waiting and that time ÷ that time.",
    )
    .declared()
    .ranked(),
    Base::absolute("slack", "ms", "Time by which that task would then be within its objective; negative if late.")
        .declared()
        .ranked(),
    Base::share("filling", "Tasks of it that wait ÷ the most of a batch, up to 1.").ranked(),
    Base::flag("is_full", "Whether as many of it wait as a batch takes."),
    Base::flag("is_timed_out", "Whether its oldest task has waited for its timeout."),
    Base::count(
        "batch",
        "tasks",
        "Tasks of its batch: of the one that is being formed, or of the best one, which has all its tasks of a window of sizes.",
    )
    .declared()
    .ranked(),
    Base::absolute("batch_time", "ms", "Time of that batch.").declared().ranked().with_ratio(Ratio::Time),
    Base::absolute("task_time", "ms", "That time per task.").declared().ranked(),
    Base::share("efficiency", "Time that its tasks would take in full batches of equal size ÷ its time.").declared().ranked(),
    Base::absolute("relief", "1/s²", "Slowdown per second that ends with that batch ÷ its time.").declared().ranked(),
    Base::absolute(
        "merit",
        "1/s",
        "Tasks of it per second × efficiency⁴ × √(1 + ms for which its oldest has waited): by this the best batch is the best.",
    )
    .declared()
    .ranked(),
    Base::absolute("urgency", "1/s", "Slowdown per second of its waiting tasks, added up.").declared().ranked(),
    Base::absolute("used", "ms", "Accelerator time that it has had lately ÷ its weight.").decided().ranked(),
    Base::share("used_share", "That time ÷ the sum of those of all applications.").decided(),
    Base::count("turn", "1", "Its place in the round that begins after the application that was served last.").ranked(),
    Base::absolute("arrivals", "1/s", "Tasks of it that have arrived lately, per second.").ranked(),
    Base::absolute("to_full", "ms", "Time until a batch of it is full if they go on so.").ranked(),
    Base::count("waiting", "tasks", "Tasks of all applications that wait."),
    Base::count("asking", "applications", "Applications with waiting tasks."),
    Base::absolute("all_urgency", "1/s", "Slowdown per second of all waiting tasks, added up.").declared(),
    Base::count("idle", "accelerators", "Idle accelerators.").decided(),
    Base::absolute("next_end", "ms", "Predicted time until the next batch ends; 0 if none runs.").decided(),
];

/// Per second, of what is per ms.
const PER_S: f64 = 1e3;

/// An application that is asked about: what several of its features are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    place: u32,
    /// Tasks that wait, and of a batch at most.
    count: f64,
    most: f64,
    /// Of its oldest task.
    waited_ms: f64,
    solo_ms: f64,
    /// The one that is being formed, or its best one.
    batch: BatchView,
    /// Arrivals, 1/ms.
    rate: f64,
}

impl Asked {
    fn new(seen: &View<'_>, place: u32, is_forming: bool, read: Read) -> Self {
        let queue = seen.queue(place);
        let of = queue.application();
        let (waited_ms, solo_ms) = match queue.oldest() {
            Some(oldest) => (seen.time_ms() - oldest.arrival_ms, of.solo_ms(oldest.size)),
            // The last of its tasks are in the batch that is being formed.
            None => (0.0, 1.0),
        };
        let batch = match is_forming {
            true => seen.formed_batch(),
            false if read.batches => queue.best_batch().batch,
            false => BatchView::default(),
        };
        Self {
            place,
            count: f64::from(queue.count()),
            most: f64::from(of.most),
            waited_ms,
            solo_ms,
            batch,
            rate: if read.rates { queue.rate() } else { 0.0 },
        }
    }

    /// Time until as many wait as a batch takes.
    fn until_full_ms(&self) -> f64 {
        let missing = (self.most - self.count).max(0.0);
        if missing == 0.0 { 0.0 } else { (missing / self.rate).min(LONGEST_MS) }
    }
}

impl Extractor {
    /// Appends one row per application that is asked about, by place, and one for serving none if no batch is being formed; returns
    /// their number.
    pub fn application_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        if self.read.used {
            self.snapshot.update_used(seen);
        }
        let (s, read) = (&self.snapshot, self.read);
        let of = |asked: &Asked| seen.queue(asked.place).application();
        self.asked.clear();
        self.asked.extend(s.applications().iter().map(|&place| Asked::new(seen, place, !s.none_served(), read)));
        let all = &self.asked[..];
        let mut rows = self.application.rows(all.len(), s.none_served(), out);
        rows.each(all, |a| a.count);
        rows.each(all, |a| a.waited_ms);
        rows.each(all, |a| a.solo_ms);
        rows.each(all, |a| (a.waited_ms + a.solo_ms) / a.solo_ms);
        rows.each(all, |a| of(a).objective_ms - a.waited_ms - a.solo_ms);
        rows.each(all, |a| (a.count / a.most).min(1.0));
        rows.each(all, |a| flag(a.count >= a.most));
        rows.each(all, |a| flag(seen.is_timed_out(a.place)));
        rows.each(all, |a| f64::from(a.batch.batch.count));
        rows.each(all, |a| a.batch.ms);
        rows.each(all, |a| a.batch.ms / f64::from(a.batch.batch.count.max(1)));
        rows.each(all, |a| a.batch.efficiency());
        rows.each(all, |a| PER_S * PER_S * a.batch.relief());
        rows.each(all, |a| PER_S * a.batch.merit());
        rows.each(all, |a| PER_S * s.paces[a.place as usize]);
        rows.each(all, |a| s.used_ms[a.place as usize]);
        let used_share = |used_ms: f64| if s.all_used_ms > 0.0 { used_ms.max(0.0) / s.all_used_ms } else { 0.0 };
        rows.each(all, |a| used_share(s.used_ms[a.place as usize]));
        rows.each(all, |a| f64::from(seen.turn(a.place)));
        rows.each(all, |a| PER_S * a.rate);
        rows.each(all, Asked::until_full_ms);
        rows.all(|| f64::from(seen.waiting()));
        rows.all(|| f64::from(s.asking));
        rows.all(|| PER_S * s.pace);
        rows.all(|| f64::from(seen.idle()));
        rows.all(|| s.next_end_ms);
        all.len() + usize::from(s.none_served())
    }
}
