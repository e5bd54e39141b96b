//! The best batch: of all that can be formed now the one that answers many per time, is efficient, and has somebody who has waited.

use super::{QueueView, View, queue::Group};
use crate::{Application, Batch};

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
    /// Time for which its oldest task has waited, ms.
    pub waited_ms: f64,
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
        let square = self.efficiency() * self.efficiency();
        f64::from(self.batch.count) / self.ms.max(1e-9) * (square * square) * (1.0 + self.waited_ms).sqrt()
    }

    /// Whether it has more merit than another one has, by more than rounding.
    #[inline]
    #[must_use]
    pub fn beats(&self, merit: f64) -> bool {
        self.merit() > merit * (1.0 + 1e-12)
    }

    /// With so many more tasks of a size, the oldest of which has waited so long.
    #[inline]
    fn with(&self, of: &Application, group: &Group, count: u32, waited_ms: f64) -> Self {
        let Batch { count: before, largest, total } = self.batch;
        let (total, largest) = (total + u64::from(count) * u64::from(group.size), largest.max(group.size));
        let batch = Batch { count: before + count, largest, total };
        let (pace, full_ms) = (f64::from(count) * group.pace, f64::from(count) * group.full_ms);
        Self {
            batch,
            ms: of.ms(batch),
            pace: self.pace + pace,
            full_ms: self.full_ms + full_ms,
            waited_ms: self.waited_ms.max(waited_ms),
        }
    }
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
        let (of, groups, tasks, now) = (self.application(), self.by_size(), &self.state.tasks, self.state.time_ms);
        let (mut best, mut most) = (Extension { batch: start, joining: None }, start.merit());
        for (top, largest) in groups.iter().enumerate() {
            let mut batch = start;
            for group in groups[..=top].iter().rev() {
                let joining = room(of, batch.batch, group);
                if joining == 0 {
                    break;
                }
                batch = batch.with(of, group, joining, now - tasks[group.first as usize].arrival_ms);
                if batch.beats(most) {
                    (best, most) = (Extension { batch, joining: Some([group.size, largest.size]) }, batch.merit());
                }
                if joining < group.count {
                    break;
                }
            }
        }
        best
    }
}

impl View<'_> {
    /// The batch that is being formed.
    #[must_use]
    pub fn formed_batch(&self) -> BatchView {
        let forming = &self.state.forming;
        match self.state.is_forming && forming.batch.count > 0 {
            true => BatchView {
                batch: forming.batch,
                ms: self.queue(forming.application).application().ms(forming.batch),
                pace: forming.pace,
                full_ms: forming.full_ms,
                waited_ms: self.time_ms() - forming.oldest_ms,
            },
            false => BatchView::default(),
        }
    }

    /// The best batch that can be made of the one that is being formed: of it alone, or with tasks of a window of sizes.
    #[must_use]
    pub fn best_batch(&self) -> Extension {
        self.queue(self.state.forming.application).best_extension(self.formed_batch())
    }
}
