package distill.test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import scala.Tuple2;

/** The plugin in one process: who is served first, and what goes wrong. */
final class InProcess extends Tests {
    private static final String RULE = "rule:fewest-tasks";

    InProcess(String master, String student) {
        super(master, student);
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
        test("a_shadow_changes_nothing_and_is_written_down", this::shadow);
        test("fair_pools_are_left_alone", () -> {
            App app = decide(student, "spark.scheduler.mode", "FAIR");
            mixed(app, 6);
            check(app.stop().isEmpty(), "the plugin counts, though it is not there");
        });
        test("who_waits_for_what_is_kept_waits_for_nothing", this::kept);
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
}
