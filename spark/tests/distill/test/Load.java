package distill.test;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.spark.api.java.JavaPairRDD;
import scala.Tuple2;

/**
 * Applications that make many questions: {@code Load MASTER STUDENT MODE chain|wide [LOG]}. {@code chain}: 900 small jobs of two stages as they come. {@code wide}: 30
 * jobs at once, of each of which seven stages wait beside each other, five times over. Says how long jobs took in the mean, and what the plugin counted stands in
 * its last line on standard error.
 */
public final class Load {
    private Load() {}

    public static void main(String[] args) throws Exception {
        List<String> settings = new ArrayList<>(List.of("spark.distill.student", args[1], "spark.distill.mode", args[2]));
        if (args.length > 4) {
            settings.addAll(List.of("spark.distill.log", args[4]));
        }
        App app = new App(args[0], settings.toArray(new String[0]));
        boolean wide = args[3].equals("wide");
        Random draws = new Random(7);
        List<Future<Double>> took = new ArrayList<>();
        for (int i = 0; i < (wide ? 30 : 900); i++) {
            int tasks = List.of(2, 4, 8, 20, 40).get(draws.nextInt(5));
            int ms = List.of(5, 10, 20).get(draws.nextInt(3));
            if (!wide) {
                Thread.sleep((long) (-90 * Math.log(1 - draws.nextDouble())));
            }
            took.add(app.start(() -> {
                long began = System.nanoTime();
                for (int turn = 0; turn < (wide ? 5 : 1); turn++) {
                    if (!(wide ? fan(app, ms) : app.sums(tasks + " x " + ms, tasks, ms))) {
                        throw new AssertionError("a sum is wrong");
                    }
                }
                return (System.nanoTime() - began) / 1e9;
            }));
        }
        double sum = 0;
        for (Future<Double> job : took) {
            sum += job.get();
        }
        System.out.printf("%s %s under %s: %d jobs, %.2f s in the mean%n", args[3], args[2], args[1], took.size(), sum / took.size());
        app.close();
    }

    /** A job of seven stages side by side and one behind them; true if its result is right. */
    private static boolean fan(App app, int ms) {
        app.spark.sc().setJobDescription("fan");
        JavaPairRDD<Integer, Integer> all = null;
        for (int part = 0; part < 7; part++) {
            JavaPairRDD<Integer, Integer> own = app.spark.parallelize(App.numbers(24), 24).mapToPair(x -> {
                Thread.sleep(ms);
                return new Tuple2<>(x % 3, 1);
            }).reduceByKey((a, b) -> a + b, 2);
            all = all == null ? own : all.union(own);
        }
        return all.values().reduce((a, b) -> a + b) == 7 * 24;
    }
}
