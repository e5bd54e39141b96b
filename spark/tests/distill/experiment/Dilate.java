package distill.experiment;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.executor.TaskMetrics;

/**
 * Makes tasks last longer than they compute, so that a few cores stand for many: a task ends {@code 1 + spark.dilate.factor} times after the time of a core
 * that it takes, and sleeps for what of that it does not compute. So it takes as long beside others as alone, as long as they do not keep it from a core for
 * longer than that.
 *
 * <p>What it takes is what it took in earlier runs, in the mean, if {@code spark.dilate.times} names a file of such: else one run would have more work than
 * another, by a tenth or two, as the machine is now slower and now faster. The file is written at the end where it is not there. A task is known by the
 * description of its query, its partition, and how much it reads and writes.
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

    /** Mean time of a core, ns. */
    private static final class Mean {
        private double ns;
        private long count;

        synchronized void add(double value) {
            count++;
            ns += (value - ns) / count;
        }
    }

    /** A task that runs. */
    private static final class Running {
        final TaskContext context = TaskContext.get();
        final long cpuNs;
        final long ns = System.nanoTime();

        Running(long cpuNs) {
            this.cpuNs = cpuNs;
        }

        /** What tells it from others of its query, in every run. */
        String name() {
            TaskMetrics metrics = context.taskMetrics();
            return context.getLocalProperty("spark.job.description") + " " + context.partitionId() + " " + metrics.inputMetrics().recordsRead() + " "
                + metrics.shuffleReadMetrics().recordsRead() + " " + metrics.shuffleWriteMetrics().recordsWritten();
        }
    }

    private static final class Executor implements ExecutorPlugin {
        private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        private final ThreadLocal<Running> running = new ThreadLocal<>();
        private final Map<String, Mean> took = new ConcurrentHashMap<>();
        private double factor;
        private Path times;
        private boolean writes;
        private final AtomicLong tasks = new AtomicLong();
        private final AtomicLong unknown = new AtomicLong();

        @Override
        public void init(PluginContext context, Map<String, String> extra) {
            factor = context.conf().getDouble("spark.dilate.factor", 0.0);
            String file = context.conf().get("spark.dilate.times", "");
            if (file.isEmpty()) {
                return;
            }
            times = Path.of(file);
            writes = !Files.exists(times);
            if (!writes) {
                try {
                    for (String line : Files.readAllLines(times)) {
                        int end = line.lastIndexOf('\t');
                        took.computeIfAbsent(line.substring(0, end), name -> new Mean()).add(Double.parseDouble(line.substring(end + 1)));
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }

        /** Is called by the task's thread. */
        @Override
        public void onTaskStart() {
            running.set(new Running(threads.getCurrentThreadCpuTime()));
        }

        /** So is this, before the driver hears of its end. */
        @Override
        public void onTaskSucceeded() {
            Running task = running.get();
            double ns = threads.getCurrentThreadCpuTime() - task.cpuNs;
            tasks.incrementAndGet();
            if (writes) {
                took.computeIfAbsent(task.name(), name -> new Mean()).add(ns);
            } else {
                Mean known = took.get(task.name());
                ns = known == null ? ns : known.ns;
                unknown.addAndGet(known == null ? 1 : 0);
            }
            sleep(task, ns);
        }

        @Override
        public void onTaskFailed(TaskFailedReason reason) {
            Running task = running.get();
            sleep(task, threads.getCurrentThreadCpuTime() - task.cpuNs);
        }

        private void sleep(Running task, double cpuNs) {
            double left = (1 + factor) * cpuNs - (System.nanoTime() - task.ns);
            try {
                Thread.sleep((long) (Math.max(0, left) / 1e6));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void shutdown() {
            if (times == null) {
                return;
            }
            if (!writes) {
                System.err.println("tasks of which it is not known what they take: " + unknown + " of " + tasks);
                return;
            }
            List<String> lines = new ArrayList<>();
            took.forEach((name, mean) -> lines.add(name + "\t" + mean.ns));
            try {
                Files.write(times, lines);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
