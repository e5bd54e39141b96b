//! Job level: which job gets executors?

use super::{Asked, Extractor, snapshot::JobFigures};
use crate::state::View;
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, NONE_FLAG, Quantity};

/// An active job with a stage that may be scheduled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    job: &'a JobFigures,
    /// Its place among the active jobs.
    place: u32,
}

impl Candidate<'_> {
    /// Executors held.
    fn held(&self) -> f64 {
        f64::from(self.job.supply)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Job;

impl Level for Job {
    type Question<'a> = Asked<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Job>;

const QUANTITIES: &[Quantity<Job>] = &[
    Q::flag(Measured, NONE_FLAG, "Whether the candidate is to give nothing; all its other features are 0.")
        .words("giving nothing", "to give {executors rather than nothing|nothing}")
        .ends("to give executors to some job", "to give nothing")
        .is_none(),
    Q::flag(Decided, "is_source", "Whether the executors on offer were released by this job.")
        .words("having freed the executors", "that {did not free the executors|freed the executors itself}")
        .ends("that did not free them", "that freed them")
        .value(&|q, c| q.seen.source_job() == Some(c.job.job)),
    Q::time(Declared, "remaining_work", "Tasks not launched × most recent task duration, over all stages.")
        .words("work left", "with {less|more} work left")
        .compared(&|_, c| c.job.work_ms),
    Q::count(Measured, "remaining_tasks", "tasks", "Tasks not launched, over all stages.")
        .words("tasks left", "with {fewer|more} tasks left")
        .compared(&|_, c| c.job.tasks),
    Q::count(Declared, "remaining_stages", "stages", "Stages not completed.")
        .words("stages left", "with {fewer|more} stages left")
        .compared(&|_, c| c.job.stages),
    Q::time(Declared, "critical_path", "Remaining work on the path of stages with most of it.")
        .words("work on its longest chain of stages", "with {less|more} work on its longest chain of stages")
        .compared(&|_, c| c.job.path_ms),
    Q::count(Declared, "critical_path_tasks", "tasks", "Tasks not launched on the path with most remaining work.")
        .words("tasks on its longest chain of stages", "with {fewer|more} tasks on its longest chain of stages")
        .compared(&|_, c| c.job.path_tasks),
    Q::time(Declared, "smallest_ready_stage", "Remaining work of the smallest stage that may be scheduled.")
        .words("work in its smallest stage that can run", "with {less|more} work in its smallest stage that can run")
        .compared(&|_, c| c.job.smallest_ready_ms),
    Q::time(Declared, "ready_work", "Remaining work of the stages that may be scheduled.")
        .words("work that can run now", "with {less|more} work that can run now")
        .compared(&|_, c| c.job.ready_work_ms),
    Q::count(Declared, "ready_tasks", "tasks", "Tasks not launched in the stages that may be scheduled.")
        .words("tasks that can run now", "with {fewer|more} tasks that can run now")
        .compared(&|_, c| c.job.ready_tasks),
    Q::count(Declared, "ready_stages", "stages", "Stages that may be scheduled.")
        .words("stages that can run now", "with {fewer|more} stages that can run now")
        .ranked(&|_, c| c.job.ready.1 - c.job.ready.0),
    Q::count(Decided, "executors_held", "executors", "Executors held, promised or on their way.")
        .words("executors held", "that holds {fewer|more} executors")
        .ranked(&|_, c| c.held()),
    Q::share(Decided, "held_of_fair_share", "Executors held, as a multiple of the cluster's executors per active job.")
        .words("executors held, against a fair share", "that holds {less|more} against a fair share of the executors")
        .value(&|q, c| c.held() * q.jobs() / q.executors()),
    Q::share(Decided, "held_of_cluster", "Executors held, as a share of the cluster.")
        .words("share of the cluster held", "that holds {fewer|more} of the cluster's executors")
        .value(&|q, c| c.held() / q.executors()),
    Q::count(Decided, "running_tasks", "tasks", "Tasks running.")
        .words("tasks running", "with {fewer|more} tasks running")
        .ranked(&|_, c| c.job.running),
    Q::count(Declared, "room", "executors", "Executors that it may get at this decision.")
        .words("executors it may get", "that may get {fewer|more} executors")
        .ranked(&|q, c| q.seen.room(c.job.job)),
    Q::count(Declared, "headroom", "executors", "Executors that its schedulable stages still want.")
        .words("executors its stages want", "whose stages want {fewer|more} executors")
        .ranked(&|_, c| c.job.ready_demand),
    Q::time(Measured, "age", "Time since it arrived.")
        .words("time since it arrived", "that arrived {later|earlier}")
        .ranked(&|_, c| c.job.age_ms),
    Q::count(Measured, "arrival_order", "1", "Place among the active jobs by arrival, 0 is the oldest.")
        .words("place by arrival", "that arrived {earlier|later}")
        .ranked(&|_, c| c.place),
    Q::share(Decided, "progress", "Share of its tasks already launched.")
        .words("share of its tasks launched", "with {fewer|more} of its tasks launched")
        .value(&|_, c| c.job.progress),
    Q::time(Declared, "mean_task_duration", "Remaining work ÷ tasks not launched.")
        .words("length of its tasks", "with {shorter|longer} tasks")
        .compared(&|_, c| c.job.mean_task_ms()),
    Q::count(Measured, "jobs_in_system", "jobs", "Active jobs in the cluster.")
        .words("jobs in the cluster", "among {fewer|more} jobs")
        .value(&|q, _| q.jobs()),
    Q::count(Decided, "offered", "executors", "Executors on offer at this decision.")
        .words("executors on offer", "when {fewer|more} executors are on offer")
        .value(&|q, _| q.seen.committable()),
    Q::share(Declared, "work_share", "Its share of the remaining work of all active jobs.")
        .words("share of all work left", "with {less|more} of all the work left")
        .value(&|q, c| c.job.work_ms / q.all.total_work_ms.max(1.0)),
];

impl Extractor {
    /// Appends one row per candidate job, in the order of [`Snapshot::candidate_jobs`](super::Snapshot::candidate_jobs); if the policy may
    /// abstain, a last row for the candidate that gives nothing.
    pub fn job_rows(&mut self, seen: &View<'_>, abstains: bool, out: &mut Vec<f32>) {
        let all = &self.snapshot;
        let candidates = all.candidates().map(|(place, job)| Candidate { job, place });
        self.job.write(&Asked { seen: *seen, all }, candidates, abstains, out);
    }
}
