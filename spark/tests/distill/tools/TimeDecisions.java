package distill.tools;

import com.fasterxml.jackson.databind.JsonNode;
import distill.json.Fields;
import distill.state.ClusterState;
import distill.state.JobGraph;
import distill.state.Source;
import distill.student.StudentScheduler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * How long decisions take, rows and student together: {@code TimeDecisions FILE STUDENT}.
 *
 * <p>First the questions of a file of states, one of each after the other, so that nothing is known of a state from the
 * question before. Then a drawn state of 30 jobs and 200 stages that may be chosen, in which one job changes between
 * questions, as on a cluster.
 */
public final class TimeDecisions {
    private static final int WARM_UP = 20_000;
    private static final int MEASURED = 20_000;
    private static final int EXECUTORS = 100;

    private TimeDecisions() {}

    /** Prints medians and 99th percentiles. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("TimeDecisions FILE STUDENT");
            System.exit(2);
        }
        StudentScheduler scheduler = new StudentScheduler(StateRows.student(args[1]));
        List<ClusterState> open = new ArrayList<>();
        for (String text : StateRows.lines(Path.of(args[0]), 10)) {
            JsonNode line = Fields.parse(text);
            ClusterState state = line.has("state") ? StateRows.read(line, null) : null;
            if (state != null && state.hasQuestion()) {
                open.add(state);
            }
        }
        long[] times = new long[MEASURED];
        for (int i = -WARM_UP; i < MEASURED; i++) {
            ClusterState state = open.get(Math.floorMod(i, open.size()));
            long start = System.nanoTime();
            scheduler.decide(state);
            times[Math.max(i, 0)] = System.nanoTime() - start;
        }
        report(open.size() + " states of the file", times);
        ClusterState state = drawn();
        int[] completed = new int[30];
        for (int i = -WARM_UP; i < MEASURED; i++) {
            int job = Math.floorMod(i, 30);
            // One task more or less has ended.
            completed[job] = 1 - completed[job];
            state.setStage(job, 0, completed[job], 1, 0, 0, 1000 + job);
            if (!state.offer(Source.ofJob(job), 20, false) || state.round().numReady() < 200) {
                throw new IllegalStateException("the drawn state has " + state.round().numReady() + " stages to choose");
            }
            long start = System.nanoTime();
            scheduler.decide(state);
            times[Math.max(i, 0)] = System.nanoTime() - start;
        }
        report("30 jobs, " + state.round().numReady() + " stages to choose", times);
    }

    private static void report(String what, long[] times) {
        Arrays.sort(times);
        System.out.printf("%s: median %.1f µs, 99th percentile %.1f µs%n", what, times[times.length / 2] / 1e3,
            times[times.length * 99 / 100] / 1e3);
    }

    /** Thirty jobs, each of seven stages that may be chosen and three that wait for these. */
    private static ClusterState drawn() {
        Random random = new Random(1);
        ClusterState state = new ClusterState(EXECUTORS);
        state.setTime(1e6);
        for (int job = 0; job < 30; job++) {
            int[] tasks = new int[10];
            double[] roughMs = new double[10];
            int[][] parents = new int[10][];
            for (int stage = 0; stage < 10; stage++) {
                tasks[stage] = 5 + random.nextInt(100);
                roughMs[stage] = 100 + random.nextInt(10_000);
                parents[stage] = stage < 7 ? new int[0] : new int[] {stage - 7, stage - 6, stage - 1};
            }
            state.addJob(job, 1e6 - 30_000 + 1000 * job, new JobGraph("", tasks, roughMs, parents));
            state.setStage(job, 1, random.nextInt(2), random.nextInt(3), 0, 0, 500);
        }
        return state;
    }
}
