//! Stage level: which stage of the chosen job?

use super::{
    Asked, Extractor,
    snapshot::{JobFigures, StageFigures},
};
use crate::state::{JobView, StageView, View};
use sched_distill_core::feature::{Decided, Declared, Described, Level, Quantity};

/// The chosen job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    asked: Asked<'a>,
    job: &'a JobFigures,
    view: JobView<'a>,
}

/// A stage of it that may be scheduled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    id: u32,
    stage: StageView<'a>,
    own: &'a StageFigures,
}

impl Candidate<'_> {
    /// Work of the stages that wait for it.
    fn below_ms(&self, of: &Chosen<'_>) -> f64 {
        of.view.graph().descendants(self.id).iter().map(|&stage| of.asked.all.stage(of.job, stage).work_ms).sum()
    }

    /// Children that wait for no other unfinished stage.
    fn unlocked(&self, of: &Chosen<'_>) -> usize {
        let children = of.view.graph().children(self.id).iter();
        children.filter(|&&child| of.view.stage(child).incomplete_parents() == 1).count()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Stage;

impl Level for Stage {
    type Question<'a> = Chosen<'a>;
    type Candidate<'a> = Candidate<'a>;

    const NAME: &'static str = "stage";
    const QUANTITIES: &'static [Quantity<Self>] = QUANTITIES;
}

type Q = Described<Stage>;

const QUANTITIES: &[Quantity<Stage>] = &[
    Q::count(Declared, "remaining_tasks", "tasks", "Tasks not launched.")
        .words("tasks left", "with {fewer|more} tasks left")
        .compared(&|_, c| c.stage.remaining()),
    Q::time(Declared, "task_duration", "Duration of the task launched last, or the rough estimate before any.")
        .words("length of its tasks", "with {shorter|longer} tasks")
        .compared(&|_, c| c.stage.recent_ms()),
    Q::time(Declared, "remaining_work", "Tasks not launched × most recent task duration.")
        .words("work left", "with {less|more} work left")
        .compared(&|_, c| c.own.work_ms),
    Q::count(Declared, "demand", "executors", "Executors that the stage still wants.")
        .words("executors it wants", "that wants {fewer|more} executors")
        .ranked(&|_, c| c.stage.demand()),
    Q::count(Declared, "descendants", "stages", "Stages that wait for this one, directly or through others.")
        .words("stages waiting for it", "with {fewer|more} stages waiting for it")
        .compared(&|q, c| q.view.graph().descendants(c.id).len() as f64),
    Q::time(Declared, "descendants_work", "Remaining work of the stages that wait for this one.")
        .words("work in the stages waiting for it", "with {less|more} work waiting for it")
        .compared(&|q, c| c.below_ms(q)),
    Q::time(Declared, "critical_path", "Work on the path with most of it from this stage to the end of the job.")
        .words("work from it to the end of the job", "with {less|more} work from it to the end of the job")
        .compared(&|_, c| c.own.path_ms),
    Q::count(Declared, "critical_path_tasks", "tasks", "Tasks not launched on that path.")
        .words("tasks from it to the end of the job", "with {fewer|more} tasks from it to the end of the job")
        .ranked(&|_, c| c.own.path_tasks),
    Q::count(Declared, "depth", "stages", "Stages on the longest chain that leads here.")
        .words("stages before it", "with {fewer|more} stages in the chain before it")
        .ranked(&|q, c| q.view.graph().depth(c.id)),
    Q::count(Declared, "children", "stages", "Stages that read this one's output.")
        .words("children", "with {fewer|more} children")
        .ranked(&|q, c| q.view.graph().children(c.id).len() as f64),
    Q::count(Declared, "children_unlocked", "stages", "Children that wait for no other unfinished stage.")
        .words("children that wait for it alone", "with {fewer|more} children that wait for it alone")
        .ranked(&|q, c| c.unlocked(q) as f64),
    Q::count(Declared, "unfinished_parents", "stages", "Stages that must finish before a task can start.")
        .words("unfinished stages it waits for", "that waits for {fewer|more} unfinished stages")
        .ranked(&|_, c| c.stage.incomplete_parents()),
    Q::count(Decided, "executors_on_it", "executors", "Executors at work here, on their way, or promised.")
        .words("executors on it", "with {fewer|more} executors on it")
        .ranked(&|_, c| c.stage.executors()),
    Q::count(Decided, "running_tasks", "tasks", "Tasks running.")
        .words("tasks running", "with {fewer|more} tasks running")
        .ranked(&|_, c| c.stage.executing()),
    Q::count(Declared, "stage_order", "1", "Number of the stage in its job.")
        .words("place in the job", "that comes {earlier|later} in the job")
        .ends("that comes first in the job", "that comes last in the job")
        .ranked(&|_, c| c.id),
    Q::flag(Declared, "on_critical_path", "Whether it lies on the job's path with most remaining work.")
        .words("being on the longest chain", "{off|on} the job's longest chain of work")
        .value(&|_, c| c.own.on_path),
    Q::flag(Declared, "is_last", "Whether it is the job's only stage that is not completed.")
        .words("being the last stage", "that is {not the|the} job's last")
        .value(&|q, _| q.job.stages == 1),
    Q::share(Declared, "work_of_job", "Its share of the job's remaining work.")
        .words("share of the job's work", "with {less|more} of the job's work")
        .value(&|q, c| c.own.work_ms / q.job.work_ms.max(1.0)),
    Q::flag(Decided, "job_is_source", "Whether the executors on offer were released by this job.")
        .words("its job having freed the executors", "of {a job that did not free|the job that freed} the executors")
        .value(&|q, _| q.asked.seen.source_job() == Some(q.job.job)),
    Q::count(Decided, "job_executors_held", "executors", "Executors that the job holds.")
        .words("executors its job holds", "of a job with {fewer|more} executors")
        .value(&|q, _| q.job.supply),
    Q::time(Declared, "job_remaining_work", "The job's remaining work.")
        .words("work left in its job", "of a job with {less|more} work left")
        .value(&|q, _| q.job.work_ms),
    Q::count(Decided, "offered", "executors", "Executors on offer at this decision.")
        .words("executors on offer", "when {fewer|more} executors are on offer")
        .value(&|q, _| q.asked.seen.committable()),
];

impl Extractor {
    /// Appends one row per schedulable stage of candidate job number `candidate`, in stage order.
    pub fn stage_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) {
        let all = &self.snapshot;
        let (job, view) = (all.candidate(candidate), seen.job(all.candidate(candidate).job));
        let chosen = Chosen { asked: Asked { seen: *seen, all }, job, view };
        let candidates = all.candidate_stages(candidate).iter().map(|stage| stage.stage);
        let candidates = candidates.map(|id| Candidate { id, stage: view.stage(id), own: all.stage(job, id) });
        self.stage.write(&chosen, candidates, false, out);
    }
}
