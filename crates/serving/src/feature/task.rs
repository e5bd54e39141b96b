//! Task level: which task joins the batch, or is it closed?

use super::{Extractor, flag, snapshot::LONGEST_MS};
use crate::state::{Question, View};
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to close the batch, so that it begins."),
    Base::count("size", "1", "Its size.").declared().ranked().with_ratio(Ratio::Count),
    Base::count("alike", "tasks", "Waiting tasks of its size.").declared().ranked(),
    Base::absolute("waited", "ms", "Time for which it has waited.").ranked().with_ratio(Ratio::Time),
    Base::flag("is_oldest", "Whether it has waited longest of its application."),
    Base::absolute("solo", "ms", "Time of it in a batch of its own.").declared().ranked(),
    Base::absolute("slowdown", "1", "Its slowdown if it ran alone now: its waiting and that time ÷ that time.")
        .declared()
        .ranked(),
    Base::count("passed", "batches", "Batches of its application that have begun since it arrived.").decided().ranked(),
    Base::count("difference", "1", "Its size beyond the largest in the batch, or below it.").declared().ranked(),
    Base::flag("is_larger", "Whether it is larger than all in the batch.").declared(),
    Base::absolute("added", "ms", "Time by which it prolongs the batch.").declared().ranked(),
    Base::absolute("saved", "ms", "Time by which that is less than its time in a batch of its own.")
        .declared()
        .ranked(),
    Base::absolute(
        "task_time_change",
        "ms",
        "By how much the batch's time per task rises with it; negative if it falls.",
    )
    .declared()
    .ranked(),
    Base::flag("pays", "Whether it saves time, and the time per task does not rise: DyBatch's condition.").declared(),
    Base::absolute(
        "relief",
        "1/s²",
        "Slowdown per second that ends with it ÷ the time by which it prolongs the batch.",
    )
    .declared()
    .ranked(),
    Base::absolute("delay", "1", "Slowdown that it adds to those in the batch.").declared().ranked(),
    Base::absolute("all_delay", "1", "Slowdown that it adds to them and to all other waiting tasks.")
        .declared()
        .ranked(),
    Base::absolute("slack", "ms", "Time by which it would be within its objective in this batch; negative if late.")
        .declared()
        .ranked(),
    Base::flag("makes_late", "Whether a task of the batch would be late with it that would not be without.").declared(),
    Base::count("batch", "tasks", "Tasks in the batch.").decided(),
    Base::share("filling", "Those ÷ the most of a batch.").decided(),
    Base::absolute("batch_time", "ms", "Time of the batch.").decided().declared(),
    Base::absolute("batch_urgency", "1/s", "Slowdown per second of the tasks in the batch, added up.")
        .decided()
        .declared(),
    Base::count("tasks", "tasks", "Tasks of its application that wait."),
    Base::count("waiting", "tasks", "Tasks of all applications that wait."),
    Base::count("others", "applications", "Other applications with waiting tasks."),
    Base::absolute("all_urgency", "1/s", "Slowdown per second of all waiting tasks, added up.").declared(),
    Base::absolute("arrivals", "1/s", "Tasks of its application that have arrived lately, per second."),
];

/// What all candidates share comes last.
const SHARED: usize = 9;

const PER_S: f64 = 1e3;

impl Extractor {
    /// Appends one row per size with the oldest task of it, ascending, and one for closing the batch if it has a task; returns their
    /// number, 0 where no batch is being formed.
    pub fn task_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let (s, now) = (&self.snapshot, seen.time_ms());
        let Question::Form(application) = seen.question() else { return 0 };
        let (queue, batch) = (seen.queue(application), seen.batch());
        let of = queue.application();
        let count = f64::from(batch.count);
        let batch_ms = if batch.count > 0 { of.ms(batch) } else { 0.0 };
        let mut batch_pace = 0.0;
        // Of the tasks in the batch that are within their objective the one that is so by least.
        let mut slack_ms = f64::INFINITY;
        for (size, arrival_ms) in seen.formed() {
            batch_pace += 1.0 / of.solo_ms(size);
            let own_ms = arrival_ms + of.objective_ms - now - batch_ms;
            if own_ms >= 0.0 {
                slack_ms = slack_ms.min(own_ms);
            }
        }
        let shared: [f64; SHARED] = [
            count,
            count / f64::from(of.most),
            batch_ms,
            PER_S * batch_pace,
            f64::from(queue.count()),
            f64::from(seen.waiting()),
            f64::from(s.asking - u32::from(queue.count() > 0)),
            PER_S * s.pace,
            PER_S * queue.rate(),
        ];
        let oldest = queue.oldest().map(|oldest| oldest.task);
        self.task.clear();
        for group in s.groups() {
            let with_ms = of.ms(batch.with(group.size));
            let (waited_ms, solo_ms) = (now - group.arrival_ms, of.solo_ms(group.size));
            let added_ms = with_ms - batch_ms;
            let saved_ms = solo_ms - added_ms;
            let change_ms = if batch.count > 0 { with_ms / (count + 1.0) - batch_ms / count } else { 0.0 };
            let [in_batch, filling, time, batch_urgency, tasks, waiting, others, all_urgency, arrivals] = shared;
            self.task.push([
                0.0,
                f64::from(group.size),
                f64::from(group.count),
                waited_ms,
                flag(oldest == Some(group.task)),
                solo_ms,
                (waited_ms + solo_ms) / solo_ms,
                group.passed as f64,
                f64::from(group.size.abs_diff(batch.largest)),
                flag(group.size > batch.largest),
                added_ms,
                saved_ms,
                change_ms,
                flag(batch.count == 0 || of.pays(batch, group.size)),
                (PER_S * PER_S * group.pace / added_ms.max(1e-9)).min(LONGEST_MS * LONGEST_MS),
                added_ms * batch_pace,
                added_ms * (batch_pace + s.pace - group.pace),
                of.objective_ms - waited_ms - with_ms,
                flag(added_ms > slack_ms),
                in_batch,
                filling,
                time,
                batch_urgency,
                tasks,
                waiting,
                others,
                all_urgency,
                arrivals,
            ]);
        }
        self.task.write(out);
        if s.can_close() {
            self.task.write_flag_row(out);
            let end = out.len();
            out[end - SHARED..].iter_mut().zip(shared).for_each(|(to, x)| *to = x as f32);
        }
        s.groups().len() + usize::from(s.can_close())
    }
}
