package distill.live;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
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
    private final DAGScheduler dag;
    private final Durations durations;
    private final List<Query> queries = new ArrayList<>();
    private final Map<Object, Query> byOrigin = new HashMap<>();
    private final Map<Integer, Query> bySparkJob = new HashMap<>();
    private final Map<TaskSetManager, QueryStage> bySet = new IdentityHashMap<>();
    private final Map<Integer, QueryStage> bySparkStage = new HashMap<>();
    private int next;
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
        Query query = query(job, nowMs);
        addGraph(query, job.finalStage(), new HashSet<>());
        QueryStage stage = query.bySparkId.get(set.stageId());
        if (stage == null) {
            return;
        }
        stage.sets.add(set);
        bySet.put(set, stage);
    }

    /** A task set has gone. */
    void removed(TaskSetManager set) {
        QueryStage stage = bySet.remove(set);
        mayBeOver = true;
        if (stage == null) {
            return;
        }
        stage.look();
        stage.sets.remove(set);
        if (set.tasksSuccessful() == set.numTasks()) {
            stage.completed = stage.tasks;
        }
        stage.running = 0;
    }

    private Query query(ActiveJob job, double nowMs) {
        Properties properties = job.properties();
        Object sql = property(properties, "spark.sql.execution.root.id");
        if (sql == null) {
            sql = property(properties, "spark.sql.execution.id");
        }
        Object origin = sql != null ? sql : (Object) job.jobId();
        Query query = byOrigin.get(origin);
        if (query == null) {
            String description = property(properties, "spark.job.description");
            query = new Query(next++, description != null ? description : job.callSite().shortForm(), nowMs, sql != null);
            queries.add(query);
            byOrigin.put(origin, query);
            query.origin = origin;
            if (sql != null) {
                expect(query);
            }
        }
        if (!bySparkJob.containsKey(job.jobId())) {
            bySparkJob.put(job.jobId(), query);
            query.openJobs++;
        }
        return query;
    }

    private static String property(Properties properties, String name) {
        return properties == null ? null : properties.getProperty(name);
    }

    /** Adds the stages that earlier runs had. */
    private void expect(Query query) {
        for (Durations.Stage known : durations.of(query.key)) {
            int number = query.stages.size();
            query.stages.add(new QueryStage(query, number, -1, known.tasks, known.parents, durations.expectedMs(query.key, number)));
        }
    }

    /** Adds a stage and those that it waits for, parents first; stages whose output is there already never come. */
    private void addGraph(Query query, Stage stage, Set<Integer> seen) {
        if (!seen.add(stage.id()) || query.bySparkId.containsKey(stage.id())) {
            return;
        }
        if (stage instanceof ShuffleMapStage && ((ShuffleMapStage) stage).isAvailable()) {
            return;
        }
        List<Integer> parents = new ArrayList<>();
        for (scala.collection.immutable.List<Stage> rest = stage.parents(); !rest.isEmpty(); rest = tail(rest)) {
            Stage parent = rest.head();
            addGraph(query, parent, seen);
            QueryStage known = query.bySparkId.get(parent.id());
            if (known != null) {
                parents.add(known.number);
            }
        }
        int[] numbers = parents.stream().mapToInt(Integer::intValue).sorted().distinct().toArray();
        QueryStage added = place(query, stage, numbers);
        query.bySparkId.put(stage.id(), added);
        bySparkStage.put(stage.id(), added);
        query.graphChanged = true;
        durations.saw(added);
    }

    /** The first stage that was expected and has not come, or a new one. */
    private QueryStage place(Query query, Stage stage, int[] parents) {
        for (QueryStage expected : query.stages) {
            if (expected.sparkId < 0) {
                expected.sparkId = stage.id();
                expected.tasks = stage.numTasks();
                expected.parents = parents;
                return expected;
            }
        }
        int number = query.stages.size();
        QueryStage added =
                new QueryStage(query, number, stage.id(), stage.numTasks(), parents, durations.expectedMs(query.key, number));
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

    /** Forgets queries that are over; they are added to {@code gone}. */
    void forget(List<Query> gone) {
        if (!mayBeOver) {
            return;
        }
        mayBeOver = false;
        for (int i = queries.size() - 1; i >= 0; i--) {
            Query query = queries.get(i);
            if (query.isOver()) {
                queries.remove(i);
                byOrigin.remove(query.origin);
                for (QueryStage stage : query.stages) {
                    bySparkStage.remove(stage.sparkId, stage);
                }
                gone.add(query);
            }
        }
    }
}
