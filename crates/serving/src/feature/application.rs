//! Application level: which application is served next, if any?

use super::{Asked, Extractor, PER_S, Read, snapshot::LONGEST_MS};
use crate::state::{BatchView, QueueView, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

/// An application that is asked about: what several of its quantities are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    place: u32,
    queue: QueueView<'a>,
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

impl<'a> Candidate<'a> {
    fn new(seen: &View<'a>, place: u32, is_forming: bool, read: Read) -> Self {
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
        let (count, most) = (f64::from(queue.count()), f64::from(of.most));
        let rate = if read.rates { queue.rate() } else { 0.0 };
        Self { place, queue, count, most, waited_ms, solo_ms, batch, rate }
    }

    /// Time until as many wait as a batch takes.
    fn until_full_ms(&self) -> f64 {
        let missing = (self.most - self.count).max(0.0);
        if missing == 0.0 { 0.0 } else { (missing / self.rate).min(LONGEST_MS) }
    }

    /// Accelerator time that it has had ÷ its weight, ms.
    fn used_ms(&self, asked: &Asked<'_>) -> f64 {
        asked.all.used_ms[self.place as usize]
    }

    /// That time ÷ the sum of those of all.
    fn used_share(&self, asked: &Asked<'_>) -> f64 {
        let all_ms = asked.all.all_used_ms;
        if all_ms > 0.0 { self.used_ms(asked).max(0.0) / all_ms } else { 0.0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Application;

impl Level for Application {
    type Question<'a> = Asked<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "application";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Application>;

const QUANTITIES: &[Quantity<Application>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to serve none, so that the accelerator waits.")
        .words("serving none", "to serve {somebody rather than nobody|nobody}")
        .ends("to serve somebody at once", "to serve nobody")
        .is_none(),
    Q::count(Measured, "tasks", "tasks", "Tasks of it that wait.")
        .words("tasks that wait", "with {fewer|more} tasks")
        .compared(&|_, c| c.count),
    Q::time(Measured, "waited", "Time for which its oldest task has waited.")
        .words("time its oldest task has waited", "whose oldest task has waited {less|longer}")
        .compared(&|_, c| c.waited_ms),
    Q::time(Declared, "solo", "Time of that task in a batch of its own.")
        .words("time its oldest task takes alone", "whose oldest task is {shorter|longer}")
        .ranked(&|_, c| c.solo_ms),
    Q::absolute(Declared, "slowdown", "1", "Slowdown of that task if it ran alone now:")
        .and("its waiting and that time ÷ that time.")
        .words("slowdown of its oldest task", "whose oldest task is slowed down {less|more}")
        .ranked(&|_, c| (c.waited_ms + c.solo_ms) / c.solo_ms),
    Q::time(Declared, "slack", "Time by which that task would then be within its objective; negative if late.")
        .words("slack of its oldest task", "whose oldest task has {less|more} slack")
        .ranked(&|_, c| c.queue.application().objective_ms - c.waited_ms - c.solo_ms),
    Q::share(Measured, "filling", "Tasks of it that wait ÷ the most of a batch, up to 1.")
        .words("share of a full batch", "with {less|more} of a full batch")
        .ranked(&|_, c| (c.count / c.most).min(1.0)),
    Q::flag(Measured, "is_full", "Whether as many of it wait as a batch takes.")
        .words("a full batch", "{without|with} a full batch")
        .value(&|_, c| c.count >= c.most),
    Q::flag(Measured, "is_timed_out", "Whether its oldest task has waited for its timeout.")
        .words("a task past its timeout", "{without|with} a task past its timeout")
        .value(&|q, c| q.seen.is_timed_out(c.place)),
    Q::count(Declared, "batch", "tasks", "Tasks of its batch: of the one that is being formed, or of the best one,")
        .and("which has all its tasks of a window of sizes.")
        .words("tasks of its batch", "with a batch of {fewer|more} tasks")
        .ranked(&|_, c| c.batch.batch.count),
    Q::time(Declared, "batch_time", "Time of that batch.")
        .words("time of its batch", "with a {shorter|longer} batch")
        .compared(&|_, c| c.batch.ms),
    Q::time(Declared, "task_time", "That time per task.")
        .words("time per task of its batch", "with {less|more} time per task")
        .ranked(&|_, c| c.batch.ms / f64::from(c.batch.batch.count.max(1))),
    Q::share(Declared, "efficiency", "Time that its tasks would take in full batches of equal size ÷ its time.")
        .words("efficiency of its batch", "with a {less|more} efficient batch")
        .ranked(&|_, c| c.batch.efficiency()),
    Q::absolute(Declared, "relief", "1/s²", "Slowdown per second that ends with that batch ÷ its time.")
        .words("slowdown that ends per time of its batch", "whose batch ends {less|more} slowdown per time")
        .ranked(&|_, c| PER_S * PER_S * c.batch.relief()),
    Q::absolute(Declared, "merit", "1/s", "Tasks of it per second × efficiency⁴ × √(1 + ms for which its oldest has")
        .and("waited): by this the best batch is the best.")
        .words("merit of its batch", "whose batch is {less|more} worth its time")
        .ranked(&|_, c| PER_S * c.batch.merit()),
    Q::absolute(Declared, "urgency", "1/s", "Slowdown per second of its waiting tasks, added up.")
        .words("slowdown of its tasks per second", "whose tasks are slowed down {less|more}")
        .ranked(&|q, c| PER_S * q.all.paces[c.place as usize]),
    Q::time(Decided, "used", "Accelerator time that it has had lately ÷ its weight.")
        .words("accelerator time had", "that has had {less|more}")
        .ranked(&|q, c| c.used_ms(q)),
    Q::share(Decided, "used_share", "That time ÷ the sum of those of all applications.")
        .words("share of accelerator time had", "that has had a {smaller|larger} share")
        .value(&|q, c| c.used_share(q)),
    Q::count(Measured, "turn", "1", "Its place in the round that begins after the application that was served last.")
        .words("place in the round", "whose turn is {sooner|later}")
        .ranked(&|q, c| q.seen.turn(c.place)),
    Q::absolute(Measured, "arrivals", "1/s", "Tasks of it that have arrived lately, per second.")
        .words("arrivals per second", "with {fewer|more} arrivals")
        .ranked(&|_, c| PER_S * c.rate),
    Q::time(Measured, "to_full", "Time until a batch of it is full if they go on so.")
        .words("time until a batch is full", "whose batch is full {sooner|later}")
        .ranked(&|_, c| c.until_full_ms()),
    Q::count(Measured, "waiting", "tasks", "Tasks of all applications that wait.")
        .shared("tasks that wait in all", &|q| q.seen.waiting()),
    Q::count(Measured, "asking", "applications", "Applications with waiting tasks.")
        .shared("applications with tasks", &|q| q.all.asking),
    Q::absolute(Declared, "all_urgency", "1/s", "Slowdown per second of all waiting tasks, added up.")
        .shared("slowdown of all tasks per second", &|q| PER_S * q.all.pace),
    Q::count(Decided, "idle", "accelerators", "Idle accelerators.").shared("idle accelerators", &|q| q.seen.idle()),
    Q::time(Decided, "next_end", "Predicted time until the next batch ends; 0 if none runs.")
        .lacking(&[("next_end", 0.0)])
        .shared("time until the next batch ends", &|q| q.all.next_end_ms),
];

impl Extractor {
    /// Appends one row per application that is asked about, by place, and one for serving none if no batch is being formed; returns
    /// their number.
    pub fn application_rows(&mut self, seen: &View<'_>, out: &mut Vec<f32>) -> usize {
        if self.read.used {
            self.snapshot.update_used(seen);
        }
        let (all, read) = (&self.snapshot, self.read);
        let none_served = all.none_served();
        let candidates = all.applications().iter().map(|&place| Candidate::new(seen, place, !none_served, read));
        self.application.write(&Asked { seen: *seen, all }, candidates, none_served, out)
    }
}
