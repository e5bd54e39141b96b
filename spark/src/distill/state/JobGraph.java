package distill.state;

import java.util.Arrays;

/**
 * What a job declares of itself: its stages, how they depend on each other, and how long a task of each is thought to
 * take. Stages are numbered from 0; the graph has no cycle. It never changes: a job whose graph grows gets another one.
 *
 * <p>The port of {@code crates/dag/src/graph.rs}. The orders are the same as there, because sums depend on them.
 */
public final class JobGraph {
    /** Latest time, and longest duration, ms. */
    static final double MOST_MS = 1e15;

    private static final int MOST_TASKS = 1_000_000;
    private static final int MOST_STAGES = 100_000;
    /** Most pairs of a stage and one that needs its output: they are kept, and features look at them. */
    private static final int MOST_DESCENDANTS = 4_000_000;

    private final String name;
    private final int[] numTasks;
    private final double[] roughMs;
    private final int[][] parents;
    private final int[][] children;
    private final int[] topological;
    private final int[][] descendants;
    private final int[] depth;

    /**
     * A job from its stages, one entry of each list per stage.
     *
     * @param name for people, may be empty
     * @param numTasks number of tasks, at least 1
     * @param roughMs how long a task is thought to take, ms
     * @param parents stages that must finish first, in any order
     * @throws IllegalArgumentException if the job is impossible; the message says which stage and why
     */
    public JobGraph(String name, int[] numTasks, double[] roughMs, int[][] parents) {
        int n = numTasks.length;
        if (roughMs.length != n || parents.length != n) {
            throw new IllegalArgumentException(
                n + " stages, but " + roughMs.length + " rough durations and " + parents.length + " lists of parents");
        }
        if (n == 0 || n > MOST_STAGES) {
            throw new IllegalArgumentException("has " + n + " stages; 1 to " + MOST_STAGES + " are allowed");
        }
        for (int stage = 0; stage < n; stage++) {
            checkStage(stage, numTasks[stage], roughMs[stage]);
        }
        this.name = name;
        this.numTasks = numTasks.clone();
        this.roughMs = roughMs.clone();
        this.parents = new int[n][];
        for (int stage = 0; stage < n; stage++) {
            this.parents[stage] = parents[stage].clone();
            Arrays.sort(this.parents[stage]);
        }
        children = children(this.parents);
        topological = topological(this.parents, children);
        descendants = descendants(children, topological);
        depth = new int[n];
        for (int stage : topological) {
            for (int parent : this.parents[stage]) {
                depth[stage] = Math.max(depth[stage], depth[parent] + 1);
            }
        }
    }

    private static void checkStage(int stage, int tasks, double roughMs) {
        if (tasks < 1 || tasks > MOST_TASKS) {
            throw new IllegalArgumentException(
                "stage " + stage + " has " + tasks + " tasks; 1 to " + MOST_TASKS + " are allowed");
        }
        if (!(roughMs >= 0 && roughMs <= MOST_MS)) {
            throw new IllegalArgumentException(
                "stage " + stage + ": rough_ms must be a number in 0..=1e15 ms, got " + roughMs);
        }
    }

    /** Children by stage, ascending; parents are sorted already. */
    private static int[][] children(int[][] parents) {
        int n = parents.length;
        int[] count = new int[n];
        for (int child = 0; child < n; child++) {
            int before = -1;
            for (int parent : parents[child]) {
                if (parent < 0 || parent >= n) {
                    throw new IllegalArgumentException(
                        "edge [" + parent + ", " + child + "] names stage " + parent + "; stages are 0..=" + (n - 1));
                }
                if (parent == before) {
                    throw new IllegalArgumentException(
                        "stage " + child + " edge [" + parent + ", " + child + "] is given twice");
                }
                before = parent;
                count[parent]++;
            }
        }
        int[][] children = new int[n][];
        for (int stage = 0; stage < n; stage++) {
            children[stage] = new int[count[stage]];
        }
        for (int child = n - 1; child >= 0; child--) {
            for (int parent : parents[child]) {
                children[parent][--count[parent]] = child;
            }
        }
        return children;
    }

    /** All stages, parents before children (Kahn's algorithm); what is never freed lies on a cycle or behind one. */
    private static int[] topological(int[][] parents, int[][] children) {
        int n = parents.length;
        int[] missing = new int[n];
        int[] order = new int[n];
        int found = 0;
        for (int stage = 0; stage < n; stage++) {
            missing[stage] = parents[stage].length;
            if (missing[stage] == 0) {
                order[found++] = stage;
            }
        }
        for (int next = 0; next < found; next++) {
            for (int child : children[order[next]]) {
                if (--missing[child] == 0) {
                    order[found++] = child;
                }
            }
        }
        for (int stage = 0; stage < n; stage++) {
            if (missing[stage] > 0) {
                throw new IllegalArgumentException(
                    "stage " + stage + " lies on a cycle of edges; the graph must be acyclic");
            }
        }
        return order;
    }

    /** By stage, all that need its output, ascending. */
    private static int[][] descendants(int[][] children, int[] topological) {
        int n = children.length;
        int[][] descendants = new int[n][];
        int[] seenFrom = new int[n];
        Arrays.fill(seenFrom, -1);
        int[] below = new int[n];
        long pairs = 0;
        for (int place = n - 1; place >= 0; place--) {
            int stage = topological[place];
            int count = 0;
            // The list of those found is also the list of those whose children are still to be looked at.
            for (int next = -1; next < count; next++) {
                for (int child : children[next < 0 ? stage : below[next]]) {
                    if (seenFrom[child] != stage) {
                        seenFrom[child] = stage;
                        below[count++] = child;
                    }
                }
            }
            pairs += count;
            if (pairs > MOST_DESCENDANTS) {
                throw new IllegalArgumentException(
                    "its " + n + " stages form too long chains: more than " + MOST_DESCENDANTS
                        + " pairs of a stage and one that needs its output, directly or through others");
            }
            descendants[stage] = Arrays.copyOf(below, count);
            Arrays.sort(descendants[stage]);
        }
        return descendants;
    }

    /** Name for people. */
    public String name() {
        return name;
    }

    /** Number of stages. */
    public int numStages() {
        return numTasks.length;
    }

    /** Number of tasks of a stage. */
    public int numTasks(int stage) {
        return numTasks[stage];
    }

    /** How long a task of a stage is thought to take, ms. */
    public double roughMs(int stage) {
        return roughMs[stage];
    }

    /** Stages that must finish before this one can start, ascending. The list is lent, not to be changed. */
    public int[] parents(int stage) {
        return parents[stage];
    }

    /** Stages that need the output of this one, ascending. The list is lent, not to be changed. */
    public int[] children(int stage) {
        return children[stage];
    }

    /** Stages that need the output of this one, directly or through others, ascending. The list is lent. */
    public int[] descendants(int stage) {
        return descendants[stage];
    }

    /** Number of stages on the longest chain that leads to this one. */
    public int depth(int stage) {
        return depth[stage];
    }

    /** All stages, parents before children. The list is lent, not to be changed. */
    public int[] topological() {
        return topological;
    }
}
