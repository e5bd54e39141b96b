package distill.student;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.management.ThreadMXBean;
import distill.features.Extractor;
import distill.json.Fields;
import distill.state.ClusterState;
import distill.state.JobGraph;
import distill.state.Source;
import distill.state.StateReader;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What comparing rows and decisions does not show: names of features, what is refused, graphs that grow, states that are
 * written and read again, students that are classes, and that nothing is allocated. {@code Checks FILE STUDENT}
 */
public final class Checks {
    private static int checks;

    private Checks() {}

    /** Runs all; the first that fails ends it. */
    public static void main(String[] args) throws IOException {
        String text = Files.readString(Path.of(args[1]));
        names(Fields.parse(text));
        bits();
        refusedFigures();
        refusedAnswers();
        growingGraphs();
        brokenStudents(text);
        classes();
        List<String> states = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(Path.of(args[0]))) {
            lines.lines().filter(line -> line.contains("\"state\":")).limit(2000).forEach(states::add);
        }
        StudentScheduler scheduler = new StudentScheduler(StudentReader.read(text));
        writtenStates(states, scheduler);
        allocations(scheduler);
        System.out.println(checks + " checks");
    }

    private static void check(boolean holds, String what) {
        checks++;
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static void refuses(Runnable what, String expected) {
        checks++;
        try {
            what.run();
        } catch (IllegalArgumentException | IllegalStateException e) {
            if (e.getMessage().contains(expected)) {
                return;
            }
            throw new AssertionError("`" + e.getMessage() + "` does not say `" + expected + "`", e);
        }
        throw new AssertionError("not refused: " + expected);
    }

    private static void names(JsonNode student) {
        for (int level = 0; level < Extractor.LEVELS; level++) {
            List<String> names = new ArrayList<>();
            student.at("/feature_set/levels/" + level + "/features").forEach(f -> names.add(f.get("name").asText()));
            check(names.equals(Arrays.asList(Extractor.names(level))), "names of level " + level);
        }
        check(student.get("feature_set_hash").asText().equals(Extractor.FEATURE_SET), "hash of the features");
    }

    /** The bits that the original's test has: {@code crates/core/src/elementary.rs}. */
    private static void bits() {
        long key = hash(3, "elementary".chars().asLongStream().toArray());
        long sum = 0;
        for (long counter = 1; counter <= 50_000; counter++) {
            double x = 100.0 * ((hash(key, new long[] {counter}) >>> 11) * 0x1p-53);
            double[] values = {Elementary.exp(x - 100.0), Elementary.exp(x), Elementary.ln(x), Elementary.ln1p(x)};
            for (double value : values) {
                sum = Long.rotateLeft(sum, 5) ^ Double.doubleToRawLongBits(value);
            }
        }
        check(sum == 0x0c1bf95c037831c0L, "bits of exp and ln: " + Long.toHexString(sum));
        check(Elementary.exp(-745.0) == Double.MIN_VALUE && Elementary.exp(-746.0) == 0, "exp far below 0");
        check(Elementary.exp(710.0) == Double.POSITIVE_INFINITY && Double.isNaN(Elementary.exp(Double.NaN)), "exp");
        check(Elementary.ln(0) == Double.NEGATIVE_INFINITY && Double.isNaN(Elementary.ln(-1)), "ln");
    }

    /** {@code rng::hash} of a first word and others. */
    private static long hash(long first, long[] others) {
        long state = extend(0x9E3779B97F4A7C15L ^ (1 + others.length), first);
        for (long word : others) {
            state = extend(state, word);
        }
        return state;
    }

    private static long extend(long state, long word) {
        return mix(state ^ mix(word + 0x9E3779B97F4A7C15L));
    }

    private static long mix(long z) {
        z += 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    private static String json(ClusterState state) {
        StringBuilder out = new StringBuilder();
        state.appendJson(out);
        return out.toString();
    }

    /** A scan of 8 tasks, of which 2 have ended and 3 run, and a sum of 4 behind it; 6 of 10 executors are on offer. */
    private static ClusterState state() {
        ClusterState state = new ClusterState(10);
        state.setTime(60_000);
        state.addJob(7, 42_000, graph(new int[] {8, 4}, new int[][] {{}, {0}}));
        state.setStage(7, 0, 2, 3, 0, 0, 1320);
        check(state.offer(Source.COMMON, 6, false), "a question");
        return state;
    }

    private static JobGraph graph(int[] tasks, int[][] parents) {
        double[] roughMs = new double[tasks.length];
        Arrays.fill(roughMs, 1500);
        return new JobGraph("scan \"and\" sum\n", tasks, roughMs, parents);
    }

    private static void refusedFigures() {
        ClusterState state = state();
        String before = json(state);
        refuses(() -> state.setTime(1), "time_ms: 1.0 ms is before the present time, 60000.0 ms");
        refuses(() -> state.setTime(Double.NaN), "time_ms: must be a number in 0..=1e15 ms");
        refuses(() -> state.setStage(7, 0, 9, 0, 0, 0), "job 7, stage 0, `completed`: 9 tasks of 8");
        refuses(() -> state.setStage(7, 0, -1, 0, 0, 0), "job 7, stage 0, `completed`: -1 tasks");
        refuses(() -> state.setStage(7, 0, 2, 7, 0, 0), "`running`: 7 tasks, but only 6 of its 8 are not completed");
        refuses(() -> state.setStage(7, 0, 2, 3, 11, 0), "job 7, stage 0, `moving`: 11 executors of 10");
        refuses(() -> state.setStage(7, 1, 0, 0, 0, 1 << 21), "job 7, stage 1, `promised`");
        refuses(() -> state.setStage(7, 1, 0, 0, 0, 0, -1), "job 7, stage 1, `recent_ms`");
        refuses(() -> state.setStage(7, 2, 0, 0, 0, 0), "stage 2 of job 7: is unknown; the job's stages are 0..=1");
        refuses(() -> state.setStage(8, 0, 0, 0, 0, 0), "job 8: is unknown; known are 7");
        refuses(() -> state.setExecutors(7, -1, 0), "job 7, `supply`: must be in 0..=1048576, got -1");
        refuses(() -> state.removeJob(3), "job 3: is unknown");
        JobGraph one = graph(new int[] {1}, new int[][] {{}});
        refuses(() -> state.addJob(7, 50_000, one), "job 7, `id`: comes after job 7");
        refuses(() -> state.addJob(8, 70_000, one), "job 8, `arrival_ms`: 70000.0 is after the present time");
        refuses(() -> state.addJob(8, 10_000, one), "is before the arrival of job 7, 42000.0");
        refuses(() -> state.setGraph(7, one), "job 7, `stages`: 1 stages, but the job has 2 already");
        JobGraph few = graph(new int[] {4, 4}, new int[][] {{}, {0}});
        refuses(() -> state.setGraph(7, few), "job 7, stage 0, `tasks`: 4 tasks, but 5 of them have been launched");
        refuses(() -> state.offer(Source.COMMON, 11, false), "offered: must be in 1..=10 executors, got 11");
        refuses(() -> state.offer(Source.ofStage(7, 5), 1, false), "source: stage 5 of job 7");
        refuses(() -> graph(new int[] {1, 1}, new int[][] {{1}, {0}}), "stage 0 lies on a cycle");
        refuses(() -> graph(new int[] {0}, new int[][] {{}}), "stage 0 has 0 tasks");
        check(json(state).equals(before) && state.hasQuestion(), "what is refused changes nothing");
        state.setExecutors(7, 10, 10);
        check(!state.offer(Source.COMMON, 1, false), "a job that holds all gets no more");
        check(state.offer(Source.ofJob(7), 1, false), "but may take up its own");
        state.addJob(8, 60_000, one);
        state.setStage(8, 0, 0, 1, 7, 0);
        refuses(() -> state.offer(Source.COMMON, 1, false), "11 executors run tasks or are on their way; there are 10");
    }

    private static void refusedAnswers() {
        ClusterState state = state();
        String before = json(state);
        refuses(() -> state.answer(7, 1, 1), "stage 1 of job 7 is not schedulable; schedulable are stage 0 of job 7");
        refuses(() -> state.answer(7, 0, 7), "7 executors for stage 0 of job 7; allowed are 1..=6");
        check(json(state).equals(before), "an illegal answer changes nothing");
        check(state.answer(7, 0, 6), "the stage takes three of six");
        check(state.round().committable() == 3 && state.job(7).promised(0) == 3, "the others stay on offer");
        check(!state.answer(7, 1, 3), "then none is left");
        refuses(() -> state.answer(7, 1, 3), "no question is open");
        refuses(state::abstain, "no question is open");
        ClusterState other = state();
        check(!other.abstain() && !other.hasQuestion(), "to give nothing ends the round");
    }

    private static void growingGraphs() {
        ClusterState grown = state();
        int[][] parents = {{}, {0}, {1}};
        grown.setGraph(7, graph(new int[] {9, 4, 2}, parents));
        check(!grown.hasQuestion(), "another graph closes the question");
        ClusterState fresh = new ClusterState(10);
        fresh.setTime(60_000);
        fresh.addJob(7, 42_000, graph(new int[] {9, 4, 2}, parents));
        fresh.setStage(7, 0, 2, 3, 0, 0, 1320);
        grown.offer(Source.COMMON, 6, false);
        fresh.offer(Source.COMMON, 6, false);
        check(json(grown).equals(json(fresh)), json(grown) + " is not " + json(fresh));
        for (int stages = 4; stages < 60; stages++) {
            int[] tasks = new int[stages];
            Arrays.fill(tasks, 9);
            int[][] chain = new int[stages][];
            for (int stage = 0; stage < stages; stage++) {
                chain[stage] = stage == 0 ? new int[0] : new int[] {stage - 1};
            }
            grown.setGraph(7, graph(tasks, chain));
        }
        check(grown.job(7).numStages() == 59 && grown.job(7).completed(0) == 2, "figures stay as a graph grows");
        check(grown.job(7).recentMs(0) == 1320 && grown.job(7).remaining(58) == 9, "new stages begin");
    }

    private static void brokenStudents(String file) {
        // As Jackson writes it: without spaces.
        String text = Fields.parse(file).toString();
        String[][] cases = {
            {"\"format_version\":1", "\"format_version\":9", "version 9 is not supported (this reads 1)"},
            {"\"format_version\":1,", "", "`format_version` is missing"},
            {"\"scenario\":\"dag\"", "\"scenario\":\"training\"", "of the scenario `training`, expected `dag`"},
            {Extractor.FEATURE_SET, "0123", "their hash is 0123, expected " + Extractor.FEATURE_SET},
            {"\"name\":\"is_source\"", "\"name\":\"is_sauce\"", "level 0: its features are [is_none, is_sauce"},
            {"\"use\":\"tree\"", "\"use\":\"bush\"", "`use` names model `bush`, which is not there"},
            {"\"abstains\"", "\"colour\"", "unknown field `colour`"},
            {"\"type\":\"pairwise\"", "\"type\":\"forest\"", "unknown type of model `forest`"},
            {"\"temperature\":1.0", "\"temperature\":0.0", "temperature must be positive"},
            {"\"shape\":\"excess\"", "\"shape\":\"round\"", "unknown `round`, expected one of linear, log"},
            {"\"operator\":\">=\"", "\"operator\":\"=\"", "unknown `=`, expected one of >, >="},
            {"}", "", "no JSON"},
        };
        for (String[] broken : cases) {
            check(text.contains(broken[0]), "the file has " + broken[0]);
            refuses(() -> StudentReader.read(text.replaceFirst(Pattern.quote(broken[0]), broken[1])),
                broken[2]);
        }
    }

    private static void classes() {
        ClassLoader loader = Checks.class.getClassLoader();
        ClassStudent student = ClassStudent.load("distill.student.ClassStudents$First", loader);
        check(student.abstains() && student.columns()[0].length == Extractor.width(0), "a class as a student");
        StudentScheduler scheduler = new StudentScheduler(student);
        // It takes the first amount, of those that leave no more than half of the executors idle.
        check(scheduler.decide(state()) && scheduler.job() == 7 && scheduler.stage() == 0 && scheduler.executors() == 2,
            "it decides, with more room for scores once it has asked for it");
        refuses(() -> ClassStudent.load("distill.Nowhere", loader), "it cannot be loaded");
        refuses(() -> ClassStudent.load("distill.student.Checks", loader), "it needs a field `public static final String SC");
        refuses(() -> ClassStudent.load("distill.student.ClassStudents$Old", loader), "their hash is 0123, expected");
        refuses(() -> ClassStudent.load("distill.student.ClassStudents$Narrow", loader),
            "level 1 has 1 features, expected " + Extractor.width(1));
    }

    private static void writtenStates(List<String> lines, StudentScheduler scheduler) {
        for (String line : lines) {
            ClusterState state;
            try {
                state = StateReader.state(Fields.parse(line).get("state"));
            } catch (IllegalArgumentException e) {
                continue;
            }
            String text = json(state);
            ClusterState again = StateReader.state(Fields.parse(text));
            check(again.hasQuestion() == state.hasQuestion(), "a question that was written and read is still there");
            // Of a closed one the source is not read.
            if (state.hasQuestion()) {
                check(json(again).equals(text), "the state is the same: " + text);
                check(decision(scheduler, state).equals(decision(scheduler, again)), "so is what is decided");
            }
        }
    }

    private static String decision(StudentScheduler scheduler, ClusterState state) {
        return scheduler.decide(state)
            ? scheduler.job() + " " + scheduler.stage() + " " + scheduler.executors()
            : "abstain";
    }

    private static void allocations(StudentScheduler scheduler) {
        ClusterState state = state();
        Source source = Source.ofJob(7);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        long before = 0;
        for (int i = 0; i < 60_000; i++) {
            before = i == 50_000 ? threads.getThreadAllocatedBytes(thread) : before;
            state.setStage(7, 0, 2 + i % 2, 3, 0, 0, 1320 + i % 5);
            boolean isOpen = state.offer(source, 6, false);
            while (isOpen) {
                isOpen = scheduler.decide(state)
                    ? state.answer(scheduler.job(), scheduler.stage(), scheduler.executors())
                    : state.abstain();
            }
            state.setStage(7, 1, 0, 0, 0, 0);
        }
        long bytes = threads.getThreadAllocatedBytes(thread) - before;
        check(bytes < 10_000, bytes + " bytes were allocated in 10,000 rounds");
    }
}
