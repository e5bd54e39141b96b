package distill.live;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What tasks take, by query and stage: from a profile of earlier runs, and from what has run since. A query is known by its key; a stage by its
 * number in the query.
 */
final class Durations {
    private static final int FORMAT = 1;
    /** What a task is thought to take while nothing has run, ms. */
    static final double UNKNOWN_MS = 1000.0;
    /** Of more queries than these nothing is kept: keys may be as many as runs. */
    private static final int MOST_QUERIES = 10_000;

    /** What is known of a stage. */
    static final class Stage {
        int tasks;
        int[] parents;
        /** What it does ({@link Shape}). */
        String shape;
        /** Mean over the tasks that have ended, ms, and their number. */
        double meanMs;
        long ended;

        Stage(int tasks, int[] parents, String shape) {
            this.tasks = tasks;
            this.parents = parents;
            this.shape = shape;
        }

        private void add(double ms) {
            ended++;
            meanMs += (ms - meanMs) / ended;
        }
    }

    /** Those seen last stay. */
    private final Map<String, List<Stage>> queries = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, List<Stage>> eldest) {
            return size() > MOST_QUERIES;
        }
    };
    private double allMs;
    private long all;

    /** The stages of a query as it ran before, none if it is not known. */
    List<Stage> of(String key) {
        return queries.getOrDefault(key, List.of());
    }

    /** What a task of a stage is thought to take, ms. */
    double expectedMs(String key, int stage) {
        List<Stage> stages = of(key);
        if (stage < stages.size() && stages.get(stage).ended > 0) {
            return stages.get(stage).meanMs;
        }
        return all > 0 ? allMs : UNKNOWN_MS;
    }

    /** A stage has come. */
    void saw(QueryStage stage) {
        List<Stage> stages = queries.get(stage.query.key);
        if (stages == null) {
            stages = new ArrayList<>();
            queries.put(stage.query.key, stages);
        }
        int last = stage.parents.length == 0 ? 0 : stage.parents[stage.parents.length - 1];
        while (stages.size() <= Math.max(stage.number, last)) {
            stages.add(new Stage(1, new int[0], Shape.NONE));
        }
        Stage known = stages.get(stage.number);
        known.tasks = stage.tasks;
        known.parents = stage.parents;
        known.shape = stage.shape;
    }

    /** A task of a stage has ended well. */
    void ended(QueryStage stage, double ms) {
        all++;
        allMs += (ms - allMs) / all;
        List<Stage> stages = of(stage.query.key);
        if (stage.number < stages.size()) {
            stages.get(stage.number).add(ms);
        }
    }

    /**
     * Reads a profile; an empty one where there is no file.
     *
     * @throws IOException if it cannot be read, or is no profile; says where and why
     */
    static Durations read(Path file) throws IOException {
        Durations durations = new Durations();
        if (file == null || !Files.exists(file)) {
            return durations;
        }
        try {
            JsonNode root = new ObjectMapper().readTree(Files.readAllBytes(file));
            if (root == null || root.path("format").asInt() != FORMAT || !root.path("queries").isObject()) {
                throw new IOException("it is no profile of format " + FORMAT);
            }
            JsonNode queries = root.get("queries");
            queries.fieldNames().forEachRemaining(key -> durations.queries.put(key, stages(key, queries.get(key))));
            for (List<Stage> stages : durations.queries.values()) {
                for (Stage stage : stages) {
                    durations.all += stage.ended;
                    durations.allMs += stage.ended == 0 ? 0 : (stage.meanMs - durations.allMs) * stage.ended / durations.all;
                }
            }
            return durations;
        } catch (IOException | IllegalArgumentException e) {
            throw new IOException(file + ": " + e.getMessage() + "; mend it, or remove it and it will be made anew", e);
        }
    }

    private static List<Stage> stages(String query, JsonNode node) {
        List<Stage> stages = new ArrayList<>();
        for (JsonNode item : node) {
            List<Integer> parents = new ArrayList<>();
            for (JsonNode parent : item.path("parents")) {
                if (!parent.isInt() || parent.asInt() < 0 || parent.asInt() >= node.size() || parent.asInt() == stages.size()) {
                    throw new IllegalArgumentException("query " + query + ", stage " + stages.size() + ": parent " + parent + " is none of its stages");
                }
                parents.add(parent.asInt());
            }
            Stage stage = new Stage(item.path("tasks").asInt(), parents.stream().mapToInt(Integer::intValue).toArray(),
                    item.path("shape").asText(Shape.NONE));
            stage.ended = item.path("ended").asLong();
            stage.meanMs = item.path("task_ms").asDouble();
            if (stage.tasks < 1 || stage.ended < 0 || !(stage.meanMs >= 0.0 && stage.meanMs < Double.POSITIVE_INFINITY)) {
                throw new IllegalArgumentException("query " + query + ", stage " + stages.size() + ": " + item
                        + " wants `tasks` from 1 on, `ended` and `task_ms` from 0 on");
            }
            stages.add(stage);
        }
        return stages;
    }

    /** Writes a profile, whole or not at all. */
    void write(Path file) throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        ObjectNode root = mapper.createObjectNode();
        root.put("format", FORMAT);
        ObjectNode all = root.putObject("queries");
        for (Map.Entry<String, List<Stage>> query : new TreeMap<>(queries).entrySet()) {
            ArrayNode stages = all.putArray(query.getKey());
            for (Stage stage : query.getValue()) {
                ObjectNode item = stages.addObject();
                item.put("tasks", stage.tasks);
                ArrayNode parents = item.putArray("parents");
                for (int parent : stage.parents) {
                    parents.add(parent);
                }
                if (!stage.shape.isEmpty()) {
                    item.put("shape", stage.shape);
                }
                item.put("task_ms", Math.round(stage.meanMs * 1000.0) / 1000.0);
                item.put("ended", stage.ended);
            }
        }
        Path absolute = file.toAbsolutePath();
        Path part = Files.createTempFile(absolute.getParent(), file.getFileName().toString(), ".part");
        try {
            Files.write(part, mapper.writerWithDefaultPrettyPrinter().writeValueAsBytes(root));
            Files.move(part, absolute, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }
}
