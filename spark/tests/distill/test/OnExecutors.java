package distill.test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import scala.Tuple2;

/** The plugin where executors are processes of their own, under a local cluster or a master with two workers. */
final class OnExecutors extends Tests {
    OnExecutors(String master, String student) {
        super(master, student);
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
                waitForBothWorkers(app);
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
                waitForBothWorkers(app);
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

    /** A copy is not run where its task is. */
    private static void waitForBothWorkers(App app) throws InterruptedException {
        // The driver is among them.
        int executors = 0;
        for (int i = 0; i < 600 && executors < 3; i++) {
            Thread.sleep(100);
            executors = app.spark.sc().statusTracker().getExecutorInfos().length;
        }
        check(executors >= 3, "after 60 s one of two workers still has no executor");
    }
}
