package distill.live;

import org.apache.spark.scheduler.TaskSetManager;

/**
 * Whose turn it is to launch while Spark walks a {@link LaunchQueue}, and how many tasks it may still launch. Told of launches by the pool.
 */
final class LaunchTurns {
    /** Told, at the end of each walk over a queue, what was launched since the last walk. */
    interface Ear {
        void launched(TaskSetManager set, int tasks);

        void walked();
    }

    private final Ear ear;
    private TaskSetManager current;
    private int left;
    private int launched;
    private boolean stopped;
    private int walks;

    LaunchTurns(Ear ear) {
        this.ear = ear;
    }

    /** A new queue is about to be walked. */
    void offered() {
        walks = 0;
    }

    void begin(TaskSetManager set, int quota) {
        current = set;
        left = quota;
        launched = 0;
        // Before it launches, Spark walks once to tell task sets of new executors: no zombie would hear it. A set that must be launched as a
        // whole is not cut.
        if (quota <= 0 && walks > 0 && !set.isBarrier()) {
            stop();
        }
    }

    /** Tasks have been launched from the task set whose turn it is. */
    void launched(int tasks) {
        if (current == null) {
            return;
        }
        launched += tasks;
        if (left != LaunchQueue.ANY && !current.isBarrier()) {
            left -= tasks;
            if (left <= 0) {
                stop();
            }
        }
    }

    private void stop() {
        if (!stopped && !current.isZombie()) {
            stopped = true;
            current.isZombie_$eq(true);
        }
    }

    void end() {
        TaskSetManager set = current;
        current = null;
        if (stopped) {
            stopped = false;
            set.isZombie_$eq(false);
        }
        if (launched > 0) {
            ear.launched(set, launched);
        }
    }

    void walked() {
        walks++;
        ear.walked();
    }
}
