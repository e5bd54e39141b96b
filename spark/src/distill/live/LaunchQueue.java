package distill.live;

import org.apache.spark.scheduler.TaskSetManager;
import scala.Function1;
import scala.collection.mutable.ArrayBuffer;

/**
 * The task sets of an offer in the order in which Spark is to launch from them, each with a quota. Spark walks the queue once to look, and
 * once to launch: it takes a task set and launches from it until nothing fits or nothing is pending. So a quota is kept by telling Spark in
 * the middle of that walk that the task set launches nothing more, in Spark's own words: it is a zombie, until the walk goes on. All of that
 * happens under the lock of Spark's scheduler.
 *
 * <p>Compiled against one Scala line and run under others: what is overridden here has the same descriptor in all of them.
 */
final class LaunchQueue extends ArrayBuffer<TaskSetManager> {
    private static final long serialVersionUID = 1L;
    /** No quota: as many as fit. */
    static final int ANY = Integer.MAX_VALUE;

    private final transient TaskSetManager[] sets;
    private final transient int[] quotas;
    private final transient LaunchTurns turns;

    /** {@code sets} and {@code quotas} are kept, not copied. A set may come twice. */
    LaunchQueue(TaskSetManager[] sets, int[] quotas, LaunchTurns turns) {
        this.sets = sets;
        this.quotas = quotas;
        this.turns = turns;
        for (TaskSetManager set : sets) {
            Scala.append(this, set);
        }
    }

    /** Spark's own order, in which nobody has a quota. */
    static LaunchQueue unlimited(ArrayBuffer<TaskSetManager> own, LaunchTurns turns) {
        TaskSetManager[] sets = new TaskSetManager[own.size()];
        int[] quotas = new int[sets.length];
        for (int i = 0; i < sets.length; i++) {
            sets[i] = own.apply(i);
            quotas[i] = ANY;
        }
        return new LaunchQueue(sets, quotas, turns);
    }

    @Override
    public <U> void foreach(Function1<TaskSetManager, U> visit) {
        try {
            for (int i = 0; i < sets.length; i++) {
                turns.begin(sets[i], quotas[i]);
                try {
                    visit.apply(sets[i]);
                } finally {
                    turns.end();
                }
            }
        } finally {
            turns.walked();
        }
    }
}
