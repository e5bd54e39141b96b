//! Rules without weights: the reference's `random`, `fifo` and `fair`, and a weighted `fair`.

use crate::{
    Dag,
    state::{Decision, StageRef, View},
};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    rng::Stream,
    scenario::Said,
};

/// The next whole number, where what rounding adds to a whole one does not count.
pub(super) fn whole_up(x: f64) -> u32 {
    (x - 1e-9 * x).ceil() as u32
}

/// The reference's way to choose a stage within a job: the first schedulable stage none of whose parents is unfinished,
/// else the first schedulable stage.
pub(super) fn find(seen: &View<'_>, job: u32) -> Option<StageRef> {
    first_free(seen, stages_of(seen, job))
}

/// The same, given the job's schedulable stages.
pub(super) fn first_free(seen: &View<'_>, stages: &[StageRef]) -> Option<StageRef> {
    stages.iter().find(|&&s| seen.stage(s).incomplete_parents() == 0).or(stages.first()).copied()
}

/// Schedulable stages of a job.
pub(super) fn stages_of<'a>(seen: &View<'a>, job: u32) -> &'a [StageRef] {
    let all = seen.schedulable();
    let start = all.partition_point(|s| s.job < job);
    &all[start..start + all[start..].partition_point(|s| s.job == job)]
}

/// Tasks not launched × most recent duration, over all stages of a job, ms.
pub(super) fn remaining_work_ms(seen: &View<'_>, job: u32) -> f64 {
    seen.job(job).active_stages().map(|s| s.work_ms()).sum()
}

/// Tasks not launched, over all stages of a job.
pub(super) fn remaining_tasks(seen: &View<'_>, job: u32) -> u32 {
    seen.job(job).active_stages().map(|s| s.remaining()).sum()
}

/// `fifo`, `fair` and `weighted-fair`: one rule with different caps on the executors that a job may hold.
#[derive(Clone, Debug)]
pub(crate) enum Capped {
    /// No cap but the cluster.
    Fifo,
    /// ceil(N / active jobs).
    Fair,
    /// ceil(N · work^alpha / Σ work^alpha).
    Weighted { alpha: f64 },
}

impl Policy<Dag> for Capped {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(self.clone())
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        let source = seen.source_job();
        if let Some(stage) = source.and_then(|job| find(seen, job)) {
            return Ok(Decision::Assign { stage, executors: seen.committable() });
        }
        let executors = seen.num_executors();
        let weight = |job: u32, alpha: f64| remaining_work_ms(seen, job).max(1.0).powf(alpha);
        let total: f64 = match *self {
            Capped::Weighted { alpha } => seen.active_jobs().iter().map(|&job| weight(job, alpha)).sum(),
            _ => seen.active_jobs().len() as f64,
        };
        for stages in seen.schedulable().chunk_by(|a, b| a.job == b.job) {
            let job = stages[0].job;
            if source == Some(job) {
                continue;
            }
            let cap = match *self {
                Capped::Fifo => executors,
                Capped::Fair => executors.div_ceil(seen.active_jobs().len() as u32),
                Capped::Weighted { alpha } => whole_up(f64::from(executors) * weight(job, alpha) / total),
            };
            let supply = seen.job(job).supply();
            if supply < cap
                && let Some(stage) = first_free(seen, stages)
            {
                return Ok(Decision::Assign { stage, executors: seen.committable().min(cap - supply) });
            }
        }
        Ok(Decision::Abstain)
    }

    fn forgets(&self) -> bool {
        true
    }

    fn abstains(&self) -> bool {
        true
    }
}

/// The reference's `random`: a random active job with a schedulable stage, a random number of executors.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    stream: Stream,
}

impl Default for Random {
    fn default() -> Self {
        Self { stream: Stream::new(0, "random policy") }
    }
}

impl Policy<Dag> for Random {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self::default())
    }

    fn reset(&mut self, episode_seed: u64) {
        self.stream = Stream::new(episode_seed, "random policy");
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        // Drawing jobs until one has a stage is the same as drawing among those that have one.
        let jobs = seen.schedulable().chunk_by(|a, b| a.job == b.job);
        let place = self.stream.below(jobs.clone().count());
        let job = jobs.map(|stages| stages[0].job).nth(place);
        let executors = 1 + self.stream.below(seen.committable() as usize) as u32;
        Ok(match job.and_then(|job| find(seen, job)) {
            Some(stage) => Decision::Assign { stage, executors },
            None => Decision::Abstain, // a question always offers a stage
        })
    }
}
