package distill.test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** An application of a test: a context with the plugin, jobs side by side, and what the plugin counted. */
final class App implements AutoCloseable {
    private static App open;

    final JavaSparkContext spark;
    private final Path metrics;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> running = new ArrayList<>();

    /** {@code settings} are pairs of names and values; without a student there is no plugin. */
    App(String master, String... settings) throws IOException {
        metrics = Files.createTempDirectory("distill-metrics");
        SparkConf conf = new SparkConf(false).setMaster(master).setAppName("test").set("spark.ui.enabled", "false")
                .set("spark.executor.memory", "512m").set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.metrics.conf.driver.sink.csv.class", "org.apache.spark.metrics.sink.CsvSink")
                .set("spark.metrics.conf.driver.sink.csv.directory", metrics.toString())
                .set("spark.metrics.conf.driver.sink.csv.period", "1000");
        for (int i = 0; i < settings.length; i += 2) {
            conf.set(settings[i], settings[i + 1]);
        }
        if (conf.contains("spark.distill.student")) {
            conf.set("spark.plugins", "distill.Plugin");
        }
        String classes = System.getProperty("distill.executor.classes");
        if (!master.startsWith("local[") && classes != null) {
            conf.set("spark.executor.extraClassPath", classes);
        }
        spark = new JavaSparkContext(conf);
        open = this;
    }

    /** Lets something run beside the rest. */
    <T> Future<T> start(Callable<T> work) {
        Future<T> future = threads.submit(work);
        running.add(future);
        return future;
    }

    /** Waits for all that was started; what went wrong there goes wrong here. */
    void join() throws Exception {
        for (Future<?> future : running) {
            future.get(120, TimeUnit.SECONDS);
        }
        running.clear();
    }

    /** The numbers 0, 1, ... as one partition each, of tasks that sleep, then summed by rest in two tasks. True if the sums are right. */
    boolean sums(String name, int tasks, int sleepMs) {
        spark.sc().setJobDescription(name);
        List<Tuple2<Integer, Integer>> sums = spark.parallelize(numbers(tasks), tasks).mapToPair(x -> {
            Thread.sleep(sleepMs);
            return new Tuple2<>(x % 3, x);
        }).reduceByKey((a, b) -> a + b, 2).collect();
        Map<Integer, Integer> wanted = new HashMap<>();
        numbers(tasks).forEach(x -> wanted.merge(x % 3, x, Integer::sum));
        return sums.stream().collect(Collectors.toMap(Tuple2::_1, Tuple2::_2)).equals(wanted);
    }

    static List<Integer> numbers(int n) {
        return IntStream.range(0, n).boxed().collect(Collectors.toList());
    }

    /** Ends the application; what the plugin counted, by name. Empty if there was no plugin. */
    Map<String, Long> stop() throws IOException {
        close();
        Map<String, Long> counts = new HashMap<>();
        try (Stream<Path> files = Files.list(metrics)) {
            for (Path file : files.collect(Collectors.toList())) {
                String name = file.getFileName().toString();
                String mark = ".plugin.distill.Plugin.";
                int at = name.indexOf(mark);
                if (at >= 0) {
                    List<String> lines = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().collect(Collectors.toList());
                    counts.put(name.substring(at + mark.length(), name.length() - ".csv".length()),
                            Long.parseLong(lines.get(lines.size() - 1).split(",")[1]));
                }
            }
        }
        return counts;
    }

    /** Ends what a test that failed has left. */
    static void closeOpen() {
        if (open != null) {
            open.close();
        }
    }

    @Override
    public void close() {
        open = null;
        spark.stop();
        threads.shutdown();
    }
}
