package distill.test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Runs the tests of the plugin in Spark: {@code LiveTest MASTER STUDENT [NAME ...]}. With the master {@code local[N]} those of one process, else those that
 * need executors.
 */
public final class LiveTest {
    private LiveTest() {}

    public static void main(String[] args) {
        String master = args[0];
        List<String> wanted = Arrays.asList(args).subList(2, args.length);
        List<Tests> rooms = master.startsWith("local[") ? List.of(new InProcess(master, args[1]), new OfQueries(master, args[1]))
                : List.of(new OnExecutors(master, args[1]));
        int ran = 0;
        List<String> failed = new ArrayList<>();
        for (Tests room : rooms) {
            for (Map.Entry<String, Tests.Test> test : room.all.entrySet()) {
                if (wanted.isEmpty() || wanted.contains(test.getKey())) {
                    ran++;
                    if (!passes(test.getKey(), test.getValue())) {
                        failed.add(test.getKey());
                    }
                }
            }
        }
        System.out.printf("%s: %d tests, %d failed %s%n", master, ran, failed.size(), failed);
        System.exit(failed.isEmpty() && ran > 0 ? 0 : 1);
    }

    private static boolean passes(String name, Tests.Test test) {
        long began = System.nanoTime();
        try {
            test.run();
            System.out.printf("ok   %s (%.1f s)%n", name, (System.nanoTime() - began) / 1e9);
            return true;
        } catch (Throwable e) {
            System.out.printf("FAIL %s (%.1f s): %s%n", name, (System.nanoTime() - began) / 1e9, e);
            e.printStackTrace(System.out);
            return false;
        } finally {
            App.closeOpen();
        }
    }
}
