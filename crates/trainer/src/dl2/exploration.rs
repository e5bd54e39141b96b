//! Job-aware exploration: actions that a young network would hardly try (Peng et al., arXiv 1909.06040; the details are those of
//! the authors' simulator).

use sched_distill_core::rng::Stream;
use sched_distill_training::{Task, View, network::Dl2Policy};

/// Actions of each task below which it is tried, as a share of all.
const RARE: f64 = 1e-3;
/// An action that the network all but rules out is not forced on it.
const LEAST: f64 = -46.0;

/// Overrules the policy in some slots.
pub(super) struct Explorer {
    stream: Stream,
    share: f64,
    /// The slot at hand, whether it is one of them, and its limits: how much larger the largest job may be than the smallest, how
    /// many servers a worker may have.
    slot: (u32, bool, [f64; 2]),
    /// How often each task was chosen.
    counts: [u64; 3],
}

impl Explorer {
    pub(super) fn new(seed: u64, share: f64) -> Self {
        Self { stream: Stream::new(seed, "exploration"), share, slot: (u32::MAX, false, [0.0; 2]), counts: [0; 3] }
    }

    /// The place of the action to take among the legal ones; `chosen` if the policy is to have its way.
    pub(super) fn overrule(&mut self, seen: &View<'_>, policy: &Dl2Policy, chosen: usize) -> usize {
        if self.slot.0 != seen.slot() {
            let explores = self.stream.uniform() < self.share;
            let limits = [self.stream.uniform_in(3.0, 5.0), self.stream.uniform_in(3.0, 7.0)];
            self.slot = (seen.slot(), explores, limits);
        }
        let wish = if self.slot.1 { self.wish(seen, policy) } else { None };
        let (legal, log_prob) = policy.legal_actions();
        let place = wish.and_then(|wish| legal.iter().position(|&action| action == wish));
        let place = place.filter(|&place| log_prob[place] > LEAST).unwrap_or(chosen);
        if legal[place] < 3 * policy.window().jobs().len() as u32 {
            self.counts[legal[place] as usize % 3] += 1;
        }
        place
    }

    /// The action that the state suggests, whether it is legal or not.
    fn wish(&mut self, seen: &View<'_>, policy: &Dl2Policy) -> Option<u32> {
        let jobs = policy.window().jobs();
        let action = |column: usize, task: Task| (3 * column + task as usize) as u32;
        let size = |&id: &u32| seen.job(id).workers() + seen.job(id).servers();
        let [unequal, servers_per_worker] = self.slot.2;
        // The smallest job, if it is left behind.
        let smallest = (0..jobs.len()).min_by_key(|&k| size(&jobs[k]))?;
        let largest = jobs.iter().map(size).max()?;
        if f64::from(largest) > unequal * f64::from(size(&jobs[smallest])) {
            return Some(action(smallest, self.toss(0.5, Task::Both, Task::Worker)));
        }
        // A task that is hardly ever chosen, for the job that the policy would first give it to.
        let all: u64 = self.counts.iter().sum();
        if all > 0
            && let Some(rare) = (0..3).find(|&task| (self.counts[task] as f64) < RARE * all as f64)
        {
            let (legal, log_prob) = policy.legal_actions();
            let of_task = legal
                .iter()
                .zip(log_prob)
                .filter(|(action, _)| **action < 3 * jobs.len() as u32 && **action as usize % 3 == rare);
            if let Some((&action, _)) = of_task.max_by(|a, b| a.1.total_cmp(b.1)) {
                return Some(action);
            }
        }
        for (column, &id) in jobs.iter().enumerate() {
            let (workers, servers) = (seen.job(id).workers(), seen.job(id).servers());
            let missing = match (workers, servers) {
                (0, 0) => Some(Task::Both),
                (0, _) => Some(Task::Worker),
                (_, 0) => Some(Task::Server),
                _ => None,
            };
            if let Some(task) = missing {
                return Some(action(column, task));
            }
            if f64::from(servers) > servers_per_worker * f64::from(workers) && self.stream.uniform() < 0.5 {
                return Some(action(column, self.toss(0.5, Task::Both, Task::Worker)));
            }
            if 2 * workers >= servers && self.stream.uniform() < 0.5 {
                return Some(action(column, self.toss(0.01, Task::Both, Task::Server)));
            }
        }
        None
    }

    fn toss(&mut self, probability: f64, one: Task, other: Task) -> Task {
        if self.stream.uniform() < probability { one } else { other }
    }
}
