package distill.state;


/**
 * A cluster of executors and the jobs on it, as far as a scheduler may know them.
 *
 * <p>Who runs a cluster keeps one: adds jobs as they arrive, sets the figures of stages as tasks start and end, and offers
 * executors when some are free. What the policy answers is carried out by the owner, and told to the state by
 * {@link #answer}. Whatever sets a figure closes an open question. A figure that cannot be is refused with an
 * {@link IllegalArgumentException} that names it, and nothing is changed.
 *
 * <p>The port of {@code crates/dag/src/state}; {@code docs/cluster-state.md} describes both. Not for several threads at
 * once. Nothing is allocated for a question.
 */
public final class ClusterState {
    /** Most executors of a cluster. */
    private static final int MOST_EXECUTORS = 1 << 20;

    int numExecutors;
    final Jobs jobs = new Jobs();
    /** Executors on their way to jobs that are not kept. */
    long movingElsewhere;
    private double timeMs;
    private long versions;
    private final Round round = new Round(this);

    /** A cluster of so many executors at time 0, without jobs. */
    public ClusterState(int numExecutors) {
        setNumExecutors(numExecutors);
    }

    /** Changes the size of the cluster: executors come and go. */
    public void setNumExecutors(int executors) {
        if (executors < 1 || executors > MOST_EXECUTORS) {
            throw Refused.figure("num_executors", "must be in 1..=" + MOST_EXECUTORS + ", got " + executors);
        }
        numExecutors = executors;
        round.close();
    }

    /** Sets the clock, ms since any beginning. It may stand still and does not go back. */
    public void setTime(double ms) {
        if (Refused.isNoTime(ms)) {
            throw Refused.figure("time_ms", Refused.noTime(ms));
        }
        if (ms < timeMs) {
            throw Refused.figure("time_ms", ms + " ms is before the present time, " + timeMs + " ms");
        }
        timeMs = ms;
        jobs.forgetArrivals(ms);
        round.close();
    }

    /** Adds a job none of whose tasks has been launched. Numbers ascend in order of arrival. */
    public void addJob(int id, double arrivalMs, JobGraph graph) {
        if (Refused.isNoTime(arrivalMs)) {
            throw Refused.ofJob(id, "arrival_ms", Refused.noTime(arrivalMs));
        }
        if (arrivalMs > timeMs) {
            throw Refused.ofJob(id, "arrival_ms", arrivalMs + " is after the present time, " + timeMs);
        }
        jobs.checkNext(id, arrivalMs);
        jobs.add(id, arrivalMs, graph, ++versions);
        round.close();
    }

    /** Forgets a job, completed or not. Its arrival still counts. */
    public void removeJob(int id) {
        jobs.known(id);
        jobs.remove(jobs.place(id), timeMs);
        round.close();
    }

    /**
     * Gives a job another graph, whose first stages are those that it has: Spark learns of stages while a query runs. The
     * figures of these stay. A stage may get another number of tasks, as long as it has as many as are completed and run;
     * one whose duration is yet the rough one follows the new rough one.
     */
    public void setGraph(int id, JobGraph graph) {
        Job job = jobs.known(id);
        int known = job.numStages();
        if (graph.numStages() < known) {
            throw Refused.ofJob(id, "stages", graph.numStages() + " stages, but the job has " + known + " already");
        }
        for (int stage = 0; stage < known; stage++) {
            int launched = job.completed[stage] + job.executing[stage];
            if (graph.numTasks(stage) < launched) {
                throw Refused.ofStage(id, stage, "tasks",
                    graph.numTasks(stage) + " tasks, but " + launched + " of them have been launched");
            }
        }
        JobGraph before = job.graph;
        job.graph = graph;
        job.makeRoom(graph.numStages());
        for (int stage = 0; stage < known; stage++) {
            job.remaining[stage] = graph.numTasks(stage) - job.completed[stage] - job.executing[stage];
            if (isSame(job.recentMs[stage], before.roughMs(stage))) {
                job.recentMs[stage] = graph.roughMs(stage);
            }
        }
        for (int stage = known; stage < graph.numStages(); stage++) {
            job.beginStage(stage);
        }
        job.version = ++versions;
        round.close();
    }

    /** {@link #setStage(int, int, int, int, int, int, double)} of a stage whose last duration is its rough one. */
    public void setStage(int job, int stage, int completed, int running, int moving, int promised) {
        setStage(job, stage, completed, running, moving, promised, known(job, stage).graph.roughMs(stage));
    }

    /**
     * Says where a stage's tasks are. The executors that its job holds change by as much as the stage's; where that is not
     * so, {@link #setExecutors} says how many they are.
     *
     * @param completed tasks that have ended
     * @param running tasks that run, one per executor
     * @param moving executors on their way here
     * @param promised executors promised to the stage that have not set out
     * @param recentMs duration of the task launched last, ms
     */
    public void setStage(int job, int stage, int completed, int running, int moving, int promised, double recentMs) {
        Job j = known(job, stage);
        int tasks = j.graph.numTasks(stage);
        if (completed < 0 || completed > tasks) {
            throw Refused.ofStage(job, stage, "completed", completed + " tasks of " + tasks);
        }
        int left = tasks - completed;
        if (running < 0 || running > left) {
            throw Refused.ofStage(job, stage, "running",
                running + " tasks, but only " + left + " of its " + tasks + " are not completed");
        }
        if (moving < 0 || moving > numExecutors) {
            throw Refused.ofStage(job, stage, "moving", moving + " executors of " + numExecutors);
        }
        // Promises are kept until they are told to be over, and may come to more than the cluster has.
        if (promised < 0 || promised > MOST_EXECUTORS) {
            throw Refused.ofStage(job, stage, "promised", promised + " executors of " + MOST_EXECUTORS);
        }
        if (Refused.isNoTime(recentMs)) {
            throw Refused.ofStage(job, stage, "recent_ms", Refused.noTime(recentMs));
        }
        int remaining = left - running;
        if (j.remaining[stage] != remaining || j.completed[stage] != completed || j.executing[stage] != running
            || !isSame(j.recentMs[stage], recentMs)) {
            j.version = ++versions;
        }
        long more = (long) running + moving + promised - j.executors(stage);
        j.supply = (int) Math.max(0, Math.min(MOST_EXECUTORS, j.supply + more));
        j.attached = Math.max(0, j.attached + running - j.executing[stage]);
        j.remaining[stage] = remaining;
        j.completed[stage] = completed;
        j.executing[stage] = running;
        j.moving[stage] = moving;
        j.promised[stage] = promised;
        j.recentMs[stage] = recentMs;
        round.close();
    }

    /**
     * Says whether a stage may be chosen in no round, whatever its graph says, until the contrary is told: for engines that launch nothing from
     * a stage yet. In the JSON it counts as chosen.
     */
    public void setHeld(int job, int stage, boolean held) {
        known(job, stage).held[stage] = held;
        round.close();
    }

    private static boolean isSame(double a, double b) {
        return Double.doubleToRawLongBits(a) == Double.doubleToRawLongBits(b);
    }

    /**
     * Says how many executors a job holds: {@code supply} those that it keeps, that are on their way to it or promised to
     * it, {@code attached} those of them that are with it now. For a job that keeps executors without a task.
     */
    public void setExecutors(int id, int supply, int attached) {
        Job job = jobs.known(id);
        checkExecutors(id, "supply", supply);
        checkExecutors(id, "attached", attached);
        job.supply = supply;
        job.attached = attached;
        round.close();
    }

    private static void checkExecutors(int job, String name, int executors) {
        if (executors < 0 || executors > MOST_EXECUTORS) {
            throw Refused.ofJob(job, name, "must be in 0..=" + MOST_EXECUTORS + ", got " + executors);
        }
    }

    /**
     * Begins a round: offers executors that one source has freed. Says whether there is a question: whether a stage may
     * get some. It may if it wants more than it has and is promised, its parents want none, and its job holds fewer than
     * the cluster has (the source's job may always take up its own again). Each stage is chosen at most once in a round.
     *
     * @param again whether they have been offered before and have idled for long beside stages that could start
     */
    public boolean offer(Source source, int executors, boolean again) {
        round.check(source, executors);
        for (int place = 0; place < jobs.count(); place++) {
            Job job = jobs.at(place);
            System.arraycopy(job.held, 0, job.chosen, 0, job.numStages());
        }
        round.open(source, executors, again);
        return round.isOpen();
    }

    /**
     * Carries out an answer to the open question, as far as promises go. Says whether there is another question. What the
     * executors then do is told by {@link #setStage}.
     *
     * @throws IllegalStateException if no question is open
     * @throws IllegalArgumentException for a stage that may not be chosen, too many executors, or none
     */
    public boolean answer(int job, int stage, int executors) {
        round.answer(job, stage, executors);
        return round.isOpen();
    }

    /**
     * Gives nothing to anybody: the executors on offer go back to those that nobody owns, and the round ends. There is
     * never another question.
     */
    public boolean abstain() {
        round.checkOpen();
        round.close();
        return false;
    }

    /** Opens a question as a text tells it: with stages that were chosen before in the round. */
    void open(Source source, int executors, boolean again) {
        round.check(source, executors);
        round.open(source, executors, again);
    }

    /** A job that has such a stage. */
    Job known(int job, int stage) {
        Job found = jobs.known(job);
        if (stage < 0 || stage >= found.numStages()) {
            throw Refused.figure("stage " + stage + " of job " + job,
                "is unknown; the job's stages are 0..=" + (found.numStages() - 1));
        }
        return found;
    }

    /** Clock, ms. */
    public double timeMs() {
        return timeMs;
    }

    /** Size of the cluster. */
    public int numExecutors() {
        return numExecutors;
    }

    /** Number of jobs that are kept, completed ones included. */
    public int numJobs() {
        return jobs.count();
    }

    /** A job by its place among those that are kept, in order of arrival. */
    public Job jobAt(int place) {
        return jobs.at(place);
    }

    /** A job by its number; null for an unknown one. */
    public Job job(int id) {
        int place = jobs.place(id);
        return place < 0 ? null : jobs.at(place);
    }

    /** Jobs that arrived at or after a time, which lies within the last 100 s. */
    public int arrivedSince(double ms) {
        return jobs.arrivedSince(ms);
    }

    /** The question that is open, or how matters stood at the one asked last. */
    public Round round() {
        return round;
    }

    /** Whether a stage may be chosen at the open question. */
    public boolean mayChoose(int job, int stage) {
        for (int place = 0; place < round.numReady(); place++) {
            if (round.readyJob(place).id() == job && round.readyStage(place) == stage) {
                return true;
            }
        }
        return false;
    }

    /** Whether a question is open. */
    public boolean hasQuestion() {
        return round.isOpen();
    }

    /** Appends the state as the JSON of {@code docs/cluster-state.md}. Numbers read back as the same. */
    public void appendJson(StringBuilder out) {
        StateWriter.append(this, out);
    }
}
