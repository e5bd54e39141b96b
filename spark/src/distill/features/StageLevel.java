package distill.features;

import distill.state.Job;

/** Stage level: which stage of the chosen job? The table is that of {@code crates/dag/src/feature/stage.rs}. */
final class StageLevel {
    private final Snapshot all;
    private int candidateJob;
    /** The chosen job. */
    private JobFigures job;
    private Job view;

    StageLevel(Snapshot all) {
        this.all = all;
    }

    /** Asks about the stages of a candidate job. */
    void choose(int candidateJob) {
        this.candidateJob = candidateJob;
        job = all.candidate(candidateJob);
        view = job.job;
    }

    /** The number of a candidate. */
    private int id(int candidate) {
        return all.stage(candidateJob, candidate);
    }

    /** Work of the stages that wait for a candidate. */
    private double belowMs(int candidate) {
        // As sums begin in the original; it is what comes of no stages.
        double sum = -0.0;
        for (int stage : view.graph().descendants(id(candidate))) {
            sum += job.stageWorkMs[stage];
        }
        return sum;
    }

    /** Children that wait for no other unfinished stage. */
    private int unlocked(int candidate) {
        int unlocked = 0;
        for (int child : view.graph().children(id(candidate))) {
            unlocked += view.incompleteParents(child) == 1 ? 1 : 0;
        }
        return unlocked;
    }

    static final Level<StageLevel> TABLE = new Level<StageLevel>("stage")
        .comparedCount("remaining_tasks", (q, c) -> q.view.remaining(q.id(c)))
        .comparedTime("task_duration", (q, c) -> q.view.recentMs(q.id(c)))
        .comparedTime("remaining_work", (q, c) -> q.job.stageWorkMs[q.id(c)])
        .ranked("demand", (q, c) -> q.view.demand(q.id(c)))
        .comparedCount("descendants", (q, c) -> q.view.graph().descendants(q.id(c)).length)
        .comparedTime("descendants_work", (q, c) -> q.belowMs(c))
        .comparedTime("critical_path", (q, c) -> q.job.stagePathMs[q.id(c)])
        .ranked("critical_path_tasks", (q, c) -> q.job.stagePathTasks[q.id(c)])
        .ranked("depth", (q, c) -> q.view.graph().depth(q.id(c)))
        .ranked("children", (q, c) -> q.view.graph().children(q.id(c)).length)
        .ranked("children_unlocked", (q, c) -> q.unlocked(c))
        .ranked("unfinished_parents", (q, c) -> q.view.incompleteParents(q.id(c)))
        .ranked("executors_on_it", (q, c) -> q.view.executors(q.id(c)))
        .ranked("running_tasks", (q, c) -> q.view.executing(q.id(c)))
        .ranked("stage_order", (q, c) -> q.id(c))
        .value("on_critical_path", (q, c) -> JobLevel.flag(q.job.onPath[q.id(c)]))
        .value("is_last", (q, c) -> JobLevel.flag(q.job.stages == 1))
        .value("work_of_job", (q, c) -> q.job.stageWorkMs[q.id(c)] / Math.max(q.job.workMs, 1))
        .value("job_is_source", (q, c) -> JobLevel.flag(q.all.round.sourceJob() == q.view))
        .value("job_executors_held", (q, c) -> q.view.supply())
        .value("job_remaining_work", (q, c) -> q.job.workMs)
        .value("offered", (q, c) -> q.all.round.committable());
}
