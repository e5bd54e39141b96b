//! Task level: which task joins the batch, or is it closed?

use super::{Asked, Extractor, PER_S, Read, snapshot::LONGEST_MS};
use crate::{
    Batch,
    server::{Application, pays},
    state::{BatchView, Extension, GroupView, Question, QueueView, View},
};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

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
#[derive(Clone, Copy, Debug)]
pub(super) struct Formed<'a> {
    asked: Asked<'a>,
    queue: QueueView<'a>,
    of: &'a Application,
    batch: Batch,
    count: f64,
    ms: f64,
    /// By how much the slowdowns of its tasks grow, added up, 1/ms.
    pace: f64,
    /// Of its tasks that are within their objective the one that is so by least.
    slack_ms: f64,
    /// The best that can be made of it.
    best: Extension,
    /// The task that has waited longest.
    oldest: Option<u32>,
}

impl<'a> Formed<'a> {
    fn new(asked: Asked<'a>, application: u32, read: Read) -> Self {
        let seen = asked.seen;
        let (queue, batch, BatchView { ms, pace, .. }) = (seen.queue(application), seen.batch(), seen.formed_batch());
        let (of, mut slack_ms) = (queue.application(), f64::INFINITY);
        let tasks = read.lateness.then(|| seen.formed()).into_iter().flatten();
        for (_, arrival_ms) in tasks {
            let own_ms = arrival_ms + of.objective_ms - seen.time_ms() - ms;
            if own_ms >= 0.0 {
                slack_ms = slack_ms.min(own_ms);
            }
        }
        let best = if read.joining { seen.best_batch() } else { Extension::default() };
        let (count, oldest) = (f64::from(batch.count), queue.oldest().map(|oldest| oldest.task));
        Self { asked, queue, of, batch, count, ms, pace, slack_ms, best, oldest }
    }

    fn joining(&self, group: &GroupView) -> Joining {
        let with_ms = self.of.ms(self.batch.with(group.size));
        let waited_ms = self.asked.seen.time_ms() - group.arrival_ms;
        Joining { group: *group, waited_ms, with_ms, added_ms: with_ms - self.ms }
    }

    /// Merit of the batch ÷ that of the best one.
    fn merit_share(&self) -> f64 {
        match self.best.batch.merit() {
            0.0 => 0.0,
            most => self.asked.seen.formed_batch().merit() / most,
        }
    }
}

impl Joining {
    /// By how much the batch's time per task rises with it.
    fn task_time_change_ms(&self, to: &Formed<'_>) -> f64 {
        if to.batch.count > 0 { self.with_ms / (to.count + 1.0) - to.ms / to.count } else { 0.0 }
    }

    /// Whether a task of its size joins for the best batch.
    fn is_best(&self, to: &Formed<'_>) -> bool {
        to.best.joining.is_some_and(|[least, most]| (least..=most).contains(&self.group.size))
    }

    /// Whether it saves time, and the time per task does not rise.
    fn pays(&self, to: &Formed<'_>) -> bool {
        to.batch.count == 0 || pays(to.ms, self.with_ms, self.group.solo_ms, to.count)
    }

    /// Slowdown per second that ends with it ÷ the time that it adds.
    fn relief(&self) -> f64 {
        (PER_S * PER_S * self.group.pace / self.added_ms.max(1e-9)).min(LONGEST_MS * LONGEST_MS)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Task;

impl Level for Task {
    type Question<'a> = Formed<'a>;
    type Candidate<'a> = Joining;

    const NAME: &'static str = "task";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Task>;

/// A batch that nothing can be compared with.
const EMPTY: &[(&str, f32)] = &[("batch", 0.0)];

const QUANTITIES: &[Quantity<Task>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to close the batch, so that it begins.")
        .words("closing the batch", "to {add a task rather than close|close} the batch")
        .ends("to add a task while one fits", "to close the batch")
        .is_none(),
    Q::count(Declared, "size", "1", "Its size.")
        .words("size", "that is {smaller|larger}")
        .compared(&|_, c| c.group.size),
    Q::count(Declared, "alike", "tasks", "Waiting tasks of its size.")
        .words("tasks of its size", "with {fewer|more} of its size")
        .ranked(&|_, c| c.group.count),
    Q::time(Measured, "waited", "Time for which it has waited.")
        .words("time waited", "that has waited {less|longer}")
        .compared(&|_, c| c.waited_ms),
    Q::flag(Measured, "is_oldest", "Whether it has waited longest of its application.")
        .words("having waited longest", "that has {not waited|waited} longest")
        .value(&|q, c| q.oldest == Some(c.group.task)),
    Q::time(Declared, "solo", "Time of it in a batch of its own.")
        .words("time it takes alone", "that takes {less|more} time alone")
        .ranked(&|_, c| c.group.solo_ms),
    Q::absolute(Declared, "slowdown", "1", "Its slowdown if it ran alone now: its waiting and that time ÷ that time.")
        .words("slowdown so far", "that is slowed down {less|more}")
        .ranked(&|_, c| (c.waited_ms + c.group.solo_ms) / c.group.solo_ms),
    Q::count(Decided, "passed", "batches", "Batches of its application that have begun since it arrived.")
        .words("batches that passed it over", "that {fewer|more} batches passed over")
        .ranked(&|_, c| c.group.passed as f64),
    Q::count(Declared, "difference", "1", "Its size beyond the largest in the batch, or below it.")
        .lacking(EMPTY)
        .words("distance from the batch's largest", "{nearer in size to|farther in size from} the largest in the batch")
        .ranked(&|q, c| c.group.size.abs_diff(q.batch.largest)),
    Q::flag(Declared, "is_larger", "Whether it is larger than all in the batch.")
        .lacking(EMPTY)
        .words("being larger than those in the batch", "that is {not larger|larger} than those in the batch")
        .value(&|q, c| c.group.size > q.batch.largest),
    Q::time(Declared, "added", "Time by which it prolongs the batch.")
        .words("time it adds to the batch", "that adds {less|more} time")
        .ranked(&|_, c| c.added_ms),
    Q::time(Declared, "saved", "Time by which that is less than its time in a batch of its own.")
        .words("time that its joining saves", "that saves {less|more} time by joining")
        .ranked(&|_, c| c.group.solo_ms - c.added_ms),
    Q::time(Declared, "task_time_change", "By how much the batch's time per task rises with it; negative if it falls.")
        .lacking(EMPTY)
        .words("change of the time per task", "with which the time per task {falls|rises} more")
        .ranked(&|q, c| c.task_time_change_ms(q)),
    Q::flag(Declared, "is_best", "Whether a task of its size joins for the best batch that can be made of this one.")
        .words("part of the best batch", "that is {not part|part} of the best batch")
        .value(&|q, c| c.is_best(q)),
    Q::flag(Declared, "pays", "Whether it saves time, and the time per task does not rise: DyBatch's condition.")
        .lacking(EMPTY)
        .words("joining pays", "whose joining {does not pay|pays}")
        .value(&|q, c| c.pays(q)),
    Q::absolute(Declared, "relief", "1/s²", "Slowdown per second that ends with it ÷ the time by which")
        .and("it prolongs the batch.")
        .words("slowdown that ends per time it adds", "that ends {less|more} slowdown per time it adds")
        .ranked(&|_, c| c.relief()),
    Q::absolute(Declared, "delay", "1", "Slowdown that it adds to those in the batch.")
        .words("slowdown it adds to the batch", "that slows the batch down {less|more}")
        .ranked(&|q, c| c.added_ms * q.pace),
    Q::absolute(Declared, "all_delay", "1", "Slowdown that it adds to them and to all other waiting tasks.")
        .words("slowdown it adds to all", "that slows all down {less|more}")
        .ranked(&|q, c| c.added_ms * (q.pace + q.asked.all.pace - c.group.pace)),
    Q::time(Declared, "slack", "Time by which it would be within its objective in this batch; negative if late.")
        .words("slack in this batch", "with {less|more} slack in this batch")
        .ranked(&|q, c| q.of.objective_ms - c.waited_ms - c.with_ms),
    Q::flag(Declared, "makes_late", "Whether a task of the batch would be late with it that would not be without.")
        .words("making others late", "that makes {no other|others} late")
        .value(&|q, c| c.added_ms > q.slack_ms),
    Q::count(Decided, "batch", "tasks", "Tasks in the batch.").shared("tasks in the batch", &|q| q.count),
    Q::share(Decided, "filling", "Those ÷ the most of a batch.")
        .shared("filling of the batch", &|q| q.count / f64::from(q.of.most)),
    Q::time(Declared, "batch_time", "Time of the batch.").shared("time of the batch", &|q| q.ms),
    Q::absolute(Declared, "batch_urgency", "1/s", "Slowdown per second of the tasks in the batch, added up.")
        .shared("slowdown of the batch per second", &|q| PER_S * q.pace),
    Q::share(Declared, "batch_merit", "Merit of the batch ÷ that of the best one that can be made of it.")
        .shared("merit of the batch by that of the best", &|q| q.merit_share()),
    Q::count(Measured, "tasks", "tasks", "Tasks of its application that wait.")
        .shared("tasks of its application that wait", &|q| q.queue.count()),
    Q::count(Measured, "waiting", "tasks", "Tasks of all applications that wait.")
        .shared("tasks that wait in all", &|q| q.asked.seen.waiting()),
    Q::count(Measured, "others", "applications", "Other applications with waiting tasks.")
        .shared("other applications with tasks", &|q| q.asked.all.asking - u32::from(q.queue.count() > 0)),
    Q::absolute(Declared, "all_urgency", "1/s", "Slowdown per second of all waiting tasks, added up.")
        .shared("slowdown of all tasks per second", &|q| PER_S * q.asked.all.pace),
    Q::absolute(Measured, "arrivals", "1/s", "Tasks of its application that have arrived lately, per second.")
        .shared("arrivals of its application per second", &|q| PER_S * q.queue.rate()),
];

impl Extractor {
    /// Appends one row per size with the oldest task of it, ascending, and one for closing the batch if it has a task; returns their
    /// number, 0 where no batch is being formed.
    pub fn task_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        let all = &self.snapshot;
        let Question::Form(application) = seen.question() else { return 0 };
        let formed = Formed::new(Asked { seen: *seen, all }, application, self.read);
        self.task.write(&formed, all.groups().iter().map(|group| formed.joining(group)), all.can_close(), out)
    }
}
