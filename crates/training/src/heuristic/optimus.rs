//! Optimus (Peng et al., EuroSys 2018) as the DL2 simulator has it: the greatest marginal gain goes next.

use crate::state::{Decision, JobView, Task, View};

/// Gives one worker or one parameter server at a time to the job that saves the most remaining time by it.
///
/// Every job first gets a worker, then a parameter server, in order of arrival. From then on a job's gain is what its remaining
/// slots shrink by with one more worker or one more parameter server, whichever is greater. A job that wants more of what it
/// may not have more of gets nothing further. The slot is closed when no gain is left or the task does not fit the head.
///
/// Gains are worked out when a job's tasks change, as in the reference. Where speeds depend on placement they are those of the
/// head node of that moment; elsewhere they follow from the question alone.
#[derive(Clone, Debug, Default)]
pub struct Optimus {
    slot: u32,
    wishes: Vec<Wish>,
}

/// What a job wants next.
#[derive(Clone, Copy, Debug)]
struct Wish {
    job: u32,
    workers: u32,
    servers: u32,
    task: Task,
    gain: f64,
}

impl Wish {
    fn new(view: JobView<'_>) -> Self {
        let (workers, servers) = (view.workers(), view.servers());
        let (task, gain) = match (workers, servers) {
            (0, _) => (Task::Worker, f64::INFINITY),
            (_, 0) => (Task::Server, f64::INFINITY),
            _ => {
                let (rest, now) = (view.remaining_epochs(), view.speed());
                let worker = gain(rest, now, view.speed_with(Task::Worker));
                let server = gain(rest, now, view.speed_with(Task::Server));
                if worker > server { (Task::Worker, worker) } else { (Task::Server, server) }
            }
        };
        Self { job: view.id(), workers, servers, task, gain }
    }

    fn holds_for(&self, view: JobView<'_>) -> bool {
        (self.job, self.workers, self.servers) == (view.id(), view.workers(), view.servers())
    }
}

/// Slots saved on `rest` epochs at speed `then` instead of `now`.
fn gain(rest: f64, now: f64, then: f64) -> f64 {
    if now <= 0.0 && then <= 0.0 { 0.0 } else { rest / now - rest / then }
}

impl Optimus {
    /// Answers a question. Within a slot it remembers gains.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        let live = seen.live_jobs();
        if seen.slot() != self.slot || seen.used() == [0; 2] || self.wishes.len() != live.len() {
            self.slot = seen.slot();
            self.wishes.clear();
            self.wishes.extend(live.iter().map(|&job| Wish::new(seen.job(job))));
        }
        let mut best: Option<Wish> = None;
        for (wish, &job) in self.wishes.iter_mut().zip(live) {
            let view = seen.job(job);
            if !wish.holds_for(view) {
                *wish = Wish::new(view);
            }
            if view.can_take(wish.task) && best.is_none_or(|best| wish.gain > best.gain) {
                best = Some(*wish);
            }
        }
        match best {
            Some(wish) if wish.gain > 0.0 && seen.fits(wish.job, wish.task) => {
                Decision::Add { job: wish.job, task: wish.task, node: None }
            }
            _ => Decision::Close,
        }
    }
}
