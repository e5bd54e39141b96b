package distill.student;

/** A rule above a level's model: the candidates that meet its conditions come first, last or never. */
final class Guard {
    /** What happens to the candidates that meet all conditions. */
    enum Action {
        /** They come before the others. */
        FIRST,
        /** They come after the others. */
        LAST,
        /** As last; where there are no others, only the first of them is left. */
        NEVER
    }

    /** How a feature is compared, in 32-bit floats. A missing value meets nothing. */
    enum Operator {
        ABOVE,
        AT_LEAST,
        BELOW,
        AT_MOST;

        boolean holds(float x, float value) {
            switch (this) {
                case ABOVE:
                    return x > value;
                case AT_LEAST:
                    return x >= value;
                case BELOW:
                    return x < value;
                default:
                    return x <= value;
            }
        }
    }

    /** Column of the flag of the candidate that is none; −1 if there is none, or a condition names it. */
    private final int none;
    // One entry per condition.
    private final int[] column;
    private final Operator[] operator;
    private final float[] value;
    private final Action action;

    Guard(int none, int[] column, Operator[] operator, float[] value, Action action) {
        this.none = none;
        this.column = column;
        this.operator = operator;
        this.value = value;
        this.action = action;
    }

    void mark(boolean[] read) {
        for (int c : column) {
            read[c] = true;
        }
        if (none >= 0) {
            read[none] = true;
        }
    }

    private boolean isNone(float[] x, int row) {
        return none >= 0 && x[row + none] > 0.5f;
    }

    private boolean meets(float[] x, int row) {
        if (isNone(x, row)) {
            return false;
        }
        for (int i = 0; i < column.length; i++) {
            if (!operator[i].holds(x[row + column[i]], value[i])) {
                return false;
            }
        }
        return true;
    }

    /** Makes the scores of the candidates that it rules out −∞. At least one remains. */
    void apply(float[] x, int from, int width, int count, double[] scores, int at) {
        int met = 0;
        int open = 0;
        int first = -1;
        for (int i = 0; i < count; i++) {
            int row = from + i * width;
            // Those with −∞ were ruled out before; a score that is no number is passed over too.
            if (scores[at + i] > Double.NEGATIVE_INFINITY && !isNone(x, row)) {
                open++;
                if (meets(x, row)) {
                    met++;
                    first = first < 0 ? i : first;
                }
            }
        }
        if (met == 0 || (met == open && action != Action.NEVER)) {
            return;
        }
        for (int i = 0; i < count; i++) {
            int row = from + i * width;
            boolean isOut = met == open ? i != first && !isNone(x, row) : meets(x, row) != (action == Action.FIRST);
            if (isOut) {
                scores[at + i] = Double.NEGATIVE_INFINITY;
            }
        }
    }
}
