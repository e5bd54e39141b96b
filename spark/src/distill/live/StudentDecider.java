package distill.live;

import distill.state.ClusterState;
import distill.state.JobGraph;
import distill.state.Source;
import distill.student.ClassStudent;
import distill.student.Student;
import distill.student.StudentReader;
import distill.student.StudentScheduler;
import java.io.IOException;
import java.nio.file.Path;

/** A student in this process. */
final class StudentDecider implements Decider {
    private static final long WARM_NS = 300_000_000;
    private static final int WARM_ROUNDS = 2_000;

    private final StudentScheduler scheduler;

    private StudentDecider(Student student) {
        scheduler = new StudentScheduler(student);
    }

    static StudentDecider ofFile(Path file) throws IOException {
        return new StudentDecider(StudentReader.load(file));
    }

    static StudentDecider ofClass(String name, ClassLoader loader) {
        return new StudentDecider(ClassStudent.load(name, loader));
    }

    @Override
    public void answer(ClusterState state, Assignments out) {
        boolean open = state.hasQuestion();
        while (open) {
            if (scheduler.decide(state)) {
                out.add(scheduler.job(), scheduler.stage(), scheduler.executors());
                open = state.answer(scheduler.job(), scheduler.stage(), scheduler.executors());
            } else {
                out.abstain();
                open = state.abstain();
            }
        }
    }

    /** Lets it decide on a made-up cluster, so that its code is compiled before the first question that counts. */
    @Override
    public void warm() {
        ClusterState state = new ClusterState(8);
        state.setTime(10_000);
        for (int job = 0; job < 6; job++) {
            int[] tasks = {4 + job, 2, 3, 1};
            double[] roughMs = {100 + job, 200, 50, 10};
            state.addJob(job, 1_000.0 * job, new JobGraph("warm", tasks, roughMs, new int[][] {{}, {0}, {0}, {1, 2}}));
        }
        Assignments answers = new Assignments();
        long began = System.nanoTime();
        for (int i = 0; i < WARM_ROUNDS && System.nanoTime() - began < WARM_NS; i++) {
            int job = i % 6;
            for (int j = 0; j < 6; j++) {
                state.setStage(j, 0, i % 3, 1, 0, 0, 100 + i % 7);
            }
            if (state.offer(i % 2 == 0 ? Source.COMMON : Source.ofJob(job), 1 + i % 3, false)) {
                answers.clear();
                answer(state, answers);
            }
        }
    }
}
