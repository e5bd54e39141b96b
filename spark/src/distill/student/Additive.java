package distill.student;

/** A sum of terms: a linear score, or one with steps, kinks, logarithms and products. */
final class Additive implements Model {
    /** The shapes of a factor. */
    enum Shape {
        /** x. */
        LINEAR,
        /** ln(1 + x), 0 for negative x. */
        LOG,
        /** 1 if x &gt; threshold, else 0. */
        ABOVE,
        /** x − threshold if that is positive, else 0. */
        EXCESS
    }

    /** A function of one feature. */
    static final class Factor {
        final int feature;
        final Shape shape;
        final float threshold;

        Factor(int feature, Shape shape, float threshold) {
            this.feature = feature;
            this.shape = shape;
            this.threshold = threshold;
        }

        double of(float x) {
            switch (shape) {
                case LINEAR:
                    return x;
                case LOG:
                    // A missing value makes it 0, as it does below.
                    return x > 0 ? Elementary.ln1p(x) : 0;
                case ABOVE:
                    return x > threshold ? 1 : 0;
                default:
                    double excess = (double) x - (double) threshold;
                    return excess > 0 ? excess : 0;
            }
        }
    }

    private final double intercept;
    // One entry per term; the second factor may be null.
    private final double[] coefficient;
    private final Factor[] first;
    private final Factor[] second;

    Additive(double intercept, double[] coefficient, Factor[] first, Factor[] second) {
        this.intercept = intercept;
        this.coefficient = coefficient;
        this.first = first;
        this.second = second;
    }

    @Override
    public void score(float[] x, int from, int width, int count, double[] scores, int at) {
        for (int row = 0; row < count; row++) {
            int start = from + row * width;
            double sum = -0.0;
            for (int term = 0; term < coefficient.length; term++) {
                double product = first[term].of(x[start + first[term].feature]);
                if (second[term] != null) {
                    product *= second[term].of(x[start + second[term].feature]);
                }
                sum += coefficient[term] * product;
            }
            scores[at + row] = sum + intercept;
        }
    }

    @Override
    public void mark(boolean[] read) {
        for (int term = 0; term < coefficient.length; term++) {
            if (coefficient[term] != 0) {
                read[first[term].feature] = true;
                if (second[term] != null) {
                    read[second[term].feature] = true;
                }
            }
        }
    }
}
