package distill.live;

import java.util.Arrays;

/** The answers of a round, in order; reused from one round to the next. */
final class Assignments {
    private int[] jobs = new int[16];
    private int[] stages = new int[16];
    private int[] executors = new int[16];
    private int count;
    private boolean abstained;

    void clear() {
        count = 0;
        abstained = false;
    }

    void add(int job, int stage, int given) {
        if (count == jobs.length) {
            jobs = Arrays.copyOf(jobs, 2 * count);
            stages = Arrays.copyOf(stages, 2 * count);
            executors = Arrays.copyOf(executors, 2 * count);
        }
        jobs[count] = job;
        stages[count] = stage;
        executors[count] = given;
        count++;
    }

    void abstain() {
        abstained = true;
    }

    int count() {
        return count;
    }

    int job(int place) {
        return jobs[place];
    }

    int stage(int place) {
        return stages[place];
    }

    int executors(int place) {
        return executors[place];
    }

    boolean abstained() {
        return abstained;
    }

    /** As the protocol writes decisions. */
    void appendJson(StringBuilder out) {
        out.append('[');
        for (int i = 0; i < count; i++) {
            out.append(i == 0 ? "" : ",").append("{\"do\":\"assign\",\"job\":").append(jobs[i]).append(",\"stage\":").append(stages[i])
                    .append(",\"executors\":").append(executors[i]).append('}');
        }
        if (abstained) {
            out.append(count == 0 ? "" : ",").append("{\"do\":\"abstain\"}");
        }
        out.append(']');
    }
}
