package distill.student;

import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/**
 * A student as its file has it, read by {@link StudentReader}: the port of the models in {@code crates/core/src/model}
 * and of the search in {@code crates/core/src/policy/student.rs}. Scores equal those of the original bit for bit. Not for
 * several threads at once. Nothing is allocated for a decision.
 */
public final class JsonStudent implements Student {
    /** How a level chooses. */
    static final class Level {
        final Model model;
        final double temperature;
        final boolean takesMedian;
        final Guard[] guards;
        final boolean[] columns;

        Level(Model model, double temperature, boolean takesMedian, Guard[] guards, int width) {
            this.model = model;
            this.temperature = temperature;
            this.takesMedian = takesMedian;
            this.guards = guards;
            columns = new boolean[width];
            model.mark(columns);
            for (Guard guard : guards) {
                guard.mark(columns);
            }
        }
    }

    private final Level[] levels;
    /** Levels above the amount, if they are asked at once; else 0. */
    private final int above;
    private final boolean abstains;

    // The decision at hand.
    private Function<int[], FloatBuffer> candidates;
    private double[] scores;
    private int[] path;
    /** The most probable path found so far, and its log-probability. */
    private final int[] best;
    private double most;
    /** How many scores there is no room for, or 0. */
    private int lacking;

    JsonStudent(Level[] levels, int above, boolean abstains) {
        this.levels = levels;
        this.above = above;
        this.abstains = abstains;
        best = new int[levels.length];
    }

    @Override
    public boolean abstains() {
        return abstains;
    }

    @Override
    public boolean[][] columns() {
        boolean[][] columns = new boolean[levels.length][];
        for (int level = 0; level < levels.length; level++) {
            columns[level] = levels[level].columns.clone();
        }
        return columns;
    }

    @Override
    public int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
        this.candidates = candidates;
        this.scores = scores;
        this.path = path;
        lacking = 0;
        Arrays.fill(path, -1);
        int depth = 0;
        if (above > 0) {
            Arrays.fill(best, -1);
            most = Double.NEGATIVE_INFINITY;
            search(0, 0, 0.0);
            System.arraycopy(best, 0, path, 0, levels.length);
            while (depth < levels.length && path[depth] >= 0) {
                depth++;
            }
        }
        while (lacking == 0 && depth < levels.length) {
            int count = score(depth, 0);
            if (count == 0) {
                break;
            }
            Level level = levels[depth];
            path[depth++] = level.takesMedian
                ? Scores.median(scores, 0, count, level.temperature)
                : Scores.best(scores, 0, count);
        }
        this.candidates = null;
        return lacking > 0 ? -lacking : depth;
    }

    /** Scores the candidates at the present path; their number, 0 if it is a whole decision or there is no room. */
    private int score(int depth, int at) {
        FloatBuffer rows = candidates.apply(path);
        Level level = levels[depth];
        int width = level.columns.length;
        int count = rows.remaining() / width;
        if (at + count > scores.length) {
            lacking = at + count;
            return 0;
        }
        if (count == 1) {
            // One alone need not be looked at.
            scores[at] = 0;
        } else if (count > 1) {
            float[] x = rows.array();
            int from = rows.arrayOffset() + rows.position();
            level.model.score(x, from, width, count, scores, at);
            for (Guard guard : level.guards) {
                guard.apply(x, from, width, count, scores, at);
            }
        }
        return count;
    }

    /**
     * Finds the most probable continuation of the path through the levels above the amount, the first of equals.
     *
     * @param at where there is room for scores; those of the levels above stand before
     * @param soFar the path's log-probability
     */
    private void search(int depth, int at, double soFar) {
        int count = depth < above ? score(depth, at) : 0;
        if (lacking > 0) {
            return;
        }
        if (count == 0) {
            if (soFar > most || (soFar == most && Arrays.compare(path, best) < 0)) {
                System.arraycopy(path, 0, best, 0, path.length);
                most = soFar;
            }
            return;
        }
        double temperature = levels[depth].temperature;
        for (int i = 0; i < count; i++) {
            scores[at + i] /= temperature;
        }
        double total = Scores.logSumExp(scores, at, count);
        int first = Scores.best(scores, at, count);
        // Having begun with the best candidate, few are left whose own candidates must be looked at: no path is more
        // probable than its beginning.
        follow(depth, at, count, first, soFar + (scores[at + first] - total));
        for (int i = 0; i < count && lacking == 0; i++) {
            if (i != first) {
                follow(depth, at, count, i, soFar + (scores[at + i] - total));
            }
        }
    }

    private void follow(int depth, int at, int count, int candidate, double with) {
        if (with >= most) {
            path[depth] = candidate;
            search(depth + 1, at + count, with);
            path[depth] = -1;
        }
    }
}
