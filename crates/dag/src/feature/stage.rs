//! Stage level: which stage of the chosen job?

use super::Extractor;
use crate::state::View;
use sched_distill_core::feature::{Base, Ratio};

pub(super) const BASE: &[Base] = &[
    Base::count("remaining_tasks", "tasks", "Tasks not launched.").declared().ranked().with_ratio(Ratio::Count),
    Base::absolute("task_duration", "ms", "Duration of the task launched last, or the rough estimate before any.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::absolute("remaining_work", "ms", "Tasks not launched × most recent task duration.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("demand", "executors", "Executors that the stage still wants.").declared().ranked(),
    Base::count("descendants", "stages", "Stages that wait for this one, directly or through others.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Count),
    Base::absolute("descendants_work", "ms", "Remaining work of the stages that wait for this one.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::absolute("critical_path", "ms", "Work on the path with most of it from this stage to the end of the job.")
        .declared()
        .ranked()
        .with_ratio(Ratio::Time),
    Base::count("critical_path_tasks", "tasks", "Tasks not launched on that path.").declared().ranked(),
    Base::count("depth", "stages", "Stages on the longest chain that leads here.").declared().ranked(),
    Base::count("children", "stages", "Stages that read this one's output.").declared().ranked(),
    Base::count("children_unlocked", "stages", "Children that wait for no other unfinished stage.").declared().ranked(),
    Base::count("unfinished_parents", "stages", "Stages that must finish before a task can start.").declared().ranked(),
    Base::count("executors_on_it", "executors", "Executors at work here, on their way, or promised.")
        .decided()
        .ranked(),
    Base::count("running_tasks", "tasks", "Tasks running.").decided().ranked(),
    Base::count("stage_order", "1", "Number of the stage in its job.").declared().ranked(),
    Base::flag("on_critical_path", "Whether it lies on the job's path with most remaining work.").declared(),
    Base::flag("is_last", "Whether it is the job's only stage that is not completed.").declared(),
    Base::share("work_of_job", "Its share of the job's remaining work.").declared(),
    Base::flag("job_is_source", "Whether the executors on offer were released by this job.").decided(),
    Base::count("job_executors_held", "executors", "Executors that the job holds.").decided(),
    Base::absolute("job_remaining_work", "ms", "The job's remaining work.").declared(),
    Base::count("offered", "executors", "Executors on offer at this decision.").decided(),
];

impl Extractor {
    /// Appends one row per schedulable stage of candidate job number `candidate`, in stage order.
    pub fn stage_rows(&mut self, seen: &View<'_>, candidate: usize, out: &mut Vec<f32>) {
        let s = &self.snapshot;
        let figures = s.candidate(candidate);
        let job = seen.job(figures.job);
        let graph = job.graph();
        let is_source = seen.source_job() == Some(figures.job);
        self.stage.clear();
        for stage in s.candidate_stages(candidate) {
            let id = stage.stage;
            let view = job.stage(id);
            let own = s.stage(figures, id);
            let below: f64 = graph.descendants(id).iter().map(|&d| s.stage(figures, d).work_ms).sum();
            let unlocked = graph.children(id).iter().filter(|&&c| job.stage(c).incomplete_parents() == 1).count();
            self.stage.push([
                f64::from(view.remaining()),
                view.recent_ms(),
                own.work_ms,
                f64::from(view.demand()),
                graph.descendants(id).len() as f64,
                below,
                own.path_ms,
                f64::from(own.path_tasks),
                f64::from(graph.depth(id)),
                graph.children(id).len() as f64,
                unlocked as f64,
                f64::from(view.incomplete_parents()),
                f64::from(view.executors()),
                f64::from(view.executing()),
                f64::from(id),
                f64::from(u8::from(own.on_path)),
                f64::from(u8::from(figures.stages == 1)),
                own.work_ms / figures.work_ms.max(1.0),
                f64::from(u8::from(is_source)),
                f64::from(figures.supply),
                figures.work_ms,
                f64::from(seen.committable()),
            ]);
        }
        self.stage.write(out);
    }
}
