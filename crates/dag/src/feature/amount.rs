//! Cluster level: how many executors for the chosen stage?

use super::{Asked, Extractor, snapshot::JobFigures};
use crate::state::{StageRef, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Measured, Quantity};

/// Length of the window over which the arrival rate is taken, ms.
const RATE_WINDOW_MS: f64 = 100_000.0;

/// The least and the most that can be given.
const FEW: &str = "a single executor";
const ALL: &str = "as many executors as allowed";

/// The chosen stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    asked: Asked<'a>,
    job: &'a JobFigures,
    cap: f64,
    demand: f64,
    held: f64,
    tasks: f64,
    /// Executors of the cluster per active job.
    fair: f64,
}

impl Chosen<'_> {
    fn moving(&self) -> f64 {
        f64::from(self.asked.all.moving)
    }

    fn busy(&self) -> f64 {
        f64::from(self.asked.all.busy)
    }

    /// Arrivals per second.
    fn rate(&self) -> f64 {
        let seen = self.asked.seen;
        let window_ms = RATE_WINDOW_MS.min(seen.time_ms()).max(1.0);
        f64::from(seen.arrived_since(seen.time_ms() - window_ms)) / (window_ms / 1000.0).max(1.0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Amount;

impl Level for Amount {
    type Question<'a> = Chosen<'a>;
    type Candidate<'a> = f64;

    const NAME: &'static str = "amount";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Amount>;

const QUANTITIES: &[Quantity<Amount>] = &[
    Q::count(Decided, "executors_given", "executors", "Executors that this candidate gives.")
        .words("executors given", "{few|many} executors")
        .ends(FEW, ALL)
        .ranked(&|_, a| *a),
    Q::share(Declared, "amount_of_cap", "The amount ÷ the largest amount allowed.")
        .words("share of the executors allowed", "{fewer|more} of the executors allowed")
        .ends(FEW, ALL)
        .value(&|q, a| a / q.cap),
    Q::share(Decided, "amount_of_fair_share", "The amount ÷ the cluster's executors per active job.")
        .words("executors given, against a fair share", "{fewer|more} executors against a fair share")
        .ends(FEW, ALL)
        .value(&|q, a| a / q.fair),
    Q::share(Decided, "held_after_of_fair_share", "Executors held afterwards")
        .and("÷ the cluster's executors per active job.")
        .words(
            "executors held then, against a fair share",
            "so {few that its job holds less|many that its job holds more} against a fair share",
        )
        .ends(FEW, ALL)
        .value(&|q, a| (q.held + a) / q.fair),
    Q::share(Declared, "amount_of_demand", "The amount ÷ the executors that the stage wants.")
        .words("share of what the stage wants", "{less|more} of what the stage wants")
        .ends(FEW, ALL)
        .value(&|q, a| a / q.demand.max(1.0)),
    Q::share(Measured, "amount_of_tasks", "The amount ÷ the job's tasks not launched.")
        .words("executors given, as a share of its job's tasks left", "{fewer|more} executors for each task left")
        .ends(FEW, ALL)
        .value(&|q, a| a / q.tasks.max(1.0)),
    Q::count(Decided, "offered", "executors", "Executors on offer at this decision.")
        .shared("executors on offer", &|q| q.asked.seen.committable()),
    Q::flag(Decided, "job_is_source", "Whether the executors on offer were released by the chosen job.")
        .clauses("{another job|its job} freed the executors")
        .shared("its job having freed the executors", &|q| q.asked.seen.source_job() == Some(q.job.job)),
    Q::count(Decided, "job_executors_held", "executors", "Executors that the chosen job holds.")
        .shared("executors its job holds", &|q| q.held),
    Q::absolute(Measured, "fair_share", "executors", "The cluster's executors per active job.")
        .shared("executors in a fair share", &|q| q.fair),
    Q::count(Declared, "stage_demand", "executors", "Executors that the chosen stage wants.")
        .shared("executors the stage wants", &|q| q.demand),
    Q::count(Measured, "job_remaining_tasks", "tasks", "Tasks not launched in the chosen job.")
        .shared("tasks left in its job", &|q| q.tasks),
    Q::time(Declared, "job_remaining_work", "Remaining work of the chosen job.")
        .shared("work left in its job", &|q| q.job.work_ms),
    Q::count(Measured, "jobs_in_system", "jobs", "Active jobs in the cluster.")
        .shared("jobs in the cluster", &|q| q.asked.jobs()),
    Q::count(Declared, "ready_stages", "stages", "Stages of all jobs that may be scheduled.")
        .shared("stages that can run now", &|q| q.asked.all.ready.len() as f64),
    Q::share(Decided, "executors_free", "Share of the executors that neither work nor travel.")
        .shared("share of the executors that is free", &|q| {
            (q.asked.executors() - q.busy() - q.moving()) / q.asked.executors()
        }),
    Q::share(Decided, "executors_moving", "Share of the executors on their way to a job.")
        .shared("share of the executors on their way to a job", &|q| q.moving() / q.asked.executors()),
    Q::share(Decided, "utilisation", "Share of the executors that run a task.")
        .shared("share of the executors at work", &|q| q.busy() / q.asked.executors()),
    Q::time(Declared, "outstanding_work", "Remaining work of all active jobs.")
        .shared("work left in all jobs", &|q| q.asked.all.total_work_ms),
    Q::absolute(Declared, "work_spread", "1", "Largest ÷ median remaining work of the active jobs.")
        .shared("spread of the work left in jobs", &|q| q.asked.all.work_spread),
    Q::absolute(Measured, "arrival_rate", "jobs/s", "Arrivals per second over the last 100 s.")
        .shared("rate at which jobs arrive", &|q| q.rate()),
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
        let all = &self.snapshot;
        // A schedulable stage belongs to an active job, and active jobs are in order of their numbers.
        let Ok(place) = all.jobs.binary_search_by_key(&stage.job, |j| j.job) else {
            return;
        };
        let (job, cap, asked) = (&all.jobs[place], cap(seen, stage), Asked { seen: *seen, all });
        let chosen = Chosen {
            asked,
            job,
            cap: f64::from(cap),
            demand: f64::from(seen.stage(stage).demand()),
            held: f64::from(job.supply),
            tasks: f64::from(job.tasks),
            fair: asked.executors() / asked.jobs(),
        };
        self.amount.write(&chosen, (1..=cap).map(f64::from), false, out);
    }
}
