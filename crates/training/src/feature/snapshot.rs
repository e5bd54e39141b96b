//! One pass over the cluster at a question: what the features of all levels are made of.

use crate::state::{JobView, Task, View};

/// Longest time that a job is said to need still, ms: jobs without a worker or a server would need for ever.
const LONGEST_MS: f64 = 1e9;

/// What one task more would do for a job. Where the job lacks both a worker and a server, either counts as if it had the other:
/// it goes half the way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Gain {
    /// Time that the job would need less, ms; [`LONGEST_MS`] if it does not train without.
    pub(super) saved_ms: f64,
    /// Speed afterwards ÷ speed before, less 1. A job that does not train yet counts as one that trains at its best.
    pub(super) speedup: f64,
    /// The same with the best that it could come to in this slot by getting this and more.
    pub(super) in_reach: f64,
}

impl Gain {
    /// Less than anything.
    const NOTHING: Self = Self { saved_ms: f64::MIN, speedup: f64::MIN, in_reach: f64::MIN };

    /// The larger of each.
    fn max(self, other: Self) -> Self {
        Self {
            saved_ms: self.saved_ms.max(other.saved_ms),
            speedup: self.speedup.max(other.speedup),
            in_reach: self.in_reach.max(other.in_reach),
        }
    }
}

/// A job that could get something now.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its number.
    pub job: u32,
    /// Its place among the live jobs.
    pub place: usize,
    /// Whether it may have each of [`Task::ALL`]: it is below its maxima, and the head node has room.
    pub legal: [bool; 3],
    /// Jobs before it that lack a worker or a server; for a job that lacks nothing, all jobs that do.
    pub(super) idle_order: u32,
    /// Its place among the candidates by dominant share, then by arrival.
    pub(super) fair_order: u32,
    /// What each would do.
    pub(super) gains: [Gain; 3],
    /// The best that any of those which it may have would do.
    pub(super) best: Gain,
    /// Time that the better of a worker and a server would save it, ms; 0 if it can get neither.
    pub(super) saved_by_one_ms: f64,
    /// Time that it would still need with the tasks it has, ms.
    pub(super) left_ms: f64,
}

impl Candidate {
    /// The tasks that it may have.
    pub fn tasks(&self) -> impl Iterator<Item = Task> + Clone {
        let legal = self.legal;
        Task::ALL.into_iter().zip(legal).filter(|(_, legal)| *legal).map(|(task, _)| task)
    }

    pub(super) fn gain(&self, task: Task) -> Gain {
        self.gains[task as usize]
    }

    /// With what the best of its tasks would do: asked for by every candidate's row.
    fn with_best(mut self) -> Self {
        self.best = self.tasks().map(|task| self.gain(task)).fold(Gain::NOTHING, Gain::max);
        let saved = self.tasks().filter(|&task| task != Task::Both).map(|task| self.gain(task).saved_ms);
        self.saved_by_one_ms = saved.reduce(f64::max).unwrap_or(0.0);
        self
    }
}

/// The cluster at a question, summed up.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    candidates: Vec<Candidate>,
    /// Dominant shares and places of candidates, for a moment.
    order: Vec<(f64, u32)>,
    /// Live jobs that lack a worker or a server.
    pub(super) idle: u32,
    /// Workers and servers of all jobs.
    pub(super) tasks: u32,
    /// Smallest and largest number of workers and servers of a live job.
    pub(super) fewest: u32,
    pub(super) most: u32,
    /// Time that all live jobs would still need at their best, ms.
    pub(super) work_ms: f64,
    /// What is wished for, whether or not there is room.
    pub(super) wishes: Wishes,
}

/// What schedulers would place next if there were room for it, and whether there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    /// Time that the worker or server which would save most would save, ms, and whether it fits.
    pub(super) best: Option<(f64, bool)>,
    /// The smallest dominant share of a job that may have both, and whether they fit.
    pub(super) fair: Option<(f64, bool)>,
    /// Whether both fit for the oldest job that may have both.
    pub(super) oldest: Option<bool>,
}

impl Snapshot {
    /// Takes in the cluster at a question.
    pub fn update(&mut self, seen: &View<'_>) {
        self.candidates.clear();
        (self.idle, self.tasks, self.fewest, self.most, self.work_ms) = (0, 0, u32::MAX, 0, 0.0);
        self.wishes = Wishes::default();
        for (place, &id) in seen.live_jobs().iter().enumerate() {
            let job = seen.job(id);
            let (workers, servers) = (job.workers(), job.servers());
            let idle = workers == 0 || servers == 0;
            let before = self.idle;
            self.idle += u32::from(idle);
            self.tasks += workers + servers;
            self.fewest = self.fewest.min(workers + servers);
            self.most = self.most.max(workers + servers);
            self.work_ms += best_ms(seen, &job);
            let may = Task::ALL.map(|task| job.can_take(task));
            let fits = Task::ALL.map(|task| seen.fits(id, task));
            let legal = std::array::from_fn(|task| may[task] && fits[task]);
            let mut candidate = candidate(seen, &job, place, legal);
            for task in [Task::Worker, Task::Server].map(|task| task as usize).into_iter().filter(|&task| may[task]) {
                let saved_ms = candidate.gains[task].saved_ms;
                if self.wishes.best.is_none_or(|(most, _)| saved_ms > most) {
                    self.wishes.best = Some((saved_ms, fits[task]));
                }
            }
            if may[Task::Both as usize] {
                let (share, fits) = (job.dominant_share(), fits[Task::Both as usize]);
                if self.wishes.fair.is_none_or(|(least, _)| share < least) {
                    self.wishes.fair = Some((share, fits));
                }
                self.wishes.oldest.get_or_insert(fits);
            }
            if legal.contains(&true) {
                candidate.idle_order = if idle { before } else { u32::MAX };
                self.candidates.push(candidate.with_best());
            }
        }
        self.order.clear();
        self.order
            .extend((0..self.candidates.len()).map(|i| (seen.job(self.candidates[i].job).dominant_share(), i as u32)));
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, &(_, i)) in (0..).zip(&self.order) {
            self.candidates[i as usize].fair_order = place;
        }
        let idle = self.idle;
        self.candidates.iter_mut().for_each(|c| c.idle_order = c.idle_order.min(idle));
    }

    /// Jobs that could get something, in order of arrival: the candidates of the job level.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The best that any task would do, and the most time that a worker or a server alone would save, ms; 0 if no job could get
    /// anything.
    pub(super) fn best(&self) -> (Gain, f64) {
        let of = |c: &Candidate| (c.best, c.saved_by_one_ms);
        let best = self.candidates.iter().map(of).reduce(|(a, one), (b, other)| (a.max(b), one.max(other)));
        best.unwrap_or_default()
    }
}

/// A live job with what each task would do for it, whether or not it may have any.
fn candidate(seen: &View<'_>, job: &JobView<'_>, place: usize, legal: [bool; 3]) -> Candidate {
    let speed = job.speed();
    let left_ms = time_ms(seen, job, speed);
    let (lacks_worker, lacks_server) = (job.workers() == 0, job.servers() == 0);
    let gain = |task: Task| {
        let [workers, servers] = task.counts();
        let then = match (lacks_worker && workers > 0, lacks_server && servers > 0) {
            (true, false) | (false, true) if lacks_worker && lacks_server => job.speed_with(Task::Both),
            _ => job.speed_with(task),
        };
        let base = if speed > 0.0 { speed } else { job.best_speed() }.max(f64::MIN_POSITIVE);
        let starts = speed <= 0.0 && then > 0.0;
        Gain {
            saved_ms: if starts { LONGEST_MS } else { left_ms - time_ms(seen, job, then) },
            speedup: (then - speed) / base,
            in_reach: (job.speed_in_reach(task) - speed) / base,
        }
    };
    let gains = Task::ALL.map(gain);
    let best = Gain::NOTHING;
    Candidate { job: job.id(), place, legal, idle_order: 0, fair_order: 0, gains, best, saved_by_one_ms: 0.0, left_ms }
}

/// Time that a job needs still at some speed, ms; at most [`LONGEST_MS`].
fn time_ms(seen: &View<'_>, job: &JobView<'_>, speed: f64) -> f64 {
    // A job that takes longer than was believed is about to end, as far as one can know.
    let epochs = job.remaining_epochs().max(0.0);
    if speed > 0.0 { (epochs / speed * seen.cluster().slot_ms()).min(LONGEST_MS) } else { LONGEST_MS }
}

/// Time that a job needs still at its best, ms.
pub(super) fn best_ms(seen: &View<'_>, job: &JobView<'_>) -> f64 {
    time_ms(seen, job, job.best_speed())
}
