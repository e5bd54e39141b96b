package distill.live;

import distill.state.ClusterState;
import distill.state.JobGraph;
import distill.state.Source;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Keeps the state that a student is asked about: what the scheduler's task sets say, in the words of {@code docs/cluster-state.md}. An executor of the
 * state is a slot, a place for one task; nothing travels. Stages that Spark would launch nothing from, since their parents are at work, or they
 * are not with the scheduler yet, may not be chosen: a slot never waits for them.
 */
final class Mirror {
    private ClusterState state;
    private final List<Query> gone = new ArrayList<>();
    private final Queries queries;

    Mirror(Queries queries) {
        this.queries = queries;
        this.state = new ClusterState(1);
    }

    ClusterState state() {
        return state;
    }

    /** After an error: nothing that was told is believed. */
    void startAnew() {
        state = new ClusterState(1);
        gone.clear();
        queries.handOver(gone);
        for (Query query : queries.all()) {
            query.told = false;
            query.graphChanged = true;
            query.stages.forEach(stage -> stage.told.forget());
        }
    }

    /** Takes in the queries as they are, with the slots that stay with their stages counted as running. */
    void update(double nowMs, int slots) {
        state.setTime(nowMs);
        state.setNumExecutors(slots);
        gone.clear();
        queries.handOver(gone);
        for (int i = 0; i < gone.size(); i++) {
            if (gone.get(i).told) {
                state.removeJob(gone.get(i).number);
            }
        }
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            update(all.get(i));
        }
    }

    private void update(Query query) {
        if (query.graphChanged) {
            query.graphChanged = false;
            JobGraph graph = graph(query);
            if (graph == null) {
                forget(query);
            } else if (query.told) {
                state.setGraph(query.number, graph);
            } else {
                state.addJob(query.number, query.arrivalMs, graph);
                query.told = true;
            }
        }
        if (!query.told) {
            return;
        }
        int held = query.idle;
        for (int i = 0; i < query.stages.size(); i++) {
            QueryStage stage = query.stages.get(i);
            int running = Math.min(stage.running + stage.kept, stage.tasks - stage.completed);
            held += running + stage.promised;
            if (stage.told.differs(stage, running)) {
                state.setStage(query.number, i, stage.completed, running, 0, stage.promised, stage.duration());
                state.setHeld(query.number, i, !stage.canLaunch());
            }
        }
        state.setExecutors(query.number, held, held);
    }

    /** Nobody is asked about it. */
    private void forget(Query query) {
        if (query.told) {
            state.removeJob(query.number);
            query.told = false;
            query.stages.forEach(stage -> stage.told.forget());
        }
    }

    /**
     * Its graph; without edges where those are impossible, as runs of one query side by side can leave them in a profile, or too many; null where stages are
     * so too. What may be chosen does not hang on edges.
     */
    private static JobGraph graph(Query query) {
        int n = query.stages.size();
        int[] tasks = new int[n];
        double[] roughMs = new double[n];
        int[][] parents = new int[n][];
        for (int i = 0; i < n; i++) {
            QueryStage stage = query.stages.get(i);
            tasks[i] = stage.tasks;
            roughMs[i] = stage.roughMs;
            parents[i] = stage.parents;
        }
        try {
            return new JobGraph(query.key, tasks, roughMs, parents);
        } catch (IllegalArgumentException e) {
            Arrays.fill(parents, new int[0]);
        }
        try {
            return new JobGraph(query.key, tasks, roughMs, parents);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Whose slots are on offer: those that a query freed, or nobody's. */
    static Source source(Query query) {
        return query == null ? Source.COMMON : query.source;
    }
}
