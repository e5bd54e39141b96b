package distill.state;

import java.util.Arrays;

/**
 * One job of a {@link ClusterState} and where the tasks of its stages are. It is lent for reading: the state alone
 * changes it, and uses the object again for another job after this one was removed.
 */
public final class Job {
    int id;
    JobGraph graph;
    double arrivalMs;
    /** The executor count that schedulers see. */
    int supply;
    /** Executors attached to the job. */
    int attached;
    /** Stages not completed, as of the question asked last. */
    int incomplete;
    /** Changes whenever a task is launched or ends. No other moment of the same state has it. */
    long version;

    // By stage.
    /** Tasks not launched. */
    int[] remaining = new int[0];
    int[] completed = new int[0];
    int[] executing = new int[0];
    /** Executors on their way. */
    int[] moving = new int[0];
    /** Executors promised that have not set out. */
    int[] promised = new int[0];
    double[] recentMs = new double[0];
    /** Chosen in the present round. */
    boolean[] chosen = new boolean[0];
    /** Never to be chosen, as told. */
    boolean[] held = new boolean[0];
    // By stage, as of the question asked last.
    int[] unsaturatedParents = new int[0];
    int[] incompleteParents = new int[0];

    Job() {}

    /** Begins a job of which no task has been launched. */
    void begin(int id, double arrivalMs, JobGraph graph, long version) {
        this.id = id;
        this.arrivalMs = arrivalMs;
        this.version = version;
        supply = 0;
        attached = 0;
        incomplete = graph.numStages();
        this.graph = graph;
        makeRoom(graph.numStages());
        for (int stage = 0; stage < graph.numStages(); stage++) {
            beginStage(stage);
        }
    }

    /** Room for so many stages; what is there stays. */
    void makeRoom(int stages) {
        if (remaining.length >= stages) {
            return;
        }
        int room = Math.max(stages, 2 * remaining.length);
        remaining = Arrays.copyOf(remaining, room);
        completed = Arrays.copyOf(completed, room);
        executing = Arrays.copyOf(executing, room);
        moving = Arrays.copyOf(moving, room);
        promised = Arrays.copyOf(promised, room);
        recentMs = Arrays.copyOf(recentMs, room);
        chosen = Arrays.copyOf(chosen, room);
        held = Arrays.copyOf(held, room);
        unsaturatedParents = Arrays.copyOf(unsaturatedParents, room);
        incompleteParents = Arrays.copyOf(incompleteParents, room);
    }

    void beginStage(int stage) {
        remaining[stage] = graph.numTasks(stage);
        completed[stage] = 0;
        executing[stage] = 0;
        moving[stage] = 0;
        promised[stage] = 0;
        recentMs[stage] = graph.roughMs(stage);
        chosen[stage] = false;
        held[stage] = false;
        unsaturatedParents[stage] = 0;
        incompleteParents[stage] = 0;
    }

    /** Tasks not launched, less executors on their way and promised; below 0 where there are too many of these. */
    long wanted(int stage) {
        return (long) remaining[stage] - moving[stage] - promised[stage];
    }

    /** Whether a stage wants no more executors. */
    boolean isSaturated(int stage) {
        return wanted(stage) <= 0;
    }

    /** Works out what follows from the figures of the stages. */
    void refresh() {
        incomplete = 0;
        int n = numStages();
        for (int stage = 0; stage < n; stage++) {
            int waits = 0;
            int wants = 0;
            for (int parent : graph.parents(stage)) {
                waits += isComplete(parent) ? 0 : 1;
                wants += isSaturated(parent) ? 0 : 1;
            }
            incompleteParents[stage] = waits;
            unsaturatedParents[stage] = wants;
            incomplete += isComplete(stage) ? 0 : 1;
        }
    }

    /** Job number. */
    public int id() {
        return id;
    }

    /** What it declares: stages, edges, rough durations. */
    public JobGraph graph() {
        return graph;
    }

    /** Arrival time, ms. */
    public double arrivalMs() {
        return arrivalMs;
    }

    /** Executors that it keeps, that are on their way to it or promised to it. */
    public int supply() {
        return supply;
    }

    /** Executors that are with it. */
    public int attached() {
        return attached;
    }

    /** Changes whenever a task is launched or ends; no other moment of the same state has the same. */
    public long version() {
        return version;
    }

    /** Number of stages, completed ones included. */
    public int numStages() {
        return graph.numStages();
    }

    /** Tasks of a stage that are not launched. */
    public int remaining(int stage) {
        return remaining[stage];
    }

    /** Tasks of a stage that have ended. */
    public int completed(int stage) {
        return completed[stage];
    }

    /** Tasks of a stage that run. */
    public int executing(int stage) {
        return executing[stage];
    }

    /** Executors promised to a stage that have not set out. */
    public int promised(int stage) {
        return promised[stage];
    }

    /** Duration of the task launched last, ms; before any launch the rough estimate. */
    public double recentMs(int stage) {
        return recentMs[stage];
    }

    /** Remaining work of a stage: tasks not launched × most recent duration, ms. */
    public double workMs(int stage) {
        return remaining[stage] * recentMs[stage];
    }

    /** Executors that a stage still wants: tasks not launched, less executors on their way and promised. */
    public int demand(int stage) {
        return (int) Math.max(0, wanted(stage));
    }

    /** Executors at a stage, on their way, or promised to it. */
    public int executors(int stage) {
        return executing[stage] + moving[stage] + promised[stage];
    }

    /** No fewer executors than were promised to a stage in this round. */
    int promisedInRound(int stage) {
        return chosen[stage] ? promised[stage] : 0;
    }

    /** Whether all tasks of a stage have ended. */
    public boolean isComplete(int stage) {
        return completed[stage] == graph.numTasks(stage);
    }

    /** Parents of a stage that have not completed; while there are any, no task of it can start. */
    public int incompleteParents(int stage) {
        return incompleteParents[stage];
    }

    /** Whether a stage could get executors as far as its graph goes: it wants some and its parents want none. */
    boolean isReady(int stage) {
        return !isSaturated(stage) && unsaturatedParents[stage] == 0;
    }
}
