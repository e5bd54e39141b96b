package distill.features;

import java.util.Arrays;

/**
 * Fills in the columns of a level that are asked for; the others hold 0. Formulas are worked out in 64-bit floats and
 * rounded to 32 bits last.
 */
final class Columns<Q> {
    private final Level<Q> level;
    private final boolean[] wanted;
    /** The quantities of which some column is wanted. */
    private final Level.Quantity<Q>[] quantities;
    private final Ranks ranks = new Ranks();
    /** One quantity of all candidates. */
    private double[] values = new double[16];

    @SuppressWarnings("unchecked")
    Columns(Level<Q> level, boolean[] wanted) {
        if (wanted.length != level.width()) {
            throw new IllegalArgumentException(
                "level `" + level.name + "` has " + level.width() + " features, but " + wanted.length + " marks");
        }
        this.level = level;
        this.wanted = wanted.clone();
        quantities = level.quantities.stream().filter(this::isWanted).toArray(Level.Quantity[]::new);
    }

    private boolean isWanted(Level.Quantity<Q> q) {
        return wanted[q.column] || wantsRank(q) || wantsRatio(q);
    }

    private boolean wantsRank(Level.Quantity<Q> q) {
        return q.ranked && wanted[q.rankColumn()];
    }

    private boolean wantsRatio(Level.Quantity<Q> q) {
        return q.ratio != Level.Ratio.NONE && wanted[q.ratioColumn()];
    }

    /** Writes the rows of candidates; with {@code hasNone} there is one more, the last, of the candidate that is none. */
    void write(Q question, int candidates, boolean hasNone, Rows out) {
        int rows = candidates + (hasNone ? 1 : 0);
        int width = level.width();
        float[] x = out.begin(rows);
        if (values.length < candidates) {
            values = Arrays.copyOf(values, Math.max(candidates, 2 * values.length));
        }
        for (Level.Quantity<Q> q : quantities) {
            if (q.shared != null) {
                float value = (float) q.shared.of(question);
                for (int row = 0; row < rows; row++) {
                    x[row * width + q.column] = value;
                }
            } else if (q.value == null) {
                if (hasNone) {
                    x[candidates * width + q.column] = 1;
                }
            } else {
                for (int candidate = 0; candidate < candidates; candidate++) {
                    values[candidate] = q.value.of(question, candidate);
                }
                fill(q, candidates, x, width);
            }
        }
    }

    private void fill(Level.Quantity<Q> q, int candidates, float[] x, int width) {
        if (wanted[q.column]) {
            for (int row = 0; row < candidates; row++) {
                x[row * width + q.column] = (float) values[row];
            }
        }
        // A single candidate has rank 0.
        if (wantsRank(q) && candidates > 1) {
            ranks.write(values, candidates, x, q.rankColumn(), width);
        }
        if (wantsRatio(q)) {
            double least = Double.POSITIVE_INFINITY;
            for (int row = 0; row < candidates; row++) {
                least = Math.min(least, values[row]);
            }
            boolean isTime = q.ratio == Level.Ratio.TIME;
            double below = isTime ? Math.max(least, 1) : least + 1;
            for (int row = 0; row < candidates; row++) {
                double above = isTime ? values[row] : values[row] + 1;
                x[row * width + q.ratioColumn()] = (float) (above / below);
            }
        }
    }
}
