//! Cluster level: how many executors for the chosen stage?

use super::Extractor;
use crate::state::{StageRef, View};
use sched_distill_core::feature::Base;

/// Length of the window over which the arrival rate is taken, ms.
const RATE_WINDOW_MS: f64 = 100_000.0;

pub(super) const BASE: &[Base] = &[
    Base::count("executors_given", "executors", "Executors that this candidate gives.").decided().ranked(),
    Base::share("amount_of_cap", "The amount ÷ the largest amount allowed.").declared(),
    Base::share("amount_of_fair_share", "The amount ÷ the cluster's executors per active job.").decided(),
    Base::share("held_after_of_fair_share", "Executors held afterwards ÷ the cluster's executors per active job.")
        .decided(),
    Base::share("amount_of_demand", "The amount ÷ the executors that the stage wants.").declared(),
    Base::share("amount_of_tasks", "The amount ÷ the job's tasks not launched."),
    Base::count("offered", "executors", "Executors on offer at this decision.").decided(),
    Base::flag("job_is_source", "Whether the executors on offer were released by the chosen job.").decided(),
    Base::count("job_executors_held", "executors", "Executors that the chosen job holds.").decided(),
    Base::absolute("fair_share", "executors", "The cluster's executors per active job."),
    Base::count("stage_demand", "executors", "Executors that the chosen stage wants.").declared(),
    Base::count("job_remaining_tasks", "tasks", "Tasks not launched in the chosen job."),
    Base::absolute("job_remaining_work", "ms", "Remaining work of the chosen job.").declared(),
    Base::count("jobs_in_system", "jobs", "Active jobs in the cluster."),
    Base::count("ready_stages", "stages", "Stages of all jobs that may be scheduled.").declared(),
    Base::share("executors_free", "Share of the executors that neither work nor travel.").decided(),
    Base::share("executors_moving", "Share of the executors on their way to a job.").decided(),
    Base::share("utilisation", "Share of the executors that run a task.").decided(),
    Base::absolute("outstanding_work", "ms", "Remaining work of all active jobs.").declared(),
    Base::absolute("work_spread", "1", "Largest ÷ median remaining work of the active jobs.").declared(),
    Base::absolute("arrival_rate", "jobs/s", "Arrivals per second over the last 100 s."),
];

/// The amounts that may be given to a stage, `1..=cap`: as many as its job has room for and as the stage wants.
#[must_use]
pub(super) fn cap(seen: &View<'_>, stage: StageRef) -> u32 {
    seen.room(stage.job).min(seen.stage(stage).demand()).max(1)
}

impl Extractor {
    /// Largest amount that the level may give to a stage; its candidates are `1..=cap`.
    #[must_use]
    pub fn amount_cap(seen: &View<'_>, stage: StageRef) -> u32 {
        cap(seen, stage)
    }

    /// Appends one row per amount `1..=cap` for a stage.
    pub fn amount_rows(&mut self, seen: &View<'_>, stage: StageRef, out: &mut Vec<f32>) {
        let s = &self.snapshot;
        // A schedulable stage belongs to an active job, and active jobs are in order of their numbers.
        let Ok(place) = s.jobs.binary_search_by_key(&stage.job, |j| j.job) else {
            return;
        };
        let job = &s.jobs[place];
        let demand = f64::from(seen.stage(stage).demand());
        let executors = f64::from(seen.num_executors());
        let (jobs, held, tasks) = (s.jobs.len() as f64, f64::from(job.supply), f64::from(job.tasks));
        let fair = executors / jobs;
        let cap = cap(seen, stage);
        let window_ms = RATE_WINDOW_MS.min(seen.time_ms()).max(1.0);
        let rate = f64::from(seen.arrived_since(seen.time_ms() - window_ms)) / (window_ms / 1000.0).max(1.0);
        let is_source = seen.source_job() == Some(stage.job);
        self.amount.clear();
        for amount in 1..=cap {
            let a = f64::from(amount);
            self.amount.push([
                a,
                a / f64::from(cap),
                a / fair,
                (held + a) / fair,
                a / demand.max(1.0),
                a / tasks.max(1.0),
                f64::from(seen.committable()),
                f64::from(u8::from(is_source)),
                held,
                fair,
                demand,
                tasks,
                job.work_ms,
                jobs,
                s.ready.len() as f64,
                (executors - f64::from(s.busy) - f64::from(s.moving)) / executors,
                f64::from(s.moving) / executors,
                f64::from(s.busy) / executors,
                s.total_work_ms,
                s.work_spread,
                rate,
            ]);
        }
        self.amount.write(out);
    }
}
