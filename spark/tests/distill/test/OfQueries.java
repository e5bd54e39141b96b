package distill.test;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The plugin and SQL: graphs that grow, sessions, and what is known of earlier runs. In one process. */
final class OfQueries extends Tests {
    OfQueries(String master, String student) {
        super(master, student);
        test("sessions_of_sql_side_by_side", () -> sql("true"));
        test("sql_without_adaptive_execution", () -> sql("false"));
        test("a_profile_is_kept", this::profile);
        test("what_waits_for_a_broadcast_is_known_to", this::broadcast);
        test("stages_are_known_by_what_they_read", this::shapes);
        test("stages_that_wait_for_each_other_in_a_profile_do_no_harm", this::circle);
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
}
