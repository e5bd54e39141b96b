package distill.state;

import com.fasterxml.jackson.databind.JsonNode;
import distill.json.Fields;
import java.util.Arrays;

/**
 * Reads states, and what has changed in them since, from the JSON of {@code docs/cluster-state.md}. For tests and tools:
 * a cluster keeps its state by the calls of {@link ClusterState}.
 */
public final class StateReader {
    private StateReader() {}

    /** A state as a whole. */
    public static ClusterState state(JsonNode json) {
        Fields fields = new Fields(json, "state", "time_ms", "num_executors", "source", "offered", "again", "jobs",
            "jobs_gone", "gone_arrivals_ms", "moving_elsewhere");
        ClusterState state = new ClusterState(fields.small("num_executors"));
        state.setTime(json.has("time_ms") ? fields.number("time_ms") : 0);
        jobs(state, fields.list("jobs"));
        double[] arrivals = json.has("gone_arrivals_ms") ? fields.numbers("gone_arrivals_ms") : new double[0];
        long gone = fields.count("jobs_gone", 0);
        for (double arrivalMs : arrivals) {
            if (Refused.isNoTime(arrivalMs)) {
                throw Refused.figure("gone_arrivals_ms", Refused.noTime(arrivalMs));
            }
        }
        if (gone < arrivals.length) {
            throw Refused.figure("jobs_gone", gone + " jobs, but " + arrivals.length + " arrivals of such");
        }
        state.jobs.setGone(gone);
        for (double arrivalMs : arrivals) {
            state.jobs.rememberArrival(arrivalMs);
        }
        state.movingElsewhere = fields.count("moving_elsewhere", 0);
        offer(state, json, fields);
        return state;
    }

    /**
     * Takes in what has changed: the clock, jobs that have gone, figures of jobs and stages, jobs that have arrived,
     * executors on offer. A state that a change was refused for is of no use any more.
     */
    public static void change(ClusterState state, JsonNode json) {
        Fields fields = new Fields(json, "change", "time_ms", "source", "offered", "again", "gone", "jobs", "arrived",
            "moving_elsewhere");
        state.setTime(fields.has("time_ms") ? fields.number("time_ms") : state.timeMs());
        for (long job : json.has("gone") ? fields.counts("gone") : new long[0]) {
            state.removeJob((int) Math.min(job, Integer.MAX_VALUE));
        }
        if (fields.small("offered", 0) > 0) {
            for (int place = 0; place < state.numJobs(); place++) {
                Arrays.fill(state.jobAt(place).chosen, false);
            }
        }
        for (JsonNode job : fields.listOrNone("jobs")) {
            changeJob(state, job);
        }
        jobs(state, fields.listOrNone("arrived"));
        if (fields.has("moving_elsewhere")) {
            state.movingElsewhere = fields.count("moving_elsewhere");
        }
        offer(state, json, fields);
    }

    private static void offer(ClusterState state, JsonNode json, Fields fields) {
        Source source = json.has("source") ? source(json.get("source")) : Source.COMMON;
        boolean again = fields.flag("again");
        int offered = fields.small("offered", 0);
        if (offered > 0) {
            state.open(source, offered, again);
        }
    }

    private static Source source(JsonNode json) {
        if (json.isTextual() && json.textValue().equals("common")) {
            return Source.COMMON;
        }
        Fields fields = new Fields(json, "source", "job", "stage");
        if (json.size() != 1) {
            throw new IllegalArgumentException("source: expected \"common\", {\"job\": J} or {\"stage\": [J, S]}");
        }
        if (json.has("job")) {
            return Source.ofJob(fields.small("job"));
        }
        long[] stage = fields.counts("stage");
        if (stage.length != 2) {
            throw new IllegalArgumentException("source, `stage`: expected a job and a stage");
        }
        return Source.ofStage((int) Math.min(stage[0], Integer.MAX_VALUE), (int) Math.min(stage[1], Integer.MAX_VALUE));
    }

    private static void jobs(ClusterState state, JsonNode jobs) {
        for (JsonNode json : jobs) {
            Fields fields = new Fields(json, "job", "id", "name", "arrival_ms", "supply", "attached", "stages");
            long id = fields.count("id");
            if (id > Integer.MAX_VALUE) {
                throw Refused.figure("job " + id, "numbers go to " + Integer.MAX_VALUE + " here");
            }
            job(state, fields, (int) id);
        }
    }

    private static void job(ClusterState state, Fields fields, int id) {
        JsonNode stages = fields.list("stages");
        int n = stages.size();
        Fields[] each = new Fields[n];
        int[] tasks = new int[n];
        double[] roughMs = new double[n];
        int[][] parents = new int[n][];
        for (int stage = 0; stage < n; stage++) {
            each[stage] = new Fields(stages.get(stage), "job " + id + ", stage " + stage, "tasks", "rough_ms", "parents",
                "completed", "running", "moving", "promised", "recent_ms", "chosen");
            tasks[stage] = each[stage].small("tasks");
            roughMs[stage] = each[stage].number("rough_ms");
            long[] found = stages.get(stage).has("parents") ? each[stage].counts("parents") : new long[0];
            parents[stage] = new int[found.length];
            for (int i = 0; i < found.length; i++) {
                parents[stage][i] = (int) Math.min(found[i], Integer.MAX_VALUE);
            }
        }
        JobGraph graph;
        try {
            graph = new JobGraph(fields.has("name") ? fields.text("name") : "", tasks, roughMs, parents);
        } catch (IllegalArgumentException e) {
            throw Refused.figure("job " + id, e.getMessage());
        }
        state.addJob(id, fields.number("arrival_ms"), graph);
        for (int stage = 0; stage < n; stage++) {
            Fields s = each[stage];
            state.setStage(id, stage, s.small("completed", 0), s.small("running", 0), s.small("moving", 0),
                s.small("promised", 0), s.has("recent_ms") ? s.number("recent_ms") : roughMs[stage]);
            state.job(id).chosen[stage] = s.flag("chosen");
        }
        executors(state, fields, id);
    }

    private static void executors(ClusterState state, Fields fields, int id) {
        Job job = state.job(id);
        state.setExecutors(id, fields.has("supply") ? fields.small("supply") : job.supply,
            fields.has("attached") ? fields.small("attached") : job.attached);
    }

    private static void changeJob(ClusterState state, JsonNode json) {
        Fields fields = new Fields(json, "change of a job", "id", "supply", "attached", "stages");
        int id = fields.small("id");
        for (JsonNode stage : fields.listOrNone("stages")) {
            changeStage(state, id, stage);
        }
        if (fields.has("supply") || fields.has("attached")) {
            state.jobs.known(id);
            executors(state, fields, id);
        }
    }

    private static void changeStage(ClusterState state, int id, JsonNode json) {
        Fields f = new Fields(json, "change of a stage of job " + id, "stage", "completed", "running", "moving",
            "promised", "recent_ms", "chosen");
        int stage = f.small("stage");
        Job job = state.known(id, stage);
        state.setStage(id, stage,
            f.has("completed") ? f.small("completed") : job.completed[stage],
            f.has("running") ? f.small("running") : job.executing[stage],
            f.has("moving") ? f.small("moving") : job.moving[stage],
            f.has("promised") ? f.small("promised") : job.promised[stage],
            f.has("recent_ms") ? f.number("recent_ms") : job.recentMs[stage]);
        if (f.has("chosen")) {
            job.chosen[stage] = f.flag("chosen");
        }
    }
}
