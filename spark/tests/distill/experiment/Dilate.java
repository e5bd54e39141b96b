package distill.experiment;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Makes tasks last longer than they compute: each sleeps {@code spark.dilate.factor} times the time of a core that it took, and keeps its slot meanwhile. So
 * a few cores stand for many.
 */
public final class Dilate implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return null;
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    private static final class Executor implements ExecutorPlugin {
        private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        private final ThreadLocal<Long> began = new ThreadLocal<>();
        private double factor;

        @Override
        public void init(PluginContext context, Map<String, String> extra) {
            factor = context.conf().getDouble("spark.dilate.factor", 0.0);
        }

        /** Is called by the task's thread. */
        @Override
        public void onTaskStart() {
            began.set(threads.getCurrentThreadCpuTime());
        }

        /** So is this, before the driver hears of its end. */
        @Override
        public void onTaskSucceeded() {
            sleep();
        }

        @Override
        public void onTaskFailed(TaskFailedReason reason) {
            sleep();
        }

        private void sleep() {
            long cpu = threads.getCurrentThreadCpuTime() - began.get();
            try {
                Thread.sleep((long) (factor * cpu / 1e6));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
