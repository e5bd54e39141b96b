package distill.test;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * The plugin in Spark, in one process: {@code LiveTest MASTER STUDENT [NAME ...]}. Each test is an application of its own; whatever the plugin does,
 * results have to be right and no task may be lost.
 */
public final class LiveTest {
    private static final String RULE = "rule:fewest-tasks";

    private interface Test {
        void run() throws Exception;
    }

    private final String master;
    private final String student;
    private final List<String> wanted;
    private int ran;
    private final List<String> failed = new ArrayList<>();

    private LiveTest(String master, String student, List<String> wanted) {
        this.master = master;
        this.student = student;
        this.wanted = wanted;
    }

    public static void main(String[] args) {
        LiveTest tests = new LiveTest(args[0], args[1], Arrays.asList(args).subList(2, args.length));
        if (args[0].startsWith("local[")) {
            tests.inProcess();
        } else {
            tests.onExecutors();
        }
        System.out.printf("%s: %d tests, %d failed %s%n", args[0], tests.ran, tests.failed.size(), tests.failed);
        System.exit(tests.failed.isEmpty() && tests.ran > 0 ? 0 : 1);
    }

    private void test(String name, Test test) {
        if (!wanted.isEmpty() && !wanted.contains(name)) {
            return;
        }
        ran++;
        long began = System.nanoTime();
        try {
            test.run();
            System.out.printf("ok   %s (%.1f s)%n", name, (System.nanoTime() - began) / 1e9);
        } catch (Throwable e) {
            failed.add(name);
            System.out.printf("FAIL %s (%.1f s): %s%n", name, (System.nanoTime() - began) / 1e9, e);
            e.printStackTrace(System.out);
        } finally {
            App.closeOpen();
        }
    }

    private static void check(boolean holds, Object... what) {
        if (!holds) {
            throw new AssertionError(Arrays.stream(what).map(String::valueOf).collect(Collectors.joining(" ")));
        }
    }

    private App app(String... settings) throws Exception {
        return new App(master, settings);
    }

    private App decide(String who, String... more) throws Exception {
        List<String> settings = new ArrayList<>(Arrays.asList("spark.distill.student", who, "spark.distill.mode", "decide"));
        settings.addAll(Arrays.asList(more));
        return app(settings.toArray(new String[0]));
    }

    /** Many jobs side by side; true if all results are right. */
    private static void mixed(App app, int jobs) throws Exception {
        List<Future<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < jobs; i++) {
            int tasks = 2 + 7 * i % 23;
            all.add(app.start(() -> app.sums("mixed " + tasks, tasks, 5)));
        }
        for (Future<Boolean> right : all) {
            check(right.get(120, TimeUnit.SECONDS), "a sum is wrong");
        }
    }

    private void inProcess() {
        test("small_queries_overtake_large_ones", () -> {
            // While one job of many tasks runs, small ones come: how long they take tells who is served first.
            double fifo = smallOnes("rule:fifo");
            double fewest = smallOnes(RULE);
            check(fewest < 0.6 * fifo, "small queries took", fewest, "s, in order of arrival", fifo, "s");
        });
        test("a_student_decides", () -> {
            App app = decide(student);
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("decisions") > 20 && counts.get("fallbacks") == 0, counts);
        });
        test("a_student_that_fails_costs_nothing_but_its_answers", () -> {
            App app = decide("distill.test.Students$Throws");
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("decisions") > 10 && counts.get("fallbacks") > 5, counts);
        });
        test("answers_that_cannot_be_are_refused", () -> {
            App app = decide("distill.test.Students$Wild");
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("fallbacks") > 10, counts);
        });
        test("after_three_late_answers_nobody_is_asked", () -> {
            App app = decide("distill.test.Students$Slow");
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("late") >= 3 && counts.get("late") <= 4 && counts.get("fallbacks") > 10, counts);
        });
        test("the_fallback_rule_holds_meanwhile", () -> {
            App app = decide("distill.test.Students$Slow", "spark.distill.fallback", RULE);
            mixed(app, 12);
            check(app.stop().get("fallbacks") > 10);
        });
        test("the_fallback_rule_holds_where_nobody_answers", () -> {
            double fifo = smallOnes("rule:fifo");
            double fallback = smallOnes("distill.test.Students$Wild", "spark.distill.fallback", RULE);
            check(fallback < 0.6 * fifo, "small queries took", fallback, "s by the fallback rule, in order of arrival", fifo, "s");
        });
        test("who_gives_nothing_strands_nobody", () -> {
            App app = decide("distill.test.Students$Abstains");
            mixed(app, 12);
            check(app.stop().get("decisions") > 10);
        });
        test("nobody_is_passed_over_for_ever", this::passedOver);
        test("tasks_that_fail_are_tried_again", () -> {
            App app = new App("local[4,3]", "spark.distill.student", student, "spark.distill.mode", "decide");
            Future<Boolean> right = app.start(() -> {
                List<Integer> all = app.spark.parallelize(App.numbers(20), 20).map(x -> {
                    if (TaskContext.get().attemptNumber() == 0 && x % 4 == 0) {
                        throw new IllegalStateException("on purpose");
                    }
                    return x;
                }).collect();
                return all.equals(App.numbers(20));
            });
            mixed(app, 6);
            check(right.get());
            check(app.stop().get("fallbacks") == 0);
        });
        test("a_job_that_fails_leaves_the_others_alone", () -> {
            App app = decide(student);
            Future<Boolean> fails = app.start(() -> {
                try {
                    app.spark.parallelize(App.numbers(20), 20).map(x -> 1 / (x - x)).collect();
                    return false;
                } catch (Exception e) {
                    return true;
                }
            });
            mixed(app, 8);
            check(fails.get());
            app.stop();
        });
        test("cancelled_jobs_go", () -> {
            App app = decide(student);
            Future<Boolean> cancelled = app.start(() -> {
                app.spark.setJobGroup("doomed", "doomed", true);
                try {
                    return !app.sums("doomed", 400, 50);
                } catch (Exception e) {
                    return true;
                }
            });
            mixed(app, 4);
            app.spark.cancelJobGroup("doomed");
            mixed(app, 8);
            check(cancelled.get());
            check(app.stop().get("fallbacks") == 0);
        });
        test("barrier_stages_start_as_a_whole", () -> {
            App app = decide(RULE);
            Future<Boolean> barrier = app.start(() -> {
                List<Integer> all = app.spark.parallelize(App.numbers(3), 3).rdd().barrier()
                        .mapPartitions(new Together(), false, scala.reflect.ClassTag$.MODULE$.apply(Integer.class)).toJavaRDD().collect();
                return all.equals(App.numbers(3));
            });
            mixed(app, 10);
            check(barrier.get());
            app.stop();
        });
        test("sessions_of_sql_side_by_side", () -> sql("true"));
        test("sql_without_adaptive_execution", () -> sql("false"));
        test("a_shadow_changes_nothing_and_is_written_down", this::shadow);
        test("a_profile_is_kept", this::profile);
        test("fair_pools_are_left_alone", () -> {
            App app = decide(student, "spark.scheduler.mode", "FAIR");
            mixed(app, 6);
            check(app.stop().isEmpty(), "the plugin counts, though it is not there");
        });
        test("what_waits_for_a_broadcast_is_known_to", this::broadcast);
        test("stages_are_known_by_what_they_read", this::shapes);
        test("who_waits_for_what_is_kept_waits_for_nothing", this::kept);
        test("stages_that_wait_for_each_other_in_a_profile_do_no_harm", this::circle);
        test("what_is_no_setting_is_refused", () -> {
            for (String[] wrong : new String[][] {{"spark.distill.sudent", "x"}, {"spark.distill.mode", "on"}, {"spark.distill.maxPassedOver", "0"},
                    {"spark.distill.student", "/nowhere/student.json"}, {"spark.distill.student", "no.such.Student"},
                    {"spark.distill.student", "unix:/nowhere/socket"}, {"spark.distill.log", "/nowhere/log"}, {"spark.task.cpus", "0.5"}}) {
                if (wrong[0].equals("spark.task.cpus") && !org.apache.spark.package$.MODULE$.SPARK_VERSION().startsWith("4.3")) {
                    continue;
                }
                List<String> settings = new ArrayList<>(Arrays.asList("spark.distill.student", student, "spark.distill.mode", "decide"));
                settings.addAll(Arrays.asList(wrong));
                App app = app(settings.toArray(new String[0]));
                mixed(app, 2);
                Map<String, Long> counts = app.stop();
                check(counts.getOrDefault("offers", 0L) == 0, "not refused:", String.join("=", wrong), counts);
            }
        });
        test("a_server_on_a_socket_decides_and_its_end_ends_nothing", this::socket);
        test("one_context_after_another", () -> {
            for (int i = 0; i < 3; i++) {
                App app = decide(student);
                mixed(app, 5);
                check(app.stop().get("decisions") > 0);
            }
        });
    }

    /** Waits for the others of its stage. */
    private static final class Together extends scala.runtime.AbstractFunction1<scala.collection.Iterator<Integer>, scala.collection.Iterator<Integer>>
            implements java.io.Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public scala.collection.Iterator<Integer> apply(scala.collection.Iterator<Integer> all) {
            BarrierTaskContext.get().barrier();
            return all;
        }
    }

    private double smallOnes(String who, String... more) throws Exception {
        App app = decide(who, more);
        Future<Boolean> large = app.start(() -> app.sums("large", 100, 40));
        Thread.sleep(200);
        List<Future<Double>> small = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            small.add(app.start(() -> {
                long began = System.nanoTime();
                check(app.sums("small", 2, 40));
                return (System.nanoTime() - began) / 1e9;
            }));
        }
        app.join();
        check(large.get());
        double sum = 0;
        for (Future<Double> took : small) {
            sum += took.get() / small.size();
        }
        app.stop();
        return sum;
    }

    /** Asks {@code distill serve}, which is killed in the middle. */
    private void socket() throws Exception {
        String program = System.getProperty("distill.program", "");
        if (program.isEmpty()) {
            System.out.println("NOT RUN: without -Ddistill.program=PATH nobody is there to ask");
            return;
        }
        // How many answers are late is the machine's business: on a busy one the first three can be, and nobody is asked for long.
        long decisions = 0;
        for (int turn = 0; turn < 3 && decisions == 0; turn++) {
            decisions = decisions(program);
        }
        check(decisions > 0, "no answer came in time");
    }

    /** Those of a server that ends; what comes behind them are fallbacks. */
    private long decisions(String program) throws Exception {
        Path socket = Files.createTempDirectory("distill-socket").resolve("socket");
        Process server = new ProcessBuilder(program, "serve", "--quiet", "--policy", "student:" + student, "--listen", "unix:" + socket)
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try {
            for (int i = 0; i < 400 && !Files.exists(socket); i++) {
                Thread.sleep(50);
            }
            App app = decide("unix:" + socket);
            mixed(app, 12);
            server.destroyForcibly().waitFor();
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("fallbacks") > 0, counts);
            return counts.get("decisions");
        } finally {
            server.destroyForcibly();
        }
    }

    /** A student that always prefers the newest job, and a stream of new jobs: the oldest still gets on. */
    private void passedOver() throws Exception {
        App app = decide("distill.test.Students$Last", "spark.distill.maxPassedOver", "20");
        AtomicInteger rest = new AtomicInteger(1);
        Future<Boolean> oldest = app.start(() -> {
            boolean right = app.sums("oldest", 12, 1);
            rest.set(0);
            return right;
        });
        Thread.sleep(5);
        for (int thread = 0; thread < 6; thread++) {
            app.start(() -> {
                for (int i = 0; i < 400 && rest.get() == 1; i++) {
                    check(app.sums("newer", 6, 5));
                }
                return true;
            });
        }
        app.join();
        check(oldest.get());
        Map<String, Long> counts = app.stop();
        check(counts.get("passedOver") > 0, "never was anybody put first", counts);
    }

    private void sql(String adaptive) throws Exception {
        Path log = Files.createTempDirectory("distill-sql").resolve("lines.jsonl");
        App app = decide(student, "spark.sql.adaptive.enabled", adaptive, "spark.sql.shuffle.partitions", "6", "spark.sql.autoBroadcastJoinThreshold", "-1",
                "spark.distill.log", log.toString());
        SparkSession first = SparkSession.builder().sparkContext(app.spark.sc()).getOrCreate();
        List<Future<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            SparkSession session = first.newSession();
            int n = 1000 * (i + 1);
            all.add(app.start(() -> {
                Dataset<Row> left = session.range(0, n, 1, 5).selectExpr("id", "id % 10 as k");
                Dataset<Row> right = session.range(0, n / 2, 1, 3).selectExpr("id as other", "id % 10 as k2");
                Row row = left.join(right, left.col("id").equalTo(right.col("other"))).groupBy("k").count().selectExpr("sum(`count`)").collectAsList().get(0);
                return row.getLong(0) == n / 2;
            }));
        }
        app.join();
        for (Future<Boolean> right : all) {
            check(right.get(), "a query is wrong");
        }
        Map<String, Long> counts = app.stop();
        SparkSession.clearActiveSession();
        SparkSession.clearDefaultSession();
        check(counts.get("fallbacks") == 0, counts);
        // Adaptive execution runs a stage as a job of its own, and the jobs behind it know it by its shuffle.
        List<String> lines = Files.readAllLines(log);
        check(lines.stream().anyMatch(line -> line.contains("\"parents\":[")), "no stage waits for another one in", lines.size(), "lines");
    }

    /** A table is broadcast, then read beside another one: two jobs, between which Spark tells of no edge. */
    private void broadcast() throws Exception {
        Path profile = Files.createTempDirectory("distill-broadcast").resolve("profile.json");
        App app = decide(student, "spark.sql.adaptive.enabled", "false", "spark.distill.profile", profile.toString());
        SparkSession session = SparkSession.builder().sparkContext(app.spark.sc()).getOrCreate();
        app.spark.sc().setJobDescription("joined");
        Dataset<Row> small = session.range(0, 50, 1, 3).selectExpr("id as other");
        Dataset<Row> large = session.range(0, 1000, 1, 5).toDF();
        Row row = large.join(org.apache.spark.sql.functions.broadcast(small), large.col("id").equalTo(small.col("other"))).selectExpr("count(*)")
                .collectAsList().get(0);
        check(row.getLong(0) == 50);
        check(app.stop().get("fallbacks") == 0);
        SparkSession.clearActiveSession();
        SparkSession.clearDefaultSession();
        JsonNode stages = new ObjectMapper().readTree(Files.readAllBytes(profile)).get("queries").get("joined");
        // Three tasks that broadcast, five that wait for them, one that counts.
        check(stages.size() == 3 && stages.get(0).get("tasks").asInt() == 3 && stages.get(1).get("tasks").asInt() == 5, stages);
        check(stages.get(1).get("parents").toString().equals("[0]") && stages.get(2).get("parents").toString().equals("[1]"), stages);
    }

    /** Two tables of as many files: their stages come in any order, and are told apart. */
    private void shapes() throws Exception {
        Path folder = Files.createTempDirectory("distill-shapes");
        Path profile = folder.resolve("profile.json");
        for (int run = 0; run < 3; run++) {
            App app = decide(student, "spark.distill.profile", profile.toString(), "spark.sql.autoBroadcastJoinThreshold", "-1",
                    "spark.sql.shuffle.partitions", "2");
            SparkSession session = SparkSession.builder().sparkContext(app.spark.sc()).getOrCreate();
            if (run == 0) {
                session.range(0, 60, 1, 3).selectExpr("id as a").write().parquet(folder.resolve("left").toString());
                session.range(0, 30, 1, 3).selectExpr("id as b").write().parquet(folder.resolve("right").toString());
            }
            Dataset<Row> left = session.read().parquet(folder.resolve("left").toString());
            Dataset<Row> right = session.read().parquet(folder.resolve("right").toString());
            app.spark.sc().setJobDescription("joined");
            check(left.join(right, left.col("a").equalTo(right.col("b"))).collectAsList().size() == 30);
            check(app.stop().get("fallbacks") == 0);
            SparkSession.clearActiveSession();
            SparkSession.clearDefaultSession();
            JsonNode stages = new ObjectMapper().readTree(Files.readAllBytes(profile)).get("queries").get("joined");
            check(stages.size() == 3 && !stages.get(0).get("shape").equals(stages.get(1).get("shape")), run, stages);
            for (JsonNode stage : stages) {
                check(stage.get("ended").asInt() == (run + 1) * stage.get("tasks").asInt(), run, stages);
            }
        }
    }

    /** The output of a stage is lost, but what was made of it is kept: Spark does not run it again. */
    private void kept() throws Exception {
        App app = decide(RULE);
        JavaRDD<Integer> kept = app.spark.parallelize(App.numbers(4), 4).mapToPair(x -> new Tuple2<>(x % 2, x)).reduceByKey((a, b) -> a + b, 2).values().cache();
        check(kept.count() == 2);
        ((MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker()).unregisterAllMapAndMergeOutput(0);
        Future<Double> large = app.start(() -> seconds(() -> app.sums("large", 100, 40)));
        Thread.sleep(200);
        double small = seconds(() -> kept.map(x -> {
            Thread.sleep(40);
            return x;
        }).count() == 2);
        check(small < 0.5 * large.get(), "a query of two tasks took", small, "s beside one of a hundred, which took", large.get(), "s");
        check(app.stop().get("fallbacks") == 0);
    }

    private static double seconds(java.util.concurrent.Callable<Boolean> work) throws Exception {
        long began = System.nanoTime();
        check(work.call());
        return (System.nanoTime() - began) / 1e9;
    }

    /** Runs of one query side by side can leave stages of one and of the other. */
    private void circle() throws Exception {
        Path profile = Files.createTempDirectory("distill-circle").resolve("profile.json");
        Files.write(profile, ("{\"format\": 1, \"queries\": {\"circle\": [{\"tasks\": 12, \"parents\": [], \"task_ms\": 50, \"ended\": 12}, "
                + "{\"tasks\": 77, \"parents\": [2], \"task_ms\": 5, \"ended\": 77}, {\"tasks\": 77, \"parents\": [1], \"task_ms\": 5, \"ended\": 77}]}}")
                .getBytes(java.nio.charset.StandardCharsets.UTF_8));
        App app = decide("rule:fifo", "spark.distill.profile", profile.toString());
        SparkSession session = SparkSession.builder().sparkContext(app.spark.sc()).getOrCreate();
        Future<Boolean> right = app.start(() -> {
            app.spark.sc().setJobDescription("circle");
            Dataset<Long> slow = session.range(0, 12, 1, 12).map((MapFunction<Long, Long>) x -> {
                Thread.sleep(50);
                return x % 7;
            }, Encoders.LONG());
            return slow.groupBy("value").count().collectAsList().size() == 7;
        });
        while (!right.isDone()) {
            Future<Boolean> beside = app.start(() -> app.sums("beside", 8, 50));
            check(app.sums("beside", 8, 50) && beside.get());
        }
        check(right.get());
        Map<String, Long> counts = app.stop();
        SparkSession.clearActiveSession();
        SparkSession.clearDefaultSession();
        check(counts.get("decisions") > 10 && counts.get("fallbacks") == 0, counts);
    }

    private void shadow() throws Exception {
        Path log = Files.createTempDirectory("distill-shadow").resolve("lines.jsonl");
        App app = app("spark.distill.student", student, "spark.distill.mode", "shadow", "spark.distill.log", log.toString());
        mixed(app, 14);
        Map<String, Long> counts = app.stop();
        List<String> lines = Files.readAllLines(log);
        check(lines.size() > 20 && lines.get(0).contains("reset"), "lines:", lines.size());
        check(lines.stream().skip(1).allMatch(line -> line.contains("\"state\":{") && line.contains("\"did\":[{") && line.endsWith("}")));
        check(counts.get("agreed") <= counts.get("decisions") && counts.get("decisions") >= lines.size() - 1 && counts.get("lostLines") == 0, counts,
                lines.size());
    }

    private void profile() throws Exception {
        Path profile = Files.createTempDirectory("distill-profile").resolve("profile.json");
        for (int run = 0; run < 2; run++) {
            App app = decide("rule:least-work", "spark.distill.profile", profile.toString());
            check(app.sums("known", 6, 20));
            app.stop();
            String text = new String(Files.readAllBytes(profile), java.nio.charset.StandardCharsets.UTF_8);
            check(text.contains("\"known\"") && text.contains("\"ended\" : " + 6 * (run + 1)), text);
        }
        Files.write(profile, "{\"format\": 7}".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        App app = decide("rule:least-work", "spark.distill.profile", profile.toString());
        check(app.sums("known", 6, 5));
        check(app.stop().getOrDefault("offers", 0L) == 0, "a profile that is none was taken");
        check(new String(Files.readAllBytes(profile), java.nio.charset.StandardCharsets.UTF_8).equals("{\"format\": 7}"), "it was overwritten");
    }

    private void onExecutors() {
        test("a_student_decides", () -> {
            App app = decide(student);
            mixed(app, 12);
            Map<String, Long> counts = app.stop();
            check(counts.get("decisions") > 20 && counts.get("fallbacks") == 0, counts);
        });
        test("executors_that_die_and_stages_that_are_tried_again", () -> {
            Path mark = Files.createTempDirectory("distill-dies");
            App app = decide(student, "spark.stage.maxConsecutiveAttempts", "10", "spark.task.maxFailures", "10");
            String dir = mark.toString();
            Future<Boolean> right = app.start(() -> {
                List<Tuple2<Integer, Integer>> sums =
                        app.spark.parallelize(App.numbers(12), 12).mapToPair(x -> new Tuple2<>(x % 3, x)).reduceByKey((a, b) -> a + b, 3).mapToPair(t -> {
                            // The first reducer takes its executor with it, and the outputs of the stage before.
                            if (java.nio.file.Files.exists(java.nio.file.Paths.get(dir)) && new java.io.File(dir, "died").createNewFile()) {
                                Runtime.getRuntime().halt(7);
                            }
                            return t;
                        }).collect();
                return sums.stream().mapToInt(Tuple2::_2).sum() == 66;
            });
            mixed(app, 8);
            check(right.get());
            check(Files.exists(mark.resolve("died")), "nobody died");
            check(app.stop().get("fallbacks") == 0);
        });
        test("tasks_wait_for_data_near_by_and_others_run", () -> {
            App app = decide(student, "spark.locality.wait", "1s");
            JavaRDD<Integer> kept = app.spark.parallelize(App.numbers(8), 8).cache();
            check(kept.count() == 8);
            Future<Boolean> right = app.start(() -> {
                for (int i = 0; i < 3; i++) {
                    check(kept.map(x -> {
                        Thread.sleep(50);
                        return x;
                    }).collect().equals(App.numbers(8)));
                }
                return true;
            });
            mixed(app, 8);
            check(right.get());
            check(app.stop().get("fallbacks") == 0);
        });
        if (master.startsWith("spark://")) {
            // Copies run on another host than the task, and the workers of a local cluster are one.
            test("copies_of_slow_tasks_run", () -> {
                App app = decide(student, "spark.speculation", "true", "spark.speculation.interval", "100ms", "spark.speculation.multiplier", "1.5",
                        "spark.speculation.quantile", "0.5");
                mixed(app, 3);
                Future<Double> took = app.start(() -> {
                    long began = System.nanoTime();
                    List<Integer> all = app.spark.parallelize(App.numbers(8), 8).map(x -> {
                        Thread.sleep(x == 3 && TaskContext.get().attemptNumber() == 0 ? 20_000 : 100);
                        return x;
                    }).collect();
                    check(all.equals(App.numbers(8)));
                    return (System.nanoTime() - began) / 1e9;
                });
                mixed(app, 6);
                check(took.get() < 19.0, "no copy of a task that took 20 s:", took.get());
                app.stop();
            });
            test("copies_of_slow_tasks_are_not_passed_over_for_ever", () -> {
                App app = decide("distill.test.Students$Last", "spark.speculation", "true", "spark.speculation.interval", "100ms",
                        "spark.speculation.multiplier", "1.5", "spark.speculation.quantile", "0.5", "spark.distill.maxPassedOver", "20");
                Future<Double> took = app.start(() -> {
                    long began = System.nanoTime();
                    app.spark.parallelize(App.numbers(2), 2).map(x -> {
                        Thread.sleep(x == 1 && TaskContext.get().attemptNumber() == 0 ? 20_000 : 100);
                        return x;
                    }).collect();
                    double s = (System.nanoTime() - began) / 1e9;
                    app.spark.sc().cancelAllJobs();
                    return s;
                });
                Thread.sleep(1000);
                for (int job = 0; job < 2; job++) {
                    // Slots are never left over meanwhile.
                    app.start(() -> {
                        try {
                            app.sums("newer", 2000, 50);
                        } catch (Exception e) {
                            check(e.getMessage().contains("cancelled"), e);
                        }
                        return true;
                    });
                }
                app.join();
                check(took.get() < 19.0, "no copy beside those who come later:", took.get());
                app.stop();
            });
        }
        test("executors_come_and_go", () -> {
            App app = decide(student, "spark.dynamicAllocation.enabled", "true", "spark.dynamicAllocation.shuffleTracking.enabled", "true",
                    "spark.dynamicAllocation.minExecutors", "1", "spark.dynamicAllocation.initialExecutors", "1",
                    "spark.dynamicAllocation.maxExecutors", "3", "spark.dynamicAllocation.executorIdleTimeout", "1s",
                    "spark.dynamicAllocation.shuffleTracking.timeout", "1s", "spark.dynamicAllocation.schedulerBacklogTimeout", "1s");
            mixed(app, 8);
            Thread.sleep(3000);
            mixed(app, 8);
            check(app.stop().get("fallbacks") == 0);
        });
    }
}
