//! Job level: which job gets executors?

use super::{Extractor, Snapshot};
use crate::state::View;
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::flag("is_none", "Whether the candidate is to give nothing; all its other features are 0."),
    Base::flag("is_source", "Whether the executors on offer were released by this job.").decided(),
    Base::absolute("remaining_work", "ms", "Tasks not launched × most recent task duration, over all stages.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("remaining_tasks", "tasks", "Tasks not launched, over all stages.").ranked().with_ratio(Ratio::Count),
    Base::count("remaining_stages", "stages", "Stages not completed.").declared().ranked().with_ratio(Ratio::Count),
    Base::absolute("critical_path", "ms", "Remaining work on the path of stages with most of it.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("critical_path_tasks", "tasks", "Tasks not launched on the path with most remaining work.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Count),
    Base::absolute("smallest_ready_stage", "ms", "Remaining work of the smallest stage that may be scheduled.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::absolute("ready_work", "ms", "Remaining work of the stages that may be scheduled.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("ready_tasks", "tasks", "Tasks not launched in the stages that may be scheduled.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Count),
    Base::count("ready_stages", "stages", "Stages that may be scheduled.").declared().ranked(),
    Base::count("executors_held", "executors", "Executors held, promised or on their way.").decided().ranked(),
    Base::share("held_of_fair_share", "Executors held, as a multiple of the cluster's executors per active job.")
        .decided(),
    Base::share("held_of_cluster", "Executors held, as a share of the cluster.").decided(),
    Base::count("running_tasks", "tasks", "Tasks running.").decided().ranked(),
    Base::count("room", "executors", "Executors that it may get at this decision.").declared().ranked(),
    Base::count("headroom", "executors", "Executors that its schedulable stages still want.").declared().ranked(),
    Base::absolute("age", "ms", "Time since it arrived.").ranked(),
    Base::count("arrival_order", "1", "Place among the active jobs by arrival, 0 is the oldest.").ranked(),
    Base::share("progress", "Share of its tasks already launched.").decided(),
    Base::absolute("mean_task_duration", "ms", "Remaining work ÷ tasks not launched.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("jobs_in_system", "jobs", "Active jobs in the cluster."),
    Base::count("offered", "executors", "Executors on offer at this decision.").decided(),
    Base::share("work_share", "Its share of the remaining work of all active jobs.").declared(),
];

impl Extractor {
    /// Takes in a new question; the row functions below then refer to it.
    pub fn update(&mut self, seen: &View<'_>) {
        self.snapshot.update(seen);
    }

    /// The present question summed up: candidates of the job level and their stages.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Appends one row per candidate job, in the order of [`Snapshot::candidate_jobs`]; if the policy may abstain, a last
    /// row for the candidate that gives nothing.
    pub fn job_rows(&mut self, seen: &View<'_>, abstains: bool, out: &mut Vec<f32>) {
        let s = &self.snapshot;
        let jobs = s.jobs.len() as f64;
        let executors = f64::from(seen.num_executors());
        let source = seen.source_job();
        self.job.clear();
        // Candidates and active jobs are both in arrival order.
        let mut place = 0;
        for job in s.candidates() {
            while s.jobs[place].job != job.job {
                place += 1;
            }
            let held = f64::from(job.supply);
            let tasks = f64::from(job.tasks);
            self.job.push([
                0.0,
                f64::from(u8::from(source == Some(job.job))),
                job.work_ms,
                tasks,
                f64::from(job.stages),
                job.path_ms,
                f64::from(job.path_tasks),
                job.smallest_ready_ms,
                job.ready_work_ms,
                f64::from(job.ready_tasks),
                f64::from(job.ready.1 - job.ready.0),
                held,
                held * jobs / executors,
                held / executors,
                f64::from(job.running),
                f64::from(seen.room(job.job)),
                f64::from(job.ready_demand),
                job.age_ms,
                place as f64,
                job.progress,
                job.work_ms / tasks.max(1.0),
                jobs,
                f64::from(seen.committable()),
                job.work_ms / s.total_work_ms.max(1.0),
            ]);
        }
        self.job.write(out);
        if abstains {
            self.job.write_flag_row(out);
        }
    }
}
