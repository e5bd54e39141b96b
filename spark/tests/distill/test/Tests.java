package distill.test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Tests of the plugin in Spark. Each is an application of its own; whatever the plugin does, results have to be right and no task may be lost. */
abstract class Tests {
    /** A test; whatever it throws is a failure. */
    interface Test {
        void run() throws Exception;
    }

    final String master;
    final String student;
    /** By name, in the order in which they run. */
    final Map<String, Test> all = new LinkedHashMap<>();

    Tests(String master, String student) {
        this.master = master;
        this.student = student;
    }

    final void test(String name, Test test) {
        all.put(name, test);
    }

    static void check(boolean holds, Object... what) {
        if (!holds) {
            throw new AssertionError(Arrays.stream(what).map(String::valueOf).collect(Collectors.joining(" ")));
        }
    }

    App app(String... settings) throws Exception {
        return new App(master, settings);
    }

    App decide(String who, String... more) throws Exception {
        List<String> settings = new ArrayList<>(Arrays.asList("spark.distill.student", who, "spark.distill.mode", "decide"));
        settings.addAll(Arrays.asList(more));
        return app(settings.toArray(new String[0]));
    }

    /** Many jobs side by side; true if all results are right. */
    static void mixed(App app, int jobs) throws Exception {
        List<Future<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < jobs; i++) {
            int tasks = 2 + 7 * i % 23;
            all.add(app.start(() -> app.sums("mixed " + tasks, tasks, 5)));
        }
        for (Future<Boolean> right : all) {
            check(right.get(120, TimeUnit.SECONDS), "a sum is wrong");
        }
    }

    static double seconds(java.util.concurrent.Callable<Boolean> work) throws Exception {
        long began = System.nanoTime();
        check(work.call());
        return (System.nanoTime() - began) / 1e9;
    }
}
