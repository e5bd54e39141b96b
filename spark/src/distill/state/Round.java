package distill.state;

import java.util.Arrays;

/**
 * The questions of a round: who may get executors that are on offer, and what follows from the figures of a state. It is
 * lent for reading; {@link ClusterState} opens and answers questions.
 */
public final class Round {
    private static final int MOST_EXECUTORS = 1 << 20;

    private final ClusterState state;
    private Source source = Source.COMMON;
    /** Executors on offer. */
    private int committable;
    private boolean again;
    private int busy;
    private int moving;
    /** The source's job if it is active. */
    private Job sourceJob;
    // Arrived, uncompleted jobs in order of arrival.
    private Job[] active = new Job[16];
    private int numActive;
    // The stages of the open question: jobs in order of arrival, stages by number.
    private Job[] readyJobs = new Job[16];
    private int[] readyStages = new int[16];
    private int numReady;

    Round(ClusterState state) {
        this.state = state;
    }

    void close() {
        numReady = 0;
    }

    boolean isOpen() {
        return numReady > 0;
    }

    void checkOpen() {
        if (!isOpen()) {
            throw new IllegalStateException("no question is open; no decision is expected");
        }
    }

    /** Checks an offer; changes nothing. */
    void check(Source source, int executors) {
        int most = state.numExecutors;
        if (executors < 1 || executors > most) {
            throw Refused.figure("offered", "must be in 1..=" + most + " executors, got " + executors);
        }
        if (source != Source.COMMON) {
            try {
                state.known(source.job(), Math.max(source.stage(), 0));
            } catch (IllegalArgumentException e) {
                throw Refused.figure("source", e.getMessage());
            }
        }
        long atWork = 0;
        for (int place = 0; place < state.jobs.count(); place++) {
            Job job = state.jobs.at(place);
            for (int stage = 0; stage < job.numStages(); stage++) {
                atWork += job.executing[stage] + job.moving[stage];
            }
        }
        if (atWork + state.movingElsewhere > most) {
            throw Refused.figure("num_executors",
                atWork + " executors run tasks or are on their way; there are " + most);
        }
    }

    /** Opens a question that has been checked. */
    void open(Source source, int executors, boolean again) {
        this.source = source;
        committable = executors;
        this.again = again;
        refresh();
    }

    void answer(int job, int stage, int executors) {
        checkOpen();
        int place = 0;
        while (place < numReady && !(readyJobs[place].id == job && readyStages[place] == stage)) {
            place++;
        }
        if (place == numReady) {
            throw Refused.figure("at " + state.timeMs() + " ms",
                "stage " + stage + " of job " + job + " is not schedulable; schedulable are " + few());
        }
        if (executors < 1 || executors > committable) {
            throw Refused.figure("at " + state.timeMs() + " ms", executors + " executors for stage " + stage + " of job "
                + job + "; allowed are 1..=" + committable);
        }
        Job chosen = readyJobs[place];
        int given = Math.min(executors, chosen.demand(stage));
        chosen.promised[stage] += given;
        chosen.chosen[stage] = true;
        if (source.job() != job) {
            chosen.supply = Math.min(chosen.supply + given, MOST_EXECUTORS);
        }
        committable -= given;
        refresh();
    }

    private String few() {
        StringBuilder names = new StringBuilder();
        for (int place = 0; place < Math.min(numReady, 8); place++) {
            names.append(place > 0 ? ", " : "").append("stage ").append(readyStages[place]).append(" of job ")
                .append(readyJobs[place].id);
        }
        return names.append(numReady > 8 ? ", ..." : "").toString();
    }

    /** Works out what follows from the figures of stages, the source and the offer. */
    private void refresh() {
        numActive = 0;
        numReady = 0;
        busy = 0;
        moving = (int) state.movingElsewhere;
        sourceJob = null;
        for (int place = 0; place < state.jobs.count(); place++) {
            Job job = state.jobs.at(place);
            job.refresh();
            int n = job.numStages();
            for (int stage = 0; stage < n; stage++) {
                busy += job.executing[stage];
                moving += job.moving[stage];
            }
            if (job.incomplete > 0) {
                addActive(job);
                if (job.id == source.job()) {
                    sourceJob = job;
                }
                if (committable > 0 && (job.supply < state.numExecutors || job == sourceJob)) {
                    for (int stage = 0; stage < n; stage++) {
                        if (job.isReady(stage) && !job.chosen[stage]) {
                            addReady(job, stage);
                        }
                    }
                }
            }
        }
    }

    private void addActive(Job job) {
        if (numActive == active.length) {
            active = Arrays.copyOf(active, 2 * numActive);
        }
        active[numActive++] = job;
    }

    private void addReady(Job job, int stage) {
        if (numReady == readyJobs.length) {
            readyJobs = Arrays.copyOf(readyJobs, 2 * numReady);
            readyStages = Arrays.copyOf(readyStages, 2 * numReady);
        }
        readyJobs[numReady] = job;
        readyStages[numReady++] = stage;
    }

    /** Whose executors are on offer. */
    public Source source() {
        return source;
    }

    /** The job that releases the executors, if it is still active; else null. */
    public Job sourceJob() {
        return sourceJob;
    }

    /** Executors on offer; at least 1 at an open question. */
    public int committable() {
        return committable;
    }

    /** Whether the executors on offer have idled beside work for long, and are therefore offered again. */
    public boolean isOfferedAgain() {
        return again;
    }

    /** Number of stages that may be chosen; 0 if no question is open. */
    public int numReady() {
        return numReady;
    }

    /** The job of a stage that may be chosen, by the stage's place: jobs in order of arrival, then stages by number. */
    public Job readyJob(int place) {
        return readyJobs[place];
    }

    /** The number of a stage that may be chosen, by its place. */
    public int readyStage(int place) {
        return readyStages[place];
    }

    /** Number of arrived, uncompleted jobs. */
    public int numActive() {
        return numActive;
    }

    /** An arrived, uncompleted job, by its place in order of arrival. */
    public Job active(int place) {
        return active[place];
    }

    /** Executors that run a task. */
    public int busyExecutors() {
        return busy;
    }

    /** Executors on their way to a stage. */
    public int movingExecutors() {
        return moving;
    }

    /**
     * Executors that a job may get at this question: all on offer if it is the source's job, else no more than lift its
     * supply to the size of the cluster.
     */
    public int room(Job job) {
        return job == sourceJob ? committable : Math.min(Math.max(0, state.numExecutors - job.supply), committable);
    }

    /** Size of the cluster. */
    int numExecutors() {
        return state.numExecutors;
    }

    /** The job that owns the source, active or not. */
    Job owner() {
        return state.job(source.job());
    }
}
