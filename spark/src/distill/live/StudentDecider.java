package distill.live;

import distill.state.ClusterState;
import distill.student.ClassStudent;
import distill.student.Student;
import distill.student.StudentReader;
import distill.student.StudentScheduler;
import java.io.IOException;
import java.nio.file.Path;

/** A student in this process. */
final class StudentDecider implements Decider {
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

    @Override
    public void warm() throws Exception {
        WarmUp.run(this);
    }
}
