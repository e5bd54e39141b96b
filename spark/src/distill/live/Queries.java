package distill.live;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * The queries that are here, by arrival, with the graphs of their stages. Touched under the scheduler's lock alone.
 *
 * <p>Adaptive execution submits a query stage by stage as jobs of their own. Those of one SQL execution are one query, whose graph grows; what
 * earlier runs of it had besides is expected to come.
 */
final class Queries {
    /** Of more executions it is not kept that they have ended. */
    private static final int MOST_ENDED = 10_000;
    /** In an execution of more stages those that begin a job are not taken to wait for those before: chains get too long. */
    private static final int MOST_BY_TIME = 500;
    /** Longer names are cut: one may be the whole text of a query. */
    private static final int LONGEST_KEY = 200;
    /** After so many task sets it is looked whether the end of a job was missed. */
    private static final int SETS_TO_LOOK = 1000;

    private final DAGScheduler dag;
    private final Durations durations;
    private final List<Query> queries = new ArrayList<>();
    private final Map<Object, Query> byOrigin = new HashMap<>();
    private final Map<Integer, Query> bySparkJob = new HashMap<>();
    private final Map<TaskSetManager, QueryStage> bySet = new IdentityHashMap<>();
    private final Map<Integer, QueryStage> bySparkStage = new HashMap<>();
    /** SQL executions that have ended: what comes of them later is no part of a query that grows. */
    private final Set<String> ended = Collections.newSetFromMap(new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            if (size() > MOST_ENDED) {
                forgotten = Math.max(forgotten, number(eldest.getKey()));
                return true;
            }
            return false;
        }
    });
    /** Queries that are over and that the state still knows. */
    private final List<Query> gone = new ArrayList<>();
    /** The latest execution that has ended and is not among them any more. */
    private long forgotten = -1;
    private int next;
    private long sets;
    /** Whether something has ended since somebody looked which queries are over. */
    private boolean mayBeOver;

    Queries(DAGScheduler dag, Durations durations) {
        this.dag = dag;
        this.durations = durations;
    }

    List<Query> all() {
        return queries;
    }

    QueryStage of(TaskSetManager set) {
        return bySet.get(set);
    }

    /** The stage of a number that the state knows it by. */
    QueryStage of(int query, int stage) {
        int low = 0;
        int high = queries.size() - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (queries.get(middle).number < query) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return queries.get(low).stages.get(stage);
    }

    /** A task set has come. Called on the thread of the DAG scheduler: its maps are its own. */
    void added(TaskSetManager set, double nowMs) {
        int sparkJob = set.taskSet().priority();
        ActiveJob job = Scala.orNull(dag.jobIdToActiveJob().get(sparkJob));
        if (job == null) {
            // The job was cancelled a moment ago; the set will go as well.
            return;
        }
        if (++sets % SETS_TO_LOOK == 0) {
            lookForEnds();
        }
        boolean isNew = !bySparkJob.containsKey(job.jobId());
        Query query = query(job, nowMs);
        addGraph(query, job.finalStage(), isNew && query.stages.size() < MOST_BY_TIME ? query.unread() : List.of(), new HashSet<>(), new HashSet<>());
        QueryStage stage = query.bySparkId.get(set.stageId());
        if (stage == null) {
            // It is run again: its output was there when the graph was read, and has been lost since.
            Stage lost = Scala.orNull(dag.stageIdToStage().get(set.stageId()));
            if (lost == null) {
                return;
            }
            stage = known(query, lost);
            if (stage == null) {
                stage = add(query, lost, new int[0]);
            }
        }
        stage.sets.add(set);
        stage.made = false;
        bySet.put(set, stage);
        needsNoMore(stage);
        lookForOutputs(query);
    }

    /** Spark has submitted it, so that what it waited for is over, or need not be run: what it makes is kept. */
    private static void needsNoMore(QueryStage stage) {
        for (int parent : stage.parents) {
            QueryStage before = stage.query.stages.get(parent);
            if (before.sets.isEmpty() && before.completed < before.tasks) {
                before.completed = before.tasks;
                needsNoMore(before);
            }
        }
    }

    /** Stages that another query runs for this one have no task sets here: they are over when their output is there. */
    private void lookForOutputs(Query query) {
        for (QueryStage stage : query.stages) {
            if (stage.sparkId >= 0 && stage.sets.isEmpty() && stage.completed < stage.tasks) {
                Stage found = Scala.orNull(dag.stageIdToStage().get(stage.sparkId));
                if (found instanceof ShuffleMapStage && ((ShuffleMapStage) found).isAvailable()) {
                    stage.completed = stage.tasks;
                }
            }
        }
    }

    /** Ends jobs that the scheduler does not know any more: what is told of an end may get lost. On the thread of the DAG scheduler. */
    private void lookForEnds() {
        for (Integer job : new ArrayList<>(bySparkJob.keySet())) {
            if (!dag.jobIdToActiveJob().contains(job)) {
                jobEnded(job);
            }
        }
    }

    /** A task set has gone. */
    void removed(TaskSetManager set) {
        QueryStage stage = bySet.remove(set);
        mayBeOver = true;
        if (stage == null) {
            return;
        }
        stage.look();
        if (set == stage.live() && set.tasksSuccessful() == set.numTasks()) {
            stage.made = true;
            stage.completed = stage.tasks;
        }
        stage.sets.remove(set);
        stage.running = 0;
    }

    private Query query(ActiveJob job, double nowMs) {
        Properties properties = job.properties();
        String sql = property(properties, "spark.sql.execution.root.id");
        if (sql == null || hasEnded(sql)) {
            // A thread that outlives the execution that it was begun in may have others.
            sql = property(properties, "spark.sql.execution.id");
        }
        if (sql != null && hasEnded(sql)) {
            sql = null;
        }
        Object origin = sql != null ? sql : (Object) job.jobId();
        Query query = byOrigin.get(origin);
        if (query == null) {
            String description = property(properties, "spark.job.description");
            query = new Query(next++, key(description != null ? description : job.callSite().shortForm()), nowMs, sql != null);
            queries.add(query);
            byOrigin.put(origin, query);
            query.origin = origin;
            // What is known by a place in the program alone may be many queries.
            if (sql != null && description != null) {
                expect(query);
            }
        }
        if (!bySparkJob.containsKey(job.jobId())) {
            bySparkJob.put(job.jobId(), query);
            query.openJobs++;
        }
        return query;
    }

    /** Whether an execution has ended, those among them that were forgotten; numbers of executions ascend. */
    private boolean hasEnded(String execution) {
        return ended.contains(execution) || (!byOrigin.containsKey(execution) && number(execution) <= forgotten);
    }

    private static long number(String execution) {
        try {
            return Long.parseLong(execution);
        } catch (NumberFormatException e) {
            return Long.MAX_VALUE;
        }
    }

    private static String key(String name) {
        return name.length() <= LONGEST_KEY ? name : name.substring(0, LONGEST_KEY) + '#' + Integer.toHexString(name.hashCode());
    }

    private static String property(Properties properties, String name) {
        return properties == null ? null : properties.getProperty(name);
    }

    /** Adds the stages that earlier runs had. */
    private void expect(Query query) {
        for (Durations.Stage known : durations.of(query.key)) {
            int number = query.stages.size();
            query.stages.add(new QueryStage(query, number, -1, known.tasks, known.parents, known.shape,
                    durations.expectedMs(query.key, number)));
        }
    }

    /** The stage of a query that Spark's is, or null; it goes by this number of Spark's from now on. */
    private QueryStage known(Query query, Stage stage) {
        QueryStage known = query.bySparkId.get(stage.id());
        if (known == null && stage instanceof ShuffleMapStage) {
            known = query.byShuffle.get(((ShuffleMapStage) stage).shuffleDep().shuffleId());
            if (known != null) {
                known.sparkId = stage.id();
                query.bySparkId.put(stage.id(), known);
                bySparkStage.put(stage.id(), known);
            }
        }
        return known;
    }

    /**
     * Adds a stage and those that it waits for, parents first; stages whose output others have made never come. Those that begin a job have waited for what
     * had ended {@code before} as well, of which Spark tells nothing: tables that are broadcast, results of subqueries. {@code added} are the stages of this
     * job.
     */
    private void addGraph(Query query, Stage stage, List<Integer> before, Set<Integer> seen, Set<QueryStage> added) {
        if (!seen.add(stage.id()) || known(query, stage) != null) {
            return;
        }
        if (stage instanceof ShuffleMapStage && ((ShuffleMapStage) stage).isAvailable()) {
            return;
        }
        Set<Integer> parents = new TreeSet<>();
        boolean begins = true;
        for (scala.collection.immutable.List<Stage> rest = stage.parents(); !rest.isEmpty(); rest = tail(rest)) {
            Stage parent = rest.head();
            addGraph(query, parent, before, seen, added);
            QueryStage known = query.bySparkId.get(parent.id());
            if (known != null) {
                parents.add(known.number);
                begins &= !added.contains(known);
            }
        }
        if (begins) {
            parents.addAll(before);
        }
        added.add(add(query, stage, parents.stream().mapToInt(Integer::intValue).toArray()));
    }

    private QueryStage add(Query query, Stage stage, int[] parents) {
        QueryStage added = place(query, stage, parents);
        query.bySparkId.put(stage.id(), added);
        if (stage instanceof ShuffleMapStage) {
            query.byShuffle.put(((ShuffleMapStage) stage).shuffleDep().shuffleId(), added);
        }
        bySparkStage.put(stage.id(), added);
        query.graphChanged = true;
        durations.saw(added);
        return added;
    }

    /** The stage that was expected and has not come, of those most like it the first; or a new one. Stages may come in another order than before. */
    private QueryStage place(Query query, Stage stage, int[] parents) {
        String shape = Shape.of(stage);
        QueryStage best = null;
        int alike = -1;
        for (QueryStage expected : query.stages) {
            if (expected.sparkId < 0) {
                int now = (expected.shape.equals(shape) ? 4 : 0) + (Arrays.equals(expected.parents, parents) ? 2 : 0)
                        + (expected.tasks == stage.numTasks() ? 1 : 0);
                if (now > alike) {
                    best = expected;
                    alike = now;
                }
            }
        }
        if (best != null) {
            best.sparkId = stage.id();
            best.tasks = stage.numTasks();
            best.parents = parents;
            best.shape = shape;
            return best;
        }
        int number = query.stages.size();
        QueryStage added =
                new QueryStage(query, number, stage.id(), stage.numTasks(), parents, shape, durations.expectedMs(query.key, number));
        query.stages.add(added);
        return added;
    }

    @SuppressWarnings("unchecked")
    private static scala.collection.immutable.List<Stage> tail(scala.collection.immutable.List<Stage> list) {
        return (scala.collection.immutable.List<Stage>) list.tail();
    }

    /** A job of Spark has ended. */
    void jobEnded(int sparkJob) {
        mayBeOver = true;
        Query query = bySparkJob.remove(sparkJob);
        if (query != null) {
            query.openJobs--;
        }
    }

    /** A SQL execution has ended: no more jobs of it come. */
    void sqlEnded(long execution) {
        mayBeOver = true;
        ended.add(Long.toString(execution));
        Query query = byOrigin.get(Long.toString(execution));
        if (query != null) {
            query.mayGrow = false;
        }
    }

    /** A task of a stage of Spark has ended well. */
    void taskEnded(int sparkStage, double ms) {
        QueryStage stage = bySparkStage.get(sparkStage);
        if (stage != null) {
            stage.recentMs = ms;
            durations.ended(stage, ms);
        }
    }

    /** Hands out the queries that are over and that the state still knows. */
    void handOver(List<Query> to) {
        to.addAll(gone);
        gone.clear();
    }

    /** Forgets queries that are over. */
    void forget() {
        if (!mayBeOver) {
            return;
        }
        mayBeOver = false;
        for (int i = queries.size() - 1; i >= 0; i--) {
            Query query = queries.get(i);
            if (query.isOver()) {
                queries.remove(i);
                byOrigin.remove(query.origin);
                query.bySparkId.forEach(bySparkStage::remove);
                if (query.told) {
                    gone.add(query);
                }
            }
        }
    }
}
