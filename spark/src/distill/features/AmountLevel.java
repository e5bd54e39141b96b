package distill.features;

import distill.state.Job;

/**
 * Amount level: how many executors for the chosen stage? Candidates are 1, 2, 3, ... of them. The table is that of
 * {@code crates/dag/src/feature/amount.rs}.
 */
final class AmountLevel {
    /** Length of the window over which the arrival rate is taken, ms. */
    private static final double RATE_WINDOW_MS = 100_000;

    private final Snapshot all;
    private JobFigures job;
    private double cap;
    private double demand;
    private double held;
    private double tasks;
    /** Executors of the cluster per active job. */
    private double fair;

    AmountLevel(Snapshot all) {
        this.all = all;
    }

    /** Asks about a stage of a candidate job; gives the largest amount. */
    int choose(int candidateJob, int stage) {
        job = all.candidate(candidateJob);
        Job view = job.job;
        int largest = cap(all, view, stage);
        cap = largest;
        demand = view.demand(stage);
        held = view.supply();
        tasks = job.tasks;
        fair = executors() / all.numJobs();
        return largest;
    }

    /** The amounts that may be given to a stage, 1 to this: as many as its job has room for and as the stage wants. */
    static int cap(Snapshot all, Job job, int stage) {
        return Math.max(1, Math.min(all.round.room(job), job.demand(stage)));
    }

    private double executors() {
        return all.state.numExecutors();
    }

    private double moving() {
        return all.round.movingExecutors();
    }

    private double busy() {
        return all.round.busyExecutors();
    }

    /** Arrivals per second. */
    private double rate() {
        double nowMs = all.state.timeMs();
        double windowMs = Math.max(Math.min(RATE_WINDOW_MS, nowMs), 1);
        return all.state.arrivedSince(nowMs - windowMs) / Math.max(windowMs / 1000.0, 1);
    }

    private static double amount(int candidate) {
        return 1 + candidate;
    }

    static final Level<AmountLevel> TABLE = new Level<AmountLevel>("amount")
        .ranked("executors_given", (q, c) -> amount(c))
        .value("amount_of_cap", (q, c) -> amount(c) / q.cap)
        .value("amount_of_fair_share", (q, c) -> amount(c) / q.fair)
        .value("held_after_of_fair_share", (q, c) -> (q.held + amount(c)) / q.fair)
        .value("amount_of_demand", (q, c) -> amount(c) / Math.max(q.demand, 1))
        .value("amount_of_tasks", (q, c) -> amount(c) / Math.max(q.tasks, 1))
        .shared("offered", q -> q.all.round.committable())
        .shared("job_is_source", q -> JobLevel.flag(q.all.round.sourceJob() == q.job.job))
        .shared("job_executors_held", q -> q.held)
        .shared("fair_share", q -> q.fair)
        .shared("stage_demand", q -> q.demand)
        .shared("job_remaining_tasks", q -> q.tasks)
        .shared("job_remaining_work", q -> q.job.workMs)
        .shared("jobs_in_system", q -> q.all.numJobs())
        .shared("ready_stages", q -> q.all.round.numReady())
        .shared("executors_free", q -> (q.executors() - q.busy() - q.moving()) / q.executors())
        .shared("executors_moving", q -> q.moving() / q.executors())
        .shared("utilisation", q -> q.busy() / q.executors())
        .shared("outstanding_work", q -> q.all.totalWorkMs)
        .shared("work_spread", q -> q.all.workSpread)
        .shared("arrival_rate", q -> q.rate());
}
