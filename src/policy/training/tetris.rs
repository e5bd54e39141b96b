//! Tetris (Grandl et al., SIGCOMM 2014) as the DL2 simulator has it: packing, and little remaining work.

use crate::simulator::training::{Decision, Observation, Task};

/// Fills the nodes in order of their number. On a node the job with the best score gets a worker and a parameter server until
/// they do not fit.
///
/// The score is `align + weight · rest`: `align` is the product of the node's free slots and the request, summed over CPU and
/// GPU; `rest` is the requested slots times the remaining share of the believed epochs (so jobs with much left come first, as
/// in the reference); `weight` is the mean of `align` by the mean of `rest` over the live jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tetris {
    slot: u32,
    node: u32,
}

impl Tetris {
    /// Answers a question. Within a slot it remembers which nodes it has left behind.
    pub fn decide(&mut self, seen: &Observation<'_>) -> Decision {
        if seen.slot() != self.slot || seen.used() == [0; 2] {
            *self = Self { slot: seen.slot(), node: 0 };
        }
        while self.node < seen.cluster().nodes {
            let Some(job) = best(seen, seen.node_free(self.node)) else { break };
            if seen.fits_at(job, Task::Both, self.node) {
                return Decision::Add { job, task: Task::Both, node: Some(self.node) };
            }
            self.node += 1;
        }
        Decision::Close
    }
}

/// The job with the greatest score, the first among equals, that may have both tasks.
fn best(seen: &Observation<'_>, free: [u32; 2]) -> Option<u32> {
    let terms = |job: u32| {
        let view = seen.job(job);
        let request = view.request(Task::Both);
        let align = f64::from(free[0] * request[0] + free[1] * request[1]);
        (view, align, f64::from(request[0] + request[1]) * view.remaining_share())
    };
    let (mut aligns, mut rests) = (0.0, 0.0);
    for &job in seen.live_jobs() {
        let (_, align, rest) = terms(job);
        aligns += align;
        rests += rest;
    }
    // Overdue jobs have a negative rest; a weight needs a positive mean.
    let weight = if rests > 0.0 { aligns / rests } else { 0.0 };
    let (mut best, mut most) = (None, f64::NEG_INFINITY);
    for &job in seen.live_jobs() {
        let (view, align, rest) = terms(job);
        let score = align + weight * rest;
        if view.can_take(Task::Both) && (best.is_none() || score > most) {
            (best, most) = (Some(job), score);
        }
    }
    best
}
