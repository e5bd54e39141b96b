//! Application level: which application is served next, if any?

use super::{Extractor, flag, snapshot::LONGEST_MS};
use crate::{law::Batch, state::View};
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
        "Tasks of a batch of it: of the one that is being formed, or its oldest and those of like size whose joining saves time.",
    )
    .declared()
    .ranked(),
    Base::absolute("batch_time", "ms", "Time of that batch.").declared().ranked().with_ratio(Ratio::Time),
    Base::absolute("task_time", "ms", "That time per task.").declared().ranked(),
    Base::share("efficiency", "Time per task of a full batch of its mean size ÷ that time per task.").declared().ranked(),
    Base::absolute("relief", "1/s²", "Slowdown per second that ends with that batch ÷ its time.").declared().ranked(),
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

/// What all candidates share comes last.
const SHARED: usize = 5;

/// Per second, of what is per ms.
const PER_S: f64 = 1e3;

impl Extractor {
    /// Appends one row per application that is asked about, by place, and one for serving none if no batch is being formed; returns
    /// their number.
    pub fn application_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let (s, now) = (&self.snapshot, seen.time_ms());
        let shared: [f64; SHARED] =
            [f64::from(seen.waiting()), f64::from(s.asking), PER_S * s.pace, f64::from(seen.idle()), s.next_end_ms];
        self.application.clear();
        for &place in s.applications() {
            let queue = seen.queue(place);
            let of = queue.application();
            let (count, most) = (f64::from(queue.count()), f64::from(of.most));
            let (waited_ms, solo_ms) = match queue.oldest() {
                Some(oldest) => (now - oldest.arrival_ms, of.solo_ms(oldest.size)),
                // The last of its tasks are in the batch that is being formed.
                None => (0.0, 1.0),
            };
            let (batch, pace) = match s.none_served() {
                true if self.read.batches => queue.like_batch(),
                true => (Batch::default(), 0.0),
                false => (seen.batch(), seen.formed().map(|(size, _)| 1.0 / of.solo_ms(size)).sum()),
            };
            let batch_ms = if batch.count > 0 { of.ms(batch) } else { 0.0 };
            let used_ms = if self.read.used { queue.used_ms() / of.weight } else { 0.0 };
            let rate = queue.rate();
            let missing = (most - count).max(0.0);
            let to_full_ms = if missing == 0.0 { 0.0 } else { (missing / rate).min(LONGEST_MS) };
            let [waiting, asking, all_urgency, idle, next_end] = shared;
            self.application.push([
                0.0,
                count,
                waited_ms,
                solo_ms,
                (waited_ms + solo_ms) / solo_ms,
                of.objective_ms - waited_ms - solo_ms,
                (count / most).min(1.0),
                flag(count >= most),
                flag(seen.is_timed_out(place)),
                f64::from(batch.count),
                batch_ms,
                batch_ms / f64::from(batch.count.max(1)),
                if batch.count > 0 { of.full_ms(batch) / batch_ms } else { 0.0 },
                PER_S * PER_S * pace / batch_ms.max(1e-9),
                if self.read.paces { PER_S * queue.pace() } else { 0.0 },
                used_ms,
                if s.used_ms > 0.0 { used_ms.max(0.0) / s.used_ms } else { 0.0 },
                f64::from(seen.turn(place)),
                PER_S * rate,
                to_full_ms,
                waiting,
                asking,
                all_urgency,
                idle,
                next_end,
            ]);
        }
        self.application.write(out);
        if s.none_served() {
            self.application.write_flag_row(out);
            let end = out.len();
            out[end - SHARED..].iter_mut().zip(shared).for_each(|(to, x)| *to = x as f32);
        }
        s.applications().len() + usize::from(s.none_served())
    }
}
