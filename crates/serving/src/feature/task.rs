//! Task level: which task joins the batch, or is it closed?

use super::{Extractor, Read, flag, snapshot::LONGEST_MS};
use crate::{
    server::{Application, pays},
    state::{BatchView, Extension, GroupView, Question, View},
};
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
    Base::flag("is_best", "Whether a task of its size joins for the best batch that can be made of this one.")
        .declared(),
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
    Base::share("batch_merit", "Merit of the batch ÷ that of the best one that can be made of it.")
        .decided()
        .declared(),
    Base::count("tasks", "tasks", "Tasks of its application that wait."),
    Base::count("waiting", "tasks", "Tasks of all applications that wait."),
    Base::count("others", "applications", "Other applications with waiting tasks."),
    Base::absolute("all_urgency", "1/s", "Slowdown per second of all waiting tasks, added up.").declared(),
    Base::absolute("arrivals", "1/s", "Tasks of its application that have arrived lately, per second."),
];

const PER_S: f64 = 1e3;

/// A task that can join, and how long the batch takes with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joining {
    group: GroupView,
    waited_ms: f64,
    with_ms: f64,
    /// By how much that is more than without it.
    added_ms: f64,
}

/// The batch that is being formed.
#[derive(Clone, Copy, Debug, Default)]
struct Formed {
    ms: f64,
    /// By how much the slowdowns of its tasks grow, added up, 1/ms.
    pace: f64,
    /// Of its tasks that are within their objective the one that is so by least.
    slack_ms: f64,
}

impl Formed {
    fn new(seen: &View<'_>, of: &Application, read: Read) -> Self {
        let (BatchView { ms, pace, .. }, mut slack_ms) = (seen.formed_batch(), f64::INFINITY);
        let tasks = read.lateness.then(|| seen.formed()).into_iter().flatten();
        for (_, arrival_ms) in tasks {
            let own_ms = arrival_ms + of.objective_ms - seen.time_ms() - ms;
            if own_ms >= 0.0 {
                slack_ms = slack_ms.min(own_ms);
            }
        }
        Self { ms, pace, slack_ms }
    }
}

impl Extractor {
    /// Appends one row per size with the oldest task of it, ascending, and one for closing the batch if it has a task; returns their
    /// number, 0 where no batch is being formed.
    pub fn task_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let (s, now) = (&self.snapshot, seen.time_ms());
        let Question::Form(application) = seen.question() else { return 0 };
        let (queue, batch) = (seen.queue(application), seen.batch());
        let of = queue.application();
        let (count, formed) = (f64::from(batch.count), Formed::new(seen, of, self.read));
        let best = if self.read.joining { seen.best_batch() } else { Extension::default() };
        let is_best = |size: u32| best.joining.is_some_and(|[least, most]| (least..=most).contains(&size));
        let merit_share = || match best.batch.merit() {
            0.0 => 0.0,
            most => seen.formed_batch().merit() / most,
        };
        let joining = |group: &GroupView| {
            let with_ms = of.ms(batch.with(group.size));
            Joining { group: *group, waited_ms: now - group.arrival_ms, with_ms, added_ms: with_ms - formed.ms }
        };
        self.joining.clear();
        self.joining.extend(s.groups().iter().map(joining));
        let all = &self.joining[..];
        let oldest = queue.oldest().map(|oldest| oldest.task);
        let change_ms = |j: &Joining| if batch.count > 0 { j.with_ms / (count + 1.0) - formed.ms / count } else { 0.0 };
        let mut rows = self.task.rows(all.len(), s.can_close(), out);
        rows.each(all, |j| f64::from(j.group.size));
        rows.each(all, |j| f64::from(j.group.count));
        rows.each(all, |j| j.waited_ms);
        rows.each(all, |j| flag(oldest == Some(j.group.task)));
        rows.each(all, |j| j.group.solo_ms);
        rows.each(all, |j| (j.waited_ms + j.group.solo_ms) / j.group.solo_ms);
        rows.each(all, |j| j.group.passed as f64);
        rows.each(all, |j| f64::from(j.group.size.abs_diff(batch.largest)));
        rows.each(all, |j| flag(j.group.size > batch.largest));
        rows.each(all, |j| j.added_ms);
        rows.each(all, |j| j.group.solo_ms - j.added_ms);
        rows.each(all, change_ms);
        rows.each(all, |j| flag(is_best(j.group.size)));
        rows.each(all, |j| flag(batch.count == 0 || pays(formed.ms, j.with_ms, j.group.solo_ms, count)));
        rows.each(all, |j| (PER_S * PER_S * j.group.pace / j.added_ms.max(1e-9)).min(LONGEST_MS * LONGEST_MS));
        rows.each(all, |j| j.added_ms * formed.pace);
        rows.each(all, |j| j.added_ms * (formed.pace + s.pace - j.group.pace));
        rows.each(all, |j| of.objective_ms - j.waited_ms - j.with_ms);
        rows.each(all, |j| flag(j.added_ms > formed.slack_ms));
        rows.all(|| count);
        rows.all(|| count / f64::from(of.most));
        rows.all(|| formed.ms);
        rows.all(|| PER_S * formed.pace);
        rows.all(merit_share);
        rows.all(|| f64::from(queue.count()));
        rows.all(|| f64::from(seen.waiting()));
        rows.all(|| f64::from(s.asking - u32::from(queue.count() > 0)));
        rows.all(|| PER_S * s.pace);
        rows.all(|| PER_S * queue.rate());
        all.len() + usize::from(s.can_close())
    }
}
