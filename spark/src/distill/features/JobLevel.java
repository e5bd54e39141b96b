package distill.features;

/** Job level: which job gets executors? The table is that of {@code crates/dag/src/feature/job.rs}. */
final class JobLevel {
    private final Snapshot all;

    JobLevel(Snapshot all) {
        this.all = all;
    }

    private JobFigures job(int candidate) {
        return all.candidate(candidate);
    }

    /** Executors held. */
    private double held(int candidate) {
        return job(candidate).job.supply();
    }

    /** Active jobs. */
    private double jobs() {
        return all.numJobs();
    }

    /** Executors of the cluster. */
    private double executors() {
        return all.state.numExecutors();
    }

    static double flag(boolean isSo) {
        return isSo ? 1 : 0;
    }

    static final Level<JobLevel> TABLE = new Level<JobLevel>("job")
        .none("is_none")
        .value("is_source", (q, c) -> flag(q.all.round.sourceJob() == q.job(c).job))
        .comparedTime("remaining_work", (q, c) -> q.job(c).workMs)
        .comparedCount("remaining_tasks", (q, c) -> q.job(c).tasks)
        .comparedCount("remaining_stages", (q, c) -> q.job(c).stages)
        .comparedTime("critical_path", (q, c) -> q.job(c).pathMs)
        .comparedCount("critical_path_tasks", (q, c) -> q.job(c).pathTasks)
        .comparedTime("smallest_ready_stage", (q, c) -> q.job(c).smallestReadyMs)
        .comparedTime("ready_work", (q, c) -> q.job(c).readyWorkMs)
        .comparedCount("ready_tasks", (q, c) -> q.job(c).readyTasks)
        .ranked("ready_stages", (q, c) -> q.job(c).endReady - q.job(c).firstReady)
        .ranked("executors_held", (q, c) -> q.held(c))
        .value("held_of_fair_share", (q, c) -> q.held(c) * q.jobs() / q.executors())
        .value("held_of_cluster", (q, c) -> q.held(c) / q.executors())
        .ranked("running_tasks", (q, c) -> q.job(c).running)
        .ranked("room", (q, c) -> q.all.round.room(q.job(c).job))
        .ranked("headroom", (q, c) -> q.job(c).readyDemand)
        .ranked("age", (q, c) -> q.job(c).ageMs)
        .ranked("arrival_order", (q, c) -> q.all.place(c))
        .value("progress", (q, c) -> q.job(c).progress)
        .comparedTime("mean_task_duration", (q, c) -> q.job(c).meanTaskMs())
        .value("jobs_in_system", (q, c) -> q.jobs())
        .value("offered", (q, c) -> q.all.round.committable())
        .value("work_share", (q, c) -> q.job(c).workMs / Math.max(q.all.totalWorkMs, 1));
}
