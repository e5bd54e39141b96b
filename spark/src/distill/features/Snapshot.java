package distill.features;

import distill.state.ClusterState;
import distill.state.Job;
import distill.state.Round;
import java.util.Arrays;

/**
 * One pass over the cluster at a question: what the features of all levels are made of. What only the tasks of a job say
 * is kept until these change.
 */
public final class Snapshot {
    private JobFigures[] jobs = new JobFigures[16];
    private int numJobs;
    /** Those of the question before. */
    private JobFigures[] old = new JobFigures[16];
    private int numOld;
    /** Places in {@code jobs} of those with a schedulable stage: the candidates of the job level. */
    private int[] candidates = new int[16];
    private int numCandidates;
    private double[] sorted = new double[16];

    ClusterState state;
    Round round;
    double totalWorkMs;
    /** Largest over median remaining work of a job. */
    double workSpread;

    /** Takes in the cluster at a question. */
    public void update(ClusterState state) {
        this.state = state;
        round = state.round();
        JobFigures[] before = old;
        old = jobs;
        numOld = numJobs;
        jobs = before;
        numJobs = 0;
        numCandidates = 0;
        int active = round.numActive();
        makeRoom(active);
        int nextReady = 0;
        int nextOld = 0;
        for (int place = 0; place < active; place++) {
            Job job = round.active(place);
            // Both lists are in order of arrival.
            while (nextOld < numOld && old[nextOld].id < job.id()) {
                nextOld++;
            }
            int firstReady = nextReady;
            while (nextReady < round.numReady() && round.readyJob(nextReady) == job) {
                nextReady++;
            }
            JobFigures figures = figures(job, nextOld);
            figures.takeQuestion(state.timeMs(), job, round, firstReady, nextReady);
            if (nextReady > firstReady) {
                candidates[numCandidates++] = numJobs;
            }
            jobs[numJobs++] = figures;
        }
        sumUp();
    }

    private void makeRoom(int active) {
        if (candidates.length < active) {
            int room = Math.max(active, 2 * candidates.length);
            jobs = Arrays.copyOf(jobs, room);
            old = Arrays.copyOf(old, room);
            candidates = new int[room];
            sorted = new double[room];
        }
    }

    /** The figures of a job's tasks: those of the question before, if nothing has happened to these since. */
    private JobFigures figures(Job job, int inOld) {
        JobFigures unused = jobs[numJobs];
        if (inOld < numOld && old[inOld].areOf(state, job)) {
            JobFigures same = old[inOld];
            // Whoever looks for the next jobs there passes over this one, whatever it holds.
            old[inOld] = unused == null ? new JobFigures() : unused;
            old[inOld].id = job.id();
            return same;
        }
        JobFigures figures = unused == null ? new JobFigures() : unused;
        figures.takeTasks(state, job);
        return figures;
    }

    private void sumUp() {
        totalWorkMs = 0;
        for (int place = 0; place < numJobs; place++) {
            totalWorkMs += jobs[place].workMs;
            sorted[place] = jobs[place].workMs;
        }
        Ranks.sort(sorted, numJobs);
        double median = (sortedAt(Math.max(0, numJobs - 1) / 2) + sortedAt(numJobs / 2)) / 2.0;
        workSpread = (numJobs == 0 ? 0.0 : sorted[numJobs - 1]) / Math.max(median, 1);
    }

    private double sortedAt(int place) {
        return place < numJobs ? sorted[place] : 0.0;
    }

    /** Number of active jobs. */
    int numJobs() {
        return numJobs;
    }

    /** Number of jobs with a schedulable stage: the candidates of the job level, in order of arrival. */
    public int numCandidates() {
        return numCandidates;
    }

    /** The place of a candidate job among the active jobs. */
    int place(int candidate) {
        return candidates[candidate];
    }

    JobFigures candidate(int candidate) {
        return jobs[candidates[candidate]];
    }

    /** A candidate job. */
    public Job candidateJob(int candidate) {
        return candidate(candidate).job;
    }

    /** Number of schedulable stages of a candidate job. */
    public int numStages(int candidate) {
        JobFigures job = candidate(candidate);
        return job.endReady - job.firstReady;
    }

    /** The number of a schedulable stage of a candidate job, by its place among these. */
    public int stage(int candidate, int place) {
        return round.readyStage(candidate(candidate).firstReady + place);
    }
}
