package distill.live;

import java.util.List;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.ArrayBuffer;

/**
 * What happens at an offer of cores, whoever decides. Everything here runs under the scheduler's lock, and nothing that goes wrong leaves it: the
 * answer then is Spark's own order.
 */
final class Offers implements LaunchTurns.Ear {
    /** Who decides. */
    interface Way {
        /** The queue of an offer of {@code free} slots, in which {@code own} is Spark's order. */
        LaunchQueue before(ArrayBuffer<TaskSetManager> own, int free, LaunchTurns turns);

        /** Spark has launched so many tasks, of which each stage knows its own. */
        void after(int launched, int free);
    }

    private final Numbers numbers;
    private final Queries queries;
    private final ClusterListener listener;
    private final Slots slots;
    private final Mirror mirror;
    private final Asking asking;
    private final Way way;
    private final Clock clock;

    private int free;
    private int launched;
    /** Walks that Spark has made over the queue of this offer; the second launches. */
    private int walks;
    private boolean broken;

    Offers(Numbers numbers, Queries queries, ClusterListener listener, Slots slots, Mirror mirror, Asking asking, Way way, Clock clock) {
        this.numbers = numbers;
        this.queries = queries;
        this.listener = listener;
        this.slots = slots;
        this.mirror = mirror;
        this.asking = asking;
        this.way = way;
        this.clock = clock;
    }

    /** A task set has come; on the thread of the DAG scheduler. */
    void added(TaskSetManager set) {
        try {
            queries.added(set, clock.ms());
        } catch (Exception | LinkageError | StackOverflowError e) {
            failed(e);
        }
    }

    void removed(TaskSetManager set) {
        try {
            queries.removed(set);
        } catch (Exception | LinkageError | StackOverflowError e) {
            failed(e);
        }
    }

    /** The task sets of an offer in order. */
    ArrayBuffer<TaskSetManager> order(ArrayBuffer<TaskSetManager> own, LaunchTurns turns) {
        long began = System.nanoTime();
        try {
            listener.drain(queries);
            queries.forget();
            if (own.isEmpty()) {
                return own;
            }
            if (broken) {
                mirror.startAnew();
                broken = false;
            }
            free = slots.look();
            launched = 0;
            walks = 0;
            LaunchQueue queue = way.before(own, free, turns);
            turns.offered();
            if (free > 0) {
                numbers.offers.inc();
                numbers.offerMicros.update((System.nanoTime() - began) / 1000);
            }
            return queue;
        } catch (Exception | LinkageError | StackOverflowError e) {
            failed(e);
            return own;
        }
    }

    @Override
    public void launched(TaskSetManager set, int tasks) {
        QueryStage stage = queries.of(set);
        if (stage != null) {
            stage.launched += tasks;
        }
        launched += tasks;
    }

    @Override
    public void walked() {
        walks++;
        if (walks == 1) {
            return;
        }
        try {
            way.after(launched, free);
            launched = 0;
            slots.remember();
        } catch (Exception | LinkageError | StackOverflowError e) {
            failed(e);
        }
    }

    private void failed(Throwable why) {
        broken = true;
        numbers.fallbacks.inc();
        asking.complain("something that the plugin does not understand", why);
    }

    /** Time since the plugin began. */
    static final class Clock {
        private final long beganNs = System.nanoTime();

        double ms() {
            return (System.nanoTime() - beganNs) / 1e6;
        }
    }
}
