package distill.student;

import distill.features.Extractor;
import distill.features.Rows;
import distill.features.Snapshot;
import distill.state.ClusterState;
import distill.state.Job;
import distill.state.Round;
import distill.state.Strand;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/**
 * A student as the scheduler: the port of {@code crates/core/src/policy/student.rs}.
 *
 * <p>A decision that would strand the cluster is not taken: all levels are asked again, as if the candidates that lead
 * there were not there. Not for several threads at once. Nothing is allocated for a decision, but when there are more
 * candidates than ever before.
 */
public final class StudentScheduler {
    private final Student student;
    private final Extractor extractor;
    private final Candidates candidates = new Candidates();
    /** The candidates as a student asks for them; made once, so that asking allocates nothing. */
    private final Function<int[], FloatBuffer> lend = candidates::lend;
    private double[] scores = new double[64];
    private final int[] path = new int[Extractor.LEVELS];

    // The decision taken last.
    private int job;
    private int stage;
    private int executors;

    /** Has a student decide. */
    public StudentScheduler(Student student) {
        this.student = student;
        extractor = new Extractor(student.columns());
    }

    /**
     * Decides the open question of a state. Says whether executors are given; then {@link #job}, {@link #stage} and
     * {@link #executors} say which. Otherwise nobody gets any.
     *
     * @throws IllegalStateException if no question is open
     */
    public boolean decide(ClusterState state) {
        if (!state.hasQuestion()) {
            throw new IllegalStateException("no question is open; there is nothing to decide");
        }
        extractor.update(state);
        boolean gives = ask(state.round(), false);
        if (strands(state.round(), gives)) {
            gives = ask(state.round(), true);
        }
        return gives;
    }

    /** The job that executors are given to. */
    public int job() {
        return job;
    }

    /** The stage that executors are given to. */
    public int stage() {
        return stage;
    }

    /** How many executors are given. */
    public int executors() {
        return executors;
    }

    /** Asks all levels; whether executors are given. */
    private boolean ask(Round round, boolean isWary) {
        candidates.begin(round, isWary);
        int length = student.decide(lend, scores, path);
        while (length < 0) {
            scores = new double[Math.max(-length, 2 * scores.length)];
            length = student.decide(lend, scores, path);
        }
        if (length < Extractor.LEVELS) {
            return false;
        }
        candidates.find(path, length);
        int[] places = candidates.places;
        Snapshot snapshot = extractor.snapshot();
        job = snapshot.candidateJob(places[0]).id();
        stage = snapshot.stage(places[0], places[1]);
        executors = 1 + places[2];
        return true;
    }

    private boolean strands(Round round, boolean gives) {
        if (!gives) {
            return Strand.abstaining(round);
        }
        Job chosen = extractor.snapshot().candidateJob(candidates.places[0]);
        return Strand.assigning(round, chosen, stage, executors);
    }

    /** Lends the rows of the candidates at a path, without those that would strand the cluster where that is asked for. */
    private final class Candidates {
        private Round round;
        private boolean isWary;
        /** The path in places among all candidates. */
        private final int[] places = new int[Extractor.LEVELS];
        // By level: the places of the candidates that are left, at which path (−1 from there on), and how many.
        private final int[][] kept = new int[Extractor.LEVELS][16];
        private final int[] keptCount = new int[Extractor.LEVELS];
        private final int[][] keptAt = new int[Extractor.LEVELS][Extractor.LEVELS];
        private final boolean[] isKnown = new boolean[Extractor.LEVELS];

        void begin(Round round, boolean isWary) {
            this.round = round;
            this.isWary = isWary;
            Arrays.fill(isKnown, false);
        }

        FloatBuffer lend(int[] path) {
            int depth = 0;
            while (depth < path.length && path[depth] >= 0) {
                depth++;
            }
            find(path, depth);
            Rows rows = extractor.rowsAt(places, depth, student.abstains());
            if (isWary && depth < Extractor.LEVELS) {
                leaveOut(depth, rows.count());
                for (int to = 0; to < keptCount[depth]; to++) {
                    rows.move(kept[depth][to], to);
                }
                rows.cut(keptCount[depth]);
            }
            return rows.lend();
        }

        /** Finds the places of the candidates that a path of so many levels takes. */
        void find(int[] path, int depth) {
            Arrays.fill(places, -1);
            for (int level = 0; level < depth; level++) {
                if (isWary) {
                    leaveOut(level, count(level));
                    places[level] = kept[level][path[level]];
                } else {
                    places[level] = path[level];
                }
            }
        }

        /** How many candidates there are at the places found so far. */
        private int count(int depth) {
            Snapshot snapshot = extractor.snapshot();
            if (depth == 0) {
                return snapshot.numCandidates() + (student.abstains() ? 1 : 0);
            }
            if (places[0] >= snapshot.numCandidates()) {
                return 0;
            }
            return depth == 1 ? snapshot.numStages(places[0]) : extractor.cap(places[0], places[1]);
        }

        /** Finds out which of the candidates at the places found so far are left; all, if none would be. */
        private void leaveOut(int depth, int count) {
            if (isKnown[depth] && Arrays.equals(keptAt[depth], places)) {
                return;
            }
            if (kept[depth].length < count) {
                kept[depth] = new int[Math.max(count, 2 * kept[depth].length)];
            }
            int left = 0;
            for (int candidate = 0; candidate < count; candidate++) {
                if (!strands(depth, candidate)) {
                    kept[depth][left++] = candidate;
                }
            }
            if (left == 0) {
                for (int candidate = 0; candidate < count; candidate++) {
                    kept[depth][left++] = candidate;
                }
            }
            keptCount[depth] = left;
            System.arraycopy(places, 0, keptAt[depth], 0, places.length);
            isKnown[depth] = true;
        }

        /**
         * Whether a candidate leads to nothing but decisions that strand: a stage to which all on offer cannot go, a job
         * that has no others, and of other stages an amount that leaves too many idle.
         */
        private boolean strands(int depth, int candidate) {
            Snapshot snapshot = extractor.snapshot();
            if (depth == 0) {
                return candidate == snapshot.numCandidates() ? Strand.abstaining(round) : allStrand(candidate);
            }
            Job chosen = snapshot.candidateJob(places[0]);
            if (depth == 1) {
                return Strand.assigningAll(round, chosen, snapshot.stage(places[0], candidate));
            }
            return Strand.assigning(round, chosen, snapshot.stage(places[0], places[1]), 1 + candidate);
        }

        private boolean allStrand(int candidateJob) {
            Snapshot snapshot = extractor.snapshot();
            Job chosen = snapshot.candidateJob(candidateJob);
            for (int place = 0; place < snapshot.numStages(candidateJob); place++) {
                if (!Strand.assigningAll(round, chosen, snapshot.stage(candidateJob, place))) {
                    return false;
                }
            }
            return true;
        }
    }
}
