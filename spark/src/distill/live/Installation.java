package distill.live;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.FIFOSchedulableBuilder;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulingMode;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/** Puts the plugin's pool in the place of Spark's root pool, or leaves Spark alone and says why. */
public final class Installation implements AutoCloseable {
    /** The lines of Spark that the tests run. */
    private static final List<String> VERSIONS = Arrays.asList("3.5", "4.0", "4.1", "4.2", "4.3");

    /** How long the end waits for what Spark has to tell. */
    private static final long LAST_WORDS_MS = 1000;

    private final Settings settings;
    private final Durations durations;
    /** Takes in what has been told since the last offer. */
    private final Runnable drain;
    private final Decider decider;
    private final Lines lines;
    private final Numbers numbers;

    private Installation(Settings settings, Durations durations, Runnable drain, Decider decider, Lines lines, Numbers numbers) {
        this.settings = settings;
        this.durations = durations;
        this.drain = drain;
        this.decider = decider;
        this.lines = lines;
        this.numbers = numbers;
    }

    /** Takes over a context whose scheduler has started; null, and the context is as it was, if that cannot be. */
    public static Installation of(SparkContext context, ClusterListener listener, MetricRegistry metrics) {
        try {
            return install(context, listener, metrics);
        } catch (Exception | LinkageError e) {
            context.removeSparkListener(listener);
            Log.warn("distill leaves Spark's scheduling alone: " + e.getMessage(), e instanceof Refusal ? null : e);
            return null;
        }
    }

    /** Something that the operator can change. */
    private static final class Refusal extends Exception {
        private static final long serialVersionUID = 1L;

        Refusal(String why) {
            super(why);
        }
    }

    private static Installation install(SparkContext context, ClusterListener listener, MetricRegistry metrics) throws Exception {
        Settings settings;
        try {
            settings = Settings.of(context.getConf());
        } catch (IllegalArgumentException e) {
            throw new Refusal(e.getMessage());
        }
        TaskSchedulerImpl scheduler = check(context);
        Durations durations;
        Numbers numbers = new Numbers(metrics);
        Lines lines;
        try {
            durations = Durations.read(settings.profile);
            lines = settings.log == null ? null : new Lines(settings.log, numbers);
        } catch (IOException e) {
            throw new Refusal(e.getMessage());
        }
        Queries queries = new Queries(context.dagScheduler(), durations);
        Decider decider = null;
        try {
            listener.setCpusPerTask(cpusPerTask(context));
            try {
                decider = Deciders.of(settings, queries);
                decider.warm();
            } catch (IOException | IllegalArgumentException e) {
                throw new Refusal(Settings.PREFIX + "student: " + e.getMessage());
            }
            Asking asking = new Asking(decider, settings.fallback == null ? null : new RuleDecider(settings.fallback, queries), numbers);
            takeOver(scheduler, settings, listener, queries, asking, lines, numbers);
        } catch (Exception | LinkageError e) {
            if (decider != null) {
                decider.close();
            }
            if (lines != null) {
                lines.close();
            }
            throw e;
        }
        Log.info("distill: " + settings.words() + ", Spark " + context.version());
        Runnable drain = () -> {
            try {
                // What the last tasks took is still under way.
                context.listenerBus().waitUntilEmpty(LAST_WORDS_MS);
            } catch (Exception | LinkageError e) {
                Log.warn("the profile may lack the last tasks: " + e);
            }
            synchronized (scheduler) {
                listener.drain(queries);
            }
        };
        return new Installation(settings, durations, drain, decider, lines, numbers);
    }

    private static void takeOver(TaskSchedulerImpl scheduler, Settings settings, ClusterListener listener, Queries queries, Asking asking, Lines lines,
            Numbers numbers) throws ReflectiveOperationException {
        Slots slots = new Slots(queries, listener, settings.release);
        Mirror mirror = new Mirror(queries);
        Questions questions = new Questions(lines);
        Offers.Clock clock = new Offers.Clock();
        Offers.Way way = settings.mode == Settings.Mode.SHADOW
                ? new Shadowing(queries, slots, mirror, asking, questions, numbers, clock)
                : new Deciding(queries, slots, mirror, asking, questions, numbers, clock, settings.maxPassedOver);
        DistillPool pool = new DistillPool(new Offers(numbers, queries, listener, slots, mirror, asking, way, clock));
        rehearse(pool);
        replace(scheduler, pool);
    }

    private static TaskSchedulerImpl check(SparkContext context) throws Refusal {
        String version = context.version();
        String[] parts = version.split("\\.");
        String line = parts.length < 2 ? version : parts[0] + "." + parts[1];
        if (!VERSIONS.contains(line)) {
            throw new Refusal("this is Spark " + version + "; it is made for " + String.join(", ", VERSIONS));
        }
        TaskScheduler scheduler = context.taskScheduler();
        if (!(scheduler instanceof TaskSchedulerImpl)) {
            throw new Refusal("the scheduler is " + scheduler + "; wanted is Spark's own, TaskSchedulerImpl");
        }
        TaskSchedulerImpl own = (TaskSchedulerImpl) scheduler;
        if (!own.schedulingMode().equals(SchedulingMode.FIFO())) {
            throw new Refusal("spark.scheduler.mode is " + own.schedulingMode() + ": the shares of FAIR pools are a promise that a student would break; "
                    + "set it to FIFO, or take the plugin out");
        }
        if (!own.rootPool().getClass().equals(Pool.class)) {
            throw new Refusal("another plugin has replaced Spark's root pool by " + own.rootPool().getClass().getName());
        }
        return own;
    }

    private static int cpusPerTask(SparkContext context) throws Refusal {
        String cpus = context.getConf().get("spark.task.cpus", "1");
        try {
            int whole = Integer.parseInt(cpus);
            if (whole >= 1) {
                return whole;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new Refusal("spark.task.cpus is " + cpus + "; a slot is one task, of whole cores");
    }

    /** A queue without a task set goes through what Spark does with it, so that what does not fit is found here. */
    private static void rehearse(DistillPool pool) {
        LaunchQueue queue = new LaunchQueue(new TaskSetManager[0], new int[0], new LaunchTurns(new LaunchTurns.Ear() {
            @Override
            public void launched(TaskSetManager set, int tasks) {}

            @Override
            public void walked() {}
        }));
        queue.foreach(new scala.runtime.AbstractFunction1<TaskSetManager, Object>() {
            @Override
            public Object apply(TaskSetManager set) {
                return null;
            }
        });
        Scala.append(queue, null);
        if (queue.size() != 1 || queue.apply(0) != null || !pool.getSortedTaskSetQueue().isEmpty()) {
            throw new IllegalStateException("a queue of Spark is not what it was");
        }
    }

    private static void replace(TaskSchedulerImpl scheduler, Pool pool) throws ReflectiveOperationException {
        Field root = field("rootPool");
        Field builder = field("schedulableBuilder");
        synchronized (scheduler) {
            // There is no job yet, but a session that was very quick loses nothing.
            for (Schedulable waiting : scheduler.rootPool().schedulableQueue()) {
                pool.addSchedulable(waiting);
            }
            root.set(scheduler, pool);
            builder.set(scheduler, new FIFOSchedulableBuilder(pool));
        }
    }

    private static Field field(String name) throws NoSuchFieldException {
        Field field = TaskSchedulerImpl.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** The application ends. */
    @Override
    public void close() {
        Log.info("distill: " + numbers.words());
        decider.close();
        if (lines != null) {
            lines.close();
        }
        if (settings.profile != null) {
            try {
                drain.run();
                durations.write(settings.profile);
            } catch (IOException e) {
                Log.warn("the profile cannot be written: " + e);
            }
        }
    }
}
