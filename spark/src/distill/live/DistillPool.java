package distill.live;

import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulingMode;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.ArrayBuffer;

/** The root pool: first in, first out as Spark's own, but that {@link Offers} is asked for the order of each offer. */
final class DistillPool extends Pool {
    private final Offers offers;
    private final LaunchTurns turns;

    DistillPool(Offers offers) {
        super("", SchedulingMode.FIFO(), 0, 0);
        this.offers = offers;
        this.turns = new LaunchTurns(offers);
    }

    /** Called by the scheduler with each offer of cores, under its lock. */
    @Override
    public ArrayBuffer<TaskSetManager> getSortedTaskSetQueue() {
        ArrayBuffer<TaskSetManager> own = super.getSortedTaskSetQueue();
        return offers.order(own, turns);
    }

    /** Called on the thread of the DAG scheduler, whose graphs can be read here, under the scheduler's lock. */
    @Override
    public void addSchedulable(Schedulable added) {
        super.addSchedulable(added);
        if (added instanceof TaskSetManager) {
            offers.added((TaskSetManager) added);
        }
    }

    @Override
    public void removeSchedulable(Schedulable removed) {
        super.removeSchedulable(removed);
        if (removed instanceof TaskSetManager) {
            offers.removed((TaskSetManager) removed);
        }
    }

    @Override
    public void increaseRunningTasks(int tasks) {
        super.increaseRunningTasks(tasks);
        turns.launched(tasks);
    }
}
