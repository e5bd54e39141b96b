package distill.live;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.TaskSetManager;

/** A stage of a query, and what Spark's task sets say of it. */
final class QueryStage {
    final Query query;
    /** Its number within the query. */
    final int number;
    /** Spark's number; -1 while it is only expected from earlier runs. */
    int sparkId;
    int tasks;
    /** Whose output it reads. */
    int[] parents;
    /** What it does ({@link Shape}). */
    String shape;
    /** What a task is thought to take, ms. */
    double roughMs;
    /** What the task that ended last took, ms; NaN before one has. */
    double recentMs = Double.NaN;
    /** Task sets of its attempts that are with the scheduler, the latest last. */
    final List<TaskSetManager> sets = new ArrayList<>(2);
    int completed;
    /** Whether its latest attempt has made all outputs; an older one may still run. */
    boolean made;
    int running;
    /** Tasks that ran when the last offer had been answered. */
    int ranBefore;
    /** What the state was told of it last. */
    final Told told = new Told();
    /** Slots that its tasks freed since then. */
    int freed;
    /** Slots that stay with it in this offer. */
    int kept;
    /** Slots that it was given in this offer, those kept among them. */
    int quota;
    /** Whether Spark would have launched a task of it when it was looked at. */
    boolean open;
    /** Slots that it got in an earlier round of this offer. */
    int promised;
    /** Tasks that it launched in this offer. */
    int launched;
    /** Tasks that others launched since it last launched one, while it had some to launch. */
    long passedOver;

    QueryStage(Query query, int number, int sparkId, int tasks, int[] parents, String shape, double roughMs) {
        this.query = query;
        this.number = number;
        this.sparkId = sparkId;
        this.tasks = tasks;
        this.parents = parents;
        this.shape = shape;
        this.roughMs = roughMs;
    }

    /** The task set that launches tasks, or null. */
    TaskSetManager live() {
        return sets.isEmpty() ? null : sets.get(sets.size() - 1);
    }

    /** Tasks that run, those of all attempts and all copies. */
    int runs() {
        int runs = 0;
        for (int i = 0; i < sets.size(); i++) {
            runs += sets.get(i).runningTasks();
        }
        return runs;
    }

    /** Takes in what its task sets say. */
    void look() {
        TaskSetManager live = live();
        open = live != null && live.isSchedulable();
        if (live == null || made) {
            running = 0;
        } else {
            // A further attempt has the missing tasks alone.
            completed = Math.max(0, tasks - live.numTasks() + live.tasksSuccessful());
            // Copies of slow tasks run beside them, and tasks of an attempt that was given up run on.
            running = Math.min(runs(), tasks - completed);
        }
    }

    /** Whether Spark would launch a task of it, beside those that it has slots for. */
    boolean canLaunch() {
        return open && pending() > kept;
    }

    /** Whether it waits for a slot: with tasks, or with copies of slow ones, which nobody is asked about. */
    boolean waits() {
        return open && (pending() == 0 || pending() > kept);
    }

    /** Tasks that wait to be launched. */
    int pending() {
        return tasks - completed - running;
    }

    double duration() {
        return Double.isNaN(recentMs) ? roughMs : recentMs;
    }

    /** What a state was told of a stage: of most nothing has changed from one offer to the next. */
    static final class Told {
        private int completed = -1;
        private int running;
        private int promised;
        private double duration;
        private boolean canLaunch;

        /** Whether there is something to tell, which then counts as told. */
        boolean differs(QueryStage now, int runningNow) {
            boolean same = completed == now.completed && running == runningNow && promised == now.promised && duration == now.duration()
                && canLaunch == now.canLaunch();
            completed = now.completed;
            running = runningNow;
            promised = now.promised;
            duration = now.duration();
            canLaunch = now.canLaunch();
            return !same;
        }

        /** The state has changed by itself, or is another one. */
        void forget() {
            completed = -1;
        }
    }
}
