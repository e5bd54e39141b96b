//! Tetris (Grandl et al., SIGCOMM 2014) as the DL2 simulator has it: packing, and little remaining work.

use crate::state::{Decision, Task, View};

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
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
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
fn best(seen: &View<'_>, free: [u32; 2]) -> Option<u32> {
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
    // Overdue jobs have a negative rest, which may make the weight negative, as in the reference. Where there is none at all
    // the weight does not matter, or cannot be told.
    let weight = if rests == 0.0 { 0.0 } else { aligns / rests };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{simulator::Simulator, workload::TrainingWorkload};
    use sched_distill_core::simulation::Simulation as _;

    #[test]
    fn overdue_jobs_wait_where_all_are_overdue() {
        let workload = TrainingWorkload::open(&"builtin,jobs=20,epoch-error=0.9".parse().unwrap()).unwrap();
        let mut turned = 0;
        for seed in 0..8 {
            let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
            let mut tetris = Tetris::default();
            while let Some(seen) = sim.view() {
                let free = seen.node_free(0);
                // The reference's words: mean(align) / mean(rest), whatever its sign.
                let of = |job: u32| {
                    let (view, request) = (seen.job(job), seen.job(job).request(Task::Both));
                    let align = f64::from(free[0] * request[0]) + f64::from(free[1] * request[1]);
                    (align, f64::from(request[0] + request[1]) * view.remaining_share())
                };
                let n = seen.live_jobs().len() as f64;
                let mean = |term: &dyn Fn(u32) -> f64| seen.live_jobs().iter().map(|&job| term(job)).sum::<f64>() / n;
                let weight = mean(&|job| of(job).0) / mean(&|job| of(job).1);
                let by = |weight: f64| {
                    let able = seen.live_jobs().iter().copied().filter(|&job| seen.job(job).can_take(Task::Both));
                    able.reduce(|best, job| {
                        let [best_score, score] = [best, job].map(|job| of(job).0 + weight * of(job).1);
                        if score > best_score + 1e-9 { job } else { best }
                    })
                };
                if weight.is_finite() {
                    assert_eq!(best(&seen, free), by(weight));
                    turned += u32::from(weight < 0.0 && by(weight) != by(0.0));
                }
                let decision = tetris.decide(&seen);
                sim.step(decision).unwrap();
            }
        }
        assert!(turned > 0);
    }
}
