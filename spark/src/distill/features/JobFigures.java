package distill.features;

import distill.state.ClusterState;
import distill.state.Job;
import distill.state.JobGraph;
import distill.state.Round;
import java.util.Arrays;

/** Figures of one active job and of its stages. The object is used again for another job. */
final class JobFigures {
    /** Counts are 32-bit numbers without a sign in the original, and stop at the largest. */
    private static final long MOST = 0xFFFF_FFFFL;

    private ClusterState state;
    private long version;
    Job job;
    int id;

    // What its tasks say, as long as its version stays:
    double workMs;
    long tasks;
    int stages;
    long running;
    /** Work and tasks along the path with most work. */
    double pathMs;
    long pathTasks;
    /** Share of the job's tasks already launched. */
    double progress;

    // The same of its stages, by number:
    double[] stageWorkMs = new double[16];
    /** Work on the path with most work from here on, this stage included, and its tasks. */
    double[] stagePathMs = new double[16];
    long[] stagePathTasks = new long[16];
    /** Whether the stage lies on its job's path with most work (the first such path). */
    boolean[] onPath = new boolean[16];
    private int[] nextOnPath = new int[16];

    // What belongs to the question:
    double ageMs;
    /** Schedulable stages: places among all of the question, from the first to before the end. */
    int firstReady;
    int endReady;
    long readyTasks;
    long readyDemand;
    double readyWorkMs;
    double smallestReadyMs;

    private static long sum(long a, long b) {
        return Math.min(a + b, MOST);
    }

    /** Remaining work ÷ tasks not launched. */
    double meanTaskMs() {
        return workMs / Math.max((double) tasks, 1);
    }

    /** Whether these are the figures of this moment of this job's tasks. */
    boolean areOf(ClusterState state, Job job) {
        return this.state == state && id == job.id() && version == job.version();
    }

    /** Works out what the tasks say. */
    void takeTasks(ClusterState state, Job job) {
        this.state = state;
        this.job = job;
        id = job.id();
        version = job.version();
        JobGraph graph = job.graph();
        begin(graph.numStages());
        long allTasks = 0;
        int head = -1;
        int[] topological = graph.topological();
        for (int place = topological.length - 1; place >= 0; place--) {
            int stage = topological[place];
            allTasks = sum(allTasks, graph.numTasks(stage));
            if (job.isComplete(stage)) {
                continue;
            }
            double work = job.workMs(stage);
            takeStage(job, stage, work);
            workMs += work;
            tasks = sum(tasks, job.remaining(stage));
            running = sum(running, job.executing(stage));
            stages++;
            if (stagePathMs[stage] > pathMs) {
                pathMs = stagePathMs[stage];
                pathTasks = stagePathTasks[stage];
                head = stage;
            }
        }
        for (; head >= 0; head = nextOnPath[head]) {
            onPath[head] = true;
        }
        progress = 1.0 - (double) tasks / (double) Math.max(allTasks, 1);
    }

    private void begin(int numStages) {
        if (stageWorkMs.length < numStages) {
            int room = Math.max(numStages, 2 * stageWorkMs.length);
            stageWorkMs = new double[room];
            stagePathMs = new double[room];
            stagePathTasks = new long[room];
            onPath = new boolean[room];
            nextOnPath = new int[room];
        } else {
            Arrays.fill(stageWorkMs, 0, numStages, 0);
            Arrays.fill(stagePathMs, 0, numStages, 0);
            Arrays.fill(stagePathTasks, 0, numStages, 0);
            Arrays.fill(onPath, 0, numStages, false);
        }
        workMs = 0;
        tasks = 0;
        stages = 0;
        running = 0;
        pathMs = 0;
        pathTasks = 0;
    }

    /** A stage whose children are known already. */
    private void takeStage(Job job, int stage, double work) {
        double most = work;
        long mostTasks = job.remaining(stage);
        int next = -1;
        for (int child : job.graph().children(stage)) {
            if (work + stagePathMs[child] > most) {
                most = work + stagePathMs[child];
                mostTasks = sum(job.remaining(stage), stagePathTasks[child]);
                next = child;
            }
        }
        stageWorkMs[stage] = work;
        stagePathMs[stage] = most;
        stagePathTasks[stage] = mostTasks;
        nextOnPath[stage] = next;
    }

    /** Works out what belongs to the question. */
    void takeQuestion(double nowMs, Job job, Round round, int firstReady, int endReady) {
        this.job = job;
        this.firstReady = firstReady;
        this.endReady = endReady;
        ageMs = nowMs - job.arrivalMs();
        readyTasks = 0;
        readyDemand = 0;
        readyWorkMs = 0;
        smallestReadyMs = Double.POSITIVE_INFINITY;
        for (int place = firstReady; place < endReady; place++) {
            int stage = round.readyStage(place);
            readyTasks = sum(readyTasks, job.remaining(stage));
            readyDemand = sum(readyDemand, job.demand(stage));
            readyWorkMs += job.workMs(stage);
            // The first of equals stays: durations may be −0.
            smallestReadyMs = job.workMs(stage) < smallestReadyMs ? job.workMs(stage) : smallestReadyMs;
        }
    }
}
