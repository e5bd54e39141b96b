//! The best batch: of all that can be formed now the one that answers many per time, is efficient, and has somebody who has waited.

use super::{QueueView, View, queue::Group};
use crate::{Application, Batch, Law};

/// More than by rounding.
const CLEARLY: f64 = 1.0 + 1e-12;

/// A batch, and what it does for those who wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchView {
    /// Its tasks; none is no batch.
    pub batch: Batch,
    /// Its time, ms; 0 without tasks.
    pub ms: f64,
    /// By how much the slowdowns of its tasks grow, added up, 1/ms.
    pub pace: f64,
    /// Time that its tasks would take in full batches of equal size, ms.
    pub full_ms: f64,
    /// Time for which its oldest task has waited, ms, and the square root of 1 and that.
    pub waited_ms: f64,
    root: f64,
}

/// A batch that tasks make of another one, or of none, and who joins for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extension {
    /// The batch.
    pub batch: BatchView,
    /// Least and largest size of the waiting tasks that join; `None` if none does.
    pub joining: Option<[u32; 2]>,
}

impl BatchView {
    /// Slowdown per ms that ends with it ÷ its time, 1/ms²; 0 without tasks.
    #[inline]
    #[must_use]
    pub fn relief(&self) -> f64 {
        self.pace / self.ms.max(1e-9)
    }

    /// Time that its tasks would take in full batches of equal size ÷ its time; 0 without tasks.
    #[inline]
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.full_ms / self.ms.max(1e-9)
    }

    /// What batches are compared by, 1/ms: its tasks per time × the fourth power of its efficiency × the square root of the time for
    /// which its oldest task has waited and 1 ms. The powers were found by search on validation episodes: tasks per time alone leave what
    /// is inefficient to serve until queues are full of it, and without the time who is unlike all others starves.
    #[inline]
    #[must_use]
    pub fn merit(&self) -> f64 {
        let [above, below] = merit(self.batch.count, self.full_ms, self.root, self.ms.max(1e-9));
        above / below
    }

    /// Whether it has more merit than another one has, by more than rounding.
    #[inline]
    #[must_use]
    pub fn beats(&self, merit: f64) -> bool {
        self.merit() > merit * CLEARLY
    }

    /// With so many more tasks of a size.
    fn with(&self, of: &Application, now_ms: f64, group: &Group, count: u32) -> Self {
        let Batch { count: before, largest, total } = self.batch;
        let (total, largest) = (total + u64::from(count) * u64::from(group.size), largest.max(group.size));
        let batch = Batch { count: before + count, largest, total };
        let (pace, full_ms) = (f64::from(count) * group.pace, f64::from(count) * group.full_ms);
        let mut with =
            Self { batch, ms: of.ms(batch), pace: self.pace + pace, full_ms: self.full_ms + full_ms, ..*self };
        with.wait(now_ms - group.oldest_ms);
        with
    }

    /// Has a task that has waited so long.
    #[inline]
    fn wait(&mut self, waited_ms: f64) {
        if waited_ms > self.waited_ms || self.root == 0.0 {
            (self.waited_ms, self.root) = (waited_ms, (1.0 + waited_ms).sqrt());
        }
    }
}

/// [`BatchView::merit`] of so many tasks, as the two numbers whose quotient it is: quotients are what a search takes its time for.
#[inline]
fn merit(count: u32, full_ms: f64, root: f64, ms: f64) -> [f64; 2] {
    let full = full_ms * full_ms;
    [f64::from(count) * (full * full) * root, (ms * ms) * (ms * ms) * ms]
}

/// How many tasks of a size can join a batch.
#[inline]
fn room(of: &Application, batch: Batch, group: &Group) -> u32 {
    let most = group.count.min(of.most.saturating_sub(batch.count));
    match of.most_units {
        None => most,
        Some(_) => {
            let mut with = batch;
            (0..most)
                .take_while(|_| {
                    with = with.with(group.size);
                    of.holds(with)
                })
                .count() as u32
        }
    }
}

impl QueueView<'_> {
    /// The best batch of its tasks by [`BatchView::merit`]: of all tasks whose sizes lie in a window, and of those of its least size as
    /// many as there is room for.
    #[must_use]
    pub fn best_batch(self) -> Extension {
        self.best_extension(BatchView::default())
    }

    /// Of this batch and those that tasks of a window of sizes make of it the one with the most merit; of equals the one with the
    /// smaller largest size, then that with fewer sizes.
    fn best_extension(self, start: BatchView) -> Extension {
        let (of, groups) = (self.application(), self.by_size());
        let window = match of.law {
            // As `Application::ms` and `room` have it, with nothing to ask in the innermost loop.
            Law::Padded { alpha_ms, beta_ms } if of.shapes.is_empty() && of.most_units.is_none() => self.best_window(
                start,
                |batch| alpha_ms + beta_ms * (f64::from(batch.count) * f64::from(batch.largest)),
                |batch, group| group.count.min(of.most.saturating_sub(batch.count)),
            ),
            _ => self.best_window(start, |batch| of.ms(batch).max(1e-9), |batch, group| room(of, batch, group)),
        };
        let Some((least, top)) = window else { return Extension { batch: start, joining: None } };
        let now_ms = self.state.time_ms;
        let add = |batch: BatchView, group: &Group| batch.with(of, now_ms, group, room(of, batch.batch, group));
        let batch = groups[least..=top].iter().rev().fold(start, add);
        Extension { batch, joining: Some([groups[least].size, groups[top].size]) }
    }

    /// The places of the least and the largest size of the window; `ms` says how long a batch takes, and `room` how many tasks of a size
    /// can join one.
    #[inline]
    fn best_window(
        self,
        start: BatchView,
        ms: impl Fn(Batch) -> f64,
        room: impl Fn(Batch, &Group) -> u32,
    ) -> Option<(usize, usize)> {
        let (groups, now_ms) = (self.by_size(), self.state.time_ms);
        let [mut above, mut below] = match start.batch.count {
            0 => [0.0, 1.0],
            count => merit(count, start.full_ms, start.root, start.ms.max(1e-9)),
        };
        let mut window = None;
        for (top, most) in groups.iter().enumerate() {
            let mut batch = Batch { largest: start.batch.largest.max(most.size), ..start.batch };
            let (mut full_ms, mut waited_ms, mut root) = (start.full_ms, start.waited_ms, start.root);
            for (place, group) in groups[..=top].iter().enumerate().rev() {
                let joining = room(batch, group);
                if joining == 0 {
                    break;
                }
                batch.count += joining;
                batch.total += u64::from(joining) * u64::from(group.size);
                full_ms += f64::from(joining) * group.full_ms;
                if now_ms - group.oldest_ms > waited_ms || root == 0.0 {
                    waited_ms = now_ms - group.oldest_ms;
                    root = (1.0 + waited_ms).sqrt();
                }
                let [own, per] = merit(batch.count, full_ms, root, ms(batch));
                if own * below > above * per * CLEARLY {
                    (above, below, window) = (own, per, Some((place, top)));
                }
                if joining < group.count {
                    break;
                }
            }
        }
        window
    }
}

impl View<'_> {
    /// The batch that is being formed.
    #[must_use]
    pub fn formed_batch(&self) -> BatchView {
        let forming = &self.state.forming;
        let mut formed = BatchView::default();
        if self.state.is_forming && forming.batch.count > 0 {
            (formed.batch, formed.pace, formed.full_ms) = (forming.batch, forming.pace, forming.full_ms);
            formed.ms = self.queue(forming.application).application().ms(forming.batch);
            formed.wait(self.time_ms() - forming.oldest_ms);
        }
        formed
    }

    /// The best batch that can be made of the one that is being formed: of it alone, or with tasks of a window of sizes.
    #[must_use]
    pub fn best_batch(&self) -> Extension {
        self.queue(self.state.forming.application).best_extension(self.formed_batch())
    }
}
