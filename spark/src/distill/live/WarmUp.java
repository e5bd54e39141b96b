package distill.live;

import distill.state.ClusterState;
import distill.state.JobGraph;
import distill.state.Source;

/** Questions about a made-up cluster, so that what answers is compiled before the first question that counts. */
final class WarmUp {
    private static final long MOST_NS = 300_000_000;
    private static final int ROUNDS = 2_000;

    private WarmUp() {}

    static void run(Decider decider) throws Exception {
        ClusterState state = new ClusterState(8);
        state.setTime(10_000);
        for (int job = 0; job < 6; job++) {
            int[] tasks = {4 + job, 2, 3, 1};
            double[] roughMs = {100 + job, 200, 50, 10};
            state.addJob(job, 1_000.0 * job, new JobGraph("warm", tasks, roughMs, new int[][] {{}, {0}, {0}, {1, 2}}));
        }
        Assignments answers = new Assignments();
        long began = System.nanoTime();
        for (int i = 0; i < ROUNDS && System.nanoTime() - began < MOST_NS; i++) {
            for (int job = 0; job < 6; job++) {
                state.setStage(job, 0, i % 3, 1, 0, 0, 100 + i % 7);
            }
            if (state.offer(i % 2 == 0 ? Source.COMMON : Source.ofJob(i % 6), 1 + i % 3, false)) {
                answers.clear();
                decider.answer(state, answers);
            }
        }
    }
}
