package distill.features;

import distill.state.ClusterState;
import distill.state.Job;
import java.util.Arrays;

/**
 * Feature rows of the candidates at a question, level by level: jobs, stages of a job, amounts for a stage. Buffers are
 * kept from one question to the next.
 *
 * <p>The port of {@code crates/dag/src/feature} and of the questions in {@code crates/dag/src/scenario.rs}. Rows equal
 * those of the original bit for bit.
 */
public final class Extractor {
    /** Number of levels. */
    public static final int LEVELS = 3;

    /** SHA-256 of the feature set that this is the port of: a student of another one is refused. */
    public static final String FEATURE_SET = "a937d02df3d4859be160b24efe3c60a6d0efcfab936f96e8efeac59056d3c2be";

    private static final Level<?>[] TABLES = {JobLevel.TABLE, StageLevel.TABLE, AmountLevel.TABLE};

    private final Snapshot snapshot = new Snapshot();
    private final JobLevel jobs = new JobLevel(snapshot);
    private final StageLevel stages = new StageLevel(snapshot);
    private final AmountLevel amounts = new AmountLevel(snapshot);
    private final Columns<JobLevel> jobColumns;
    private final Columns<StageLevel> stageColumns;
    private final Columns<AmountLevel> amountColumns;
    private final Rows[] rows = new Rows[LEVELS];

    /** One that fills all columns. */
    public Extractor() {
        this(all());
    }

    /** One that fills only the columns that are marked, by level; the others hold 0. */
    public Extractor(boolean[][] wanted) {
        if (wanted.length != LEVELS) {
            throw new IllegalArgumentException("marks of " + wanted.length + " levels; there are " + LEVELS);
        }
        jobColumns = new Columns<>(JobLevel.TABLE, wanted[0]);
        stageColumns = new Columns<>(StageLevel.TABLE, wanted[1]);
        amountColumns = new Columns<>(AmountLevel.TABLE, wanted[2]);
        for (int level = 0; level < LEVELS; level++) {
            rows[level] = new Rows(width(level));
        }
    }

    /** Marks of all columns of all levels. */
    public static boolean[][] all() {
        boolean[][] all = new boolean[LEVELS][];
        for (int level = 0; level < LEVELS; level++) {
            all[level] = new boolean[width(level)];
            Arrays.fill(all[level], true);
        }
        return all;
    }

    /** What a level is called. */
    public static String level(int level) {
        return TABLES[level].name;
    }

    /** Number of features of a level. */
    public static int width(int level) {
        return TABLES[level].width();
    }

    /** Names of a level's features in column order. */
    public static String[] names(int level) {
        return TABLES[level].names();
    }

    /** Takes in a new question; rows are then of it. */
    public void update(ClusterState state) {
        snapshot.update(state);
    }

    /** The present question summed up: candidates of the job level and their stages. */
    public Snapshot snapshot() {
        return snapshot;
    }

    /** Largest amount for a stage of a candidate job, by its place; the candidates are 1 to this. */
    public int cap(int job, int stage) {
        Job view = snapshot.candidateJob(job);
        return AmountLevel.cap(snapshot, view, snapshot.stage(job, stage));
    }

    /** One row per candidate job; if the policy may abstain, a last one for giving nothing. */
    public Rows jobRows(boolean abstains) {
        jobColumns.write(jobs, snapshot.numCandidates(), abstains, rows[0]);
        return rows[0];
    }

    /** One row per schedulable stage of a candidate job, in stage order. */
    public Rows stageRows(int job) {
        stages.choose(job);
        stageColumns.write(stages, snapshot.numStages(job), false, rows[1]);
        return rows[1];
    }

    /** One row per amount for a stage of a candidate job, by its place. */
    public Rows amountRows(int job, int stage) {
        int cap = amounts.choose(job, snapshot.stage(job, stage));
        amountColumns.write(amounts, cap, false, rows[2]);
        return rows[2];
    }

    /**
     * Rows of the candidates at a path: what was taken at the levels above. There are none where the path is a whole
     * decision, such as to give nothing.
     */
    public Rows rowsAt(int[] path, int depth, boolean abstains) {
        if (depth == 0) {
            return jobRows(abstains);
        }
        if (depth == 1) {
            if (path[0] < snapshot.numCandidates()) {
                return stageRows(path[0]);
            }
            rows[1].begin(0);
            return rows[1];
        }
        if (depth == 2) {
            return amountRows(path[0], path[1]);
        }
        rows[2].begin(0);
        return rows[2];
    }
}
