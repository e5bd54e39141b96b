package distill.live;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.TaskInfo;

/**
 * What Spark tells of executors, tasks and jobs, a little after it happened; kept until the scheduler's lock is held. It has to listen before the
 * scheduler starts: executors that are there by then are told of once.
 */
public final class ClusterListener extends SparkListener {
    private static final String SQL_END = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd";

    private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();
    private final Map<String, Integer> slotsOf = new HashMap<>();
    private int cpusPerTask = 1;
    private int slots;
    private Method executionId;

    /** What is to be told of it. */
    private interface Event {
        void tell(Queries queries);
    }

    void setCpusPerTask(int cpus) {
        cpusPerTask = cpus;
    }

    /** Takes in what has been told. Called under the scheduler's lock. */
    void drain(Queries queries) {
        for (Event event = events.poll(); event != null; event = events.poll()) {
            event.tell(queries);
        }
    }

    /** Tasks that can run at once. */
    int slots() {
        return slots;
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded added) {
        String id = added.executorId();
        int cores = added.executorInfo().totalCores();
        events.add(queries -> {
            int own = cores / cpusPerTask;
            Integer old = slotsOf.put(id, own);
            slots += own - (old == null ? 0 : old);
        });
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
        String id = removed.executorId();
        events.add(queries -> {
            Integer old = slotsOf.remove(id);
            slots -= old == null ? 0 : old;
        });
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd ended) {
        TaskInfo info = ended.taskInfo();
        if (info != null && info.successful()) {
            int stage = ended.stageId();
            // Clocks may be set back.
            double ms = Math.max(0, info.duration());
            events.add(queries -> queries.taskEnded(stage, ms));
        }
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd ended) {
        int job = ended.jobId();
        events.add(queries -> queries.jobEnded(job));
    }

    /** The end of a SQL execution is told in a class of another module, which need not be there. */
    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        if (!event.getClass().getName().equals(SQL_END)) {
            return;
        }
        try {
            if (executionId == null) {
                executionId = event.getClass().getMethod("executionId");
            }
            long execution = (Long) executionId.invoke(event);
            events.add(queries -> queries.sqlEnded(execution));
        } catch (ReflectiveOperationException | ClassCastException e) {
            // The query then counts as one that may still grow: it waits for nothing, and costs a little memory.
            executionId = null;
        }
    }
}
